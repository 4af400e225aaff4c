// Jobs: newest first, by filters; actions on one row, on the selected rows, or on all that match.
import { html } from "../vendor/htm-preact.js";
import { Do, ask } from "../actions.js";
import { Empty, Head, Id, Read, Select, State, When } from "../elements.js";
import * as text from "../format.js";
import { Filters, StateChips } from "../forms.js";
import { href } from "../router.js";
import { mayOperate, useView } from "../state.js";
import { List, useSelection } from "../tables.js";

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

/** The actions on many jobs: from which states each is possible. */
const BULK = [
  ["job.run", "Run now", "play", ["scheduled", "retry", "archived"], "Each becomes pending now. Retries that were used stay used."],
  ["job.cancel", "Cancel", "close", ["scheduled", "pending", "claimed", "running", "retry", "archived"], "Each is cancelled; awaiters are woken with an error."],
  ["job.archive", "Archive", "jobs", ["scheduled", "pending", "retry"], "Each waits until a person runs it again."],
  ["job.delete", "Delete", "close", ["scheduled", "pending", "retry", "archived", "completed", "failed", "cancelled", "expired"], "The jobs and their promises are gone. This cannot be undone."],
];

export function Jobs({ query }) {
  const asked = Object.fromEntries([...FILTERS, "limit", "cursor"].map((name) => [name, query[name]]));
  const view = useView("jobs", asked);
  const total = useView("overview", {}, { live: false });
  const rows = view.data?.items ?? [];
  const selection = useSelection(rows.map((row) => row.id));
  const filtered = FILTERS.some((name) => query[name]?.length);
  const empty = html`<${Empty} title=${filtered ? "No job matches" : "No job yet"} icon="jobs">${filtered
    ? html`Remove a filter, or search a longer time. <a href=${href("jobs")}>Show all jobs</a>.`
    : html`<a href=${href("enqueue")}>Enqueue a job</a> here, or in a program: <code>store.jobs.enqueue("email:send", {"to": "ann"})</code>.`}</${Empty}>`;
  const columns = [
    { key: "id", label: "Job", cell: "id-cell", card: false, show: (row) => html`<${Id} of=${row.id} to=${href("job", { id: row.id })} />` },
    { key: "state", label: "State", card: false, show: (row) => html`<${State} of=${row.state} />` },
    { key: "type", label: "Type", cell: "text-cell", card: false, show: (row) => html`<span title=${row.type}>${row.type}</span>` },
    { key: "queue", label: "Queue", cell: "text-cell", show: (row) => html`<a href=${href("queue", { name: row.queue })}>${row.queue}</a>` },
    { key: "sent", label: "Sent", show: (row) => html`<${When} at=${row.sentAt} />` },
    { key: "tries", label: "Retries", num: true, show: (row) => (row.retryCount ? `${row.retryCount} of ${row.maxRetries}` : "") },
    { key: "what", label: "Next, or last", cell: "text-cell", card: false, show: (row) => html`<${Note} of=${row} />` },
  ];
  return html`<${Head} title="Jobs" lead="Newest first."><${AllMatching} query=${query} />${mayOperate() && html`<a class="button primary" href=${href("enqueue")}>Enqueue a job</a>`}</${Head}>
    <${StateChips} states=${text.JOB_STATES} query=${query} counts=${filtered && !(FILTERS.filter((name) => query[name]?.length).join() === "state") ? null : total.data?.counts} />
    <${Filters} query=${query} fields=${FIELDS} />
    <div class="card"><${Read} from=${view} what="The list of jobs">${(data) => html`<${List} of=${data} caption="Jobs, newest first" columns=${columns} keyOf=${(row) => row.id} noun="job" empty=${empty} selection=${mayOperate() ? selection : undefined} />`}</${Read}></div>
    ${selection.chosen.size > 0 && mayOperate() && html`<div class="bulk" role="group" aria-label="Actions on the selected jobs"><span class="grow" role="status">${text.count(selection.chosen.size, "job")} selected</span>
      ${BULK.map(([kind, label, icon, , note]) => html`<${Do} key=${kind} label=${label} icon=${icon} danger=${kind === "job.delete" || kind === "job.cancel"} action=${{
        title: `${label}: ${text.count(selection.chosen.size, "selected job")}`, verb: label, text: note, kind: "bulk", data: { kind, ids: [...selection.chosen] }, after: selection.clear, done: (reply) => `${label}: ${text.count((reply.results ?? []).length, "job")}.`,
      }} />`)}<button type="button" class="button quiet" onClick=${selection.clear}>Clear</button></div>`}`;
}

/** One line about a job: its error, or when it moves. */
export function Note({ of }) {
  if (of.state === "running" || of.state === "claimed") return html`<span title=${of.claimedBy}>by ${of.claimedBy}, since <${When} at=${of.startedAt ?? of.claimedAt} /></span>`;
  if (of.error && of.state !== "completed") return html`<span title=${`${of.error.code}: ${of.error.message ?? ""}`}>${of.nextRetryAt ? html`<${When} at=${of.nextRetryAt} />: ` : ""}<b>${of.error.code}</b> <span class="muted">${of.error.message}</span></span>`;
  if (of.gathering) return html`<span class="muted">gathers with group ${of.group}</span>`;
  if (of.state === "scheduled") return html`<span class="muted">runs <${When} at=${of.nextAt ?? of.processAt} /></span>`;
  if (of.endedAt) return html`<span class="muted">ended <${When} at=${of.endedAt} /></span>`;
  return html`<span class="muted">${text.brief(of.payload, 60)}</span>`;
}

/** Actions on all jobs that match the filters, for filters that the protocol has. */
function AllMatching({ query }) {
  const state = query.state?.length === 1 ? query.state[0] : null;
  const others = FILTERS.filter((name) => !["state", "queue", "type", "group", "tag"].includes(name) && query[name]?.length);
  if (!state || others.length || !mayOperate()) return null;
  const data = { state, queue: query.queue, type: query.type, group: query.group, tags: query.tag ? Object.fromEntries(query.tag.map((one) => one.split(/=(.*)/s).slice(0, 2))) : undefined };
  const said = Object.entries({ ...data, tags: query.tag?.join(", ") }).filter(([, value]) => value).map(([name, value]) => `${name} ${value}`).join(", ");
  const possible = BULK.filter(([kind, , , states]) => states.includes(state) && kind !== "job.cancel");
  if (!possible.length) return null;
  return html`<label class="row"><span class="sr">Action on all that match</span><${Select} value="" options=${[["", "All that match…"], ...possible]} choose=${(chosen, element) => {
    const [kind, label, , , note] = BULK.find(([one]) => one === chosen) ?? [];
    element.value = "";
    if (kind) ask({ title: `${label}: all that match`, verb: label, danger: kind === "job.delete", text: `All jobs with ${said}. ${note} At most 1,000 in one request; repeat it for more.`, kind, data,
      done: (reply) => `${label}: ${text.count(reply.data?.count ?? 0, "job")}${reply.data?.more ? ", others are left" : ""}.` });
  }} /></label>`;
}

