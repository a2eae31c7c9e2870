// RemoteGraph of JavaScript's langgraph: a served graph as a graph of one's own.
//
//     js_remote_graph.mjs URL
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import test from "node:test";

import { Annotation, Command, END, MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { RemoteGraph } from "@langchain/langgraph/remote";

const url = process.argv[2];
const QUESTION = { messages: [{ role: "user", content: "hi" }] };
const remote = (graphId) => new RemoteGraph({ graphId, url });
const fresh = () => ({ configurable: { thread_id: randomUUID() } });
const all = async (items) => {
  const out = [];
  for await (const item of await items) out.push(item);
  return out;
};

test("invoke", async () => {
  assert.deepEqual(await remote("plain").invoke({ count: 1 }), { count: 12, log: ["a", "b"] });
  await assert.rejects(remote("fail").invoke({ n: 0 }), /boom happened/);
  const tuned = remote("ctx").withConfig({ configurable: { flavour: "mint" } });
  assert.equal((await tuned.invoke({})).flavour, "mint");
  assert.equal((await remote("ctx").invoke({}, { context: { userId: "js" } })).who, "js");
});

test("streams", async () => {
  const graph = remote("plain");
  assert.deepEqual((await all(graph.stream({ count: 1 }, { streamMode: "updates" }))).map((u) => Object.keys(u)), [["a"], ["b"]]);
  const parts = await all(graph.stream({ count: 1 }, { streamMode: ["values", "custom"] }));
  assert.deepEqual(parts.map(([mode]) => mode), ["values", "custom", "values", "values"]);
  assert.equal(parts.at(-1)[1].count, 12);
  const inside = await all(remote("nested").stream({ count: 0 }, { streamMode: "updates", subgraphs: true }));
  assert.deepEqual(inside.filter(([ns]) => ns.length).map(([, data]) => Object.keys(data)), [["inner1"], ["inner2"]]);
  const outside = await all(remote("nested").stream({ count: 0 }, { streamMode: "updates" }));
  assert.deepEqual(outside.map((data) => Object.keys(data)), [["outer"], ["sub"]]);
});

test("a question is answered", async () => {
  const graph = remote("approval"), config = fresh();
  await assert.rejects(graph.invoke({}, config), (error) => {
    assert.deepEqual(error.interrupts[0].value, { question: "approve?", draft: "hello" });
    return true;
  });
  assert.deepEqual((await graph.getState(config)).next, ["review"]);
  const done = await graph.invoke(new Command({ resume: "yes" }), config);
  assert.deepEqual([done.approved, done.log], ["yes", ["write", "review", "publish"]]);
});

test("states", async () => {
  const graph = remote("plain"), config = fresh();
  await graph.invoke({ count: 1 }, config);
  const history = await all(graph.getStateHistory(config));
  assert.deepEqual(history.map((s) => s.next), [[], ["b"], ["a"], ["__start__"]]);
  assert.deepEqual(history[0].parentConfig, history[1].config);
  assert.deepEqual((await graph.getState(history[1].config)).values, { count: 2, log: ["a"] });
  const earlier = await all(graph.getStateHistory(config, { limit: 1, before: history[1].config }));
  assert.deepEqual(earlier.map((s) => s.config), [history[2].config]);
  assert.equal((await all(graph.getStateHistory(config, { filter: { source: "input" } }))).length, 1);
  const made = await graph.updateState(config, { count: 100 }, "b");
  assert.equal((await graph.getState(made)).values.count, 112);
  const paused = fresh();
  await assert.rejects(remote("subapproval").invoke({}, paused));
  const inner = (await remote("subapproval").getState(paused, { subgraphs: true })).tasks[0].state;
  assert.deepEqual(inner.next, ["review"]);
});

test("the graph is drawn, and its subgraphs listed", async () => {
  const drawn = await remote("plain").getGraphAsync();
  assert.deepEqual(Object.keys(drawn.nodes), ["__start__", "a", "b", "__end__"]);
  assert.ok("sub:inner1" in (await remote("nested").getGraphAsync({ xray: true })).nodes);
  const nested = await all(remote("nested").getSubgraphsAsync());
  assert.deepEqual(nested.map(([name]) => name), ["sub"]);
});

test("breakpoints", async () => {
  const graph = remote("plain"), config = fresh();
  await assert.rejects(graph.invoke({}, { ...config, interruptBefore: ["b"] })); // as JavaScript's RemoteGraph does
  assert.deepEqual((await graph.getState(config)).next, ["b"]);
  await graph.invoke(null, config);
  assert.deepEqual((await graph.getState(config)).next, []);
});

const State = Annotation.Root({
  count: Annotation({ reducer: (a, b) => a + b, default: () => 0 }),
  log: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }),
  draft: Annotation(), approved: Annotation(),
});
const around = (graph) =>
  new StateGraph(State).addNode("far", graph).addEdge(START, "far").addEdge("far", END).compile({ checkpointer: new MemorySaver() });

test("as a node", async () => {
  const graph = around(remote("plain"));
  assert.deepEqual(await graph.invoke({ count: 1 }, fresh()), { count: 13, log: ["a", "b"] });
  const asked = around(remote("approval")), config = fresh();
  const paused = await asked.invoke({}, config);
  assert.deepEqual(paused.__interrupt__[0].value, { question: "approve?", draft: "hello" });
  assert.deepEqual((await asked.getState(config)).next, ["far"]);
});

test("events of the third version", async () => {
  const run = await remote("plain").streamEvents({ count: 1 }, { ...fresh(), version: "v3" });
  assert.equal((await run.output).count, 12);
  const chat = await remote("chat").streamEvents(QUESTION, { version: "v3" }), texts = [];
  for await (const message of chat.messages) texts.push((await all(message.text)).join(""));
  assert.deepEqual(texts, ["Hello there"]);
  const slow = await remote("slow").streamEvents({ ms: 1000 }, { version: "v3" });
  slow.abort("enough");
});
