// The quick starts of JavaScript's SDK, word for word but for the address.
//
//     js_quick_start.mjs URL
import assert from "node:assert/strict";
import test from "node:test";

const URL = process.argv[2];

// The README of @langchain/langgraph-sdk 1.15.
test("a thread-centric stream", async () => {
  const { Client } = await import("@langchain/langgraph-sdk");
  let printed = "";

  const client = new Client({ apiUrl: URL });

  // Open a thread-centric stream (the recommended way to stream).
  const thread = client.threads.stream({ assistantId: "my-agent" });

  await thread.run.start({
    input: { messages: [{ role: "user", content: "hello" }] },
  });

  for await (const message of thread.messages) {
    for await (const token of message.text) {
      printed += token;
    }
  }

  const output = await thread.output;
  await thread.close();
  assert.equal(printed, "Hello there");
  assert.equal(output.messages.at(-1).id, "ai-fixed-1");
});

// The README before it.
test("threads and runs", async () => {
  const { Client } = await import("@langchain/langgraph-sdk");
  const chunks = [];

  const client = new Client({ apiUrl: URL });

  // List all assistants
  const assistants = await client.assistants.search({
    metadata: null,
    offset: 0,
    limit: 10,
  });

  // We auto-create an assistant for each graph you register in config.
  const agent = assistants[0];

  // Start a new thread
  const thread = await client.threads.create();

  // Start a streaming run
  const messages = [{ role: "human", content: "what's the weather in la" }];

  const streamResponse = client.runs.stream(
    thread["thread_id"],
    agent["assistant_id"],
    {
      input: { messages },
    }
  );

  for await (const chunk of streamResponse) {
    chunks.push(chunk);
  }
  assert.deepEqual(chunks.map((c) => c.event), ["metadata", "values", "values"]);
  assert.equal(chunks.at(-1).data.messages.at(-1).content, "Hello there");
});

// docs.langchain.com, "Run a local server".
test("a run without a thread", async () => {
  const { Client } = await import("@langchain/langgraph-sdk");
  const pieces = [];

  // only set the apiUrl if you changed the default port when calling langgraph dev
  const client = new Client({ apiUrl: URL });

  const streamResponse = client.runs.stream(
    null, // Threadless run
    "agent", // Assistant ID
    {
      input: {
        "messages": [
          { "role": "user", "content": "What is LangGraph?" }
        ]
      },
      streamMode: "messages-tuple",
    }
  );

  for await (const chunk of streamResponse) {
    if (chunk.event === "messages") pieces.push(chunk.data[0].content);
  }
  assert.equal(pieces.join(""), "Hello there");
});
