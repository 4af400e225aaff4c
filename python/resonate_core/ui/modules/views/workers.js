// Workers: what each holds, and how old its heartbeat is.
import { html } from "../vendor/htm-preact.js";
import { Empty, Head, Id, Read, When, linkTo } from "../elements.js";
import * as text from "../format.js";
import { href } from "../router.js";
import { useView } from "../state.js";
import { List } from "../tables.js";

const FIRST = 4;

export function Workers({ query }) {
  const view = useView("workers", { limit: query.limit, cursor: query.cursor });
  const columns = [
    { key: "worker", label: "Worker", cell: "id-cell", card: false, show: (row) => html`<${Id} of=${row.worker} />` },
    { key: "beat", label: "Heartbeat", show: (row) => html`<span class=${row.late ? "heartbeat late" : "heartbeat"}>${row.heartbeatAt == null ? "—" : html`<${When} at=${row.heartbeatAt} />`}${row.late ? ", its lease is over" : ""}</span>` },
    { key: "jobs", label: "Jobs", num: true, show: (row) => text.number(row.jobs) },
    { key: "tasks", label: "Tasks", num: true, show: (row) => text.number(row.tasks) },
    { key: "holds", label: "Holds", card: false, show: (row) => html`<ul class="holds">${row.holds.slice(0, FIRST).map((one) => html`<li key=${one.id} class="row"><${Id} of=${one.id} to=${linkTo(one.id, one.kind)} copy=${false} /><span class="muted small">${[one.type, one.queue && `in ${one.queue}`].filter(Boolean).join(" ")} lease ends <${When} at=${one.leaseUntil} /></span></li>`)}
      ${row.holds.length > FIRST && html`<li><details><summary class="small">${text.count(row.holds.length - FIRST, "other")}</summary><ul>${row.holds.slice(FIRST).map((one) => html`<li key=${one.id}><${Id} of=${one.id} to=${linkTo(one.id, one.kind)} copy=${false} /></li>`)}</ul></details></li>`}</ul>` },
  ];
  const empty = html`<${Empty} title="No worker holds anything" icon="workers">A worker appears here while it holds a job or a task. If work waits, no worker asks for it: see <a href=${href("queues")}>queues</a> and <a href=${href("messages")}>messages</a>.</${Empty}>`;
  return html`<${Head} title="Workers" lead="Who holds work under a lease. A worker whose heartbeat stays out loses its work when the lease ends." />
    <div class="card"><${Read} from=${view} what="The list of workers">${(data) => html`<${List} of=${data} caption="Workers" columns=${columns} keyOf=${(row) => row.worker} noun="worker" empty=${empty} />`}</${Read}></div>`;
}
