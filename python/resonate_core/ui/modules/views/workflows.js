// Workflows, and one of them: timeline, call tree, the chosen call.
import { html } from "../vendor/htm-preact.js";
import { Do, parseJson } from "../actions.js";
import { Card, Head, Id, Read, said, State, Tags, Value, when } from "../elements.js";
import * as text from "../format.js";
import { StateChips } from "../forms.js";
import { Plain, timeline } from "../plain.js";
import { href, refine } from "../router.js";
import { useView } from "../state.js";
import { ListView } from "../tables.js";
import { Tree } from "../tree.js";
import { Awaiters } from "./job.js";
import { MessageTable } from "./messages.js";
import { WhyCard } from "./why.js";

const FIELDS = [
  { name: "id", label: "Id", placeholder: "order-*", wide: true },
  { name: "tag", label: "Tag", placeholder: "tenant=acme", many: true },
  { name: "since", label: "Created since", type: "when" },
  { name: "until", label: "Created until", type: "when" },
];

const COLUMNS = [
  { label: "Workflow", cell: "id-cell", card: false, show: (row) => html`<${Id} of=${row.promise.id} to=${href("workflow", { id: row.promise.id })} />` },
  { label: "State", card: false, show: (row) => html`<${State} of=${row.promise.state} />` },
  { label: "Function", cell: "text-cell", show: (row) => row.func },
  { label: "Task", show: (row) => row.task && html`<${State} of=${row.task.state} />` },
  { label: "Created", show: (row) => when(row.promise.createdAt) },
  { label: "Took", num: true, show: (row) => row.promise.settledAt != null && text.duration(row.tookMs) },
  { label: "Now", cell: "fill", card: false, show: (row) => html`<span class="muted" title=${row.note}>${said(row.note)}</span>` },
];

export const Workflows = ({ query }) => html`<${ListView} view="workflows" params=${["id", "state", "tag", "since", "until"]} query=${query} title="Workflows" lead="Calls that no other call made, newest first." above=${html`<${StateChips} states=${text.PROMISE_STATES} query=${query} />`} fields=${FIELDS}
  columns=${COLUMNS} keyOf=${(row) => row.promise.id} noun="workflow" caption="Workflows, newest first" empty=${["No workflow yet", "workflows", html`Run a program of an SDK on this store, or <code>resonate-core invoke</code>.`]} />`;

export function Workflow({ query }) {
  const view = useView("workflow", { id: query.id });
  return html`<${Read} from=${view} what=${`Workflow ${query.id}`} title=${query.id}>${(data) => html`<${Whole} of=${data} id=${query.id} call=${query.call} />`}</${Read}>`;
}

const find = (call, id) => (call.id === id ? call : (call.children ?? []).reduce((found, child) => found ?? find(child, id), null));

function Whole({ of, id, call }) {
  const chosen = call ?? (id === of.root ? null : id);
  const choose = (next) => refine({ call: next === of.root || next === chosen ? null : next }, true);
  const shown = find(of.tree, chosen ?? of.root) ?? of.tree;
  return html`<${Head} title=${html`<${Id} of=${of.root} whole />`} crumbs=${html`<a href=${href("workflows")}>Workflows</a>`}
      lead=${html`<span class="row"><${State} of=${of.tree.state} /><span>${of.tree.func}</span><span>created ${when(of.tree.promise.createdAt)}</span><span>${text.count(of.count, "call")}${of.cut ? ", of which 2,000 are shown" : ""}</span></span>`}><${Actions} promise=${of.tree.promise} task=${of.tree.task} job=${of.tree.job} /></${Head}>
    <div class="stack"><${WhyCard} of=${of.why} />
      ${of.timeline && html`<${Card} title="Timeline"><${Plain} load=${timeline} data=${of.timeline} options=${{ selected: chosen }} label="Timeline" on=${{ "timeline-select": ({ id: one }) => one && choose(one) }} /></${Card}>`}
      <div class="columns wide-first"><${Card} title="Calls" flush><${Tree} key=${of.root} root=${of.tree} selected=${shown.id} choose=${choose} label="Calls of ${of.root}" /></${Card}>
      <${Call} of=${shown} root=${of.root} /></div>
      ${of.messages?.length > 0 && html`<${Card} title="Messages" flush><${MessageTable} rows=${of.messages} /></${Card}>`}</div>`;
}

