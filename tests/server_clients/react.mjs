// The hook `useStream` of @langchain/langgraph-sdk/react and of @langchain/react, in a headless Chromium.
//
//     react.mjs URL
//
// The page (react_page.jsx) is of another origin than the server, as that of an application often is.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { dirname } from "node:path";
import { after, test as testWithin } from "node:test";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";
import puppeteer from "puppeteer-core";

const URL_OF_SERVER = process.argv[2];
const CASE_MS = 120_000;
const ANSWER = "Hello there";
const RELOAD_MS_FIRST = 1000, RELOAD_MS_MAX = 16_000; // of each of the run's two steps

const folder = dirname(fileURLToPath(import.meta.url));
const bundle = await build({
  entryPoints: [`${folder}/react_page.jsx`], bundle: true, write: false, format: "esm", jsx: "automatic",
  logLevel: "error", define: { "process.env.NODE_ENV": '"production"' },
});
const pages = createServer((request, response) => {
  const script = request.url === "/page.js";
  response.setHeader("Content-Type", script ? "text/javascript" : "text/html");
  response.end(script ? bundle.outputFiles[0].text : '<!doctype html><link rel="icon" href="data:,"><body><script type="module" src="/page.js"></script>');
});
await new Promise((listening) => pages.listen(0, "127.0.0.1", listening));
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true,
  // A page that is kept for "back" keeps its streams, and a browser opens six connections to a server.
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-features=BackForwardCache"],
});
after(async () => {
  await browser.close();
  pages.close();
});

const ready = "window.shown && !shown.isThreadLoading";
const until = async (page, condition) => {
  try {
    await page.waitForFunction(condition, { timeout: CASE_MS / 3 });
  } catch (why) {
    throw new Error(`not so: ${condition}; shown: ${await page.evaluate("JSON.stringify(window.shown)")}`, { cause: why });
  }
};
const ended = (page, more = "true") => until(page, `!shown.isLoading && (${more})`);
const shown = (page) => page.evaluate("shown");
const begin = (page, call) => page.evaluate(`void ${call}`); // what it promises is not waited for
const say = (page, text, options = "{}") =>
  begin(page, `stream.submit({ messages: [{ type: "human", content: ${JSON.stringify(text)} }] }, ${options})`);
const runs = (page) => page.evaluate(`stream.client.runs.list(new URL(location).searchParams.get("thread"))`);

