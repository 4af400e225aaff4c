// Jobs: newest first, by filters; actions on the selected ones, or on all that match.
import { html } from "../vendor/htm-preact.js";
import { Do, ask } from "../actions.js";
import { Button, Id, Select, State, when } from "../elements.js";
import * as text from "../format.js";
import { StateChips } from "../forms.js";
import { href } from "../router.js";
import { mayOperate, useView } from "../state.js";
import { ListView } from "../tables.js";

const FIELDS = [
  { name: "queue", label: "Queue" },
  { name: "type", label: "Type" },
  { name: "id", label: "Id", placeholder: "order-*", wide: true },
  { name: "tag", label: "Tag", placeholder: "tenant=acme", many: true },
  { name: "arg", label: "Argument", placeholder: "to=ann or a text", many: true },
  { name: "error", label: "Error", placeholder: "a text" },
  { name: "since", label: "Sent since", type: "when" },
  { name: "until", label: "Sent until", type: "when" },
];
const FILTERS = ["state", "queue", "type", "id", "group", "batch", "uniqueKey", "tag", "arg", "error", "since", "until"];

/** The actions on many jobs. */
const BULK = [
  ["job.run", "Run now", "play", "Each becomes pending now. Retries that were used stay used."],
  ["job.cancel", "Cancel", "close", "Each is cancelled; awaiters are woken with an error."],
  ["job.archive", "Archive", "jobs", "Each waits until a person runs it again."],
  ["job.delete", "Delete", "close", "The jobs and their promises are gone. This cannot be undone."],
];

const COLUMNS = [
  { label: "Job", cell: "id-cell", show: (row) => html`<${Id} of=${row.id} to=${href("job", { id: row.id })} />` },
  { label: "State", card: false, show: (row) => html`<${State} of=${row.state} />` },
  { label: "Type", cell: "text-cell", card: false, show: (row) => html`<span title=${row.type}>${row.type}</span>` },
  { label: "Queue", cell: "text-cell", show: (row) => html`<a href=${href("queue", { name: row.queue })}>${row.queue}</a>` },
  { label: "Sent", show: (row) => when(row.sentAt) },
  { label: "Retries", num: true, show: (row) => (row.retryCount ? `${row.retryCount} of ${row.maxRetries}` : "") },
  { label: "Next, or last", cell: "fill", card: false, show: (row) => html`<${Note} of=${row} />` },
];

export function Jobs({ query }) {
  const total = useView("overview", {}, { live: false });
  const alone = FILTERS.every((name) => name === "state" || !query[name]?.length);
  return html`<${ListView} view="jobs" params=${FILTERS} query=${query} title="Jobs" lead="Newest first." fields=${FIELDS} columns=${COLUMNS} keyOf=${(row) => row.id} noun="job" caption="Jobs, newest first"
    actions=${html`<${AllMatching} query=${query} />${mayOperate() && html`<a class="button primary" href=${href("enqueue")}>Enqueue a job</a>`}`}
    above=${html`<${StateChips} states=${text.JOB_STATES} query=${query} counts=${alone ? total.data?.counts : null} />`}
    selection=${(selection) => (mayOperate() ? selection : undefined)} below=${(selection) => html`<${Bulk} of=${selection} />`}
    empty=${["No job yet", "jobs", html`<a href=${href("enqueue")}>Enqueue a job</a> here, or in a program: <code>store.jobs.enqueue("email:send", {"to": "ann"})</code>.`]} />`;
}

function Bulk({ of }) {
  if (!of.chosen.size) return null;
  const many = text.count(of.chosen.size, "selected job");
  return html`<div class="bulk" role="group" aria-label="Actions on the selected jobs"><span class="grow" role="status">${text.count(of.chosen.size, "job")} selected</span>
    ${BULK.map(([kind, label, icon, note]) => html`<${Do} key=${kind} label=${label} icon=${icon} danger=${kind === "job.delete" || kind === "job.cancel"} action=${{
      title: `${label}: ${many}`, text: note, kind: "bulk", data: { kind, ids: [...of.chosen] }, after: of.clear, done: (reply) => `${label}: ${text.count((reply.results ?? []).length, "job")}.`,
    }} />`)}<${Button} look="quiet" onClick=${of.clear}>Clear</${Button}></div>`;
}

/** One line about a job: its error, or when it moves. */
function Note({ of }) {
  if (of.state === "running" || of.state === "claimed") return html`<span title=${of.claimedBy}>${of.report?.progress != null && html`<b>${Math.round(of.report.progress * 100)} %</b> `}by ${of.claimedBy}, since ${when(of.startedAt ?? of.claimedAt)}</span>`;
  if (of.error && of.state !== "completed") return html`<span title=${`${of.error.code}: ${of.error.message ?? ""}`}>${of.nextRetryAt ? html`${when(of.nextRetryAt)}: ` : ""}<b>${of.error.code}</b> <span class="muted">${of.error.message}</span></span>`;
  if (of.gathering) return html`<span class="muted">gathers with group ${of.group}</span>`;
  if (of.awaits) return html`<span class="muted">waits for ${text.count(of.awaits.count, "other")}</span>`;
  if (of.state === "scheduled") return html`<span class="muted">runs ${when(of.nextAt ?? of.processAt)}</span>`;
  if (of.endedAt) return html`<span class="muted">ended ${when(of.endedAt)}</span>`;
  return html`<span class="muted">${text.brief(of.payload, 60)}</span>`;
}

/** Actions on all jobs that match the filters, for filters that the protocol has. */
function AllMatching({ query }) {
  const state = query.state?.length === 1 ? query.state[0] : null;
  const others = FILTERS.filter((name) => !["state", "queue", "type", "group", "tag"].includes(name) && query[name]?.length);
  if (!state || others.length || !mayOperate()) return null;
  const data = { state, queue: query.queue, type: query.type, group: query.group, tags: query.tag ? Object.fromEntries(query.tag.map((one) => one.split(/=(.*)/s).slice(0, 2))) : undefined };
  const said = Object.entries({ ...data, tags: query.tag?.join(", ") }).filter(([, value]) => value).map(([name, value]) => `${name} ${value}`).join(", ");
  const possible = BULK.filter(([kind]) => text.STATES_BEFORE[kind].includes(state) && kind !== "job.cancel");
  if (!possible.length) return null;
  return html`<label class="row"><span class="sr">Action on all that match</span><${Select} value="" options=${[["", "All that match…"], ...possible]} choose=${(chosen, element) => {
    const [kind, label, , note] = BULK.find(([one]) => one === chosen) ?? [];
    element.value = "";
    if (kind) ask({ title: `${label}: all that match`, verb: label, danger: kind === "job.delete", text: `All jobs with ${said}. ${note} At most 1,000 in one request; repeat it for more.`, kind, data,
      done: (reply) => `${label}: ${text.count(reply.data?.count ?? 0, "job")}${reply.data?.more ? ", others are left" : ""}.` });
  }} /></label>`;
}