function Call({ of: call, root }) {
  const view = useView("promise", { id: call.id });
  const promise = view.data?.promise ?? call.promise;
  const task = view.data?.task ?? call.task;
  return html`<div class="stack"><${Card} title=${call.func ?? "Call"}><dl class="facts"><dt>Id</dt><dd><${Id} of=${call.id} whole /></dd><dt>State</dt><dd><${State} of=${call.state} /></dd>
      ${call.job && html`<dt>Job</dt><dd><a href=${href("job", { id: call.id })}><${State} of=${call.job.state} /></a></dd>`}
      ${task && html`<dt>Task</dt><dd><span class="row"><${State} of=${task.state} />version ${task.version}${task.resumes ? html`, ${text.count(task.resumes, "resume")}` : ""}</span></dd>${task.pid && html`<dt>Worker</dt><dd><${Id} of=${task.pid} /></dd>`}`}
      <dt>Created</dt><dd>${when(promise?.createdAt)}</dd>${promise?.settledAt != null && html`<dt>Settled</dt><dd>${when(promise.settledAt)}</dd>`}
      <dt>Deadline</dt><dd>${when(promise?.timeoutAt)}</dd>${call.waitsFor?.length > 0 && html`<dt>Waits for</dt><dd>${call.waitsFor.map((id) => html`<div key=${id}><${Id} of=${id} to=${href("workflow", { id })} /></div>`)}</dd>`}
      ${Object.keys(promise?.tags ?? {}).length > 0 && html`<dt>Tags</dt><dd><${Tags} of=${promise.tags} /></dd>`}</dl>
      ${call.id !== root && html`<div class="row call-actions"><${Actions} promise=${promise} task=${task} job=${call.job} /></div>`}</${Card}>
    <${Card} title="Argument"><${Value} of=${promise?.param} label="Argument" /></${Card}>
    ${promise?.state !== "pending" && html`<${Card} title="Value"><${Value} of=${promise?.value} label="Value" /></${Card}>`}
    ${call.id !== root && html`<${WhyCard} of=${view.data?.why} />`}<${Awaiters} of=${view.data?.awaitedBy ?? []} more=${view.data?.awaitedByMore} /></div>`;
}

const STATES = [["resolved", "resolved: it succeeded"], ["rejected", "rejected: it failed"], ["rejected_canceled", "cancelled"]];

function Actions({ promise, task, job }) {
  if (!promise || promise.state !== "pending") return null;
  const { id } = promise;
  return html`${task?.state === "halted" && !job && html`<${Do} label="Resume" icon="play" primary action=${{ title: `Resume ${id}`, kind: "task.continue", data: { id }, text: "Its task is pending again, and dispatched to a worker." }} />`}
    ${task && !job && task.state !== "halted" && task.state !== "fulfilled" && html`<${Do} label="Halt" icon="pause" action=${{ title: `Halt ${id}`, kind: "task.halt", data: { id }, text: "No worker runs it until it is resumed. Its promise and its children stay as they are." }} />`}
    ${job && html`<a class="button" href=${href("job", { id })}>Open the job</a>`}
    <${Do} label="Settle" action=${{ title: `Settle ${id}`, text: "You decide the result in place of a worker. What awaits it goes on at once. This cannot be undone.",
      fields: [{ name: "state", label: "State", type: "select", options: STATES, value: "resolved" }, { name: "valueJson", label: "Value (JSON)", type: "textarea", rows: 5, parse: parseJson, hint: "Empty: no value" }],
      compose: ({ state, valueJson }) => ({ kind: "promise.settle", data: { id, state, ...(valueJson === undefined ? {} : { valueJson }) } }) }} />
    <${Do} label="Cancel" danger action=${{ title: `Cancel ${id}`, verb: "Cancel it", kind: "promise.settle", data: { id, state: "rejected_canceled" }, text: "Its promise is rejected as cancelled. Jobs that only it awaits are cancelled too; other children go on." }} />`;
}
