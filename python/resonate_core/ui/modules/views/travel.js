// Time travel: a recording step by step, forks, differences.
import { html, useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { download, post } from "../api.js";
import { Changes, Field } from "../actions.js";
import { Button, Card, Empty, Failed, Head, IconButton, Id, linkTo, Read, Select, State, steps, When } from "../elements.js";
import * as text from "../format.js";
import { Plain, diff } from "../plain.js";
import { current, href, refine } from "../router.js";
import { operates, toast, useView } from "../state.js";

const SHOWN_STEPS = 200;
const LARGEST = 32 * 1024 * 1024;
const CLOSED = { a: null, b: null, other: null };

/** Says in every view that it shows the past. */
export function TravelBanner() {
  const { name, query } = current();
  if (!query.travel || name === "travel") return null;
  const { travel, n, ...kept } = query;
  return html`<div class="note warn banner"><p>You look at the past: after step <b>${n}</b>. Nothing can be changed here.</p><a class="button small" href=${href("travel", { travel, n })}>Time travel</a>
    <a class="button small" href=${href(name, { ...kept, travel: null })}>Back to now</a></div>`;
}

export function Travel({ query }) {
  const list = useView("travel", {}, { live: false });
  const [busy, setBusy] = useState(false);
  const open = async (make, what, first = false) => {
    setBusy(true);
    try {
      const { travel, steps } = await make();
      list.reload();
      refine({ travel, n: first ? 0 : Math.max(0, steps - 1), ...CLOSED });
    } catch (error) {
      toast(`${what}: ${error.message}`, true);
    }
    setBusy(false);
  };
  const load = (file) => {
    if (!file) return;
    if (file.size > LARGEST) toast(`${file.name} must be at most 32 MiB, got ${text.number(file.size)} bytes`, true);
    else open(async () => post("travel", await file.text(), { "content-type": "application/x-ndjson", "x-resonate-name": encodeURIComponent(file.name) }), file.name, true);
  };
  const items = list.data?.items ?? [];
  const known = items.find((one) => one.travel === query.travel) ?? (query.travel ? null : items[0]);
  return html`<${Head} title="Time travel" lead="A store as it was after each step of a recording, and what would become of it.">
      ${items.length > 1 && html`<label class="row">Recording <${Select} value=${known?.travel} options=${items.map((one) => [one.travel, one.name])} choose=${(travel) => refine({ travel, n: 0, ...CLOSED })} /></label>`}
      ${operates() && html`<${Button} icon="fork" disabled=${busy} onClick=${() => open(() => post("travel/fork", { travel: "store", name: "fork of the store" }), "The fork")}>Fork the store</${Button}>`}
      <label class="button">${busy ? "Reading…" : "Open a recording"}<input class="sr" type="file" accept=".jsonl,.ndjson" onChange=${(event) => load(event.target.files[0])} /></label></${Head}>
    ${list.error && html`<${Failed} error=${list.error} retry=${list.reload} what="The list of recordings" />`}
    ${known ? html`<${Recording} key=${known.travel} of=${known} query=${query} all=${items} open=${open} />` : list.data && !list.loading && html`<div class="card"><${Empty} title=${query.travel ? "This recording is no longer kept" : "No recording is open"} icon="travel">Record a store with <code>store.record("run.jsonl")</code>, and open the file here, or start with <code>resonate-core ui run.jsonl</code>.</${Empty}></div>`}`;
}

function Recording({ of, query, all, open }) {
  const last = of.steps - 1;
  const bounded = (step) => Math.min(Math.max(step, 0), last);
  const n = bounded(Number(query.n ?? last) || 0);
  const to = (next) => refine({ travel: of.travel, n: bounded(next) }, true);
  const state = useView("travel/state", { travel: of.travel, n }, { live: false });
  const [playing, play] = useState(false);
  const at = useRef(n);
  at.current = n;
  useEffect(() => {
    if (!playing) return undefined;
    const timer = setInterval(() => (at.current >= last ? play(false) : to(at.current + 1)), 700);
    return () => clearInterval(timer);
  }, [playing]);
  const { data } = state;
  const then = (name) => html`<a class="button" href=${href(name, { travel: of.travel, n })}>${name[0].toUpperCase() + name.slice(1)} then</a>`;
  return html`<div class="stack"><${Card}><div class="stack tight"><div class="scrubber"><div class="row"><${IconButton} icon="first" label="First step" disabled=${n === 0} onClick=${() => to(0)} />
        <${IconButton} icon="left" label="Step back" disabled=${n === 0} onClick=${() => to(n - 1)} />
        <${IconButton} icon=${playing ? "pause" : "play"} label=${playing ? "Pause" : "Play"} onClick=${() => play(!playing)} />
        <${IconButton} icon="right" label="Next step" disabled=${n >= last} onClick=${() => to(n + 1)} /></div>
      <input type="range" min="0" max=${last} value=${n} aria-label="Step" aria-valuetext=${`Step ${n} of ${last}`} onInput=${(event) => to(Number(event.target.value))} />
      <span class="num nowrap">${text.number(n)} of ${text.number(last)}</span></div>
    <p class="muted">${data ? html`<${When} at=${data.at} plain />${data.next ? ` · next: ${data.next.kind}, ${text.duration(data.next.at - data.at)} later` : " · the end of the recording"}` : "…"}</p>
    <div class="row">${["overview", "queues", "jobs", "workflows"].map(then)}
      <${Button} onClick=${() => download("travel/pytest", { travel: of.travel, n }, "test_story.py").catch((error) => toast(error.message, true))}>Download as pytest</${Button}></div></div></${Card}>
    <div class="columns"><${Card} title="What this step changed"><${Read} from=${state} what="The state">${(found) => html`<div class="stack tight">${found.changes.length ? html`<${Changes} of=${found.changes} />` : html`<p class="muted">${n === 0 ? "The state before the first step." : "Nothing: the step only read, or was refused."}</p>`}
        <h3>Counts</h3><${Counts} of=${found.counts} />${found.upcoming?.length > 0 && html`<h3>Due next</h3>${steps(found.upcoming.slice(0, 8), (step) => text.relative(step.at, found.at), (step) => html`${step.kind} ${step.id && html`<${Id} of=${step.id} to=${linkTo(step.id)} copy=${false} />`}`)}`}</div>`}</${Read}></${Card}>
      <${Steps} of=${of} n=${n} to=${to} /></div>
    ${operates() && html`<${Fork} of=${of} n=${n} open=${open} />`}<${Compare} of=${of} query=${query} n=${n} all=${all} /></div>`;
}

function Counts({ of }) {
  return html`<dl class="facts">${["promises", "tasks", "jobs"].filter((kind) => Object.values(of?.[kind] ?? {}).some(Boolean)).map((kind) => html`<dt key=${kind}>${kind}</dt><dd class="row">${Object.entries(of[kind]).filter(([, many]) => many).map(([state, many]) => html`<span key=${state} class="row"><${State} of=${state} />${text.number(many)}</span>`)}</dd>`)}<dt>messages</dt><dd>${text.number(of?.messages ?? 0)}</dd></dl>`;
}

function Steps({ of, n, to }) {
  const start = Math.max(0, Math.floor((n - SHOWN_STEPS / 2) / 50) * 50);
  const view = useView("travel/steps", { travel: of.travel, limit: SHOWN_STEPS, start: start ? String(start) : undefined }, { live: false });
  const list = useRef();
  useEffect(() => list.current?.querySelector(".here")?.scrollIntoView({ block: "nearest" }), [n, view.data]);
  return html`<${Card} title="Steps"><${Read} from=${view} what="The list of steps">${(data) => html`<ol class="steps step-list" ref=${list} tabindex="0" aria-label="Steps">${data.items.map((step) => html`<li key=${step.n} class=${step.n === n ? "here" : ""}><${Button} look="quiet small" aria-current=${step.n === n ? "step" : undefined} aria-label=${`Go to step ${step.n}`} onClick=${() => to(step.n)}>${step.n}</${Button}>
    <span class="grow">${step.text}${step.status >= 300 ? html` <span class="pill bad">${step.status}</span>` : ""}</span></li>`)}</ol>`}</${Read}></${Card}>`;
}

const DO = [["", "nothing"], ["job.run", "run a job"], ["job.cancel", "cancel a job"], ["task.halt", "halt a task"], ["task.continue", "resume a task"], ["promise.settle", "resolve a promise"], ["queue.pause", "pause a queue"], ["queue.resume", "resume a queue"]];
const ADVANCES = [[0, "nothing"], [60_000, "a minute"], [3_600_000, "an hour"], [86_400_000, "a day"]];

/** A fork, on which one thing is done and time moves. */
function Fork({ of, n, open }) {
  const [kind, setKind] = useState("");
  const [id, setId] = useState("");
  const [advanceMs, setAdvance] = useState(3_600_000);
  const submit = (event) => {
    event.preventDefault();
    const data = kind.startsWith("queue") ? { queue: id } : kind === "promise.settle" ? { id, state: "resolved" } : { id };
    open(() => post("travel/fork", { travel: of.travel, n, do: kind ? [{ kind, data }] : [], advanceMs: Number(advanceMs), name: `fork at step ${n}` }), "The fork");
  };
  return html`<${Card} title="What if"><form class="filters" onSubmit=${submit}><${Field} of=${{ name: "what", label: "On a fork of this step", type: "select", options: DO }} value=${kind} set=${setKind} />
    ${kind && html`<${Field} of=${{ name: "which", label: kind.startsWith("queue") ? "Queue" : "Id", required: true }} value=${id} set=${setId} />`}
    <${Field} of=${{ name: "advance", label: "then let pass", type: "select", options: ADVANCES }} value=${advanceMs} set=${setAdvance} /><${Button} type="submit" icon="fork">Fork</${Button}></form></${Card}>`;
}

function Compare({ of, query, n, all }) {
  const asked = query.a != null;
  const view = useView(asked ? "travel/diff" : null, { travel: of.travel, a: query.a, b: query.b, other: query.other }, { live: false });
  const [typed, setTyped] = useState({ a: query.a ?? "0", b: query.b ?? String(n), other: query.other ?? of.travel });
  const last = (all.find((one) => one.travel === typed.other) ?? of).steps - 1;
  const set = (name) => (value) => setTyped((old) => ({ ...old, [name]: value }));
  const submit = (event) => {
    event.preventDefault();
    refine({ travel: of.travel, n, a: typed.a, b: String(Math.min(Number(typed.b), last)), other: typed.other === of.travel ? null : typed.other }, true);
  };
  return html`<${Card} title="Compare two instants, or two forks"><form class="filters" onSubmit=${submit}><${Field} of=${{ name: "a", label: "From step", type: "number", min: 0, max: of.steps - 1 }} value=${typed.a} set=${set("a")} />
    ${all.length > 1 && html`<${Field} of=${{ name: "other", label: "with", type: "select", options: all.map((one) => [one.travel, one.travel === of.travel ? "this recording" : one.name]) }} value=${typed.other} set=${set("other")} />`}
    <${Field} of=${{ name: "b", label: "to step", type: "number", min: 0, max: last }} value=${typed.b} set=${set("b")} /><${Button} type="submit">Compare</${Button}></form>
    ${asked && html`<${Read} from=${view} what="The difference">${(data) => html`<${Plain} load=${diff} data=${data} label="Difference" on=${{ "diff-select": ({ kind, id }) => (location.hash = linkTo(id, kind)) }} />`}</${Read}>`}</${Card}>`;
}
