// Draws one item of a timeline (a row, a fold, a lane of a worker) into an SVG group.

import { formatDuration, inColour } from "./timeline_time.js";

export const ROW = 26; // height of a row, px
export const FOLD = 44; // height of a folded row
const MIDDLE = 13;
const SVG = "http://www.w3.org/2000/svg";

const CROSS = "M-4 -4 L4 4 M-4 4 L4 -4";
const DISC = "M-3.5 0 a3.5 3.5 0 1 0 7 0 a3.5 3.5 0 1 0 -7 0 Z";
const RHOMB = "M0 -5 L5 0 L0 5 L-5 0 Z";
// The shape of each mark around (0, 0), and what it says.
export const MARKS = {
  dispatch: ["M-4 4 L0 -3 L4 4 Z", "dispatched"],
  heartbeat: ["M0 -5 V5", "heartbeat"],
  lease_expiry: [CROSS, "lease expired"],
  promise_timeout: [RHOMB, "deadline"],
  listener_drain: [DISC, "listener notified"],
  schedule: ["M0 -4 L4 0 L0 4 L-4 0 Z", "schedule fired"],
  schedule_set_aside: [CROSS, "schedule set aside"],
  refused: ["M-3 -3 L3 3 M-3 3 L3 -3", "refused"],
  completed: [DISC, "attempt completed"],
  failed: [CROSS, "attempt failed"],
  crashed: ["M0 -5 V5 M-5 0 H5", "worker crashed"],
  timed_out: [RHOMB, "attempt timed out"],
  snoozed: ["M3 -4 L-4 0 L3 4 Z", "snoozed"],
  suspended: ["M-3 -4 H-1 V4 H-3 Z M1 -4 H3 V4 H1 Z", "suspended"],
  cancelled: ["M-3.5 -3.5 H3.5 V3.5 H-3.5 Z", "attempt cancelled"],
};

export const STATES = {
  pending: "waits for a worker", scheduled: "scheduled", waiting: "waits for other promises", retry: "waits for its retry", archived: "archived", suspended: "suspended",
  halted: "halted", claimed: "claimed", running: "running", acquired: "held",
};

export function make(name, attributes = {}, text = null) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  if (text !== null) element.textContent = text;
  return element;
}

export const rect = (x, y, width, height, classes, more) => make("rect", { x, y, width, height, class: classes, ...more });

// Draws in a window of time: `x(at)` gives pixels, `from` and `to` what is in view, `stripes` of each worker.
export class Painter {
  constructor(scale, data, stripes) {
    Object.assign(this, { scale, data, stripes });
  }

  x(at) {
    return this.scale.x(at);
  }

  // Whether a stretch of time is in view.
  seen(start, end) {
    return end >= this.scale.from && start <= this.scale.to;
  }

  // The pixels of a stretch, cut at the edges of the view.
  pixels(start, end) {
    const left = this.x(Math.max(start, this.scale.from));
    const right = this.x(Math.min(end, this.scale.to));
    return [left, Math.max(right - left, 0)];
  }

  bar(group, start, end, top, height, classes, thinnest = 0) {
    if (!this.seen(start, end)) return null;
    const [left, width] = this.pixels(start, end);
    const element = rect(left, top, Math.max(width, thinnest), height, classes);
    if (element.getAttribute("width") === "0") return null;
    group.append(element);
    return element;
  }

  row(group, row) {
    if (row.kind === "schedule") this.line(group, row.createdAt, endOf(row, this.data), "rt-line rt-line-schedule");
    else this.band(group, row);
    const last = new Map(); // worker or state: its last pixel, to draw one of what lies on one pixel
    for (const span of row.spans) {
      const end = span.end ?? this.data.end;
      if (!this.seen(span.start, end)) continue;
      const [left, width] = this.pixels(span.start, end);
      const drawn = span.worker ?? span.state;
      if (width < 1 && last.get(drawn) === Math.round(left)) continue;
      last.set(drawn, Math.round(left));
      if (span.worker) this.held(group, span, end, left, width);
      else this.line(group, span.start, end, `rt-line rt-line-${span.state}`);
    }
    this.marks(group, row);
  }

