// The SDK of JavaScript, @langchain/langgraph-sdk: every method of its client and of a thread's stream.
//
//     js_sdk.mjs URL
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test as testWithin } from "node:test";

import { Client } from "@langchain/langgraph-sdk";

import { methodsOf, methodsOfClient, noted, unused } from "./used_methods.mjs";

const URL = process.argv[2];
const NOBODY = "00000000-0000-4000-8000-000000000000";
const QUESTION = { messages: [{ role: "user", content: "hi" }] };
const LOG = ["a", "b"];

// Methods that no test calls -> why.
const LEFT_OUT = { "~ui.getComponent": "parts of a user interface, which a graph of the reference may bring" };
const LEFT_OUT_OF_STREAM = {
  audio: "no graph here makes media", images: "no graph here makes media", video: "no graph here makes media",
  files: "no graph here makes media",
};

const used = new Set(), usedOfStream = new Set();
const real = new Client({ apiUrl: URL, callerOptions: { maxRetries: 0 } });
const client = noted(real, new Set(["assistants", "threads", "runs", "crons", "store"]), used);
const streamOf = (...given) =>
  noted(client.threads.stream(...given), new Set(["run", "agent", "input", "state"]), usedOfStream);

const test = (name, body) => testWithin(name, { timeout: 60_000 }, body);
const refusedWith = (status) => (error) => error.status === status || String(error).includes(`HTTP ${status}`);
const all = async (items) => {
  const out = [];
  for await (const item of items) out.push(item);
  return out;
};
const newThread = async (given = {}) => (await client.threads.create(given)).thread_id;
const waiting = async () => {
  const thread = await newThread();
  await client.runs.wait(thread, "approval", { input: {} });
  return thread;
};
const running = async (thread) => {
  const run = await client.runs.create(thread, "slow", { input: { ms: 60000 } });
  while ((await client.runs.get(thread, run.run_id)).status === "pending") await new Promise(setImmediate);
  return run.run_id;
};

// ---- assistants

test("an assistant is made, read and removed", async () => {
  const { assistants } = client, mark = { test: randomUUID() }, assistantId = randomUUID();
  const made = await assistants.create({ graphId: "ctx", config: { tags: ["x"], recursion_limit: 7 }, context: { userId: "u" },
    metadata: mark, assistantId, name: "mine", description: "d" });
  assert.deepEqual([made.assistant_id, made.graph_id, made.name, made.description, made.version, made.context],
    [assistantId, "ctx", "mine", "d", 1, { userId: "u" }]);
  assert.deepEqual(await assistants.get(assistantId), made);
  assert.deepEqual(await assistants.create({ graphId: "plain", assistantId, ifExists: "do_nothing" }), made);
  await assert.rejects(assistants.create({ graphId: "plain", assistantId }), refusedWith(409));
  assert.equal((await client.runs.wait(null, assistantId, { input: {} })).who, "u");
  const changed = await assistants.update(assistantId, { name: "other", context: { userId: "v" }, metadata: { more: 1 } });
  assert.deepEqual([changed.version, changed.name, changed.metadata.more, changed.metadata.test], [2, "other", 1, mark.test]);
  assert.deepEqual((await assistants.getVersions(assistantId)).map((v) => v.version), [2, 1]);
  assert.deepEqual((await assistants.getVersions(assistantId, { metadata: { more: 1 }, limit: 1 })).map((v) => v.version), [2]);
  assert.deepEqual((await assistants.setLatest(assistantId, 1)).name, "mine");
  assert.deepEqual((await assistants.search({ metadata: mark })).map((a) => a.assistant_id), [assistantId]);
  assert.deepEqual(await assistants.search({ metadata: mark, select: ["graph_id"] }), [{ graph_id: "ctx" }]);
  const page = await assistants.search({ limit: 2, sortBy: "name", sortOrder: "asc", includePagination: true });
  assert.deepEqual([page.assistants.length, page.next], [2, "2"]);
  assert.equal(await assistants.count({ metadata: mark }), 1);
  assert.equal(await assistants.count({ metadata: mark, graphId: "plain" }), 0);
  const thread = await newThread();
  await client.runs.wait(thread, assistantId, { input: {} });
  await assistants.delete(assistantId, { deleteThreads: true });
  await assert.rejects(assistants.get(assistantId), refusedWith(404));
  await assert.rejects(client.threads.get(thread), refusedWith(404));
});

