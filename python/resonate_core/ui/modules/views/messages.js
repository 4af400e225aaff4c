// Messages that wait for a receiver.
import { html } from "../vendor/htm-preact.js";
import { Id, linkTo, said, when } from "../elements.js";
import * as text from "../format.js";
import { ListView, Table } from "../tables.js";

const COLUMNS = [
  { label: "About", cell: "id-cell", show: (row) => html`<${Id} of=${row.id} to=${linkTo(row.id, "workflow")} />` },
  { label: "Kind", show: (row) => row.kind },
  { label: "To", cell: "id-cell", card: true, show: (row) => html`<${Id} of=${row.address} />` },
  { label: "Waits since", show: (row) => html`${when(row.queuedAt)}${row.stale ? html` <span class="pill warn">stale</span>` : ""}` },
  { label: "Attempts", num: true, show: (row) => text.number(row.attempts) },
  { label: "Why", card: false, show: (row) => html`<span class="muted">${said(row.why)}</span>` },
];
const keyOf = (row) => `${row.number ?? row.kind} ${row.id} ${row.address}`;

export const MessageTable = ({ rows }) => html`<${Table} caption="Messages" rows=${rows} columns=${COLUMNS} keyOf=${keyOf} />`;

export const Messages = ({ query }) => html`<${ListView} view="messages" params=${["address"]} query=${query} title="Messages" columns=${COLUMNS} keyOf=${keyOf} noun="message" caption="Messages that wait, oldest first"
  lead="Messages that the store has for workers and listeners. Oldest first." fields=${[{ name: "address", label: "Address", placeholder: "poll://any@shop*", wide: true }]}
  empty=${["No message waits", "messages", "Every message has been delivered. A message waits here while no worker listens on its address, or its receiver refuses it."]} />`;
