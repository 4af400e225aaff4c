// The durable functions of the tests as generators, for the published TypeScript SDK; functions_async.ts and
// programs/python/functions.py have the same.

import { Constant, type Context, Never } from "@resonatehq/sdk";
import { ask, countUp, flaky, greet, refuse, square, step, TARGET, tell, work } from "./leaves.ts";

// Nested: a local and a remote child at each level, both under way at once.
function* fibonacci(context: Context, n: number): Generator<any, number, any> {
  if (n < 2) return n;
  const local = yield* context.beginRun(fibonacci, n - 1);
  const remote = yield* context.beginRpc<number>("fibonacci", n - 2, context.options(TARGET));
  return (yield* local) + (yield* remote);
}

// Parallel: n children here and n elsewhere, all begun before the first is awaited.
function* fanOut(context: Context, n: number): Generator<any, number[], any> {
  const children = [];
  for (let i = 0; i < n; i++) children.push(yield* context.beginRun(square, i));
  for (let i = n; i < 2 * n; i++) children.push(yield* context.beginRpc<number>("square", i, context.options(TARGET)));
  const squares = [];
  for (const child of children) squares.push(yield* child);
  return squares;
}

// A step and a durable sleep, again and again.
function* countdown(context: Context, count: number, delay: number): Generator<any, string, any> {
  for (let i = count; i > 0; i--) {
    yield* context.run(tell, i);
    yield* context.sleep(delay * 1000);
  }
  return "Done!";
}

// Waits for somebody to settle a promise of its own.
function* approval(context: Context, question: string): Generator<any, string, any> {
  const answer = yield* context.promise<string>({ timeout: 3_600_000 });
  ask(answer.id, question);
  try {
    return `${question} ${yield* answer}`;
  } catch (error) {
    return `${question} refused: ${error}`;
  }
}

// Starts another workflow and does not wait for it.
function* launch(context: Context, key: string): Generator<any, string, any> {
  return (yield* context.detached("landing", key, context.options(TARGET))).id;
}

// What was launched: it takes longer than its launcher.
function* landing(context: Context, key: string): Generator<any, string, any> {
  yield* context.sleep(300);
  return `${key} landed on ${yield* context.run(square, 3)}`;
}

// Has a child that succeeds when it is tried for the third time.
function* persist(context: Context, key: string): Generator<any, number, any> {
  return yield* context.run(flaky, key, context.options({ retryPolicy: new Constant({ delay: 1, maxRetries: 5 }) }));
}

// Ends with its child's error.
function* hopeless(context: Context, reason: string): Generator<any, void, any> {
  yield* context.run(refuse, reason, context.options({ retryPolicy: new Never() }));
}

// Lives through its child's error, one here and one elsewhere.
function* careful(context: Context, reason: string): Generator<any, string, any> {
  const told = [];
  try {
    yield* context.run(refuse, reason, context.options({ retryPolicy: new Never() }));
  } catch (error) {
    told.push((error as Error).message);
  }
  try {
    yield* context.rpc("hopeless", reason, context.options(TARGET));
  } catch (error) {
    told.push((error as Error).message);
  }
  return told.join(" and ");
}

// Steps one after the other; between them a call of another worker, and a durable sleep.
function* steps(context: Context, key: string, count: number): Generator<any, number[], any> {
  const made = [];
  for (let i = 0; i < count; i++) {
    made.push(yield* context.run(step, key, i));
    if (i === 0) made.push(yield* context.rpc<number>("square", 10, context.options(TARGET)));
    if (i === 1) yield* context.sleep(200);
  }
  return made;
}

// Messages all the time: a call of another worker and a durable sleep in each round.
function* relay(context: Context, rounds: number): Generator<any, number, any> {
  let total = 0;
  for (let i = 0; i < rounds; i++) {
    total += yield* context.rpc<number>("square", i, context.options(TARGET));
    yield* context.sleep(400);
  }
  return total;
}

// What a schedule starts; it has children.
function* report(context: Context, key: string): Generator<any, number, any> {
  return yield* context.run(countUp, key);
}

// By the names that the tests call them.
export const FUNCTIONS: Record<string, (context: Context, ...args: any[]) => any> = {
  ...{ greet, square, fibonacci, fan_out: fanOut, countdown, approval, launch, landing, persist, hopeless, careful },
  ...{ steps, work, relay, report },
};