test("graphs, schemas and subgraphs", async () => {
  const { assistants } = client;
  assert.deepEqual((await assistants.getGraph("plain")).nodes.map((n) => n.id), ["__start__", "a", "b", "__end__"]);
  for (const xray of [true, 1])
    assert.ok((await assistants.getGraph("nested", { xray })).nodes.some((n) => n.id === "sub:inner1"));
  const schemas = await assistants.getSchemas("typed");
  assert.deepEqual(Object.keys(schemas.output_schema.properties), ["n"]);
  assert.deepEqual(Object.keys(await assistants.getSubgraphs("nested")), ["sub"]);
  assert.deepEqual(Object.keys(await assistants.getSubgraphs("nested", { namespace: "sub", recurse: true })), ["sub"]);
});

// ---- threads

test("a thread is made, changed, copied and removed", async () => {
  const { threads } = client, mark = { test: randomUUID() }, threadId = randomUUID();
  const made = await threads.create({ metadata: mark, threadId, graphId: "plain", ttl: 60 });
  assert.deepEqual([made.thread_id, made.status, made.metadata.test], [threadId, "idle", mark.test]);
  assert.equal((await threads.create({ threadId, ifExists: "do_nothing" })).thread_id, threadId);
  await assert.rejects(threads.create({ threadId, ifExists: "raise" }), refusedWith(409));
  assert.equal((await threads.get(threadId, { include: ["ttl"] })).ttl.ttl, 60);
  assert.equal((await threads.update(threadId, { metadata: { more: 1 }, ttl: 5 })).metadata.more, 1);
  assert.equal(await threads.update(threadId, { metadata: { less: 0 }, returnMinimal: true }), undefined);
  await client.runs.wait(threadId, "plain", { input: { count: 5 } });
  const copy = (await threads.copy(threadId)).thread_id;
  assert.deepEqual((await threads.getState(copy)).values, { count: 16, log: LOG });
  const found = await threads.search({ metadata: mark, values: { count: 16 }, status: "idle", sortBy: "created_at", sortOrder: "asc",
    select: ["thread_id"], extract: { last: "values.log[-1]" } });
  // As recorded: a copy has a state, but no values that a search finds before its first run.
  assert.deepEqual(found.map((t) => [t.thread_id, t.extracted.last]), [[threadId, "b"]]);
  assert.deepEqual((await threads.search({ ids: [copy], limit: 1, offset: 0 })).map((t) => t.thread_id), [copy]);
  assert.equal(await threads.count({ metadata: mark, values: { count: 16 } }), 1);
  assert.equal((await threads.prune([copy], { strategy: "keep_latest" })).pruned_count, 1);
  assert.equal((await threads.getHistory(copy)).length, 1);
  assert.equal((await threads.prune([copy])).pruned_count, 1);
  await threads.delete(threadId);
  await assert.rejects(threads.get(threadId), refusedWith(404));
});

test("states and histories of a thread", async () => {
  const { threads } = client, thread = await newThread({ graphId: "plain", supersteps: [
    { updates: [{ values: { count: 0, log: [] }, asNode: "__start__" }] }] });
  assert.deepEqual((await threads.getState(thread)).next, ["a"]);
  await client.runs.wait(thread, "plain", { input: null });
  const history = await threads.getHistory(thread, { limit: 3 });
  assert.deepEqual(history.map((s) => s.next), [[], ["b"], ["a"]]);
  const middle = history[1].checkpoint;
  for (const at of [middle, middle.checkpoint_id])
    assert.deepEqual((await threads.getState(thread, at, { subgraphs: false })).values, { count: 1, log: ["a"] });
  assert.deepEqual(await threads.getState(thread, middle, { select: ["values.count"] }), { values: { count: 1 } });
  const before = await threads.getHistory(thread, { before: { configurable: middle }, limit: 1, select: ["next"] });
  assert.deepEqual(before, [{ next: ["a"] }]);
  const loops = await threads.getHistory(thread, { metadata: { source: "loop" } });
  assert.deepEqual(loops.map((s) => s.metadata.step), history.slice(0, loops.length).map((s) => s.metadata.step));
  const done = await threads.updateState(thread, { values: { count: 100 }, asNode: "b", checkpoint: history[0].checkpoint });
  assert.equal((await threads.getState(thread)).checkpoint.checkpoint_id, done.checkpoint.checkpoint_id);
  await threads.updateState(thread, { values: { count: 1 }, asNode: "a", checkpointId: middle.checkpoint_id });
  assert.deepEqual((await threads.getState(thread)).next, ["b"]);
  // As the recorded server of Python: it has no such route.
  await assert.rejects(threads.patchState(thread, { x: 1 }), refusedWith(405));
  const paused = await newThread();
  await client.runs.wait(paused, "subapproval", { input: {} });
  const inner = (await threads.getState(paused, undefined, { subgraphs: true })).tasks[0].state;
  assert.deepEqual(inner.next, ["review"]);
  const [newest] = await threads.getHistory(paused, { checkpoint: inner.checkpoint });
  assert.deepEqual(newest.next, ["review"]);
});

