// Groups: batches that gather jobs now.
import { html } from "../vendor/htm-preact.js";
import { Empty, Head, Id, Read, When } from "../elements.js";
import * as text from "../format.js";
import { Filters } from "../forms.js";
import { href } from "../router.js";
import { useView } from "../state.js";
import { List } from "../tables.js";
import { Do } from "../actions.js";

export function Groups({ query }) {
  const view = useView("groups", { queue: query.queue, limit: query.limit, cursor: query.cursor });
  const columns = [
    { key: "group", label: "Group", cell: "id-cell", card: false, show: (row) => html`<${Id} of=${row.group} to=${href("jobs", { queue: row.queue, group: row.group })} />` },
    { key: "type", label: "Type", show: (row) => row.type },
    { key: "queue", label: "Queue", show: (row) => html`<a href=${href("queue", { name: row.queue })}>${row.queue}</a>` },
    { key: "members", label: "Members", num: true, show: (row) => html`<a href=${href("jobs", { batch: row.batch })}>${text.number(row.members)}</a>${row.size ? html` <span class="muted">of ${text.number(row.size)}</span>` : ""}` },
    { key: "first", label: "First joined", show: (row) => html`<${When} at=${row.firstAt} />` },
    { key: "ready", label: "Ready", show: (row) => html`<${When} at=${row.readyAt} />` },
    { key: "do", label: "Actions", hidden: true, card: false, show: (row) => html`<${Do} small label="Run now" action=${{ title: `Run group ${row.group}`, verb: "Run now", kind: "job.run", data: { state: "scheduled", queue: row.queue, type: row.type, group: row.group }, text: "All its members become pending now." }} />` },
  ];
  const empty = html`<${Empty} title="No group gathers" icon="groups">A job with a <code>group</code> waits here for others, until its batch is full or its grace is over.</${Empty}>`;
  return html`<${Head} title="Groups" lead="Batches that gather now. A batch is ready when it is full, when no job has joined for the grace of its queue, or at the longest delay." />
    <${Filters} query=${query} fields=${[{ name: "queue", label: "Queue" }]} />
    <div class="card"><${Read} from=${view} what="The list of groups">${(data) => html`<${List} of=${data} caption="Groups that gather" columns=${columns} keyOf=${(row) => row.batch} noun="group" empty=${empty} />`}</${Read}></div>`;
}
