// The audit of actions.
import { html } from "../vendor/htm-preact.js";
import { Id, when } from "../elements.js";
import { ListView } from "../tables.js";

const COLUMNS = [
  { label: "When", card: false, show: (row) => when(row.at) },
  { label: "Who", show: (row) => html`<span title=${`role ${row.role}`}>${row.who ?? html`<span class="muted">without a token</span>`}</span>${row.from && html` <span class="muted small">from ${row.from}</span>`}` },
  { label: "Action", card: false, show: (row) => html`<b>${row.kind}</b>${row.preview ? html` <span class="pill">tried first</span>` : ""}` },
  { label: "On", cell: "id-cell", card: true, show: (row) => (row.target?.id ? html`<${Id} of=${row.target.id} />` : html`<span class="mono small">${Object.entries(row.target ?? {}).map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ")}</span>`) },
  { label: "Answer", num: true, show: (row) => html`<span class=${row.status >= 300 ? "danger-text" : ""}>${row.status}</span>` },
  { label: "Detail", cell: "fill", show: (row) => row.detail && html`<span class="muted" title=${row.detail}>${row.detail}</span>` },
];

export const Audit = ({ query }) => html`<${ListView} view="audit" query=${query} title="Audit" lead="Each action of the dashboard, newest first." columns=${COLUMNS} keyOf=${(row) => row.number} noun="line" caption="Actions, newest first"
  empty=${["No action yet", "audit", "Each action that is done or tried here leaves a line, also if it is refused."]} />`;
