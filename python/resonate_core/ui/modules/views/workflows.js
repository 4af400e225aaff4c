// Workflows, and one of them: timeline, call tree, the chosen call.
import { html } from "../vendor/htm-preact.js";
import { Do, parseJson } from "../actions.js";
import { Card, Facts, Head, Id, Read, said, State, Tags, Value, when } from "../elements.js";
import * as text from "../format.js";
import { StateChips } from "../forms.js";
import { Plain, timeline } from "../plain.js";
import { go, href, refine } from "../router.js";
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
  { label: "Workflow", cell: "id-cell", show: (row) => html`<${Id} of=${row.promise.id} to=${href("workflow", { id: row.promise.id })} />` },
  { label: "State", card: false, show: (row) => html`<${State} of=${row.job?.state ?? row.promise.state} />` },
  { label: "Function", cell: "text-cell", show: (row) => row.func },
  { label: "Task, steps", show: (row) => (row.job ? row.job.steps && text.count(row.job.steps, "step") : row.task && html`<${State} of=${row.task.state} />`) },
  { label: "Created", show: (row) => when(row.promise.createdAt) },
  { label: "Took", num: true, show: (row) => row.promise.settledAt != null && text.duration(row.tookMs) },
  { label: "Now", cell: "fill", card: false, show: (row) => html`<span class="muted" title=${row.note}>${said(row.note)}</span>` },
];

export const Workflows = ({ query }) => html`<${ListView} view="workflows" params=${["id", "state", "tag", "since", "until"]} query=${query} title="Workflows" lead="Calls that no other call made, newest first." above=${html`<${StateChips} states=${text.PROMISE_STATES} query=${query} />`} fields=${FIELDS}
  columns=${COLUMNS} keyOf=${(row) => row.promise.id} noun="workflow" caption="Workflows, newest first" empty=${["No workflow yet", "workflows", html`A worker's <code>@worker.workflow</code>, a program of an SDK, or <code>resonate-core invoke</code> makes one.`]} />`;

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
      lead=${html`<span class="row"><${State} of=${of.tree.job?.state ?? of.tree.state} /><span>${of.tree.func}</span><span>created ${when(of.tree.promise.createdAt)}</span><span>${text.count(of.count, "call")}${of.cut ? ", of which 2,000 are shown" : ""}</span></span>`}><${isWorkflow(of.tree) ? JobActions : Actions} of=${of.tree} chosen=${shown.id} /></${Head}>
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
  return html`<div class="stack"><${Card} title=${call.func ?? "Call"}><${Facts} of=${[
      ["Id", html`<${Id} of=${call.id} whole />`],
      ["State", html`<${State} of=${call.state} />`],
      ["Job", call.job && html`<a href=${href("job", { id: call.id })}><${State} of=${call.job.state} /></a>`],
      ["Task", task && html`<span class="row"><${State} of=${task.state} />version ${task.version}${task.resumes ? html`, ${text.count(task.resumes, "resume")}` : ""}</span>`],
      ["Worker", task?.pid && html`<${Id} of=${task.pid} />`],
      ["Attempts", call.attempts > 1 && call.attempts],
      ["Began", when(call.startedAt ?? promise?.createdAt)],
      ["Settled", promise?.settledAt != null && html`${when(promise.settledAt)}${call.kind && `, after ${text.duration(call.tookMs)}`}`],
      ["Deadline", !text.isNever(promise?.timeoutAt) && when(promise.timeoutAt)],
      ["Error", call.error],
      ["Waits for", call.waitsFor?.length > 0 && call.waitsFor.map((id) => html`<div key=${id}><${Id} of=${id} to=${href("workflow", { id })} /></div>`)],
      ["Tags", Object.keys(promise?.tags ?? {}).length > 0 && html`<${Tags} of=${promise.tags} />`],
    ]} />
      ${call.id !== root && html`<div class="row call-actions"><${Actions} of=${{ ...call, promise, task }} /></div>`}</${Card}>
    ${!["step", "retry", "own"].includes(call.kind) && html`<${Card} title="Argument"><${Value} of=${promise?.param} label="Argument" /></${Card}>`}
    ${promise?.state !== "pending" && html`<${Card} title="Value"><${Value} of=${promise?.value} label="Value" /></${Card}>`}
    ${call.id !== root && html`<${WhyCard} of=${view.data?.why} title=${`Why ${call.id}`} />`}<${Awaiters} of=${view.data?.awaitedBy ?? []} more=${view.data?.awaitedByMore} /></div>`;
}

const isWorkflow = ({ job, promise }) => job && (job.steps || promise.tags["resonate:workflow"]);

/** What is done to a workflow of a worker. */
function JobActions({ of: { id, job, children }, chosen }) {
  const open = text.STATES_BEFORE["job.cancel"].includes(job.state);
  const steps = children.filter(({ kind }) => kind && kind !== "message");
  const from = (steps.find((step) => step.id === chosen) ?? steps.at(-1))?.id;
  return html`${open && html`<${Do} label="Send a message" icon="messages" primary action=${{ title: `Send a message to ${id}`, verb: "Send", kind: "job.send", data: { id }, text: "Its oldest open receive of the topic takes it; otherwise it waits for one.",
      fields: [{ name: "topic", label: "Topic", required: true, value: steps.find((step) => step.kind === "receive" && step.state === "pending")?.promise.tags["resonate:topic"] },
        { name: "key", label: "Key", hint: "The same key is one message" }, { name: "valueJson", label: "Message (JSON)", type: "textarea", rows: 4, parse: parseJson }] }} />`}
    ${from && html`<${Do} label="Fork" icon="fork" action=${{ title: `Fork ${id}`, kind: "job.fork", data: { id }, text: "A copy that has the results before a step, and runs on from it. The workflow itself stays as it is.",
      fields: [{ name: `from`, label: "From the step", type: "select", wide: true, options: steps.map((step) => [step.id, `${step.func} (${step.id})`]), value: from }, { name: "newId", label: "Id of the fork", required: true, wide: true, value: `${id}-fork-${Date.now().toString(36)}` }],
      after: (reply) => go("workflow", { id: reply.data.job.id }) }} />`}
    <a class="button" href=${href("job", { id })}>Open the job</a>
    ${open && html`<${Do} label="Cancel" danger action=${{ title: `Cancel ${id}`, verb: "Cancel the workflow", kind: "job.cancel", data: { id }, text: "It never runs again, and the jobs that it started are cancelled too." }} />`}`;
}

const STATES = [["resolved", "resolved: it succeeded"], ["rejected", "rejected: it failed"], ["rejected_canceled", "cancelled"]];

function Actions({ of: { promise, task, job } }) {
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
