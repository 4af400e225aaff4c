// The durable functions of the tests, for the published TypeScript SDK; programs/python/functions.py has the same.
//
// What they do beside their durable steps is seen in files of the folder PEER_FOLDER, and they can be held up there: `step`
// goes on once its gate is open.

import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Constant, type Context, Never } from "@resonatehq/sdk";

const FOLDER = process.env.PEER_FOLDER!;
const NAME = process.env.PEER_NAME!;

// Without a target this SDK calls the group `default`, whatever its own is.
const here = (context: Context, more: object = {}) => context.options({ target: process.env.PEER_GROUP!, ...more });

// Appends a line to a file; returns how many it has now.
function note(file: string, line: string): number {
  const path = join(FOLDER, file);
  appendFileSync(path, `${line}\n`);
  return readFileSync(path, "utf8").split("\n").length - 1;
}

// A leaf. What is not ASCII has to come through.
export async function greet(_: Context, name: string) {
  return `Hello, ${name}! \u2713 \u2028`;
}

// A leaf.
export async function square(_: Context, n: number) {
  return n * n;
}

// Nested: a local and a remote child at each level, both under way at once.
export function* fibonacci(context: Context, n: number): Generator<any, number, any> {
  if (n < 2) return n;
  const local = yield* context.beginRun(fibonacci, n - 1);
  const remote = yield* context.beginRpc<number>("fibonacci", n - 2, here(context));
  return (yield* local) + (yield* remote);
}

// Parallel: n children here and n elsewhere, all begun before the first is awaited.
export function* fanOut(context: Context, n: number): Generator<any, number[], any> {
  const children = [];
  for (let i = 0; i < n; i++) children.push(yield* context.beginRun(square, i));
  for (let i = n; i < 2 * n; i++) children.push(yield* context.beginRpc<number>("square", i, here(context)));
  const squares = [];
  for (const child of children) squares.push(yield* child);
  return squares;
}

// A step and a durable sleep, again and again.
export function* countdown(context: Context, count: number, delay: number): Generator<any, string, any> {
  for (let i = count; i > 0; i--) {
    yield* context.run(tell, i);
    yield* context.sleep(delay * 1000);
  }
  return "Done!";
}

// Leaves a trace.
async function tell(_: Context, i: number) {
  note("countdown", String(i));
}

// Waits for somebody to settle a promise of its own, whose id it tells in a file.
export function* approval(context: Context, question: string): Generator<any, string, any> {
  const answer = yield* context.promise<string>({ timeout: 3_600_000 });
  writeFileSync(join(FOLDER, "asked"), JSON.stringify({ id: answer.id, question }));
  try {
    return `${question} ${yield* answer}`;
  } catch (error) {
    return `${question} refused: ${error}`;
  }
}

// Starts another workflow and does not wait for it.
export function* launch(context: Context, key: string): Generator<any, string, any> {
  return (yield* context.detached("landing", key, here(context))).id;
}

// What was launched: it takes longer than its launcher.
export function* landing(context: Context, key: string): Generator<any, string, any> {
  yield* context.sleep(300);
  return `${key} landed on ${yield* context.run(square, 3)}`;
}

// Has a child that succeeds when it is tried for the third time.
export function* persist(context: Context, key: string): Generator<any, number, any> {
  return yield* context.run(flaky, key, context.options({ retryPolicy: new Constant({ delay: 1, maxRetries: 5 }) }));
}

// Fails twice.
async function flaky(_: Context, key: string) {
  const tries = note(key, "tried");
  if (tries < 3) throw new Error(`try ${tries} of ${key}`);
  return tries;
}

// Ends with its child's error.
export function* hopeless(context: Context, reason: string): Generator<any, void, any> {
  yield* context.run(refuse, reason, context.options({ retryPolicy: new Never() }));
}

// Lives through its child's error, one here and one elsewhere.
export function* careful(context: Context, reason: string): Generator<any, string, any> {
  const told = [];
  try {
    yield* context.run(refuse, reason, context.options({ retryPolicy: new Never() }));
  } catch (error) {
    told.push((error as Error).message);
  }
  try {
    yield* context.rpc("hopeless", reason, here(context));
  } catch (error) {
    told.push((error as Error).message);
  }
  return told.join(" and ");
}

// A leaf that fails.
async function refuse(_: Context, reason: string) {
  throw new Error(reason);
}

// Steps one after the other; between two of them a durable sleep, and a call of another worker.
export function* steps(context: Context, key: string, count: number): Generator<any, number[], any> {
  const made = [];
  for (let i = 0; i < count; i++) {
    made.push(yield* context.run(step, key, i));
    if (i === 0) made.push(yield* context.rpc<number>("square", 10, here(context)));
    if (i === 1) yield* context.sleep(200);
  }
  return made;
}

// Says that it began, waits for its gate, says that it ended.
async function step(_: Context, key: string, i: number) {
  note(key, `${i} begun by ${NAME}`);
  while (!existsSync(join(FOLDER, `${key}.gate${i}`))) await pause(20);
  note(key, `${i} ended by ${NAME}`);
  return i;
}

// A leaf that takes its time.
export async function work(_: Context, key: string, seconds: number) {
  note(key, `begun by ${NAME}`);
  await pause(seconds * 1000);
  return `${key} done`;
}

// Messages all the time: a call of another worker and a durable sleep in each round.
export function* relay(context: Context, rounds: number): Generator<any, number, any> {
  let total = 0;
  for (let i = 0; i < rounds; i++) {
    total += yield* context.rpc<number>("square", i, here(context));
    yield* context.sleep(400);
  }
  return total;
}

// What a schedule starts; it has children.
export function* report(context: Context, key: string): Generator<any, number, any> {
  return yield* context.run(countUp, key);
}

// Counts the lines of a file, its own included.
async function countUp(_: Context, key: string) {
  return note(key, "fired");
}

// By the names that the tests call them.
export const FUNCTIONS: Record<string, (context: Context, ...args: any[]) => any> = {
  ...{ greet, square, fibonacci, fan_out: fanOut, countdown, approval, launch, landing, persist, hopeless, careful },
  ...{ steps, work, relay, report },
};
