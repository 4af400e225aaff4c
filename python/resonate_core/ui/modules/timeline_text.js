// A timeline in words: the table that stands in for the picture, and the details of one row.

import { html } from "./dom.js";
import { formatDuration, formatInstant } from "./timeline_time.js";
import { matches, stateAt } from "./timeline_rows.js";

const MOST_LINES = 500;

const cell = (name, text, attributes) => html(name, "", text, attributes);

function table(caption, names, lines) {
  const element = document.createElement("table");
  element.append(cell("caption", caption));
  const head = document.createElement("thead");
  const first = document.createElement("tr");
  for (const name of names) first.append(cell("th", name, { scope: "col" }));
  head.append(first);
  const body = document.createElement("tbody");
  for (const [id, ...cells] of lines) {
    const line = document.createElement("tr");
    line.append(cell("th", id, { scope: "row" }), ...cells.map((text) => cell("td", text)));
    body.append(line);
  }
  element.append(head, body);
  return element;
}

// All rows, how each stands at an instant, and what happened to it.
export function tableOf(data, filter, at) {
  const rows = data.rows.filter((row) => matches(row, filter));
  const lines = rows.slice(0, MOST_LINES).map((row) => {
    const now = stateAt(row, at);
    const workers = [...new Set(row.spans.map((span) => span.worker).filter(Boolean))];
    const attempts = row.spans.filter((span) => span.worker && span.state !== "claimed");
    const ends = attempts.filter((span) => span.outcome && span.outcome !== "completed").map((span) => span.code ?? span.outcome);
    const end = [...row.changes].reverse().find(([, state]) => state !== "pending" && state !== "active");
    return [
      row.id, row.type ?? row.name ?? row.kind, now === null ? "not there yet" : now.state, formatInstant(row.createdAt, data.dates),
      end ? `${end[1]} ${formatInstant(end[0], data.dates)}` : "—", String(attempts.length), [...new Set(ends)].join(", ") || "—",
      workers.join(", ") || "—",
    ];
  });
  const left = rows.length - lines.length;
  const more = left > 0 ? `; ${left.toLocaleString("en")} more rows are not shown, filter to see them` : "";
  const caption = `${rows.length.toLocaleString("en")} rows at ${formatInstant(at, data.dates)}${more}`;
  return table(caption, ["Id", "Kind", "State", "Created", "Ended", "Attempts", "Failures", "Workers"], lines);
}

// What is known of the selected row: its states in order.
export function detailOf(data, id, at) {
  const row = id === null ? null : data.rows.find((one) => one.id === id);
  if (!row) return [];
  const now = stateAt(row, at);
  const facts = [
    row.kind, row.type ?? row.name, row.queue ? `queue ${row.queue}` : null, row.group ? `group ${row.group}` : null,
    row.schedule ? `of schedule ${row.schedule}` : null, row.parent ? `called by ${row.parent}` : null,
    row.deadline === null ? null : `deadline ${formatInstant(row.deadline, data.dates)}`,
    `${now === null ? "not there yet" : now.state} at ${formatInstant(at, data.dates)}`,
  ];
  const events = [
    ...row.spans.map((span) => [span.start, span.state + (span.attempt ? ` (attempt ${span.attempt})` : ""), span.worker ?? "", span]),
    ...row.changes.map(([instant, state]) => [instant, state === "pending" ? "created" : state, "", null]),
    ...row.marks.filter(([, kind]) => kind !== "heartbeat").map(([instant, kind, text]) => [instant, `${kind} ${text}`.trim(), "", null]),
  ].sort((a, b) => a[0] - b[0]);
  const lines = events.slice(0, MOST_LINES).map(([instant, what, worker, span]) => {
    const end = span?.end ?? null;
    const outcome = span?.outcome ? `${span.outcome}${span.code ? `: ${span.code}` : ""}` : "";
    return [formatInstant(instant, data.dates), what, worker, span ? (end === null ? "open" : formatDuration(end - instant)) : "", outcome];
  });
  const heading = cell("h3", row.id);
  const left = events.length - lines.length;
  const text = facts.filter(Boolean).join(" · ") + (left > 0 ? `; ${left} more lines are not shown` : "");
  return [heading, cell("p", text), table(`States of ${row.id}`, ["At", "What", "Worker", "For", "Outcome"], lines)];
}
