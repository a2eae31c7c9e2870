// Programs of agents that ask a server: A2A's SDK of JavaScript, and AG-UI's client of LangGraph, which
// user interfaces such as CopilotKit's are made of.
//
//     agents.mjs URL
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test as testWithin } from "node:test";

import { ClientFactory } from "@a2a-js/sdk/client";
import { LangGraphAgent } from "@ag-ui/langgraph";
import { Client } from "@langchain/langgraph-sdk";

const URL = process.argv[2];
const COMPLETED = 3; // TASK_STATE_COMPLETED

const test = (name, body) => testWithin(name, { timeout: 60_000 }, body);

// ---- A2A

const agent = async (graphId) => {
  const [found] = await new Client({ apiUrl: URL }).assistants.search({ graphId, metadata: { created_by: "system" } });
  return new ClientFactory().createFromUrl(`${URL}/a2a/${found.assistant_id}/`);
};
const said = (text) => ({
  message: { messageId: randomUUID(), role: 1, parts: [{ content: { $case: "text", value: text } }], contextId: "",
    taskId: "", extensions: [], referenceTaskIds: [] },
});
const textOf = (parts) => parts.map((part) => part.content.value).join("");

test("a message of A2A is sent, and its task read and listed", async () => {
  const client = await agent("chat");
  const task = await client.sendMessage(said("hi"));
  assert.equal(task.status.state, COMPLETED);
  assert.equal(textOf(task.artifacts[0].parts), "Hello there");
  const known = await client.getTask({ id: task.id });
  assert.deepEqual(known.history.map((one) => textOf(one.parts)), ["hi", "Hello there"]);
  const listed = await client.listTasks({ contextId: task.contextId, status: 0, tenant: "", pageToken: "" });
  assert.deepEqual(listed.tasks.map((one) => one.id), [task.id]);
});

test("a message of A2A is streamed", async () => {
  const client = await agent("chat");
  const events = [];
  for await (const one of client.sendMessageStream(said("hi"))) events.push(one.payload);
  assert.equal(events[0].$case, "task");
  assert.equal(textOf(events.find((one) => one.$case === "artifactUpdate").value.artifact.parts), "Hello there");
  assert.equal(events.at(-1).value.status.state, COMPLETED);
});

// ---- AG-UI

const interfaceOf = (graphId, text) => {
  const made = new LangGraphAgent({ deploymentUrl: URL, graphId, threadId: randomUUID() });
  made.messages = [{ id: randomUUID(), role: "user", content: text }];
  return made;
};
const eventsOf = async (client, given = {}, events = []) => {
  await client.runAgent({ runId: randomUUID(), ...given }, { onEvent: ({ event }) => void events.push(event) });
  return events;
};
const typesOf = (events) =>
  events.map((event) => event.type).filter((type) => type !== "RAW" && !type.endsWith("SNAPSHOT"));

test("a user interface sees the steps and the text of an answer", async () => {
  const client = interfaceOf("chat", "hi");
  const events = await eventsOf(client);
  assert.deepEqual(typesOf(events), ["RUN_STARTED", "STEP_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_FINISHED"]);
  assert.deepEqual(client.messages.map((one) => one.content), ["hi", "Hello there"]);
});

test("a user interface answers the question of a graph", async () => {
  const client = interfaceOf("approval", "hi");
  const asked = (await eventsOf(client)).find((event) => event.type === "CUSTOM" && event.name === "on_interrupt");
  assert.deepEqual(JSON.parse(asked.value), { question: "approve?", draft: "hello" });
  const answered = await eventsOf(client, { forwardedProps: { command: { resume: "yes" } } });
  assert.equal(answered.some((event) => event.name === "on_interrupt"), false);
  const last = answered.filter((event) => event.type === "STATE_SNAPSHOT").at(-1).snapshot;
  assert.deepEqual([last.approved, last.log], ["yes", ["write", "review", "publish"]]);
});

test("a user interface hears of a run that fails", async () => {
  const client = interfaceOf("fail", "hi");
  const events = [];
  await eventsOf(client, {}, events).catch(() => {}); // the client sends an event after the error, and refuses it
  assert.match(events.find((event) => event.type === "RUN_ERROR").message, /boom happened/);
});
