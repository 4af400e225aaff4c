// Schedules: next and last runs with their outcomes.
import { html } from "../vendor/htm-preact.js";
import { Do } from "../actions.js";
import { Id, linkTo, Sign, when } from "../elements.js";
import * as text from "../format.js";
import { ListView } from "../tables.js";

const COLUMNS = [
  { label: "Schedule", cell: "id-cell", show: (row) => html`<${Id} of=${row.schedule.id} to=${linkTo(row.schedule.id)} />${row.schedule.paused && html` <span class="pill warn">paused</span>`}${row.problem && html`<div class="danger-text small">${row.problem}</div>`}` },
  { label: "Cron", show: (row) => html`<code class="nowrap">${row.schedule.cron}</code>` },
  { label: "Makes", cell: "text-cell", show: (row) => row.type ?? row.func ?? html`<span class="muted">a promise</span>` },
  { label: "Next", show: (row) => html`<span title=${(row.next ?? []).map((at) => text.absolute(at)).join("\n")}>${when(row.next?.[0] ?? row.schedule.nextRunAt)}</span>` },
  { label: "Last", show: (row) => when(row.last?.[0]?.at ?? row.schedule.lastRunAt) },
  { label: "Outcomes", card: false, show: (row) => html`<ul class="outcomes" aria-label="Last runs, newest first">${(row.last ?? []).map((run) => html`<li key=${run.id}><a href=${linkTo(run.id, row.schedule.job ? "job" : "workflow")} title=${`${run.id}: ${text.stateWord(run.state ?? run.outcome)}${run.tookMs != null ? `, ${text.duration(run.tookMs)}` : ""}`} aria-label=${`${text.stateWord(run.state ?? run.outcome)}, ${text.relative(run.at)}`}><${Sign} of=${run.state ?? run.outcome} /></a></li>`)}</ul>` },
  { label: "Actions", hidden: true, card: false, show: (row) => {
    const { id, paused } = row.schedule;
    return html`<span class="row actions"><${Do} small label="Run now" icon="play" action=${{ title: `Run ${id} now`, kind: "schedule.run", data: { id }, text: "One occurrence is made now, beside those of its cron expression." }} />
      <${Do} small label=${paused ? "Resume" : "Pause"} action=${{ title: `${paused ? "Resume" : "Pause"} ${id}`, verb: paused ? "Resume" : "Pause", kind: paused ? "schedule.resume" : "schedule.pause", data: { id }, text: paused ? "It fires again from now on; occurrences in the pause are not made." : "It makes no occurrence until it is resumed." }} />
      <${Do} small danger label="Delete" action=${{ title: `Delete ${id}`, kind: "schedule.delete", data: { id }, text: "It makes no further occurrence. Those that exist stay." }} /></span>`;
  } },
];

export const Schedules = ({ query }) => html`<${ListView} view="schedules" params=${["id"]} query=${query} title="Schedules" lead="What is made by the clock." fields=${[{ name: "id", label: "Id", placeholder: "nightly*", wide: true }]} columns=${COLUMNS} keyOf=${(row) => row.schedule.id} noun="schedule" caption="Schedules"
  empty=${["No schedule yet", "schedules", html`A schedule makes a promise or a job at each occurrence of a cron expression: <code>store.schedules.create("nightly", "0 2 * * *", …)</code>.`]} />`;
