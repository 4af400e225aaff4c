// One job.
import { html } from "../vendor/htm-preact.js";
import { Do, parseJson, parseNumber } from "../actions.js";
import { Card, Copy, Empty, Facts, Head, Id, linkTo, Read, State, steps, Tags, Value, when } from "../elements.js";
import * as text from "../format.js";
import { Machine } from "../machine.js";
import { go, href } from "../router.js";
import { useView } from "../state.js";
import { Table } from "../tables.js";
import { MessageTable } from "./messages.js";
import { WhyCard } from "./why.js";

export function Job({ query }) {
  const view = useView("job", { id: query.id, full: query.full });
  return html`<${Read} from=${view} what=${`Job ${query.id}`} title=${query.id}>${(data) => html`<${Whole} of=${data} />`}</${Read}>`;
}

function Whole({ of }) {
  const { job } = of;
  return html`<${Head} title=${html`<${Id} of=${job.id} whole />`} crumbs=${html`<a href=${href("jobs")}>Jobs</a> / <a href=${href("queue", { name: job.queue })}>${job.queue}</a>`}
      lead=${html`<span class="row"><${State} of=${job.state} /><span>${job.type}</span><span>sent ${when(job.sentAt)}</span></span>`}><${Actions} of=${job} branch=${branch(of)} /></${Head}>
    <div class="stack"><${WhyCard} of=${of.why} />
      ${job.report && html`<${Report} of=${job.report} running=${job.state === "running"} />`}
      <div class="columns wide-first"><div class="stack">${(of.waitsFor || branch(of)) && html`<${Graph} id=${job.id} />`}<${Attempts} of=${job} /><${Card} title="States"><${Machine} job=${job} /></${Card}>
        <${Card} title="Payload" actions=${job.payload?.kind === "json" && html`<${Copy} always of=${text.json(job.payload.json)} label="Copy payload" />`}><${Value} of=${job.payload} label="Payload" />${job.payload?.truncated && html`<a href=${href("job", { id: job.id, full: 1 })}>Show all</a>`}</${Card}>
        ${job.result && job.result.kind !== "none" && html`<${Card} title="Result"><${Value} of=${job.result} label="Result" /></${Card}>`}</div>
      <div class="stack"><${About} of=${of} /><${WaitsFor} of=${of.waitsFor} /><${Awaiters} of=${of.awaitedBy ?? []} more=${of.awaitedByMore} />${of.messages?.length > 0 && html`<${Card} title="Messages" flush><${MessageTable} rows=${of.messages} /></${Card}>`}</div></div></div>`;
}

const branch = (of) => of.awaitedBy?.some((one) => one.kind === "job");

function Actions({ of: job, branch }) {
  const one = { id: job.id };
  const may = (kind) => text.STATES_BEFORE[kind].includes(job.state);
  return html`${may("job.run") && html`<${Do} label=${job.state === "waiting" ? "Run anyway" : "Run now"} icon="play" primary action=${{ kind: "job.run", data: one, text: `It becomes pending now, ${job.state === "waiting" ? "without what it waits for, " : ""}and the next free worker claims it.` }} />`}
    ${job.steps && html`<a class="button" href=${href("workflow", { id: job.id })}>Open the workflow</a>`}
    <${Do} label="Edit and run again" icon="fork" action=${rerun(job)} />
    ${may("job.cancel") && html`<${Do} label=${branch ? "Cancel the branch" : "Cancel"} danger action=${{ title: `Cancel ${job.id}`, verb: branch ? "Cancel the branch" : "Cancel the job", kind: "job.cancel", data: one, text: `It never runs again, and its awaiters are woken with an error${branch ? ". Jobs that wait for it are cancelled too, unless they run in any case" : ""}. A worker that runs it is told by its next heartbeat.` }} />`}
    ${may("job.archive") && html`<${Do} label="Archive" action=${{ kind: "job.archive", data: one, text: "It waits until a person runs it. Its awaiters go on waiting." }} />`}
    ${may("job.delete") && html`<${Do} label="Delete" danger action=${{ title: `Delete ${job.id}`, kind: "job.delete", data: one, text: "The job and its promise are gone as soon as nothing refers to them. This cannot be undone.", after: () => go("jobs") }} />`}`;
}

