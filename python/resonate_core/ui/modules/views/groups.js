// Groups: batches that gather jobs now.
import { html } from "../vendor/htm-preact.js";
import { Do } from "../actions.js";
import { Id, when } from "../elements.js";
import * as text from "../format.js";
import { href } from "../router.js";
import { ListView } from "../tables.js";

const COLUMNS = [
  { label: "Group", cell: "id-cell", show: (row) => html`<${Id} of=${row.group} to=${href("jobs", { queue: row.queue, group: row.group })} />` },
  { label: "Type", show: (row) => row.type },
  { label: "Queue", show: (row) => html`<a href=${href("queue", { name: row.queue })}>${row.queue}</a>` },
  { label: "Members", num: true, show: (row) => html`<a href=${href("jobs", { batch: row.batch })}>${text.number(row.members)}</a>${row.size ? html` <span class="muted">of ${text.number(row.size)}</span>` : ""}` },
  { label: "First joined", show: (row) => when(row.firstAt) },
  { label: "Ready", show: (row) => when(row.readyAt) },
  { label: "Actions", hidden: true, card: false, show: (row) => html`<${Do} small label="Run now" action=${{ title: `Run group ${row.group}`, kind: "job.run", data: { state: "scheduled", queue: row.queue, type: row.type, group: row.group }, text: "All its members become pending now." }} />` },
];

export const Groups = ({ query }) => html`<${ListView} view="groups" params=${["queue"]} query=${query} title="Groups" fields=${[{ name: "queue", label: "Queue" }]} columns=${COLUMNS} keyOf=${(row) => row.batch} noun="group" caption="Groups that gather"
  lead="Batches that gather now. A batch is ready when it is full, when no job has joined for the grace of its queue, or at the longest delay."
  empty=${["No group gathers", "groups", html`A job with a <code>group</code> waits here for others, until its batch is full or its grace is over.`]} />`;
