// The rows of a timeline: folded, filtered, or a lane for each worker.

import { colourOf } from "./timeline_time.js";

const ROWS_UNFOLDED = 40; // with more rows than these, folds begin closed
const MOST_LANES = 60;

// What a row's state is at an instant: {state, span, since}; null before it was created.
export function stateAt(row, at) {
  let state = null;
  let since = row.createdAt;
  for (const [instant, name] of row.changes) {
    if (instant > at) break;
    [state, since] = [name, instant];
  }
  if (state === null) return null;
  if (state !== "pending") return { state, span: null, since };
  let span = null;
  for (const one of row.spans) {
    if (one.start > at) break;
    if (one.end === null || one.end === undefined || one.end > at) span = one;
  }
  return { state: span ? span.state : state, span, since: span ? span.start : since };
}

// All instants at which something changes, in order, each once.
export function changesOf(data) {
  const found = new Set();
  for (const row of data.rows) {
    for (const [at] of row.changes) found.add(at);
    for (const span of row.spans) {
      found.add(span.start);
      if (span.end !== null && span.end !== undefined) found.add(span.end);
    }
    for (const [at, kind] of row.marks) if (kind !== "heartbeat") found.add(at);
  }
  for (const event of data.events) found.add(event.at);
  return [...found].filter((at) => at >= data.start && at <= data.end).sort((a, b) => a - b);
}

export function matches(row, text) {
  if (!text) return true;
  const wanted = text.toLowerCase();
  const names = [row.id, row.name, row.type, row.queue, row.schedule, row.group, ...row.spans.map((span) => span.worker)];
  return names.some((name) => name && name.toLowerCase().includes(wanted));
}

// The items of the mode "rows": {kind: "row", row, depth} and {kind: "fold", fold, number, open, shown}.
export function rowItems(data, filter, open) {
  const rows = data.rows.filter((row) => matches(row, filter));
  const isFolded = data.rows.length > ROWS_UNFOLDED;
  const members = new Map();
  for (const row of rows) {
    if (row.fold === null || row.fold === undefined) continue;
    if (!members.has(row.fold)) members.set(row.fold, []);
    members.get(row.fold).push(row);
  }
  const here = new Map(rows.map((row) => [row.id, row]));
  const items = [];
  const folded = new Set();
  const schedules = new Map(data.folds.map((fold, place) => [fold.kind === "schedule" ? fold.label : null, place]));
  for (const row of rows) {
    // the fold of a schedule stands in its place
    const number = row.kind === "schedule" ? schedules.get(row.id) : row.fold;
    if (!isFolded || number === null || number === undefined || filter) {
      items.push({ kind: "row", row, depth: depthOf(row, here) });
      continue;
    }
    if (folded.has(number)) continue;
    folded.add(number);
    const shown = members.get(number) ?? [];
    items.push({ kind: "fold", fold: data.folds[number], number, open: open.has(number), shown: shown.length });
    if (open.has(number)) for (const member of shown) items.push({ kind: "row", row: member, depth: 1 });
  }
  if (isFolded && !filter) {
    // folds none of whose members are among the rows
    data.folds.forEach((fold, number) => {
      if (!folded.has(number)) items.push({ kind: "fold", fold, number, open: false, shown: 0 });
    });
  }
  return items;
}

function depthOf(row, here) {
  const seen = new Set([row.id]);
  let depth = 0;
  let parent = row.parent;
  while (parent && here.has(parent) && !seen.has(parent) && depth < 6) {
    seen.add(parent);
    depth += 1;
    parent = here.get(parent).parent;
  }
  return depth;
}

// The items of the mode "workers": {kind: "lane", worker, number, lanes, spans: [{row, span}]}, and how many lanes are left out.
export function workerItems(data, filter) {
  const held = new Map();
  for (const row of data.rows) {
    if (!matches(row, filter)) continue;
    for (const span of row.spans) {
      if (!span.worker) continue;
      if (!held.has(span.worker)) held.set(span.worker, []);
      held.get(span.worker).push({ row, span });
    }
  }
  const items = [];
  let leftOut = 0;
  for (const worker of [...held.keys()].sort(compareNames)) {
    const lanes = [];
    for (const one of held.get(worker).sort((a, b) => a.span.start - b.span.start)) {
      const end = one.span.end ?? data.end;
      let lane = lanes.find((candidate) => candidate.until <= one.span.start);
      if (!lane && lanes.length < MOST_LANES) lanes.push((lane = { until: 0, spans: [] }));
      if (!lane) {
        leftOut += 1;
        continue;
      }
      lane.spans.push(one);
      lane.until = Math.max(end, one.span.start + 1);
    }
    lanes.forEach((lane, number) => items.push({ kind: "lane", worker, number, lanes: lanes.length, spans: lane.spans }));
  }
  return { items, leftOut };
}

const byNumbers = new Intl.Collator("en", { numeric: true });

function compareNames(a, b) {
  return byNumbers.compare(a, b);
}

export function stripesOf(data) {
  const names = new Set();
  for (const row of data.rows) for (const span of row.spans) if (span.worker) names.add(span.worker);
  const taken = new Map();
  const stripes = new Map();
  for (const name of [...names].sort()) {
    const colour = colourOf(name);
    stripes.set(name, taken.get(colour) ?? 0);
    taken.set(colour, (taken.get(colour) ?? 0) + 1);
  }
  return stripes;
}
