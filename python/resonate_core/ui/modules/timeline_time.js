// Instants, durations, ticks of an axis, and the colours of workers.

const UNITS = [["d", 86_400_000], ["h", 3_600_000], ["min", 60_000], ["s", 1000], ["ms", 1]];
export const STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000,
  3_600_000, 7_200_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000, 172_800_000, 604_800_000, 1_209_600_000, 2_592_000_000,
  7_776_000_000, 31_536_000_000,
];
// As in Python: timeline/style.py.
const WORKER_COLOURS = "1f6cb0 a8611a 007e46 9b4e8c 6453a7 00818a 857000 587502 007ba8 9d4616 007459 8a5bad 34468e b4567f 814a00 4a8040".split(" ");

// The number of a worker's colour: FNV-1a with the finalizer of MurmurHash3, as worker_colour of Python.
export function colourOf(name) {
  let mixed = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(name)) mixed = Math.imul(mixed ^ byte, 0x01000193);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return ((mixed ^ (mixed >>> 16)) >>> 0) % WORKER_COLOURS.length;
}

// Gives an element of the class rt-worker the colour of its worker.
export function inColour(element, worker) {
  element.style.setProperty("--rt-worker", `#${WORKER_COLOURS[colourOf(worker)]}`);
  return element;
}

export function formatDuration(ms) {
  const size = Math.abs(ms);
  if (size < 1000) return `${Math.round(ms)} ms`;
  const place = UNITS.findIndex(([, unit]) => size >= unit);
  const [name, unit] = UNITS[place];
  if (name === "s") return `${trimmed(ms / 1000, size < 10_000 ? 2 : 1)} s`;
  const [lower, part] = UNITS[place + 1];
  const whole = Math.trunc(ms / unit);
  const rest = Math.round((size - Math.abs(whole) * unit) / part);
  if (rest * part === unit) return `${whole + Math.sign(ms)} ${name}`;
  return rest ? `${whole} ${name} ${rest} ${lower}` : `${whole} ${name}`;
}

export function formatInstant(ms, dates) {
  if (ms === null || ms === undefined) return "—";
  if (!dates) return formatDuration(ms);
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return String(ms);
  const text = date.toISOString();
  return `${text.slice(0, 10)} ${ms % 1000 ? text.slice(11, 23) : text.slice(11, 19)} UTC`;
}

// The last instant that a Date can hold.
const LAST_DATE = 8.64e15;

// The ticks between two instants: [{at, text, major}], at most about `most`.
export function ticks(from, to, dates, most) {
  const step = STEPS.find((size) => (to - from) / size <= most) ?? Math.ceil((to - from) / most);
  const first = Math.ceil(from / step) * step;
  const found = [];
  let day = null;
  for (let at = first; at <= to; at += step) {
    if (!dates || at > LAST_DATE) {
      found.push({ at, text: at === 0 ? "0" : formatDuration(at), major: at === 0 });
      continue;
    }
    const date = new Date(at);
    const isNewDay = day !== date.toISOString().slice(0, 10);
    day = date.toISOString().slice(0, 10);
    found.push({ at, text: dateText(date, step, isNewDay), major: isNewDay });
  }
  return found;
}

function dateText(date, step, isNewDay) {
  const [weekday, number, month, year] = date.toUTCString().split(/\W+/);
  const day = `${weekday} ${Number(number)} ${month}`;
  if (step >= 7_776_000_000) return `${month} ${year}`;
  if (step >= 86_400_000) return day;
  const text = date.toISOString();
  const time = step < 1000 ? text.slice(14, 23) : step < 60_000 ? text.slice(11, 19) : text.slice(11, 16);
  return isNewDay ? (time === "00:00" ? day : `${day} ${time}`) : time;
}

function trimmed(number, digits) {
  return String(Number(number.toFixed(digits)));
}
