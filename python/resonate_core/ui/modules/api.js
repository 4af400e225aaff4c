// Requests to the server. Paths are relative to the page, which may be mounted anywhere.

const KEY = "resonate-ui-token";

/** What a request failed with: `status` is 0 if the server was not reached. */
export class Failure extends Error {
  constructor(status, message, retryAfter = null) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

let token = read();
function read() {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null; // storage is blocked: the token lasts as long as the page
  }
}

/** Keeps the token for this tab only; null forgets it. */
export function setToken(text) {
  token = text;
  try {
    if (text) sessionStorage.setItem(KEY, text);
    else sessionStorage.removeItem(KEY);
  } catch {
    // as above
  }
}

/** Encodes parameters: lists repeat their name, empty ones are left out. */
export function query(params) {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(params ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "") found.append(name, String(one));
    }
  }
  return found.toString();
}

const headers = (more = {}) => (token ? { authorization: `Bearer ${token}`, ...more } : more);

async function send(path, options) {
  let reply;
  try {
    reply = await fetch(path, { credentials: "same-origin", cache: "no-store", redirect: "error", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure(0, "The server cannot be reached. It may be restarting, or the network is down.");
  }
  if (reply.ok) return reply;
  let message = `The server answered ${reply.status}.`;
  try {
    message = (await reply.json()).error ?? message;
  } catch {
    // not JSON: something between the page and the server answered
  }
  throw new Failure(reply.status, message, reply.headers.get("retry-after"));
}

/** Reads one view. */
export async function get(view, params, signal) {
  const text = query(params);
  return (await send(`api/${view}${text ? `?${text}` : ""}`, { headers: headers(), signal })).json();
}

/** Sends JSON. */
export async function post(path, body, more = {}) {
  const content = typeof body === "string" ? body : JSON.stringify(body);
  return (await send(`api/${path}`, { method: "POST", body: content, headers: headers({ "content-type": "application/json", "x-resonate-ui": "1", ...more }) })).json();
}

/** Does an action, or shows what it would do. */
export const act = (kind, data, more = {}) => post("do", { kind, data, ...more });

/** Downloads a file: a link cannot send the token. */
export async function download(view, params, name) {
  const reply = await send(`api/${view}?${query(params)}`, { headers: headers() });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await reply.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Reads the stream of events until it ends; calls `hear` for each. EventSource cannot send the token. */
export async function events(hear, signal) {
  const reply = await send("api/events", { headers: headers({ accept: "text/event-stream" }), signal });
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  hear(null);
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const data = block.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5)).join("\n");
      if (data) hear(JSON.parse(data));
    }
  }
}
