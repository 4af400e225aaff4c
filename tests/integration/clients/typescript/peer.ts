// A process with the TypeScript SDK that does what its standard input says, as programs/python/peer.py does: a JSON command
// a line; what a command comes to is a line of standard output that begins with `@@ `. PEER_ENGINE says which of the SDK's
// two engines it has: `generators` or `async`.

import { createInterface } from "node:readline";
import * as generators from "@resonatehq/sdk";
import * as async from "@resonatehq/sdk/async";
import { FUNCTIONS as OF_GENERATORS } from "./functions.ts";
import { FUNCTIONS as OF_ASYNC } from "./functions_async.ts";

function say(what: object) {
  process.stdout.write(`@@ ${JSON.stringify(what)}\n`);
}

const group = process.env.PEER_GROUP!;
const settings = {
  url: process.env.RESONATE_URL!,
  group,
  pid: process.env.PEER_NAME!,
  ttl: Number(process.env.PEER_TTL_MS!),
  token: process.env.RESONATE_TOKEN, // from the environment alone this SDK would poll without it
  logLevel: "info" as const,
};
const functions = Boolean(process.env.PEER_FUNCTIONS);

type Begin = (id: string, func: string, ...args: any[]) => Promise<{ result(): Promise<any> }>;

// Either engine: what one calls beginRun is run in the other.
function client(): { resonate: generators.Resonate | async.Resonate; run: Begin; rpc: Begin } {
  if (process.env.PEER_ENGINE === "async") {
    const resonate = new async.Resonate(settings);
    if (functions) for (const [name, func] of Object.entries(OF_ASYNC)) resonate.register(name, func);
    return { resonate, run: resonate.run.bind(resonate), rpc: resonate.rpc.bind(resonate) };
  }
  const resonate = new generators.Resonate(settings);
  if (functions) for (const [name, func] of Object.entries(OF_GENERATORS)) resonate.register(name, func);
  return { resonate, run: resonate.beginRun.bind(resonate), rpc: resonate.beginRpc.bind(resonate) };
}

const { resonate, run, rpc } = client();
const schedules = new Map<string, { delete(): Promise<void> }>();

async function carryOut(command: any): Promise<any> {
  const { n, do: what, id, func, args = [], cron } = command;
  const options = resonate.options({ target: command.target ?? group });
  switch (what) {
    case "run":
    case "rpc": {
      const handle = await (what === "run" ? run(id, func, ...args) : rpc(id, func, ...args, options));
      say({ n, created: true });
      return await handle.result();
    }
    case "get":
      return await (await resonate.get(id)).result();
    case "schedule":
      schedules.set(id, await resonate.schedule(id, cron, func, ...args, options));
      return id;
    case "unschedule":
      await schedules.get(id)!.delete();
      return id;
    default:
      throw new Error(`there is no command ${what}`);
  }
}

async function answer(command: any) {
  try {
    say({ n: command.n, value: (await carryOut(command)) ?? null });
  } catch (error) {
    console.error(error);
    say({ n: command.n, error: String(error) });
  }
}

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => answer(JSON.parse(line)));
lines.on("close", () => process.exit(0));
say({ ready: true });