test("a thread's stream shows its runs", async () => {
  const thread = await newThread();
  await client.runs.create(thread, "plain", { input: {}, afterSeconds: 1 });
  const seen = [];
  for await (const part of client.threads.joinStream(thread, { streamMode: ["run_modes"] })) {
    seen.push(part);
    if (part.data.status === "run_done") break;
  }
  assert.deepEqual(seen.filter((p) => p.event === "values").at(-1).data, { count: 11, log: LOG });
  await client.runs.create(thread, "plain", { input: {}, afterSeconds: 1 });
  for await (const part of client.threads.joinStream(thread, { streamMode: "lifecycle", lastEventId: seen.at(-1).id })) {
    assert.equal(part.event, "metadata");
    if (part.data.status === "run_done") break;
  }
});

// ---- runs

test("a run is made, joined, listed and removed", async () => {
  const { runs } = client, thread = await newThread(), created = [];
  const run = await runs.create(thread, "plain", { input: { count: 1 }, metadata: { mine: 1 }, durability: "sync",
    onRunCreated: (made) => created.push(made) });
  assert.deepEqual([run.status, run.metadata.mine, created], ["pending", 1, [{ run_id: run.run_id, thread_id: thread }]]);
  assert.deepEqual(await runs.join(thread, run.run_id), { count: 12, log: LOG });
  assert.equal((await runs.get(thread, run.run_id)).status, "success");
  await assert.rejects(runs.wait(thread, "fail", { input: {} }), /boom happened/);
  assert.equal((await runs.wait(thread, "fail", { input: {}, raiseError: false })).__error__.error, "ValueError");
  assert.equal((await runs.list(thread)).length, 3);
  assert.deepEqual((await runs.list(thread, { status: "success", limit: 1, select: ["run_id"] })), [{ run_id: run.run_id }]);
  await runs.delete(thread, run.run_id);
  await assert.rejects(runs.get(thread, run.run_id), refusedWith(404));
  await assert.rejects(runs.create(NOBODY, "plain", { input: {} }), refusedWith(404));
});

test("modes of a run's stream", async () => {
  const { runs } = client, thread = await newThread();
  const parts = await all(runs.stream(thread, "nested", { input: { count: 0 }, streamSubgraphs: true,
    streamMode: ["values", "updates", "custom", "tasks", "checkpoints", "debug"] }));
  assert.equal(parts[0].event, "metadata");
  const inside = parts.filter((p) => p.event.startsWith("updates|sub:"));
  assert.deepEqual(inside.map((p) => Object.keys(p.data)), [["inner1"], ["inner2"]]);
  assert.equal(parts.filter((p) => p.event === "values").at(-1).data.count, 1102);
  const pieces = await all(runs.stream(null, "chat", { input: QUESTION, streamMode: "messages-tuple" }));
  assert.equal(pieces.filter((p) => p.event === "messages").map((p) => p.data[0].content).join(""), "Hello there");
  const failed = await all(runs.stream(thread, "fail", { input: { n: 0 } }));
  assert.deepEqual([failed.at(-1).event, failed.at(-1).data], ["error", { error: "ValueError", message: "boom happened" }]);
});

test("a question is answered, a breakpoint passed, a fork made", async () => {
  const { runs, threads } = client, thread = await newThread();
  const asked = await runs.wait(thread, "approval", { input: {} });
  assert.deepEqual(asked.__interrupt__[0].value, { question: "approve?", draft: "hello" });
  const done = await runs.wait(thread, "approval", { command: { resume: "yes" }, strictResume: true });
  assert.deepEqual([done.approved, done.log], ["yes", ["write", "review", "publish"]]);
  const plain = await newThread();
  await runs.wait(plain, "plain", { input: {}, interruptBefore: ["b"] });
  assert.deepEqual((await threads.getState(plain)).next, ["b"]);
  await runs.wait(plain, "plain", { input: null });
  const afterA = (await threads.getHistory(plain))[1].checkpoint;
  assert.deepEqual(await runs.wait(plain, "plain", { input: null, checkpoint: afterA }), { count: 11, log: LOG });
  assert.deepEqual(await runs.wait(plain, "plain", { input: null, checkpointId: afterA.checkpoint_id }), { count: 11, log: LOG });
  const tuned = await runs.wait(null, "ctx", { input: {}, config: { configurable: { flavour: "mint" } } });
  assert.equal(tuned.flavour, "mint");
  assert.equal((await runs.wait(null, "ctx", { input: {}, context: { userId: "js" } })).who, "js");
});

