// Queues: what they hold and their limits; pause, resume, change.
import { html } from "../vendor/htm-preact.js";
import { Do, parseNumber } from "../actions.js";
import { Chart, Spark } from "../charts.js";
import { Bar, Card, Empty, Facts, Head, Id, Read, State, when } from "../elements.js";
import * as text from "../format.js";
import { href } from "../router.js";
import { useView } from "../state.js";
import { ListView, Table } from "../tables.js";
import { Why } from "./why.js";

const DAY = 86_400_000;
const pause = (name, paused) => paused
  ? { kind: "queue.resume", data: { queue: name }, title: `Resume ${name}`, verb: "Resume", text: "Workers may claim its jobs again." }
  : { kind: "queue.pause", data: { queue: name }, title: `Pause ${name}`, verb: "Pause", text: "No job of it is claimed until it is resumed. Claimed and running jobs go on." };

const rateOf = (rate) => (rate ? `${text.number(rate.limit)} in ${text.duration(rate.per)}${rate.burst ? `, at once ${rate.burst}` : ""}` : "no limit");

function limits(queue) {
  const whole = (label, low) => parseNumber(label, low);
  const orNull = (parse) => (typed) => (String(typed ?? "").trim() === "" ? null : parse(typed));
  return {
    title: `Limits of ${queue.name}`,
    verb: "Save",
    fields: [
      { name: "weight", label: "Weight", type: "number", min: 1, max: 1000, value: queue.weight ?? 1, parse: whole("Weight", 1), hint: "Its share of a claim that names several queues" },
      { name: "concurrency", label: "Concurrency", type: "number", min: 1, value: queue.concurrency ?? "", parse: orNull(whole("Concurrency", 1)), hint: "Claimed and running jobs at most; empty: no limit" },
      { name: "limit", label: "Rate: jobs", type: "number", min: 1, value: queue.rate?.limit ?? "", parse: orNull(whole("Rate", 1)), hint: "Empty: no rate" },
      { name: "per", label: "Rate: in ms", type: "number", min: 1, value: queue.rate?.per ?? 1_000, parse: orNull(whole("The rate's time", 1)) },
    ],
    compose: ({ weight, concurrency, limit, per }) => ({ kind: "queue.set", data: { queue: queue.name, weight, concurrency: concurrency ?? null, rate: limit ? { limit, per: per ?? 1_000 } : null } }),
  };
}

const COLUMNS = [
  { label: "Queue", cell: "id-cell", show: (row) => html`<span class="row"><${Id} of=${row.name} to=${href("queue", { name: row.name })} copy=${false} />${row.paused && html`<span class="pill warn">paused</span>`}</span>` },
  { label: "Waiting", num: true, show: (row) => text.number(row.counts?.waiting) },
  { label: "Pending", num: true, show: (row) => html`<a href=${href("jobs", { queue: row.name, state: ["pending"] })}>${text.number(row.counts?.pending)}</a>` },
  { label: "Active", num: true, show: (row) => html`${text.number(row.active)}${row.concurrency ? html` <span class="muted">of ${row.concurrency}</span>` : ""}${row.limits?.concurrency ? html` <span class="pill warn">full</span>` : ""}` },
  { label: "Retry", num: true, show: (row) => text.number(row.counts?.retry) },
  { label: "Archived", num: true, show: (row) => html`<a href=${href("jobs", { queue: row.name, state: ["archived"] })}>${text.number(row.counts?.archived)}</a>` },
  { label: "Oldest", show: (row) => when(row.oldestPendingAt) },
  { label: "Days", card: false, show: (row) => html`<${Spark} label="Processed by day" values=${(row.days ?? []).slice(-14).map((day) => day.processed)} />` },
  { label: "By state", card: false, show: (row) => html`<${Bar} counts=${row.counts} label=${row.name} />` },
  { label: "Actions", hidden: true, card: false, show: (row) => html`<${Do} small label=${row.paused ? "Resume" : "Pause"} icon=${row.paused ? "play" : "pause"} action=${pause(row.name, row.paused)} />` },
];

