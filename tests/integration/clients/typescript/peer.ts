// A process with the TypeScript SDK that does what its standard input says, as programs/python/peer.py does: a JSON command
// a line; what a command comes to is a line of standard output that begins with `@@ `.

import { createInterface } from "node:readline";
import { Resonate } from "@resonatehq/sdk";
import { FUNCTIONS } from "./functions.ts";

function say(what: object) {
  process.stdout.write(`@@ ${JSON.stringify(what)}\n`);
}

const group = process.env.PEER_GROUP!;
const resonate = new Resonate({
  url: process.env.RESONATE_URL!,
  group,
  pid: process.env.PEER_NAME!,
  ttl: Number(process.env.PEER_TTL_MS!),
  token: process.env.RESONATE_TOKEN, // from the environment alone this SDK would poll without it
  logLevel: "info",
});
if (process.env.PEER_FUNCTIONS) {
  for (const [name, func] of Object.entries(FUNCTIONS)) resonate.register(name, func);
}

const schedules = new Map<string, { delete(): Promise<void> }>();

async function carryOut(command: any): Promise<any> {
  const { n, do: what, id, func, args = [], cron } = command;
  const options = resonate.options({ target: command.target ?? group });
  switch (what) {
    case "run":
    case "rpc": {
      const handle = await (what === "run" ? resonate.beginRun(id, func, ...args) : resonate.beginRpc(id, func, ...args, options));
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
