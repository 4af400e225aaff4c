// How the store is.
import { html, useState } from "../vendor/htm-preact.js";
import { Chart } from "../charts.js";
import { Bar, Button, Card, Empty, Head, Id, linked, Read, steps, when } from "../elements.js";
import * as text from "../format.js";
import { href } from "../router.js";
import { useView } from "../state.js";
import { Table } from "../tables.js";

const RANGES = [["minute", "Hour"], ["hour", "Days"], ["day", "Weeks"]];

export function Overview() {
  const view = useView("overview", { hours: 48 });
  return html`<${Head} title="Overview" lead="Is work getting done, and what needs a person?" />
    <${Read} from=${view} what="The overview">${(data) => html`<div class="stack"><${Health} of=${data} /><${Figures} of=${data} /><${Charts} of=${data.series} />
      <div class="columns wide-first"><${Deepest} of=${data} /><${Due} of=${data} /></div></div>`}</${Read}>`;
}

function Health({ of }) {
  const problems = of.health?.problems ?? [];
  if (of.health?.ready && !problems.length) return null;
  return html`<div class="note bad" role="alert"><p><strong>${of.health?.ready ? "The server works around a problem." : "The server is not ready."}</strong>
    ${problems.map((one) => ` ${one.name}: ${one.detail ?? ""}${one.count > 1 ? ` (${one.count} times)` : ""}`).join(";")}</p></div>`;
}

function Figure({ label, value, note, to, state }) {
  const inside = html`<span class="figure-label">${state && html`<i class=${`dot s-${state}`}></i>`}${label}</span><span class="figure">${value}</span><span class="figure-note">${note ?? ""}</span>`;
  return to ? html`<a href=${to}>${inside}</a>` : html`<div>${inside}</div>`;
}

function Figures({ of }) {
  const counts = of.counts ?? {};
  const oldest = Math.min(...(of.queues ?? []).map((queue) => queue.oldestPendingAt ?? Infinity));
  const { waitMs: wait, runMs: run } = of.latency ?? {};
  const { waitMs, runMs, started, ended, hours } = of.means ?? {};
  const noted = (many, what, bounds) => `${text.count(many ?? 0, what)} in ${hours} h${bounds ? `; 95 %: at most ${text.duration(bounds.p95)}` : ""}`;
  return html`<section class="figures" aria-label="Figures">
    <${Figure} label="Pending" state="pending" value=${text.number(counts.pending)} note=${html`${Number.isFinite(oldest) ? html`oldest ${when(oldest)}` : "none"}${counts.waiting ? `; ${text.number(counts.waiting)} more wait for others` : ""}`} to=${href("jobs", { state: ["pending"] })} />
    <${Figure} label="Running" state="running" value=${text.number((counts.running ?? 0) + (counts.claimed ?? 0))} note=${counts.claimed ? `${text.number(counts.claimed)} claimed, not started` : ""} to=${href("jobs", { state: ["running", "claimed"] })} />
    <${Figure} label="To be retried" state="retry" value=${text.number(counts.retry)} to=${href("jobs", { state: ["retry"] })} />
    <${Figure} label="Archived" state="archived" value=${text.number(counts.archived)} note=${counts.archived ? "a person should look" : ""} to=${href("jobs", { state: ["archived"] })} />
    <${Figure} label="Wait, mean" value=${text.duration(waitMs)} note=${noted(started, "start", wait)} />
    <${Figure} label="Run time, mean" value=${text.duration(runMs)} note=${noted(ended, "attempt", run)} />
    <${Figure} label="Messages waiting" value=${text.number(of.messages?.waiting)} note=${of.messages?.dropped ? `${text.number(of.messages.dropped)} dropped` : ""} to=${href("messages")} />
    <${Figure} label="Next step" value=${of.nextDue == null ? "—" : text.relative(of.nextDue)} note=${of.nextDue == null ? "nothing is due" : of.due?.[0]?.text} /></section>`;
}

const known = (values) => Array.isArray(values) && values.filter((value) => value != null).length > 1;

function Charts({ of }) {
  const [chosen, choose] = useState("minute");
  const usable = RANGES.filter(([name]) => of?.[name]?.points?.at?.length > 1);
  const name = usable.some(([one]) => one === chosen) ? chosen : usable[0]?.[0];
  if (!name) return html`<${Card} title="Over time"><${Empty} title="No series yet" icon="overview">The store counts from the first job on. Run a job, and look again in a minute.</${Empty}></${Card}>`;
  const { at, ...points } = of[name].points;
  const line = (key, label, state, fill) => ({ name: key, label, state, fill, values: points[key] });
  const charts = [
    ["Throughput", "number", [line("completed", "completed", "completed", true), line("started", "started", "running"), line("enqueued", "enqueued", "pending")]],
    ["Failures", "number", [line("failed", "failed", "failed", true), line("retried", "retried", "retry")]],
    ["Latency", "ms", [line("waitMs", "wait", "scheduled"), line("runMs", "run time", "running")]],
    ["Queue depth", "number", [line("depth", "pending", "pending", true)]],
  ].map(([title, unit, lines]) => [title, unit, lines.filter((one) => known(one.values))]).filter(([, , lines]) => lines.length);
  const switches = html`<div class="row" role="group" aria-label="Time range">${usable.map(([key, label]) => html`<${Button} key=${key} look="small" aria-pressed=${String(key === name)} onClick=${() => choose(key)}>${label}</${Button}>`)}</div>`;
  return html`<${Card} title="Over time" actions=${switches}><div class="columns">${charts.map(([title, unit, lines]) => html`<${Chart} key=${title + name} title=${title} unit=${unit} at=${at} lines=${lines} bars=${name === "day" && unit === "number"} />`)}</div></${Card}>`;
}

function Deepest({ of }) {
  const rows = of.queues ?? [];
  const more = html`<a href=${href("queues")}>${text.count(of.queueCount ?? rows.length, "queue")}</a>`;
  if (!rows.length) return html`<${Card} title="Deepest queues"><${Empty} title="No queue yet" icon="queues">The first job of a queue makes it. Press <kbd>c</kbd> to enqueue one.</${Empty}></${Card}>`;
  return html`<${Card} title="Deepest queues" actions=${more} flush><${Table} caption="Deepest queues" keyOf=${(row) => row.name} rows=${rows.slice(0, 8)} columns=${[
    { label: "Queue", cell: "id-cell", show: (row) => html`<${Id} of=${row.name} to=${href("queue", { name: row.name })} copy=${false} />${row.paused && html` <span class="pill warn">paused</span>`}` },
    { label: "Pending", num: true, show: (row) => text.number(row.pending) },
    { label: "Active", num: true, show: (row) => `${text.number(row.active)}${row.concurrency ? ` of ${row.concurrency}` : ""}` },
    { label: "Oldest", show: (row) => when(row.oldestPendingAt) },
    { label: "By state", card: false, show: (row) => html`<${Bar} counts=${row.counts} label=${row.name} />` },
  ]} /></${Card}>`;
}

function Due({ of }) {
  const rows = of.due ?? [];
  return html`<${Card} title="Due next">${rows.length ? steps(rows, (step) => when(step.at), (step) => linked(step.text, step.id, step.kind === "schedule" ? "schedule" : undefined)) : html`<${Empty} title="Nothing is due" icon="schedules">No timer, retry, lease or schedule waits for an instant.</${Empty}>`}</${Card}>`;
}
