// What the functions of both engines do beside their durable steps: it is seen in files of the folder PEER_FOLDER, and can be
// held up there.

import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const FOLDER = process.env.PEER_FOLDER!;
const NAME = process.env.PEER_NAME!;

// Without a target this SDK calls the group `default`, whatever its own is.
export const TARGET = { target: process.env.PEER_GROUP! };

// Appends a line to a file; returns how many it has now.
function note(file: string, line: string): number {
  const path = join(FOLDER, file);
  appendFileSync(path, `${line}\n`);
  return readFileSync(path, "utf8").split("\n").length - 1;
}

// Tells a file which promise somebody is to settle.
export function ask(id: string, question: string) {
  writeFileSync(join(FOLDER, "asked"), JSON.stringify({ id, question }));
}

// What is not ASCII has to come through.
export async function greet(_: unknown, name: string) {
  return `Hello, ${name}! \u2713 \u2028`;
}

export async function square(_: unknown, n: number) {
  return n * n;
}

// Leaves a trace.
export async function tell(_: unknown, i: number) {
  note("countdown", String(i));
}

// Fails twice.
export async function flaky(_: unknown, key: string) {
  const tries = note(key, "tried");
  if (tries < 3) throw new Error(`try ${tries} of ${key}`);
  return tries;
}

// Fails.
export async function refuse(_: unknown, reason: string): Promise<void> {
  throw new Error(reason);
}

// Says that it began, waits for its gate, says that it ended.
export async function step(_: unknown, key: string, i: number) {
  note(key, `${i} begun by ${NAME}`);
  while (!existsSync(join(FOLDER, `${key}.gate${i}`))) await pause(20);
  note(key, `${i} ended by ${NAME}`);
  return i;
}

// Takes its time.
export async function work(_: unknown, key: string, seconds: number) {
  note(key, `begun by ${NAME}`);
  await pause(seconds * 1000);
  return `${key} done`;
}

// Counts the lines of a file, its own included.
export async function countUp(_: unknown, key: string) {
  return note(key, "fired");
}