for (const hook of ["legacy", "current"]) {
  const test = (name, graph, body) => testWithin(`${hook}: ${name}`, { timeout: CASE_MS }, async () => {
    const context = await browser.createBrowserContext(), page = await context.newPage(), broken = [];
    page.on("pageerror", (error) => broken.push(String(error)));
    await page.goto(`http://127.0.0.1:${pages.address().port}/?${new URLSearchParams({ hook, graph, api: URL_OF_SERVER })}`);
    await until(page, ready);
    await body(page);
    await context.close();
    assert.deepEqual(broken, []);
  });
  // Options with which the message at `index` is made anew. The server sends no events of checkpoints, so that the
  // current hook knows none: its page finds the last one without the message in the history.
  const forkAt = async (page, index) => hook === "legacy" ? `{ checkpoint: parents[${index}] }` : page.evaluate(`(async () => {
      const states = await stream.client.threads.getHistory(new URL(location).searchParams.get("thread"), { limit: 100 });
      let state = states[0];
      while (state.values.messages?.length > ${index})
        state = states.find(({ checkpoint }) => checkpoint.checkpoint_id === state.parent_checkpoint.checkpoint_id);
      return JSON.stringify({ forkFrom: state.checkpoint.checkpoint_id });
    })()`);

  test("an answer is shown piece by piece, and a thread goes on", "chat", async (page) => {
    await say(page, "hi");
    await ended(page, `shown.texts.at(-1) === "${ANSWER}"`);
    assert.deepEqual((await shown(page)).texts, ["hi", ANSWER]);
    const answers = await page.evaluate("seen.flatMap((one) => one.texts.slice(1))");
    assert.ok(answers.every((text) => ANSWER.startsWith(text)), JSON.stringify(answers));
    const pieces = answers.filter((text) => text && text !== ANSWER);
    assert.notDeepEqual(pieces, []);
    await say(page, "again");
    // The graph's answer has one id, so that the second takes the first one's place.
    await ended(page, `shown.texts.join("|") === "hi|${ANSWER}|again"`);
    await until(page, `stream.client.runs.list(new URL(location).searchParams.get("thread"))
      .then((all) => all.length === 2 && all.every((run) => run.status === "success"))`);
  });

  test("a run is stopped", "slow", async (page) => {
    await begin(page, "stream.submit({ ms: 60000 })");
    await until(page, "shown.isLoading && shown.values.n === 0"); // so the hook knows its run
    assert.deepEqual((await runs(page)).map((run) => run.status), ["running"]);
    await begin(page, "stream.stop()");
    await ended(page);
    await until(page, `stream.client.runs.list(new URL(location).searchParams.get("thread")).then((all) => all[0].status === "interrupted")`);
  });

  test("a question is shown and answered", "approval", async (page) => {
    await begin(page, "stream.submit({ log: [] })");
    await ended(page, "shown.questions.length > 0");
    assert.deepEqual((await shown(page)).questions, ["approve?"]);
    await begin(page, hook === "legacy" ? "stream.submit(undefined, { command: { resume: true } })" : "stream.respond(true)");
    await ended(page, "shown.values.approved === true && shown.values.log.length === 3");
    const { values, questions, error } = await shown(page);
    assert.deepEqual([values.log, questions, error], [["write", "review", "publish"], [], null]);
  });

  test("a page that is loaded anew follows the run", "slow", async (page) => {
    const first = page.url();
    // The run outlives the reload, however long that takes.
    for (let ms = RELOAD_MS_FIRST, followed = false; !followed; ms *= 2) {
      await page.goto(first);
      await until(page, ready);
      await begin(page, `stream.submit({ ms: ${ms} })`);
      await until(page, "shown.values.n === 1");
      await page.reload();
      await until(page, "window.shown && (shown.isLoading || shown.values.n === 2)");
      await ended(page, "shown.values.n === 2");
      followed = await page.evaluate("seen.some((one) => one.isLoading && one.values.n === 1)");
      assert.ok(followed || ms < RELOAD_MS_MAX, `a run of 2 x ${ms} ms is not followed`);
    }
    assert.deepEqual((await runs(page)).map((run) => run.status), ["success"]);
    const counts = await page.evaluate("seen.map((one) => one.values?.n ?? 0)");
    assert.ok(counts.every((n) => n <= 2), JSON.stringify(counts));
  });

  test("an earlier message is edited and an answer is made anew", "talk", async (page) => {
    const answered = (more) => ended(page, `shown.texts.length === 2 && shown.texts[1] === "${ANSWER}" && (${more})`);
    await say(page, "hi");
    await answered("true");
    if (hook === "legacy") await until(page, "parents[0] && parents[1]");
    await say(page, "hello", await forkAt(page, 0));
    await answered(`shown.texts[0] === "hello"`);
    if (hook === "legacy") { // the current hook has no branches to choose from
      const options = (await shown(page)).branches[0];
      assert.equal(options.length, 2);
      await page.evaluate(`stream.setBranch(${JSON.stringify(options[0])})`);
      await until(page, `shown.texts[0] === "hi"`);
      await page.evaluate(`stream.setBranch(${JSON.stringify(options[1])})`);
      await until(page, `shown.texts[0] === "hello"`);
    }
    const { ids } = await shown(page);
    if (hook === "legacy") await until(page, "parents[1]");
    await begin(page, `stream.submit(null, ${await forkAt(page, 1)})`);
    await answered(`shown.ids[1] !== ${JSON.stringify(ids[1])}`);
    const now = await shown(page);
    assert.deepEqual([now.texts, now.ids[0]], [["hello", ANSWER], ids[0]]);
    if (hook === "legacy") await until(page, "shown.branches[1].length === 2");
    assert.deepEqual((await runs(page)).map((run) => run.status), ["success", "success", "success"]);
  });

  test("the error of a run is shown", "fail", async (page) => {
    await begin(page, "stream.submit({ n: 1 })");
    await ended(page, "shown.error");
    assert.match((await shown(page)).error, /boom happened/);
  });
}
