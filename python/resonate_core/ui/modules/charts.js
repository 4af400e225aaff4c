// Charts of series over time, drawn by uPlot. Each has a text and a table for screen readers.
import { html, useEffect, useMemo, useRef, useState } from "./vendor/htm-preact.js";
import { IconButton } from "./elements.js";
import { absolute, duration, number, short } from "./format.js";
import { useShared } from "./state.js";
import { STEPS } from "./timeline_time.js";

let library = null;
/** Loads uPlot when the first chart is shown. Its small build is a classic script. */
function uPlot() {
  library ??= new Promise((done, fail) => {
    if (globalThis.uPlot) return done(globalThis.uPlot);
    const script = document.createElement("script");
    script.src = new URL("./vendor/uplot.js", import.meta.url).href;
    script.onload = () => done(globalThis.uPlot);
    script.onerror = () => fail(new Error("vendor/uplot.js cannot be read"));
    document.head.append(script);
    return undefined;
  });
  return library;
}

/** The colour that a CSS variable has now, in a class: a canvas needs it resolved. */
function colour(variable, element, name = "") {
  const probe = document.createElement("span");
  probe.className = name;
  probe.style.color = `var(${variable})`;
  element.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
const faded = (rgb, alpha) => rgb.replace(/^rgb\(([^)]+)\)$/, `rgba($1, ${alpha})`);

/**
 * One chart. `lines`: `{name, label, state (its colour), fill, values}`; `at`: instants in ms; `unit`: "number" or "ms".
 */
export function Chart({ title, at, lines, unit = "number", height = 168, bars = false }) {
  const { settings } = useShared();
  const [table, setTable] = useState(false);
  const [over, setOver] = useState(null);
  const format = unit === "ms" ? duration : short;
  const element = useRef();
  const plot = useRef(null);
  const data = useMemo(() => [at.map((ms) => ms / 1_000), ...lines.map((line) => line.values)], [at, lines]);
  const dark = useDark(settings.theme);
  const shape = `${dark}${settings.utc}${unit}${height}${lines.map((line) => line.name)}${table}`;
  useEffect(() => {
    const room = element.current;
    if (!room) return undefined;
    let ended = false;
    let watch = null;
    uPlot().then((Plot) => {
      if (ended) return;
      plot.current = new Plot(options(Plot, room, { lines, format, unit, height, utc: settings.utc, bars, setOver }), data, room);
      watch = new ResizeObserver(() => plot.current?.setSize({ width: room.clientWidth, height }));
      watch.observe(room);
    }, console.error);
    return () => {
      ended = true;
      watch?.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(data), [data]);
  const named = (ms) => (bars ? absolute(ms, true).slice(0, 10) : absolute(ms, settings.utc).slice(0, 16));
  const said = lines.map((line) => `${line.label} ${format(latest(line.values))}`).join(", ");
  return html`<figure class="chart"><figcaption><h3>${title}</h3><span class="legend">${lines.map((line) => html`<span key=${line.name} class="row"><i class=${`dot s-${line.state}`}></i>${line.label}</span>`)}</span>
      <span class="readout" aria-hidden="true">${at.length > 0 && html`${over == null ? "latest" : named(at[over])}: ${lines.map((line) => format(over == null ? latest(line.values) : line.values[over])).join(" / ")}`}</span>
      <${IconButton} icon="queues" size="14" label=${`${title} as a table`} aria-pressed=${String(table)} onClick=${() => setTable(!table)} /></figcaption>
    ${table
      ? html`<div class="scroll chart-table" tabindex="0" role="group" aria-label=${title}><table><caption class="sr">${title}</caption><thead><tr><th scope="col">Time</th>${lines.map((line) => html`<th scope="col" class="num">${line.label}</th>`)}</tr></thead>
        <tbody>${at.map((ms, index) => html`<tr key=${ms}><td class="nowrap">${named(ms)}</td>${lines.map((line) => html`<td class="num">${unit === "ms" ? duration(line.values[index]) : number(line.values[index])}</td>`)}</tr>`).reverse()}</tbody></table></div>`
      : html`<div class="plot" ref=${element} role="img" aria-label=${`${title}. Latest: ${said}.`} style=${{ height: `${height}px` }}></div>`}</figure>`;
}

const latest = (values) => values.findLast((value) => value != null);

function useDark(theme) {
  const [system, set] = useState(matchMedia("(prefers-color-scheme: dark)").matches);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const hear = () => set(query.matches);
    query.addEventListener("change", hear);
    return () => query.removeEventListener("change", hear);
  }, []);
  return theme === "auto" ? system : theme === "dark";
}