export const Queues = ({ query }) => html`<${ListView} view="queues" params=${["name"]} query=${query} title="Queues" fields=${[{ name: "name", label: "Name", placeholder: "mail*", wide: true }]} columns=${COLUMNS} keyOf=${(row) => row.name} noun="queue" caption="Queues"
  lead="Where jobs wait. A paused queue keeps its jobs; a full one waits for a running job to end."
  empty=${["No queue yet", "queues", html`The first job of a queue makes the queue. <a href=${href("enqueue")}>Enqueue a job</a>, or call <code>store.queues.set</code>.`]} />`;

export function Queue({ query }) {
  const view = useView("queue", { name: query.name });
  return html`<${Read} from=${view} what=${`Queue ${query.name}`} title=${query.name}>${(queue) => html`
    <${Head} title=${html`<${Id} of=${queue.name} whole />`} crumbs=${html`<a href=${href("queues")}>Queues</a>`} lead=${queue.paused ? "Paused: no job of it is claimed." : undefined}>
      <a class="button" href=${href("jobs", { queue: queue.name })}>Jobs</a><${Do} label="Limits" action=${limits(queue)} />
      <${Do} label=${queue.paused ? "Resume" : "Pause"} icon=${queue.paused ? "play" : "pause"} primary=${queue.paused} action=${pause(queue.name, queue.paused)} /></${Head}>
    <div class="stack"><${ByState} of=${queue} /><${Why} id=${queue.name} kind="queue" />
      <div class="columns"><${Card} title="Limits"><${Facts} of=${[
        ["Active", html`${text.number(queue.active)}${queue.concurrency ? ` of ${queue.concurrency}` : ", no limit"} ${queue.limits?.concurrency && html`<span class="pill warn">at its limit</span>`}`],
        ["Rate", html`${rateOf(queue.rate)} ${queue.limits?.rate && html`<span class="pill warn">next claim ${when(queue.limits.rate)}</span>`}`],
        ["Weight", queue.weight ?? 1], ["Lifecycle", queue.lifecycle ?? "none"], ["Oldest pending", when(queue.oldestPendingAt)],
        ["Groups", queue.groups && `${text.number(queue.groups.size)} jobs, grace ${text.duration(queue.groups.grace)}`],
        ...(queue.defaultsInWords ?? []),
      ]} /></${Card}>
        <${Card} title="Days"><${Days} of=${queue.days ?? []} /></${Card}></div>
      ${queue.types?.length > 0 && html`<${Card} title="Unfinished jobs by type" flush><${Table} caption="Jobs by type" rows=${queue.types} keyOf=${(row) => row.type} columns=${[{ label: "Type", cell: "id-cell", show: (row) => html`<${Id} of=${row.type} to=${href("jobs", { queue: queue.name, type: row.type })} copy=${false} />` }, { label: "By state", card: false, show: (row) => html`<${Bar} counts=${row.counts} label=${row.type} />` }]} /></${Card}>`}</div>`}</${Read}>`;
}

function ByState({ of }) {
  return html`<section class="figures many" aria-label="Jobs by state">${text.JOB_STATES.map((state) => html`
    <a key=${state} href=${href("jobs", { queue: of.name, state: [state] })}><span class="figure-label"><${State} of=${state} /></span><span class="figure">${text.number(of.counts?.[state] ?? 0)}</span></a>`)}</section>`;
}

function Days({ of }) {
  if (!of.length) return html`<${Empty} title="No attempt has ended yet" icon="jobs">A day is counted when its first attempt ends.</${Empty}>`;
  const known = new Map(of.map((day) => [Date.parse(day.day), day]));
  const last = Math.max(...known.keys());
  const at = []; // every day: at least a week
  for (let day = Math.min(last - 6 * DAY, ...known.keys()); day <= last; day += DAY) at.push(day);
  const line = (name, label, state) => ({ name, label, state, values: at.map((day) => known.get(day)?.[name] ?? 0) });
  const lines = [line("processed", "attempts", "running"), line("failed", "not completed", "failed")];
  return html`<${Chart} title="Attempts" at=${at} lines=${lines} bars=${true} />`;
}
