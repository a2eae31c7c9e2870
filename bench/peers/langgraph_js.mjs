// Workloads on LangGraph for JavaScript, a JSON line each; the rules are in bench/README.md.
import { createRequire } from "node:module";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL, fileURLToPath } from "node:url";

const peers = process.env.TROUPE_BENCH_NODE_MODULES; // the folder with node_modules
const { resolve } = createRequire(join(peers, "package.json"));
const load = (name) => import(pathToFileURL(resolve(name)).href);
const { StateGraph, Annotation, MemorySaver, START, END, Send, Command, interrupt, messagesStateReducer } =
  await load("@langchain/langgraph");
const version = JSON.parse(readFileSync(join(peers, "node_modules/@langchain/langgraph/package.json"))).version;
const runtime = `langgraph-js ${version}`;

const RUNS_MIN = 3, RUNS_MAX = 25, SHORT_RUN_US = 100, BATCH_US = 10_000;
let seconds = 3;

function expect(holds, what) {
  if (!holds) throw new Error(`wrong result: ${what}`);
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const now = () => Number(process.hrtime.bigint()) / 1000;

async function timeUs(run) {
  const begin = now();
  await run();
  return now() - begin;
}

/** Samples of what `one` returns, after one that does not count. */
async function each(one) {
  await one();
  const samples = [], begin = now();
  while (samples.length < RUNS_MIN || (samples.length < RUNS_MAX && now() - begin < seconds * 1e6))
    samples.push(await one());
  return samples;
}

/** Samples of the time of one `run`; for a short one, means of batches. */
async function timed(run, check) {
  await run();
  check();
  const first = await timeUs(run);
  const count = first < SHORT_RUN_US ? Math.ceil((BATCH_US * 1.2) / Math.max(first, 0.1)) : 1;
  return each(async () => {
    const us = await timeUs(async () => {
      for (let i = 0; i < count; ++i) await run();
    });
    check();
    return us / count;
  });
}

let threads = 0;
const newRun = (more) => ({ configurable: { thread_id: `t${++threads}` }, recursionLimit: 1e9, ...more });

// ---- graphs ----

const append = () => Annotation({ reducer: (a, b) => a.concat(b), default: () => [] });
const Counter = Annotation.Root({ counter: Annotation() });
const Items = Annotation.Root({ items: append() });
const Results = Annotation.Root({ results: append(), count: Annotation() });
const Messages = Annotation.Root({ messages: Annotation({ reducer: messagesStateReducer, default: () => [] }) });
const inc = (state) => ({ counter: state.counter + 1 });

function chain(names, options, bodies = {}) {
  let graph = new StateGraph(Counter);
  for (const name of names) graph = graph.addNode(name, bodies[name] ?? inc);
  [START, ...names].forEach((name, i) => graph.addEdge(name, [...names, END][i]));
  return graph.compile(options);
}

function counterLoop(end, options) {
  return new StateGraph(Counter).addNode("step", inc).addEdge(START, "step")
    .addConditionalEdges("step", (state) => (state.counter < end ? "step" : END), ["step", END]).compile(options);
}

const item = (i) => `item ${String(i).padStart(6, "0")} `.padEnd(100, "x");

function appendLoop(end, options) {
  return new StateGraph(Items).addNode("step", (state) => ({ items: [item(state.items.length)] }))
    .addEdge(START, "step")
    .addConditionalEdges("step", (state) => (state.items.length < end ? "step" : END), ["step", END]).compile(options);
}

function fanoutJoin(n) {
  let graph = new StateGraph(Results).addNode("join", (state) => ({ count: state.results.length }));
  for (let i = 0; i < n; ++i) graph = graph.addNode(`worker${1000 + i}`, () => ({ results: [i] }));
  for (let i = 0; i < n; ++i) graph.addEdge(START, `worker${1000 + i}`).addEdge(`worker${1000 + i}`, "join");
  return graph.addEdge("join", END).compile();
}

function sendFanout(n) {
  return new StateGraph(Results).addNode("worker", (argument) => ({ results: [argument.i] }))
    .addConditionalEdges(START, () => Array.from({ length: n }, (_, k) => new Send("worker", { i: k })), ["worker"])
    .addEdge("worker", END).compile();
}

function idleChain(n) {
  let graph = new StateGraph(Messages);
  const names = Array.from({ length: n }, (_, i) => `node${i}`);
  for (const name of names) graph = graph.addNode(name, () => ({}));
  [START, ...names].forEach((name, i) => graph.addEdge(name, [...names, END][i]));
  return graph;
}

// ---- ways to run ----

const invoked = (build, state, wanted, more) => async () => {
  const graph = await build();
  let last;
  return timed(async () => { last = await graph.invoke(state, newRun(more)); },
    () => expect(same(last, wanted), `the state: ${JSON.stringify(last).slice(0, 100)}`));
};

const drained = (n) => async () => {
  const graph = idleChain(n).compile();
  let count;
  return timed(async () => {
    count = 0;
    for await (const _ of await graph.stream({ messages: [] }, newRun({ streamMode: "updates" }))) ++count;
  }, () => expect(count === n, `the number of events: ${count}`));
};

const compileTime = async () => {
  const builder = idleChain(1000);
  return each(() => timeUs(() => builder.compile()));
};

const streamCustom = async () => {
  const State = Annotation.Root({ n: Annotation() });
  const graph = new StateGraph(State).addNode("emit", (_, config) => {
    for (let i = 0; i < 10_000; ++i) config.writer("token-token-token-tok");
    return { n: 1 };
  }).addEdge(START, "emit").addEdge("emit", END).compile();
  let events;
  return timed(async () => {
    events = [];
    for await (const event of await graph.stream({ n: 0 }, newRun({ streamMode: "custom" }))) events.push(event);
  }, () => expect(events.length === 10_000 && events.every((e) => e === "token-token-token-tok"), "the events"));
};

const concurrent = (runs) => async () => {
  const graph = chain(["a", "b", "c"]);
  let results;
  return timed(async () => {
    results = await Promise.all(Array.from({ length: runs }, () => graph.invoke({ counter: 0 }, newRun())));
  }, () => expect(results.every((r) => r.counter === 3), "a counter"));
};

// ---- stores ----

/** Calls `use` with a new saver, in memory or in a file of SQLite (WAL, synchronous=FULL). */
async function withStore(file, use) {
  if (!file) return use(new MemorySaver());
  const { SqliteSaver } = await load("@langchain/langgraph-checkpoint-sqlite");
  const folder = mkdtempSync(join(tmpdir(), "troupe-bench-peer-"));
  try {
    const saver = SqliteSaver.fromConnString(join(folder, "store.sqlite"));
    saver.setup();
    saver.db.pragma("synchronous = FULL");
    const result = await use(saver);
    saver.db.close();
    return result;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const loopRun = (build, state, steps, check, file) => () => each(() => withStore(file, async (checkpointer) => {
  const graph = build({ checkpointer }), config = newRun({ durability: "sync" });
  let last;
  const us = await timeUs(async () => { last = await graph.invoke(state, config); });
  check(last);
  let count = 0;
  for await (const _ of checkpointer.list(config)) ++count;
  expect(count === steps + 1 || count === steps + 2, `the number of checkpoints: ${count}`);
  return us;
}));

const countLoop = (end, file) => loopRun((o) => counterLoop(end, o), { counter: 0 }, end,
  (s) => expect(s.counter === end, "the counter"), file);
const itemLoop = (end, file) => loopRun((o) => appendLoop(end, o), { items: [] }, end,
  (s) => expect(same(s.items, Array.from({ length: end }, (_, i) => item(i))), "the items"), file);
const oneStep = (file) => () => withStore(file, (checkpointer) =>
  invoked(() => chain(["a"], { checkpointer }), { counter: 0 }, { counter: 1 }, { durability: "sync" })());

const interruptResume = (file) => () => withStore(file, (checkpointer) => {
  const graph = chain(["a", "b", "c"], { checkpointer },
    { b: (state) => ({ counter: state.counter + interrupt("go?") }) });
  let last;
  return timed(async () => {
    const config = newRun({ durability: "sync" });
    await graph.invoke({ counter: 0 }, config);
    last = await graph.invoke(new Command({ resume: 10 }), config);
  }, () => expect(last.counter === 12, "the counter"));
});

const reading = (file, history) => () => withStore(file, async (checkpointer) => {
  const graph = counterLoop(1000, { checkpointer }), config = newRun();
  await graph.invoke({ counter: 0 }, config);
  let got;
  return timed(async () => {
    got = 0;
    if (!history) got = (await graph.getState(config)).values.counter;
    else for await (const _ of graph.getStateHistory(config)) ++got;
  }, () => expect(got >= 1000 && got <= 1002, "the snapshots"));
});

const codec = (decode) => async () => {
  const leaves = Array.from({ length: 5 }, () => ["hi?".repeat(10), true, 1, 6327816386138, null]).flat();
  const map = (make) => Object.fromEntries(Array.from({ length: 5 }, (_, i) => [String(i).repeat(10), make()]));
  const state = Array.from({ length: 100 }, () => map(() => map(() => leaves.slice())));
  const { serde } = new MemorySaver();
  const [type, bytes] = await serde.dumpsTyped(state);
  let got;
  return timed(async () => { got = decode ? await serde.loadsTyped(type, bytes) : await serde.dumpsTyped(state); },
    () => expect(decode ? same(got, state) : got[1].length === bytes.length, "the value"));
};

// ---- processes ----

const child = (job) => execFileSync(process.execPath, [fileURLToPath(import.meta.url), "--child", job]).toString();

async function runChild() {
  const result = await chain(["a", "b", "c"]).invoke({ counter: 0 }, newRun());
  expect(result.counter === 3, "the counter");
  console.log(Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) * 1024);
}

const none = { counter: 0 }, noResults = { results: [], count: 0 };
const upTo = (n) => Array.from({ length: n }, (_, i) => i);
const workloads = [
  ["single_step_none", "us", invoked(() => chain(["a"]), none, { counter: 1 })],
  ["chain3_invoke", "us", invoked(() => chain(["a", "b", "c"]), none, { counter: 3 })],
  ["counter_loop_1000_none", "us", invoked(() => counterLoop(1000), none, { counter: 1000 })],
  ...[10, 100].map((n) => [`fanout_join_${n}`, "us",
    invoked(() => fanoutJoin(n), noResults, { results: upTo(n), count: n })]),
  ...[100, 1000].map((n) => [`send_fanout_${n}`, "us",
    invoked(() => sendFanout(n), noResults, { results: upTo(n), count: 0 })]),
  ...[10, 1000].map((n) => [`sequential_${n}`, "us", drained(n)]),
  ["sequential_1000_compilation", "us", compileTime],
  ["stream_custom_10000", "us", streamCustom],
  ["concurrent_64_chain3", "us", concurrent(64)],
  ["single_step_memory", "us", oneStep(false)],
  ["single_step_file", "us", oneStep(true)],
  ["counter_loop_1000_memory_sync", "us", countLoop(1000, false)],
  ["counter_loop_1000_file_sync", "us", countLoop(1000, true)],
  ["append_loop_1000_memory", "us", itemLoop(1000, false)],
  ["append_loop_100_file", "us", itemLoop(100, true)],
  ["interrupt_resume_memory", "us", interruptResume(false)],
  ["interrupt_resume_file", "us", interruptResume(true)],
  ...[false, true].flatMap((file) => [
    [`get_state_counter1000_${file ? "file" : "memory"}`, "us", reading(file, false)],
    [`get_state_history_counter1000_${file ? "file" : "memory"}`, "us", reading(file, true)]]),
  ["serde_encode_100x25", "us", codec(false)],
  ["serde_decode_100x25", "us", codec(true)],
  ["startup_first_invoke", "us", () => each(() => timeUs(() => child("first_invoke")))],
  ["startup_peak_rss", "bytes", () => each(() => Number(child("first_invoke")))],
];

if (process.argv[2] === "--child") {
  await runChild();
} else {
  const option = (name, otherwise) => {
    const at = process.argv.indexOf(name);
    return at < 0 ? otherwise : process.argv[at + 1];
  };
  const wanted = new RegExp(option("--filter", ""));
  seconds = Number(option("--seconds", 3));
  for (const [workload, unit, run] of workloads) {
    if (!wanted.test(workload)) continue;
    if (process.argv.includes("--list")) {
      console.log(workload);
      continue;
    }
    try {
      const samples = (await run()).sort((a, b) => a - b), half = samples.length >> 1;
      const median = samples.length % 2 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
      console.log(JSON.stringify({ workload, unit, min: samples[0], median, runs: samples.length, runtime }));
    } catch (error) {
      console.error(`${runtime}: ${workload}: ${String(error.message).split("\n")[0].slice(0, 300)}`);
      process.exitCode = 1;
    }
  }
}
