// The state machine of a job: where it is and where it has been.
import { html } from "./vendor/htm-preact.js";
import { State } from "./elements.js";
import { stateWord } from "./format.js";

const W = 96;
const H = 30;
const AT = {
  scheduled: [8, 14], waiting: [8, 154], pending: [158, 84], claimed: [328, 84], running: [498, 84], retry: [328, 14], archived: [712, 14],
  completed: [712, 84], failed: [712, 154], cancelled: [498, 154], expired: [158, 154],
};
// from, to, by, the path between the boxes, where the word stands
const EDGES = [
  ["scheduled", "pending", "processAt", "M56 44V99H154", [62, 92]],
  ["waiting", "pending", "settled", "M56 154V109H154", [12, 132]],
  ["running", "waiting", "suspend", "M512 114V134H88V150", [428, 130]],
  ["pending", "claimed", "claim", "M254 93H324", [276, 88]],
  ["claimed", "running", "start", "M424 99H494", [446, 93]],
  ["claimed", "pending", "release", "M328 106H258", [272, 120]],
  ["running", "completed", "complete", "M594 99H708", [626, 93]],
  ["running", "retry", "fail", "M530 84V29H428", [468, 23]],
  ["retry", "pending", "nextRetryAt", "M328 29H206V80", [222, 23]],
  ["running", "archived", "no retry left", "M572 84V29H708", [614, 23]],
  ["running", "failed", "no retry left", "M640 99V169H708", [644, 148]],
  ["running", "cancelled", "cancel", "M546 114V150", [552, 138]],
  ["pending", "expired", "goodUntil", "M206 114V150", [212, 147]],
];

/** `job`: a job with its attempts. */
export function Machine({ job }) {
  const been = past(job);
  const states = Object.keys(AT);
  const taken = (from, to, by) => {
    if (by === "release" || !been.has(from)) return false;
    if (by === "suspend") return (job.attempts ?? []).some((attempt) => attempt.outcome === "suspended");
    return to === job.state || (been.has(to) && to !== "scheduled");
  };
  return html`<ol class="been-in">${[...been].filter((state) => state !== job.state).map((state) => html`<li key=${state}><${State} of=${state} /></li>`)}<li><b><${State} of=${job.state} /></b></li></ol>
    <figure class="machine scroll" tabindex="0"><svg viewBox="0 0 816 192" role="img" aria-label=${`The job is ${stateWord(job.state)}. It has been ${[...been].map(stateWord).join(", ") || "in no other state"}.`}>
    <defs>${["tip", "tip-taken"].map((id) => html`<marker id=${id} viewBox="0 0 8 8" refX="6" refY="4" markerUnits="userSpaceOnUse" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 1 7 4 0 7z" class=${id} /></marker>`)}</defs>
    ${EDGES.map(([from, to, by, path, [x, y]]) => {
      const went = taken(from, to, by);
      return html`<g key=${from + to}><path class=${went ? "edge taken" : "edge"} d=${path} marker-end=${went ? "url(#tip-taken)" : "url(#tip)"} /><text class="by" x=${x} y=${y}>${by}</text></g>`;
    })}
    ${states.map((state) => html`<g key=${state} class=${`s-${state} ${job.state === state ? "here" : been.has(state) ? "been" : ""}`}><rect class="box" x=${AT[state][0]} y=${AT[state][1]} width=${W} height=${H} rx="7" />
      <text x=${AT[state][0] + W / 2} y=${AT[state][1] + H / 2 + 4} text-anchor="middle">${stateWord(state)}</text></g>`)}</svg></figure>`;
}

/** The states that a record shows it has been in. */
export function past(job) {
  const found = new Set();
  const attempts = job.attempts ?? [];
  if (job.processAt != null) found.add("scheduled");
  if (job.after || attempts.some((attempt) => attempt.outcome === "suspended")) found.add("waiting");
  if (job.enqueuedAt != null || attempts.length || job.claimedAt != null) found.add("pending");
  if (attempts.length || job.claimedAt != null) found.add("claimed");
  if (attempts.length) found.add("running");
  if (job.retryCount > 0) found.add("retry");
  return found;
}