test("runs on a busy thread, and their ends", async () => {
  const { runs, threads } = client, thread = await newThread();
  const first = await running(thread);
  await assert.rejects(runs.create(thread, "slow", { input: { ms: 1 }, multitaskStrategy: "reject" }), refusedWith(409));
  await runs.wait(thread, "slow", { input: { ms: 1 }, multitaskStrategy: "interrupt" });
  assert.equal((await runs.get(thread, first)).status, "interrupted");
  const second = await running(thread);
  await runs.cancel(thread, second, true);
  assert.equal((await runs.get(thread, second)).status, "interrupted");
  const third = await running(thread);
  await runs.cancel(thread, third, true, "rollback");
  await assert.rejects(runs.get(thread, third), refusedWith(404));
  const fourth = await running(thread);
  await runs.cancelMany({ threadId: thread, runIds: [fourth] });
  await runs.join(thread, fourth);
  assert.equal((await runs.get(thread, fourth)).status, "interrupted");
  // This SDK sends no on_completion here, so the runs and their threads go when they are over.
  const batch = await runs.createBatch([1, 2].map((count) => ({ assistantId: "plain", input: { count } })));
  assert.deepEqual(batch.map((made) => [made.status, made.kwargs.input.count]), [["pending", 1], ["pending", 2]]);
  const made = randomUUID();
  await runs.wait(made, "plain", { input: {}, ifNotExists: "create" });
  assert.equal((await threads.get(made)).values.count, 11);
});

test("a resumable stream is joined again", async () => {
  const { runs } = client, thread = await newThread();
  let run;
  const whole = await all(runs.stream(thread, "plain", { input: {}, streamResumable: true, streamMode: ["values", "updates"],
    onRunCreated: (made) => { run = made.run_id; } }));
  assert.deepEqual(await all(runs.joinStream(thread, run, { lastEventId: "-1" })), whole);
  assert.deepEqual(await all(runs.joinStream(thread, run, { lastEventId: whole[2].id })), whole.slice(3));
  const chosen = await all(runs.joinStream(thread, run, { lastEventId: "-1", streamMode: ["updates"] }));
  assert.deepEqual(chosen.map((p) => p.event), ["metadata", "updates", "updates"]);
  const stateless = await runs.create(null, "slow", { input: { ms: 50 }, streamMode: ["updates"], afterSeconds: 1, onCompletion: "keep" });
  const live = await all(runs.joinStream(null, stateless.run_id, { cancelOnDisconnect: true }));
  assert.deepEqual(live.filter((p) => p.event === "updates").map((p) => p.data), [{ s1: { n: 1 } }, { s2: { n: 1 } }]);
});

// ---- crons and the store

test("crons", async () => {
  const { crons } = client, mark = { test: randomUUID() }, thread = await newThread();
  const own = await crons.create("plain", { schedule: "30 6 * * *", timezone: "Europe/Berlin", input: { count: 1 }, metadata: mark,
    onRunCompleted: "keep", endTime: "2100-01-01T00:00:00Z" });
  assert.deepEqual([own.schedule, own.timezone, own.payload.input], ["30 6 * * *", "Europe/Berlin", { count: 1 }]);
  const other = await crons.createForThread(thread, "plain", { schedule: "0 0 29 2 *", input: {}, metadata: mark });
  assert.equal(other.thread_id, thread);
  assert.equal(await crons.count({ metadata: mark }), 2);
  assert.deepEqual(await crons.search({ threadId: thread, select: ["cron_id"] }), [{ cron_id: other.cron_id }]);
  const changed = await crons.update(own.cron_id, { schedule: "0 0 1 1 *", enabled: false, endTime: null });
  assert.deepEqual([changed.schedule, changed.enabled, changed.end_time], ["0 0 1 1 *", false, null]);
  assert.deepEqual((await crons.search({ metadata: mark, enabled: false, sortBy: "next_run_date", sortOrder: "asc" })).map((c) => c.cron_id),
    [own.cron_id]);
  for (const cron of [own, other]) await crons.delete(cron.cron_id);
  assert.equal(await crons.count({ metadata: mark }), 0);
  await assert.rejects(crons.create("plain", { schedule: "61 * * * *" }), refusedWith(422));
});

