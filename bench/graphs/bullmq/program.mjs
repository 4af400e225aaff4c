// Measures BullMQ's flows on a Redis that somebody else has started, alone.
//
//     node program.mjs PORT PROCESS WORKERS CONCURRENCY CHAINS LENGTH WIDTH PAYLOAD
//
// PROCESS is that of the Redis. WORKERS is the number of processes with a Worker each, or 0 for one in this process. Workers are
// started and warmed up. Then chains are added, as many flows in a call of addBulk as make 1,000 jobs, and are run meanwhile; then a
// parent with WIDTH children. Prints a line of JSON: jobs a second of both, and µs of processor time a job of all processes.
import { fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { FlowProducer, Worker } from "bullmq";

const numbers = process.argv.slice(2, 9).map(Number);
const [port, redis, workers, concurrency, count, length, width] = numbers;
const payload = process.argv[9];
const connection = { host: "127.0.0.1", port, maxRetriesPerRequest: null };

async function work(ended) {
  const worker = new Worker("bench", async (job) => void (job.name === "last" && ended()), { connection, concurrency });
  await worker.waitUntilReady();
  return worker;
}

if (process.send) {
  const worker = await work(() => process.send("ended"));
  process.on("disconnect", () => process.exit());
  process.send("ready");
  await new Promise(() => worker);
}

let left = 0;
let done;
const ended = () => void (--left === 0 && done());
const pids = [process.pid, redis];
const children = [];
for (let i = 0; i < workers; i++) {
  const child = fork(process.argv[1], process.argv.slice(2));
  await new Promise((ready) => child.once("message", ready));
  child.on("message", ended);
  children.push(child);
  pids.push(child.pid);
}
const own = workers === 0 ? await work(ended) : undefined;
const producer = new FlowProducer({ connection });
await producer.waitUntilReady();

const opts = { removeOnComplete: true };
const job = (name, children) => ({ name, queueName: "bench", data: payload, opts, ...(children && { children }) });
// The root of a flow runs last.
function chain() {
  let before = job("step");
  for (let i = 2; i < length; i++) before = job("step", [before]);
  return job("last", [before]);
}
const fan = () => job("last", Array.from({ length: width }, () => job("step")));

const TICKS = 100; // a second, on Linux
function used() {
  return pids
    .map((pid) => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" "))
    .reduce((sum, row) => sum + (Number(row[11]) + Number(row[12])) / TICKS, 0);
}

const found = {};
async function measured(what, flows, size, jobs) {
  left = flows.length;
  const finished = new Promise((resolve) => (done = resolve));
  const [before, began] = [used(), performance.now()];
  for (let i = 0; i < flows.length; i += size) await producer.addBulk(flows.slice(i, i + size));
  await finished;
  found[what] = (1000 * jobs) / (performance.now() - began);
  found[`${what} cpu us`] = (1e6 * (used() - before)) / jobs;
}

const chains = (number) => Array.from({ length: number }, chain);
await measured("warm-up", chains(20), 20, 20 * length);
await measured("chains", chains(count), 1000 / length, count * length);
if (width) await measured("fan", [fan()], 1, width + 1);
console.log(JSON.stringify(found));
for (const child of children) child.kill();
await producer.close();
await own?.close();
process.exit();
