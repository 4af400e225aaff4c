// The durable functions of the tests as async functions, for the engine that the TypeScript SDK has for those; functions.ts
// has the same as generators.

import { Constant, type Context } from "@resonatehq/sdk/async";
import { ask, countUp, flaky, greet, refuse, square, step, TARGET, tell, work } from "./leaves.ts";

// Nested: a local and a remote child at each level, both under way at once.
async function fibonacci(context: Context, n: number): Promise<number> {
  if (n < 2) return n;
  const local = context.run(fibonacci, n - 1);
  const remote = context.rpc<number>("fibonacci", n - 2, context.options(TARGET));
  return (await local) + (await remote);
}

// Parallel: n children here and n elsewhere, all begun before the first is awaited.
async function fanOut(context: Context, n: number) {
  const children = [];
  for (let i = 0; i < n; i++) children.push(context.run(square, i));
  for (let i = n; i < 2 * n; i++) children.push(context.rpc<number>("square", i, context.options(TARGET)));
  return await Promise.all(children);
}

// A step and a durable sleep, again and again.
async function countdown(context: Context, count: number, delay: number) {
  for (let i = count; i > 0; i--) {
    await context.run(tell, i);
    await context.sleep(delay * 1000);
  }
  return "Done!";
}

// Waits for somebody to settle a promise of its own.
async function approval(context: Context, question: string) {
  const answer = context.promise<string>({ timeout: 3_600_000 });
  ask(answer.id, question);
  try {
    return `${question} ${await answer}`;
  } catch (error) {
    return `${question} refused: ${error}`;
  }
}

// Starts another workflow and does not wait for it.
async function launch(context: Context, key: string) {
  return (await context.detached("landing", key, context.options(TARGET))).id;
}

// What was launched: it takes longer than its launcher.
async function landing(context: Context, key: string) {
  await context.sleep(300);
  return `${key} landed on ${await context.run(square, 3)}`;
}

// Has a child that succeeds when it is tried for the third time.
async function persist(context: Context, key: string) {
  return await context.run(flaky, key, context.options({ retryPolicy: new Constant({ delay: 1, maxRetries: 5 }) }));
}

// Ends with its child's error.
async function hopeless(context: Context, reason: string) {
  await context.run(refuse, reason);
}

// Lives through its child's error, one here and one elsewhere.
async function careful(context: Context, reason: string) {
  const told = [];
  for (const child of [() => context.run(refuse, reason), () => context.rpc("hopeless", reason, context.options(TARGET))]) {
    try {
      await child();
    } catch (error) {
      told.push((error as Error).message);
    }
  }
  return told.join(" and ");
}

// Steps one after the other; between them a call of another worker, and a durable sleep.
async function steps(context: Context, key: string, count: number) {
  const made = [];
  for (let i = 0; i < count; i++) {
    made.push(await context.run(step, key, i));
    if (i === 0) made.push(await context.rpc<number>("square", 10, context.options(TARGET)));
    if (i === 1) await context.sleep(200);
  }
  return made;
}

// Messages all the time: a call of another worker and a durable sleep in each round.
async function relay(context: Context, rounds: number) {
  let total = 0;
  for (let i = 0; i < rounds; i++) {
    total += await context.rpc<number>("square", i, context.options(TARGET));
    await context.sleep(400);
  }
  return total;
}

// What a schedule starts; it has children.
async function report(context: Context, key: string) {
  return await context.run(countUp, key);
}

// By the names that the tests call them.
export const FUNCTIONS: Record<string, (context: Context, ...args: any[]) => any> = {
  ...{ greet, square, fibonacci, fan_out: fanOut, countdown, approval, launch, landing, persist, hopeless, careful },
  ...{ steps, work, relay, report },
};