  band(group, row) {
    row.changes.forEach(([at, state], place) => {
      const next = row.changes[place + 1]?.[0] ?? this.data.end;
      if (state === "pending") {
        this.bar(group, at, next, 3, ROW - 6, "rt-band", 1);
      } else {
        if (state !== "deleted") this.bar(group, at, next, MIDDLE - 2, 4, `rt-trail rt-state-${state}`);
        if (this.seen(at, at)) {
          group.append(rect(this.x(at) - 1.5, 3, 3, ROW - 6, `rt-cap rt-state-${state}`));
        }
      }
    });
  }

  held(group, span, end, left, width) {
    const isClaim = span.state === "claimed";
    const [top, height] = isClaim ? [MIDDLE - 2.5, 5] : [MIDDLE - 6.5, 13];
    if (width < 2) {
      // a lease of no time at all is a tick
      group.append(inColour(rect(left - 1, top - 1, 2, height + 2, "rt-held rt-worker rt-tick"), span.worker));
      return;
    }
    group.append(inColour(rect(left, top, width, height, "rt-held rt-worker", { rx: Math.min(2, width / 2) }), span.worker));
    const stripe = this.stripes.get(span.worker) ?? 0;
    if (stripe) for (let at = left + 3; at + 1 < left + width; at += stripe === 1 ? 6 : 3) {
      group.append(rect(at, top, 1, height, "rt-stripe"));
    }
    if (!isClaim) this.text(group, span.worker, left, width, MIDDLE + 3.5, "rt-on-bar");
  }

  text(group, text, left, width, y, classes) {
    const room = Math.floor((width - 8) / 6);
    if (room < 2 || (room < text.length && room < 5)) return;
    const shown = text.length <= room ? text : `${text.slice(0, room - 1)}…`;
    group.append(make("text", { x: left + width / 2, y, class: classes }, shown));
  }

  line(group, start, end, classes) {
    if (!this.seen(start, end)) return;
    const [left, width] = this.pixels(start, end);
    group.append(make("line", { x1: left, x2: left + Math.max(width, 1), y1: MIDDLE, y2: MIDDLE, class: classes }));
  }

  marks(group, row) {
    const last = new Map();
    const put = (at, kind, text) => {
      if (!MARKS[kind] || !this.seen(at, at)) return;
      const x = this.x(at);
      if (x - (last.get(kind) ?? -Infinity) < 4) return;
      last.set(kind, x);
      const y = kind === "dispatch" ? ROW - 6 : kind === "refused" ? 5 : MIDDLE;
      group.append(make("path", { d: MARKS[kind][0], transform: `translate(${x.toFixed(1)} ${y})`, class: `rt-mark rt-mark-${kind}` }));
      if (text) group.append(make("text", { x: x + 6, y: y + 3, class: `rt-mark-text rt-mark-${kind}-text` }, text));
    };
    for (const [at, kind, text] of row.marks) put(at, kind, text);
    for (const span of row.spans) if (span.outcome && span.end !== null && span.end !== undefined) put(span.end, span.outcome, "");
  }