test("items of the store", async () => {
  const { store } = client, space = ["js", randomUUID()];
  await store.putItem(space, "first", { name: "Ada", age: 36 }, { index: false, ttl: 10 });
  await store.putItem([...space, "deep"], "second", { name: "Bob", age: 20 });
  const item = await store.getItem(space, "first", { refreshTtl: true });
  assert.deepEqual([item.namespace, item.key, item.value], [space, "first", { name: "Ada", age: 36 }]);
  assert.ok(item.createdAt <= item.updatedAt);
  assert.deepEqual((await store.searchItems(space, { filter: { age: { $gt: 30 } }, limit: 5, offset: 0 })).items.map((i) => i.key), ["first"]);
  assert.deepEqual((await store.listNamespaces({ prefix: space, maxDepth: 3 })).namespaces, [space, [...space, "deep"]]);
  await store.deleteItem(space, "first");
  assert.equal(await store.getItem(space, "first"), null);
  await assert.rejects(store.putItem(["a.b"], "k", {}));
});

// ---- streams of threads

// Over a WebSocket, the SDK subscribes after the answer to run.start, in several commands: a run that ends between two
// of them leaves its output undefined.
for (const [transport, assistantId, input, output] of [
  ["sse", "plain", { count: 1 }, { count: 12, log: LOG }], ["websocket", "slow", { ms: 500 }, { n: 2, ms: 500 }]]) {
  test(`a thread's protocol over ${transport}`, async () => {
    const thread = streamOf({ assistantId, transport }), events = [];
    const stop = thread.onEvent((event) => events.push(event.method));
    thread.onError((error) => { throw error; });
    await thread.run.start({ input });
    const projections = [thread.subgraphs, thread.subagents, thread.toolCalls].map(all);
    assert.deepEqual(await thread.output, output);
    assert.deepEqual((await all(thread.values)).at(-1), output);
    assert.deepEqual(await Promise.all(projections), [[], [], []]);
    assert.ok(events.includes("values") && events.includes("lifecycle"));
    stop();
    const state = await thread.state.get({ namespace: [] });
    assert.deepEqual(state.values, output);
    // As the recorded server of Python.
    await assert.rejects(thread.state.listCheckpoints({ namespace: [] }), /unknown_command|Unknown protocol command/);
    await assert.rejects(thread.agent.getTree(), /no_such_run|No active run/);
    await thread.close();
  });
}

test("messages of a thread's stream", async () => {
  const thread = streamOf({ assistantId: "chat" });
  const messages = thread.messages; // asked for before the start: else a short run may be over before
  await thread.run.start({ input: QUESTION });
  const texts = [];
  for await (const message of messages) texts.push((await all(message.text)).join(""));
  assert.deepEqual(texts, ["Hello there"]);
  await thread.close();
});

test("a question in a thread's stream is answered", async () => {
  const thread = streamOf({ assistantId: "approval" });
  await thread.run.start({ input: {} });
  await thread.output;
  assert.equal(thread.interrupted, true);
  const [question] = thread.interrupts;
  assert.deepEqual(question.payload, { question: "approve?", draft: "hello" });
  await thread.input.respond({ namespace: question.namespace, interrupt_id: question.interruptId, response: "yes" });
  await thread.close();
  const state = async () => (await client.threads.getState(thread.threadId)).values.approved;
  while ((await state()) !== "yes") await new Promise(setImmediate);
});

test("a subscription to channels, and runs without shims", async () => {
  const thread = streamOf(randomUUID(), { assistantId: "approval" });
  const values = await thread.subscribe(["values", "lifecycle"]);
  await thread.submitRun({ input: {}, metadata: { mine: 1 }, multitaskStrategy: "enqueue" });
  thread.startLifecycleWatcher();
  for await (const event of values) if (event.method === "lifecycle" && event.params.data.event === "interrupted") break;
  const [question] = Object.values((await client.threads.get(thread.threadId)).interrupts).flat();
  await thread.respondInput({ namespace: [], interrupt_id: question.id, response: "no" });
  const finished = await thread.subscribe("lifecycle");
  for await (const event of finished) if (event.params.data.event === "completed") break;
  assert.equal((await client.threads.getState(thread.threadId)).values.approved, "no");
  assert.ok(thread.extensions.anything);
  await thread.close();
});

test("every method was called", () => {
  const ofStream = methodsOf(real.threads.stream({ assistantId: "plain" }));
  assert.deepEqual([...unused(methodsOfClient(real), used, LEFT_OUT), ...unused(ofStream, usedOfStream, LEFT_OUT_OF_STREAM)], []);
});
