// Audit: who did what, when, and how it was answered.
import { html } from "../vendor/htm-preact.js";
import { Empty, Head, Id, Read, When } from "../elements.js";
import { useView } from "../state.js";
import { List } from "../tables.js";

export function Audit({ query }) {
  const view = useView("audit", { limit: query.limit, cursor: query.cursor });
  const columns = [
    { key: "at", label: "When", card: false, show: (row) => html`<${When} at=${row.at} />` },
    { key: "who", label: "Who", show: (row) => html`<span title=${`role ${row.role}`}>${row.who ?? html`<span class="muted">without a token</span>`}</span>${row.from && html` <span class="muted small">from ${row.from}</span>`}` },
    { key: "kind", label: "Action", card: false, show: (row) => html`<b>${row.kind}</b>${row.preview ? html` <span class="pill">tried first</span>` : ""}` },
    { key: "target", label: "On", cell: "id-cell", show: (row) => (row.target?.id ? html`<${Id} of=${row.target.id} />` : html`<span class="mono small">${Object.entries(row.target ?? {}).map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ")}</span>`) },
    { key: "status", label: "Answer", num: true, show: (row) => html`<span class=${row.status >= 300 ? "danger-text" : ""}>${row.status}</span>` },
    { key: "detail", label: "Detail", cell: "text-cell", show: (row) => row.detail && html`<span class="muted" title=${row.detail}>${row.detail}</span>` },
  ];
  const empty = html`<${Empty} title="No action yet" icon="audit">Each action that is done or tried here leaves a line, also if it is refused.</${Empty}>`;
  return html`<${Head} title="Audit" lead="Each action of the dashboard, newest first." />
    <div class="card"><${Read} from=${view} what="The audit">${(data) => html`<${List} of=${data} caption="Actions, newest first" columns=${columns} keyOf=${(row) => row.number} noun="line" empty=${empty} />`}</${Read}></div>`;
}
