// Workers and what they hold.
import { html } from "../vendor/htm-preact.js";
import { Id, linkTo, when } from "../elements.js";
import * as text from "../format.js";
import { href } from "../router.js";
import { ListView } from "../tables.js";

const FIRST = 4;
const held = (one, more) => html`<li key=${one.id} class="row"><${Id} of=${one.id} to=${linkTo(one.id, one.kind)} copy=${false} />${more}</li>`;

const COLUMNS = [
  { label: "Worker", cell: "id-cell", show: (row) => html`<${Id} of=${row.worker} />` },
  { label: "Heartbeat", show: (row) => html`<span class=${row.late ? "danger-text" : ""}>${when(row.heartbeatAt)}${row.late ? ", its lease is over" : ""}</span>` },
  { label: "Jobs", num: true, show: (row) => text.number(row.jobs) },
  { label: "Tasks", num: true, show: (row) => text.number(row.tasks) },
  { label: "Holds", card: false, show: (row) => html`<ul class="holds">${row.holds.slice(0, FIRST).map((one) => held(one, html`<span class="muted small">${one.type} ${one.queue && `in ${one.queue}`} lease ends ${when(one.leaseUntil)}</span>`))}
    ${row.holds.length > FIRST && html`<li><details><summary class="small">${text.count(row.holds.length - FIRST, "other")}</summary><ul>${row.holds.slice(FIRST).map((one) => held(one))}</ul></details></li>`}</ul>` },
];

export const Workers = ({ query }) => html`<${ListView} view="workers" query=${query} title="Workers" columns=${COLUMNS} keyOf=${(row) => row.worker} noun="worker" caption="Workers"
  lead="Who holds work under a lease. A worker that sends no heartbeat loses its work when the lease ends."
  empty=${["No worker holds anything", "workers", html`A worker appears here while it holds a job or a task. If work waits, no worker asks for it: see <a href=${href("queues")}>queues</a> and <a href=${href("messages")}>messages</a>.`]} />`;
