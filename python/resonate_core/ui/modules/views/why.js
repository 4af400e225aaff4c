// Why is this stuck: the reason, what happens next, what can be done.
import { html, useState } from "../vendor/htm-preact.js";
import { Do } from "../actions.js";
import { Card, Empty, Head, Id, linked, linkTo, Read, said, stamp, State, when } from "../elements.js";
import { go, href } from "../router.js";
import { useView } from "../state.js";
import { Table } from "../tables.js";

const NEEDS = html`<span class="pill bad">needs a person</span>`;

/** The panel for one answer. */
export function WhyCard({ of, title = "Why, and what is next" }) {
  if (!of) return null;
  return html`<${Card} title=${title} class="why" actions=${of.stuck && NEEDS}>
    <p class="sentence">${said(of.sentence)}</p>
    ${of.next && html`<p class="muted">Next: ${of.next.what}${of.next.at != null && !of.sentence.includes(stamp(of.next.at)) ? html` ${when(of.next.at)}` : ""}.</p>`}
    ${of.chain?.length > 1 && html`<ol class="chain" aria-label="What it waits for">${of.chain.map((link, index) => html`<li key=${index}><span class="muted">${linked(link.sentence, link.id)}</span></li>`)}</ol>`}
    ${of.advice?.length > 0 && html`<ul class="stack advice">${of.advice.map((one, index) => html`<li key=${index} class="row"><span class="grow">${one.text}</span>${one.action && html`<${Do} small label=${verb(one.action.kind)} action=${{ ...one.action, title: `${verb(one.action.kind)} ${one.action.data?.id ?? one.action.data?.queue ?? ""}`, text: one.text, verb: verb(one.action.kind) }} />`}</li>`)}</ul>`}</${Card}>`;
}

const VERBS = { run: "Run now", rerun: "Run again", set: "Change", continue: "Resume" };
const verb = (kind) => {
  const last = kind.split(".")[1];
  return VERBS[last] ?? last[0].toUpperCase() + last.slice(1);
};

/** The panel for an id that is read here. */
export function Why({ id }) {
  const view = useView("why", { id });
  return view.data ? html`<${WhyCard} of=${view.data} />` : null;
}

export function WhyView({ query }) {
  const [typed, setTyped] = useState(query.id ?? "");
  const submit = (event) => {
    event.preventDefault();
    if (typed.trim()) go("why", { id: typed.trim() });
  };
  return html`<${Head} title="Why is it stuck?" lead="For any promise, task, job, schedule or queue: what it waits for, what happens to it next, and what you can do." />
    <form class="filters" onSubmit=${submit}><div class="field wide"><label for="why-id">Id</label><input id="why-id" type="text" class="mono" value=${typed} placeholder="order-1" spellcheck=${false} autocomplete="off" onInput=${(event) => setTyped(event.target.value)} /></div>
      <button type="submit" class="button primary">Ask</button></form>
    ${query.id ? html`<${Answer} id=${query.id} />` : html`<${Stuck} />`}`;
}

const COLUMNS = [
  { label: "What", cell: "id-cell", show: (row) => html`<${Id} of=${row.id} to=${href("why", { id: row.id })} copy=${false} />` },
  { label: "State", card: false, show: (row) => html`<${State} of=${row.state} />` },
  { label: "Since", show: (row) => when(row.since) },
  { label: "Why", card: false, show: (row) => html`<span class="why-text">${said(row.sentence)}</span>${row.needsPerson &&html` ${NEEDS}`}` },
];

function Stuck() {
  const view = useView("stuck");
  return html`<${Card} title="Stuck now" flush><${Read} from=${view} what="What is stuck">${({ items, archived }) => (items.length
    ? html`<${Table} caption="Stuck now" columns=${COLUMNS} rows=${items} keyOf=${(row) => row.id} />${archived > 0 && html`<p class="table-foot"><a href=${href("jobs", { state: ["archived"] })}>${archived} more archived</a></p>`}`
    : html`<${Empty} title="Nothing is stuck" icon="check">No job is archived, no task is halted, and no queue or message waits for a worker for more than a minute. For any other id, ask above.</${Empty}>`)}</${Read}></${Card}>`;
}

function Answer({ id }) {
  const view = useView("why", { id });
  return html`<${Read} from=${view} what=${`The reason for ${id}`}>${(data) => html`<div class="stack"><div class="row"><span class="pill">${data.kind}</span><${Id} of=${data.id} whole to=${data.kind === "unknown" ? undefined : linkTo(data.id, data.kind)} />${data.state && html`<${State} of=${data.state} />`}</div>
    <${WhyCard} of=${data} /><p><a href=${href("workflow", { id })}>Calls and timeline of ${id}</a></p></div>`}</${Read}>`;
}
