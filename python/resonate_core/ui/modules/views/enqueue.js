// A form that enqueues one job.
import { html, useState } from "../vendor/htm-preact.js";
import { Field, ask, collect, parseJson, parseNumber, parseTags } from "../actions.js";
import { Card, Empty, Head } from "../elements.js";
import { go, href } from "../router.js";
import { mayOperate } from "../state.js";

const FIELDS = [
  { name: "type", label: "Type", required: true, placeholder: "email:send", hint: "The name by which a worker finds the function" },
  { name: "queue", label: "Queue", placeholder: "default" },
  { name: "id", label: "Id", hint: "Empty: the store makes one" },
  { name: "payloadJson", label: "Payload (JSON)", type: "textarea", rows: 8, placeholder: '{"to": "ann"}', parse: parseJson },
  { name: "priority", label: "Priority", type: "number", min: 1, max: 100, hint: "1 is first, 100 last", parse: parseNumber("Priority", 1) },
  { name: "maxRetries", label: "Retries", type: "number", min: 0, hint: "Empty: as the queue says", parse: parseNumber("Retries", 0) },
  { name: "processIn", label: "Delay (ms)", type: "number", min: 0, parse: parseNumber("Delay", 0) },
  { name: "timeout", label: "Timeout (ms)", type: "number", min: 1, hint: "Of one attempt", parse: parseNumber("Timeout", 1) },
  { name: "uniqueKey", label: "Unique key" },
  { name: "group", label: "Group" },
  { name: "tags", label: "Tags", placeholder: "tenant=acme, team=blue", parse: parseTags },
];

export function Enqueue({ query }) {
  const [values, setValues] = useState(() => Object.fromEntries(FIELDS.map((field) => [field.name, query[field.name] ?? ""])));
  const [wrong, setWrong] = useState({});
  const submit = (event) => {
    event.preventDefault();
    const { data, problems } = collect(FIELDS, values);
    setWrong(problems);
    const first = Object.keys(problems)[0];
    if (first) document.getElementById(`field-${first}`)?.focus();
    else ask({ title: `Enqueue ${data.type}`, verb: "Enqueue", kind: "job.enqueue", data, text: `A job of type ${data.type} in the queue ${data.queue ?? "default"}.`, done: (reply) => `Enqueued ${reply.data?.job?.id ?? ""}.`, after: (reply) => reply.data?.job?.id && go("job", { id: reply.data.job.id }) });
  };
  if (!mayOperate()) return html`<${Head} title="Enqueue a job" /><div class="card"><${Empty} title="You may read only" icon="jobs">To enqueue jobs you need a token with the role operate.</${Empty}></div>`;
  return html`<${Head} title="Enqueue a job" crumbs=${html`<a href=${href("jobs")}>Jobs</a>`} /><${Card}><form class="stack" onSubmit=${submit} novalidate>
    <div class="fields">${FIELDS.map((field) => html`<${Field} key=${field.name} of=${field} value=${values[field.name]} wrong=${wrong[field.name]} set=${(value) => setValues((old) => ({ ...old, [field.name]: value }))} />`)}</div>
    <div class="row"><button type="submit" class="button primary">Enqueue…</button><span class="muted small">The next step offers to try it first.</span></div></form></${Card}>`;
}