  fold(group, fold) {
    const base = FOLD - 10;
    const most = Math.max(1, ...fold.running, ...fold.waiting);
    const worst = Math.max(1, ...fold.failed);
    const best = Math.max(1, ...fold.done);
    const height = (value) => ((FOLD - 16) * value) / most;
    let area = "";
    let line = "";
    let left = null;
    let right = null;
    fold.running.forEach((running, place) => {
      const at = this.data.start + place * fold.step;
      if (!this.seen(at, at + fold.step)) return;
      const [x, width] = this.pixels(at, at + fold.step);
      left ??= x;
      right = x + width;
      area += `L${x.toFixed(1)} ${(base - height(running)).toFixed(1)} H${right.toFixed(1)} `;
      line += `${line ? "L" : "M"}${x.toFixed(1)} ${(base - height(fold.waiting[place])).toFixed(1)} H${right.toFixed(1)} `;
      const gap = Math.max(width, 1.5);
      if (fold.done[place]) group.append(rect(x, base, gap, 1 + (3 * fold.done[place]) / best, "rt-fold-done"));
      if (fold.failed[place]) {
        group.append(rect(x, base + 4, gap, 1 + (4 * fold.failed[place]) / worst, "rt-fold-failed"));
      }
    });
    if (left === null) return;
    group.append(make("path", { d: `M${left.toFixed(1)} ${base} ${area}V${base} Z`, class: "rt-fold-running" }));
    group.append(make("path", { d: line, class: "rt-fold-waiting" }));
  }

  lane(group, item) {
    const last = { at: -1 };
    for (const { row, span } of item.spans) {
      const end = span.end ?? this.data.end;
      if (!this.seen(span.start, end)) continue;
      const [left, width] = this.pixels(span.start, end);
      if (width < 1 && last.at === Math.round(left)) continue;
      last.at = Math.round(left);
      const classes = `rt-held rt-worker${span.state === "claimed" ? " rt-claimed" : ""}`;
      if (width < 2) {
        group.append(inColour(rect(left - 1, MIDDLE - 9, 2, 18, `${classes} rt-tick`), item.worker));
      } else {
        group.append(inColour(rect(left, MIDDLE - 8, Math.max(width - 0.5, 1), 16, classes, { rx: 2 }), item.worker));
        this.text(group, row.id, left, width, MIDDLE + 3.5, "rt-on-bar");
      }
      if (span.outcome && MARKS[span.outcome] && span.end !== null && this.seen(span.end, span.end) && span.outcome !== "completed") {
        const at = `translate(${this.x(span.end).toFixed(1)} ${MIDDLE})`;
        group.append(make("path", { d: MARKS[span.outcome][0], transform: at, class: `rt-mark rt-mark-${span.outcome}` }));
      }
    }
  }
}

function endOf(row, data) {
  const last = row.changes[row.changes.length - 1];
  return last && last[1] !== "pending" && last[1] !== "active" ? last[0] : data.end;
}

// One sentence about a row, for the tooltip and for screen readers.
export function describe(item, at, data, stateAt, formatInstant) {
  if (item.kind === "fold") {
    const states = Object.entries(item.fold.states).map(([state, count]) => `${count.toLocaleString("en")} ${state}`);
    const place = Math.min(Math.floor((at - data.start) / item.fold.step), item.fold.running.length - 1);
    const [running, waiting, failed] = [item.fold.running, item.fold.waiting, item.fold.failed].map((series) => series[place] ?? 0);
    const then = `${Math.round(running * 10) / 10} run, ${Math.round(waiting * 10) / 10} wait, ${failed} failed then`;
    return `${item.fold.label}, ${item.fold.members.toLocaleString("en")} rows folded: ${states.join(", ")}; ${then}`;
  }
  if (item.kind === "lane") return `worker ${item.worker}${item.lanes > 1 ? `, ${item.number + 1} of ${item.lanes}` : ""}: ${item.spans.length} held`;
  const { row } = item;
  const now = stateAt(row, at);
  const name = [row.kind, row.name, row.id].filter(Boolean).join(" ");
  if (now === null) return `${name}: not there yet`;
  const held = now.span?.worker ? ` by ${now.span.worker}` : "";
  const attempt = now.span?.attempt ? `, attempt ${now.span.attempt}` : "";
  return `${name}: ${now.state}${held}${attempt} since ${formatInstant(now.since, data.dates)} (${formatDuration(at - now.since)})`;
}