function options(Plot, room, { lines, format, unit, height, utc, bars, setOver }) {
  const muted = colour("--muted", room);
  const grid = { stroke: colour("--line", room), width: 1 };
  const font = "11px Inter, system-ui, sans-serif";
  const pad = bars ? 43_200 : 0;
  const minutes = STEPS.filter((ms) => ms >= 60_000).map((ms) => ms / 1_000); // a label names no seconds
  // A bar is a day of UTC with its label, if there is room.
  const below = (chart) => chart.data[0].filter((_, place, all) => place % Math.ceil((all.length * 76) / chart.bbox.width * devicePixelRatio) === 0);
  const axis = { stroke: muted, font, grid, ticks: { show: false }, gap: 6 };
  return {
    width: room.clientWidth,
    height,
    padding: [10, 18, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
    tzDate: utc ? (seconds) => Plot.tzDate(new Date(seconds * 1_000), "UTC") : undefined,
    scales: { x: { range: (_, low, high) => [low - pad, high + pad] }, y: { range: (_, low, high) => [0, Math.max(high * 1.08, 1)] } },
    axes: [
      { ...axis, grid: { show: false }, size: 26, space: 76, incrs: minutes, splits: bars ? below : undefined, values: (_, ticks) => ticks.map((tick) => instant(tick * 1_000, utc || bars, bars ? 86_400 : ticks[1] - ticks[0])) },
      { ...axis, size: unit === "ms" ? 72 : 52, space: 36, incrs: STEPS, values: (_, ticks) => ticks.map(format) },
    ],
    series: [
      {},
      ...lines.map((line) => {
        const stroke = colour("--state", room, `s-${line.state}`);
        return { label: line.label, stroke, width: bars ? 0 : 1.75, fill: bars ? faded(stroke, 0.85) : line.fill ? faded(stroke, 0.12) : undefined, points: { show: false }, spanGaps: false, paths: bars ? Plot.paths.bars({ size: [0.7, 28] }) : undefined };
      }),
    ],
    hooks: { setCursor: [(chart) => setOver(chart.cursor.idx ?? null)] },
  };
}

/** The label of a tick: a time, or the day at midnight. */
function instant(ms, utc, seconds) {
  const text = (parts) => new Intl.DateTimeFormat("en-GB", utc ? { ...parts, timeZone: "UTC" } : parts).format(ms);
  const time = text({ hour: "2-digit", minute: "2-digit" });
  return seconds < 86_400 && time !== "00:00" ? time : text({ day: "numeric", month: "short" });
}

/** A line without axes, for a cell of a table. */
export function Spark({ values, label }) {
  const known = values.map((value) => value ?? 0);
  if (known.length < 2) return null;
  const high = Math.max(...known, 1);
  const points = known.map((value, index) => `${((index / (known.length - 1)) * 100).toFixed(1)} ${(27 - (value / high) * 24).toFixed(1)}`);
  return html`<svg class="spark" viewBox="0 0 100 28" preserveAspectRatio="none" role="img" aria-label=${`${label}: ${known.slice(-12).join(", ")}`}>
    <path class="under" d=${`M0 28L${points.join("L")}L100 28z`} /><path d=${`M${points.join("L")}`} /></svg>`;
}
