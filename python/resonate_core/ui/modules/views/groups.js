// Groups: batches that gather jobs now.
import { html } from "../vendor/htm-preact.js";
import { Do } from "../actions.js";
import { Id, When } from "../elements.js";
import * as text from "../format.js";
import { href } from "../router.js";
import { ListView } from "../tables.js";

const COLUMNS = [
  { key: "group", label: "Group", cell: "id-cell", card: false, show: (row) => html`<${Id} of=${row.group} to=${href("jobs", { queue: row.queue, group: row.group })} />` },
  { key: "type", label: "Type", show: (row) => row.type },
  { key: "queue", label: "Queue", show: (row) => html`<a href=${href("queue", { name: row.queue })}>${row.queue}</a>` },
  { key: "members", label: "Members", num: true, show: (row) => html`<a href=${href("jobs", { batch: row.batch })}>${text.number(row.members)}</a>${row.size ? html` <span class="muted">of ${text.number(row.size)}</span>` : ""}` },
  { key: "first", label: "First joined", show: (row) => html`<${When} at=${row.firstAt} />` },
  { key: "ready", label: "Ready", show: (row) => html`<${When} at=${row.readyAt} />` },
  { key: "do", label: "Actions", hidden: true, card: false, show: (row) => html`<${Do} small label="Run now" action=${{ title: `Run group ${row.group}`, verb: "Run now", kind: "job.run", data: { state: "scheduled", queue: row.queue, type: row.type, group: row.group }, text: "All its members become pending now." }} />` },
];

export const Groups = ({ query }) => html`<${ListView} view="groups" params=${["queue"]} query=${query} title="Groups" fields=${[{ name: "queue", label: "Queue" }]} columns=${COLUMNS} keyOf=${(row) => row.batch} noun="group" caption="Groups that gather"
  lead="Batches that gather now. A batch is ready when it is full, when no job has joined for the grace of its queue, or at the longest delay."
  empty=${["No group gathers", "groups", html`A job with a <code>group</code> waits here for others, until its batch is full or its grace is over.`]} />`;
