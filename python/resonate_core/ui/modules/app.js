// The frame around every view: navigation, search, live updates, theme, dialogues, messages.
import { html, useEffect, useErrorBoundary, useRef, useState } from "./vendor/htm-preact.js";
import { ActionDialog } from "./actions.js";
import { Button, Empty, Failed, Icon, IconButton, Loading } from "./elements.js";
import { Find } from "./find.js";
import { absolute } from "./format.js";
import { Help, hearKeys, nextTheme } from "./keys.js";
import { follow } from "./live.js";
import { href, useRoute } from "./router.js";
import { dropToast, heard, loadSession, setting, snapshot, update, useShared } from "./state.js";
import { Audit } from "./views/audit.js";
import { Enqueue } from "./views/enqueue.js";
import { Groups } from "./views/groups.js";
import { Job } from "./views/job.js";
import { Jobs } from "./views/jobs.js";
import { Login, NoRole } from "./views/login.js";
import { Messages } from "./views/messages.js";
import { Overview } from "./views/overview.js";
import { Queue, Queues } from "./views/queues.js";
import { Schedules } from "./views/schedules.js";
import { Travel, TravelBanner } from "./views/travel.js";
import { WhyView } from "./views/why.js";
import { Workers } from "./views/workers.js";
import { Workflow, Workflows } from "./views/workflows.js";

const VIEWS = {
  overview: [Overview, "Overview"],
  queues: [Queues, "Queues"],
  queue: [Queue, "Queue"],
  jobs: [Jobs, "Jobs"],
  job: [Job, "Job"],
  groups: [Groups, "Groups"],
  enqueue: [Enqueue, "Enqueue a job"],
  workflows: [Workflows, "Workflows"],
  workflow: [Workflow, "Workflow"],
  schedules: [Schedules, "Schedules"],
  workers: [Workers, "Workers"],
  messages: [Messages, "Messages"],
  why: [WhyView, "Why is it stuck?"],
  travel: [Travel, "Time travel"],
  audit: [Audit, "Audit"],
};
const MENU = [
  ["", ["overview"]],
  ["Jobs", ["queues", "jobs", "groups"]],
  ["Workflows", ["workflows", "schedules"]],
  ["Running", ["workers", "messages", "why"]],
  ["Past", ["travel", "audit"]],
];
const UNDER = { job: "jobs", enqueue: "jobs", queue: "queues", workflow: "workflows" };

export function App() {
  const { session, failure, dialog, toasts, settings } = useShared();
  const route = useRoute();
  const [open, setOpen] = useState(false);
  const close = () => update({ dialog: null });
  useEffect(() => {
    loadSession();
    return hearKeys();
  }, []);
  useEffect(() => {
    if (settings.theme === "auto") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.dataset.theme = settings.theme;
  }, [settings.theme]);
  const reads = session && session.role !== "none";
  const live = useRef(null);
  useEffect(() => {
    if (!reads) return undefined;
    live.current = follow(heard, (state) => snapshot().live !== state && update({ live: state }));
    live.current.pause(!snapshot().settings.follow);
    return live.current.end;
  }, [reads]);
  useEffect(() => live.current?.pause(!settings.follow), [settings.follow]);
  useEffect(() => {
    setOpen(false);
    if (snapshot().dialog) close(); // it belongs to the view that was left
  }, [route.name, JSON.stringify(route.query)]);
  const [View, name] = VIEWS[route.name] ?? [NoView, "No such view"];
  useTitle(route, name);
  return html`<a class="skip" href="#main" onClick=${(event) => {
      event.preventDefault();
      document.getElementById("main").focus();
    }}>Skip to the content</a>
    <div class="frame"><header class="top">
      ${reads && html`<${IconButton} icon="menu" label="Menu" class="menu-button" aria-expanded=${String(open)} aria-controls="menu" onClick=${() => setOpen(!open)} />`}
      <a class="brand" href=${href("overview")} aria-label="Resonate, overview"><img src=${"modules/icon.svg"} width="22" alt="" /><span>Resonate</span></a>
      ${reads ? html`<${Find} />` : html`<div class="grow"></div>`}
      ${reads && html`<${Live} />`}
      <${Button} look="quiet small" aria-label=${settings.utc ? "Instants are in UTC; show local time" : "Instants are in local time; show UTC"} onClick=${() => setting("utc", !settings.utc)}>${settings.utc ? "UTC" : "Local"}</${Button}>
      <${IconButton} icon=${{ auto: "auto", light: "sun", dark: "moon" }[settings.theme]} label=${`Theme: ${settings.theme}`} onClick=${nextTheme} />
      <${IconButton} icon="help" label="Keyboard shortcuts" class="only-wide" onClick=${() => update({ dialog: { type: "help" } })} />
    </header>
    ${reads && html`<${Menu} route=${route} open=${open} session=${session} />`}
    <main id="main" tabindex="-1">
      ${failure && failure.status !== 401 && html`<${Failed} error=${failure} retry=${loadSession} what="The session" />`}
      ${!session && !failure && html`<${Loading} />`}
      ${session && !reads && (session.requiresToken ? html`<${Login} />` : html`<${NoRole} why=${session.noRole} />`)}
      ${reads && html`<${TravelBanner} /><${Guard} key=${route.name}><${View} query=${route.query} key=${route.name + (route.query.id ?? "") + (route.query.name ?? "")} /></${Guard}>`}
    </main></div>
    ${dialog?.type === "action" && html`<${ActionDialog} action=${dialog} close=${close} />`}
    ${dialog?.type === "help" && html`<${Help} close=${close} />`}
    <div class="toasts" role="status" aria-live="polite">${toasts.map((one) => html`<div key=${one.key} class=${one.bad ? "toast bad" : "toast s-completed"}><span class="grow">${one.text}</span>
      <${IconButton} icon="close" label="Dismiss" size="13" onClick=${() => dropToast(one.key)} /></div>`)}</div>`;
}