function rerun(job) {
  const known = job.payload?.kind === "json" || job.payload?.kind === "none";
  return {
    title: "Edit and run again",
    verb: "Enqueue the new job",
    text: `A new job like ${job.id}, with its own id. ${known ? "" : "Its payload cannot be shown here: leave the field empty to use it as it is."}`,
    fields: [
      { name: "payload", label: "Payload (JSON)", type: "textarea", rows: 8, value: job.payload?.kind === "json" && !job.payload.truncated ? text.json(job.payload.json) : "", parse: parseJson },
      { name: "queue", label: "Queue", value: job.queue, required: true },
      { name: "priority", label: "Priority", type: "number", min: 1, max: 100, value: job.priority, parse: parseNumber("Priority", 1) },
      { name: "maxRetries", label: "Retries", type: "number", min: 0, value: job.maxRetries, parse: parseNumber("Retries", 0) },
    ],
    compose: (values) => ({ kind: "job.rerun", data: { id: job.id, ...values } }),
    done: (reply) => `Enqueued ${reply.data?.job?.id ?? "a new job"}.`,
    after: (reply) => reply.data?.job?.id && go("job", { id: reply.data.job.id }),
  };
}

function Attempts({ of: job }) {
  const rows = [...(job.attempts ?? [])].reverse();
  if (!rows.length) return html`<${Card} title="Attempts"><${Empty} title="No attempt yet" icon="workers">An attempt begins when a worker starts the job.</${Empty}></${Card}>`;
  return html`<${Card} title="Attempts" flush><${Table} caption="Attempts, newest first" rows=${rows} keyOf=${(row) => row.number} columns=${[
    { label: "No.", num: true, show: (row) => row.number },
    { label: "Outcome", card: false, show: (row) => html`<${State} of=${row.outcome ?? "running"} />` },
    { label: "Worker", cell: "id-cell", show: (row) => html`<${Id} of=${row.worker} />` },
    { label: "Started", show: (row) => when(row.startedAt) },
    { label: "Took", num: true, show: (row) => (row.finishedAt == null ? "" : text.duration(row.finishedAt - row.startedAt)) },
    { label: "Error", cell: "fill", card: false, show: (row) => row.error && html`<span title=${row.error.message}><b>${row.error.code}</b> <span class="muted">${row.error.message}</span></span>` },
  ]} /><div class="body stack">${rows.filter((row) => row.error?.data || row.error?.message?.length > 60).slice(0, 5).map((row, index) => html`<details key=${row.number} open=${index === 0}><summary>Attempt ${row.number}: ${row.error.code}</summary><${Trace} of=${row.error} label=${`Error of attempt ${row.number}`} /></details>`)}</div></${Card}>`;
}

/** A message, and a traceback with folded frames of libraries. */
function Trace({ of: { message, data, trace }, label }) {
  return html`${message && html`<p class="mono">${message}</p>`}${data && html`<div class="value trace" tabindex="0" role="group" aria-label=${label}>${(trace ?? [{ text: text.json(data) }]).map((part, place) => {
    const lines = html`<pre>${part.text}</pre>`;
    return part.frames ? html`<details key=${place}><summary>${text.count(part.frames, "frame")} of libraries</summary>${lines}</details>` : lines;
  })}</div>`}`;
}

function Report({ of: { at, progress, lines }, running }) {
  return html`<${Card} title="Report" class="report">
    <p class="row">${progress != null && html`<progress max="1" value=${progress} aria-label="Progress"></progress><b>${Math.round(progress * 100)} %</b>`}${lines.at(-1)?.at !== at && html`<span class="muted">${running ? "reported" : "last reported"} ${when(at)}</span>`}</p>
    ${lines.length > 0 && html`<${Table} caption="Log, newest first" rows=${lines.map((line, place) => ({ ...line, place })).reverse()} keyOf=${(line) => line.place} columns=${[
    { label: "At", show: (line) => when(line.at) },
    { label: "Attempt", num: true, show: (line) => line.attempt },
    { label: "Line", cell: "fill", card: false, show: (line) => html`<span class="mono">${line.text}</span>` },
  ]} />`}</${Card}>`;
}

