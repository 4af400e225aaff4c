// Texts for instants, durations, numbers and values.

/** From here on an instant means "never" in records of the wire. */
const NEVER = 9e18;
export const isNever = (at) => at == null || at >= NEVER;

const clock = { offset: 0, fixed: null };

/** Sets what "now" is: the server's instant; a manual clock stands still between two answers. */
export function setClock(now, manual) {
  clock.fixed = manual ? now : null;
  clock.offset = now - Date.now();
}

/** The store's present instant in ms. */
export const now = () => clock.fixed ?? Date.now() + clock.offset;

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
];

/** A duration in at most two units: `350 ms`, `4.2 s`, `3 min 5 s`, `2 d 4 h`. */
export function duration(ms) {
  if (ms == null || ms >= NEVER) return "—";
  const length = Math.abs(ms);
  if (length < 1_000) return `${Math.round(length)} ms`;
  if (length < 10_000) return `${Math.floor(length / 100) / 10} s`;
  const first = UNITS.findIndex(([, size]) => length >= size);
  const [unit, size] = UNITS[first];
  const whole = Math.floor(length / size);
  if (first === UNITS.length - 1) return `${whole} s`;
  const [less, part] = UNITS[first + 1];
  const rest = Math.floor((length - whole * size) / part);
  return rest && whole < 10 ? `${whole} ${unit} ${rest} ${less}` : `${whole} ${unit}`;
}

/** An instant as a distance from now: `3 min ago`, `in 5 s`. */
export function relative(at, from = now()) {
  if (isNever(at)) return "never";
  const away = at - from;
  if (Math.abs(away) < 1_000) return "now";
  return away > 0 ? `in ${coarse(away)}` : `${coarse(-away)} ago`;
}

// 59.6 s is 1 min
function coarse(ms) {
  const [unit, size] = UNITS.find(([, size], place) => ms >= size - (UNITS[place + 1]?.[1] ?? 0) / 2);
  const whole = Math.round(ms / size);
  return unit === "d" && whole > 400 ? `${(whole / 365.25).toFixed(1)} y` : `${whole} ${unit}`;
}

const two = (n, width = 2) => String(n).padStart(width, "0");

/** An instant as a date and a time to the millisecond, in UTC or in the browser's zone. */
export function absolute(at, utc) {
  if (isNever(at)) return "never";
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return `${at} ms`;
  if (utc) return date.toISOString().replace("T", " ").replace("Z", " UTC");
  const minutes = -date.getTimezoneOffset();
  const zone = `${minutes < 0 ? "−" : "+"}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${two(date.getMilliseconds(), 3)} ${zone}`;
}

/** The value of a field `datetime-local` for an instant, and back. */
export function toField(at, utc) {
  if (isNever(at)) return "";
  const shifted = new Date(utc ? at : at - new Date(at).getTimezoneOffset() * 60_000);
  return Number.isNaN(shifted.getTime()) ? "" : shifted.toISOString().slice(0, 19);
}
export function fromField(text, utc) {
  if (!text) return null;
  const at = new Date(utc ? `${text}Z` : text).getTime();
  return Number.isNaN(at) ? null : at;
}

const grouped = new Intl.NumberFormat("en-US");
/** A number with separators; `—` if it is not known. */
export const number = (n) => (n == null ? "—" : grouped.format(n));
/** A number in at most four characters: `950`, `12k`, `3.4M`. */
export function short(n) {
  if (n == null) return "—";
  if (Math.abs(n) < 10_000) return String(Math.round(n * 10) / 10);
  if (Math.abs(n) < 1e6) return `${Math.round(n / 1e3)}k`;
  return `${(n / 1e6).toFixed(1)}M`;
}
/** `1 job`, `2 jobs`. */
export const count = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

/** The two parts of a long id: the front may be cut, the back is always shown. */
export function parts(id) {
  const back = id.length > 24 ? 10 : 0;
  return back ? [id.slice(0, -back), id.slice(-back)] : [id, ""];
}

/** A JSON value as text for people. */
export function json(value) {
  return typeof value === "string" ? JSON.stringify(value) : JSON.stringify(value, null, 2);
}

/** One line for a payload in a list. */
export function brief(payload, most = 90) {
  if (!payload || payload.kind === "none") return "";
  if (payload.kind === "redacted") return "[redacted]";
  if (payload.kind === "binary") return `${number(payload.bytes)} bytes`;
  const text = payload.kind === "json" ? JSON.stringify(payload.json) : (payload.text ?? "");
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

const WORDS = {
  rejected_timedout: "timed out",
  rejected_canceled: "cancelled",
  timed_out: "timed out",
};
/** The word for a state, as people read it. */
export const stateWord = (state) => WORDS[state] ?? String(state ?? "unknown").replaceAll("_", " ");

// tests/ui/test_lifecycle.py holds these against the engine.
export const JOB_STATES = ["scheduled", "waiting", "pending", "claimed", "running", "retry", "archived", "completed", "failed", "cancelled", "expired"];
export const PROMISE_STATES = ["pending", "resolved", "rejected", "rejected_canceled", "rejected_timedout"];
/** The states in which a request changes a job. */
export const STATES_BEFORE = {
  "job.run": ["scheduled", "waiting", "retry", "archived"],
  "job.cancel": ["scheduled", "waiting", "pending", "claimed", "running", "retry", "archived"],
  "job.archive": ["scheduled", "waiting", "pending", "retry"],
  "job.delete": ["scheduled", "waiting", "pending", "retry", "archived", "completed", "failed", "cancelled", "expired"]
};