/** Sets the title, and the focus to the new heading, unless the search has it. */
function useTitle(route, name) {
  const first = useRef(true);
  const label = route.query.id ?? route.query.name;
  useEffect(() => {
    document.title = `${label ? `${label} · ` : ""}${name} · Resonate`;
    if (!first.current) {
      scrollTo(0, 0);
      requestAnimationFrame(() => document.activeElement.id === "find" || document.querySelector("main h1")?.focus({ preventScroll: true }));
    }
    first.current = false;
  }, [route.name, label]);
}

function Menu({ route, open, session }) {
  const here = UNDER[route.name] ?? route.name;
  const { tick } = useShared();
  const counts = { jobs: tick?.counts ? tick.counts.pending + tick.counts.running + tick.counts.claimed + tick.counts.retry : null, messages: tick?.messages };
  const place = session.place ?? {};
  return html`<nav class=${open ? "side open" : "side"} id="menu" aria-label="Views">
    ${MENU.map(([label, names]) => html`${label && html`<div class="nav-label">${label}</div>`}<ul>${names.map((name) => html`<li key=${name}>
      <a href=${href(name)} aria-current=${name === here ? "page" : undefined}><${Icon} name=${name} />${VIEWS[name][1]}${counts[name] ? html`<span class="count">${counts[name] > 9_999 ? `${Math.round(counts[name] / 1_000)}k` : counts[name]}</span>` : ""}</a></li>`)}</ul>`)}
    <div class="nav-label">${place.name ?? { memory: "In memory", recording: "A recording" }[place.kind] ?? place.kind}<br />${session.role === "operate" ? "You may operate" : "You may read"}${session.name ? html` as ${session.name}` : ""}
      <br />Version ${session.version}</div></nav>`;
}

const LIVE = { on: "Live", off: "Reconnecting", paused: "Paused" };
function Live() {
  const { live, settings, session } = useShared();
  return html`<button type="button" class=${`live ${live}`} aria-pressed=${String(settings.follow)} aria-label=${`${LIVE[live]}: ${settings.follow ? "pause" : "follow"} live updates`}
    title=${session.clock === "manual" ? `Manual clock at ${absolute(session.now, settings.utc)}` : "Live updates (p)"} onClick=${() => setting("follow", !settings.follow)}><span class=${`dot s-${{ on: "completed", off: "failed" }[live] ?? "cancelled"}`}></span><span class="word">${LIVE[live]}</span></button>`;
}

/** A view that breaks does not take the page with it. */
function Guard({ children }) {
  const [error, reset] = useErrorBoundary((problem) => console.error(problem));
  if (error) return html`<${Failed} error=${error} retry=${reset} what="This view" />`;
  return children;
}

const NoView = () => html`<${Empty} title="There is no such view">Choose one from the menu, or press <kbd>?</kbd> for the shortcuts.</${Empty}>`;