function About({ of }) {
  const { job, promise, group, related } = of;
  const facts = [
    ["Queue", html`<a href=${href("queue", { name: job.queue })}>${job.queue}</a>`],
    ["Type", html`<a href=${href("jobs", { type: job.type })}>${job.type}</a>`],
    ["Priority", job.priority],
    ["Retries", `${job.retryCount} of ${job.maxRetries}`],
    ["Retry policy", job.retries],
    ["No retry left", job.onExhausted],
    ["Worker", job.claimedBy && html`<${Id} of=${job.claimedBy} />`],
    ["Lease until", job.leaseUntil != null && when(job.leaseUntil)],
    ["Runs", job.processAt != null && when(job.processAt)],
    ["Next retry", job.nextRetryAt != null && when(job.nextRetryAt)],
    ["Enqueued", job.enqueuedAt != null && when(job.enqueuedAt)],
    ["Started", job.startedAt != null && when(job.startedAt)],
    ["Ended", of.job.endedAt != null && when(of.job.endedAt)],
    ["Good until", job.goodUntil != null && when(job.goodUntil)],
    ["Deadline", !text.isNever(promise?.timeoutAt) && when(promise.timeoutAt)],
    ["Timeout", job.timeout != null && text.duration(job.timeout)],
    ["Retention", job.retention != null && text.duration(job.retention)],
    ["Unique key", job.uniqueKey && html`<${Id} of=${job.uniqueKey} to=${href("jobs", { uniqueKey: job.uniqueKey })} />`],
    ["Group", group && html`${group.group}${group.size ? `, ${text.count(group.size, "job")}` : ""}${group.gathering ? ", gathers" : ""} ${group.batch && html`<a href=${href("jobs", { batch: group.batch })}>the batch</a>`}`],
    ["Workflow", related?.root && related.root !== job.id && html`<${Id} of=${related.root} to=${href("workflow", { id: related.root })} />`],
    ["Steps", job.steps && html`<a href=${href("workflow", { id: job.id })}>${text.number(job.steps)}</a>`],
    ["Started over", job.restarts && `${text.count(job.restarts, "time")}`],
    ["Schedule", related?.schedule && html`<${Id} of=${related.schedule} to=${href("schedules", { id: related.schedule })} />`],
    ["Like", related?.retriedFrom && html`<${Id} of=${related.retriedFrom} to=${href("job", { id: related.retriedFrom })} />`],
    ["Tags", Object.keys(promise?.tags ?? job.tags ?? {}).length > 0 && html`<${Tags} of=${promise?.tags ?? job.tags} />`],
    ["Version", job.version],
  ];
  return html`<${Card} title="Facts"><${Facts} of=${facts} /></${Card}>`;
}

const others = (of) => steps(of, (one) => one.kind, (one) => html`${one.id ? html`<${Id} of=${one.id} to=${linkTo(one.id, one.kind === "job" ? "job" : "workflow")} />` : html`<code>${one.address}</code>`} ${one.state && html`<${State} of=${one.state} />`}`);

export const Awaiters = ({ of, more }) => (of.length > 0 || more === null) && html`<${Card} title="Waited for by">${others(of)}${more !== 0 && more !== undefined && html`<p class="small muted">${more === null ? "There may be more." : `And ${text.number(more)} more.`}</p>`}</${Card}>`;

function WaitsFor({ of }) {
  if (!of) return null;
  return html`<${Card} title=${of.lacks ? `Waits for ${of.lacks} of ${of.count}` : `Waited for ${of.count}`}>${others(of.items)}
    ${of.afterFailed && html`<p class="small muted">If one of them fails, it ${of.afterFailed === "run" ? "runs in any case" : "is cancelled"}.</p>`}</${Card}>`;
}

/** The jobs around one; an edge that still holds one up is strong. */
function Graph({ id }) {
  const { data } = useView("jobs/graph", { id, most: 60 });
  if (!data?.edges.length) return null;
  const { width, height, box, boxes, paths } = data.picture;
  const of = new Map(data.nodes.map((node) => [node.id, node]));
  return html`<${Card} title="Who waits for whom"><figure class="machine scroll" tabindex="0"><svg viewBox=${`0 0 ${width} ${height}`} style=${{ minWidth: `${width}px`, maxWidth: `${width}px` }}>
    ${paths.map((path, place) => html`<path key=${place} class=${data.edges[place].open ? "edge taken" : "edge"} d=${path} />`)}
    ${boxes.map(({ id: one, label, x, y }) => html`<a key=${one} href=${linkTo(one, of.get(one).kind)}><title>${one}</title><g class=${`s-${of.get(one).state} ${one === id ? "here" : "been"}`}><rect class="box" x=${x} y=${y} width=${box[0]} height=${box[1]} rx="7" />
      <text x=${x + 10} y=${y + 18}>${label}</text><text class="by" x=${x + 10} y=${y + 33}>${text.stateWord(of.get(one).state)}${of.get(one).type ? `, ${of.get(one).type}`.slice(0, 20) : ""}</text></g></a>`)}</svg></figure>
    ${!data.complete && html`<p class="muted">There are more.</p>`}</${Card}>`;
}
