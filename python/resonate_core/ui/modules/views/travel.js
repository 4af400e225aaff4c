// Time travel: the steps of a recording; scrub, step, look at any view as of then, compare two instants, take the story as a pytest.
import { html, useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { download, post } from "../api.js";
import { ChangeText } from "../actions.js";
import { Card, Empty, Failed, Head, Icon, Id, Read, Select, State, When, linkTo } from "../elements.js";
import * as text from "../format.js";
import { Plain, diff as diffModule } from "../plain.js";
import { current, href, refine } from "../router.js";
import { toast, useView } from "../state.js";

const SHOWN_STEPS = 200;
const LARGEST = 32 * 1024 * 1024;

/** Says in every view that it shows the past. */
export function TravelBanner() {
  const { name, query } = current();
  if (!query.travel || name === "travel") return null;
  const { travel, n, ...kept } = query;
  return html`<div class="note warn banner"><p>You look at the past: after step <b>${n}</b>. Nothing can be changed here.</p><a class="button small" href=${href("travel", { travel, n })}>Time travel</a>
    <a class="button small" href=${`#/${name}?${new URLSearchParams(kept)}`}>Back to now</a></div>`;
}

export function Travel({ query }) {
  const list = useView("travel", {}, { live: false });
  const [busy, setBusy] = useState(false);
  const load = async (file) => {
    if (!file) return;
    if (file.size > LARGEST) return toast(`${file.name} must be at most 32 MiB, got ${text.number(file.size)} bytes`, true);
    setBusy(true);
    try {
      const { travel } = await post("travel", await file.text(), "application/x-ndjson");
      refine({ travel, n: 0, a: null, b: null });
      list.reload();
    } catch (error) {
      toast(`${file.name}: ${error.message}`, true);
    }
    setBusy(false);
    return undefined;
  };
  const items = list.data?.items ?? [];
  const known = items.find((one) => one.travel === query.travel) ?? (query.travel ? null : items[0]);
  const upload = html`<label class="button">${busy ? "Reading…" : "Open a recording"}<input class="sr" type="file" accept=".jsonl,.ndjson" onChange=${(event) => load(event.target.files[0])} /></label>`;
  return html`<${Head} title="Time travel" lead="A store as it was after each step of a recording.">${items.length > 1 && html`<label class="row">Recording <${Select} value=${known?.travel} options=${items.map((one) => [one.travel, one.name])} choose=${(travel) => refine({ travel, n: 0, a: null, b: null })} /></label>`}${upload}</${Head}>
    ${list.error && html`<${Failed} error=${list.error} retry=${list.reload} what="The list of recordings" />`}
    ${known ? html`<${Recording} key=${known.travel} of=${known} query=${query} />` : list.data && html`<div class="card"><${Empty} title=${query.travel ? "This recording is no longer kept" : "No recording is open"} icon="travel">Record a store with <code>store.record("run.jsonl")</code>, and open the file here, or start with <code>resonate-core ui run.jsonl</code>.</${Empty}></div>`}`;
}

function Recording({ of, query }) {
  const n = Math.min(Math.max(Number(query.n ?? of.steps) || 0, 0), of.steps);
  const to = (next) => refine({ travel: of.travel, n: Math.min(Math.max(next, 0), of.steps) }, true);
  const state = useView("travel/state", { travel: of.travel, n }, { live: false });
  const [playing, play] = useState(false);
  const at = useRef(n);
  at.current = n;
  useEffect(() => {
    if (!playing) return undefined;
    const timer = setInterval(() => (at.current >= of.steps ? play(false) : to(at.current + 1)), 700);
    return () => clearInterval(timer);
  }, [playing]);
  const data = state.data;
  return html`<div class="stack"><${Card}><div class="scrubber"><div class="row"><button type="button" class="button icon" aria-label="First step" disabled=${n === 0} onClick=${() => to(0)}>|<${Icon} name="left" size="13" /></button>
      <button type="button" class="button icon" aria-label="Step back" disabled=${n === 0} onClick=${() => to(n - 1)}><${Icon} name="left" /></button>
      <button type="button" class="button icon" aria-label=${playing ? "Pause" : "Play"} aria-pressed=${String(playing)} onClick=${() => play(!playing)}><${Icon} name=${playing ? "pause" : "play"} /></button>
      <button type="button" class="button icon" aria-label="Next step" disabled=${n >= of.steps} onClick=${() => to(n + 1)}><${Icon} name="right" /></button></div>
    <input type="range" min="0" max=${of.steps} value=${n} aria-label="Step" aria-valuetext=${`Step ${n} of ${of.steps}`} onInput=${(event) => to(Number(event.target.value))} />
    <span class="num nowrap">${text.number(n)} of ${text.number(of.steps)}</span></div>
    <p class="muted">${data ? html`<${When} at=${data.at} plain />${data.next ? html` · next: ${data.next.kind}, ${text.duration(data.next.at - data.at)} later` : " · the end of the recording"}` : " "}</p>
    <div class="row"><a class="button" href=${href("overview", { travel: of.travel, n })}>Overview then</a><a class="button" href=${href("jobs", { travel: of.travel, n })}>Jobs then</a><a class="button" href=${href("workflows", { travel: of.travel, n })}>Workflows then</a><a class="button" href=${href("queues", { travel: of.travel, n })}>Queues then</a>
      <button type="button" class="button" onClick=${() => download("travel/pytest", { travel: of.travel, n }, "test_story.py").catch((error) => toast(error.message, true))}>Download as pytest</button></div></${Card}>
    <div class="columns"><${Card} title="What this step changed"><${Read} from=${state} what="The state">${(found) => html`${found.changes.length ? html`<ul class="steps">${found.changes.map((one, index) => html`<li key=${index}><span class="at">${one.what}</span><${ChangeText} of=${one} /></li>`)}</ul>` : html`<p class="muted">${n === 0 ? "The state before the first step." : "Nothing: the step only read, or was refused."}</p>`}
        <h3>Counts</h3><${Counts} of=${found.counts} />${found.upcoming?.length > 0 && html`<h3>Due next</h3><ol class="steps">${found.upcoming.slice(0, 8).map((step, index) => html`<li key=${index}><span class="at">${text.relative(step.at, found.at)}</span><span class="grow">${step.kind} <${Id} of=${step.id} to=${linkTo(step.id)} /></span></li>`)}</ol>`}`}</${Read}></${Card}>
      <${Steps} of=${of} n=${n} to=${to} id=${query.id} /></div>
    <${Compare} of=${of} query=${query} n=${n} /></div>`;
}

function Counts({ of }) {
  return html`<dl class="facts">${["promises", "tasks", "jobs"].filter((kind) => Object.values(of?.[kind] ?? {}).some(Boolean)).map((kind) => html`<dt key=${kind}>${kind}</dt><dd>${Object.entries(of[kind]).filter(([, many]) => many).map(([state, many]) => html`<span class="row" key=${state}><${State} of=${state} /> ${text.number(many)}</span>`)}</dd>`)}<dt>messages</dt><dd>${text.number(of?.messages ?? 0)}</dd></dl>`;
}

function Steps({ of, n, to, id }) {
  const start = Math.max(0, n - SHOWN_STEPS / 4);
  const view = useView("travel/steps", { travel: of.travel, limit: SHOWN_STEPS, cursor: start ? String(start) : undefined, id }, { live: false });
  return html`<${Card} title="Steps"><${Read} from=${view} what="The list of steps">${(data) => html`<ol class="steps step-list" tabindex="0" aria-label="Steps">${data.items.map((step) => html`<li key=${step.n} class=${step.n === n ? "here" : ""}><button type="button" class="button quiet small at" aria-current=${step.n === n ? "step" : undefined} aria-label=${`Go to step ${step.n}`} onClick=${() => to(step.n)}>${step.n}</button>
    <span class="grow">${step.text}${step.status >= 300 ? html` <span class="pill bad">${step.status}</span>` : ""}</span></li>`)}</ol>`}</${Read}></${Card}>`;
}

function Compare({ of, query, n }) {
  const [a, b] = [query.a ?? "0", query.b ?? String(n)];
  const asked = query.a != null;
  const view = useView(asked ? "travel/diff" : null, { travel: of.travel, a, b }, { live: false });
  const [typed, setTyped] = useState([a, b]);
  const submit = (event) => {
    event.preventDefault();
    refine({ travel: of.travel, n, a: typed[0], b: typed[1] }, true);
  };
  return html`<${Card} title="Compare two steps"><form class="filters" onSubmit=${submit}><div class="field"><label for="diff-a">From step</label><input id="diff-a" type="number" min="0" max=${of.steps} value=${typed[0]} onInput=${(event) => setTyped([event.target.value, typed[1]])} /></div>
    <div class="field"><label for="diff-b">to step</label><input id="diff-b" type="number" min="0" max=${of.steps} value=${typed[1]} onInput=${(event) => setTyped([typed[0], event.target.value])} /></div><button type="submit" class="button">Compare</button></form>
    ${asked && html`<${Read} from=${view} what="The difference">${(data) => html`<${Plain} load=${diffModule} data=${differences(data)} label="Difference" on=${{ "diff-select": ({ kind, id }) => (location.hash = linkTo(id, kind)) }} />`}</${Read}>`}</${Card}>`;
}

const CHANGE = { created: "added", deleted: "removed", changed: "changed" };

/** The server's answer in the form that diff.js draws. */
export function differences(found) {
  if (found.format) return found;
  const items = [...(found.changes ?? []), ...(found.queues ?? [])].map((one) => ({ kind: one.kind, id: one.id, change: CHANGE[one.what] ?? one.what, fields: one.fields ?? [], before: one.what === "deleted" ? asRecord(one, "before") : null, after: one.what === "created" ? asRecord(one, "after") : null }));
  for (const [name, change, side] of [["added", "added", "after"], ["removed", "removed", "before"]]) {
    for (const message of found.messages?.[name] ?? []) items.push({ kind: "message", id: message.id, change, fields: [], before: null, after: null, [side]: message });
  }
  const many = (change) => items.filter((one) => one.change === change).length;
  return { format: "resonate-diff/1", a: { label: found.a.label, now: found.a.at }, b: { label: found.b.label, now: found.b.at }, items, counts: { added: many("added"), removed: many("removed"), changed: many("changed") }, leftOut: found.leftOut ?? 0 };
}
const asRecord = (change, side) => Object.fromEntries((change.fields ?? []).map((field) => [field.name, field[side]]));
