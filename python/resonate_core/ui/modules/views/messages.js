// Messages that wait for a receiver: for whom, why, since when.
import { html } from "../vendor/htm-preact.js";
import { Empty, Head, Id, Read, When, linkTo } from "../elements.js";
import * as text from "../format.js";
import { Filters } from "../forms.js";
import { useView } from "../state.js";
import { List, Table } from "../tables.js";

const COLUMNS = [
  { key: "id", label: "About", cell: "id-cell", card: false, show: (row) => html`<${Id} of=${row.id} to=${linkTo(row.id, "workflow")} />` },
  { key: "kind", label: "Kind", show: (row) => row.kind },
  { key: "address", label: "To", cell: "id-cell", show: (row) => html`<${Id} of=${row.address} />` },
  { key: "since", label: "Waits since", show: (row) => html`<${When} at=${row.queuedAt} />${row.stale ? html` <span class="pill warn">stale</span>` : ""}` },
  { key: "attempts", label: "Attempts", num: true, show: (row) => text.number(row.attempts) },
  { key: "why", label: "Why", card: false, show: (row) => html`<span class="muted">${row.why}</span>` },
];
const keyOf = (row) => `${row.number ?? row.kind} ${row.id} ${row.address}`;

export const MessageTable = ({ rows }) => html`<${Table} caption="Messages" rows=${rows} columns=${COLUMNS} keyOf=${keyOf} />`;

export function Messages({ query }) {
  const view = useView("messages", { address: query.address, limit: query.limit, cursor: query.cursor });
  const empty = html`<${Empty} title="No message waits" icon="messages">${query.address ? "No waiting message has an address like that." : "Every message has been delivered. A message waits here while no worker listens on its address, or its receiver refuses it."}</${Empty}>`;
  return html`<${Head} title="Messages" lead="What the store has to say, and to whom. Oldest first." /><${Filters} query=${query} fields=${[{ name: "address", label: "Address", placeholder: "poll://any@shop*", wide: true }]} />
    <div class="card"><${Read} from=${view} what="The list of messages">${(data) => html`<${List} of=${data} caption="Messages that wait, oldest first" columns=${COLUMNS} keyOf=${keyOf} noun="message" empty=${empty} />`}</${Read}></div>`;
}
