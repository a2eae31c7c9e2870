// Serves a model file as OpenAI's chat completions on 127.0.0.1: node serve.mjs MODEL PORT
//
// One answer is made at a time, a few requests wait, and more are refused. What it cannot do it
// refuses with 400, rather than to answer something else.
import {createServer} from "node:http";
import {randomUUID} from "node:crypto";
import {GeneralChatWrapper, getLlama, LlamaChat} from "node-llama-cpp";

const [modelFile, port] = [process.argv[2], Number(process.argv[3])];
const modelName = "gemma";
const contextTokens = 8192;
const threads = 1; // two threads wait for each other on busy cores, and make 0.3 tokens a second
const answerTokensDefault = 512; // a small model may never stop by itself
const bodyBytesMax = 4 << 20;
const waitingMax = 8;
// A pretrained model goes on with the other side of the conversation, or with a third one.
const nextSpeaker = "\n\n###";

class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    Object.assign(this, {status, code});
  }
}

const badRequest = message => new Refused(400, "invalid_request", message);

const errorBody = e => ({
  error: {
    message: e.message,
    type: e.status < 500 ? "invalid_request_error" : "server_error",
    code: e.code ?? null
  }
});

// --- What is asked ---------------------------------------------------------------------------

function textOf(content) {
  if (content === null || content === undefined) return "";
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) throw badRequest("content is neither text nor a list");
  return content
    .map(block => {
      if (block?.type !== "text") throw badRequest(`no ${block?.type ?? "such"} content: only text`);
      return String(block.text ?? "");
    })
    .join("");
}

function parsedArguments(text) {
  try {
    return JSON.parse(text || "{}");
  } catch {
    return {}; // of a call that was answered with an error
  }
}

// node-llama-cpp keeps a call and its result together, inside the model's turn.
function historyOf(messages) {
  if (!Array.isArray(messages) || messages.length === 0) throw badRequest("messages are missing");
  const history = [];
  const calls = new Map();
  const modelTurn = () => {
    if (history.at(-1)?.type !== "model") history.push({type: "model", response: []});
    return history.at(-1).response;
  };
  for (const message of messages) {
    const text = textOf(message?.content);
    switch (message?.role) {
      case "system":
      case "developer":
        history.push({type: "system", text});
        break;
      case "user":
        history.push({type: "user", text});
        break;
      case "assistant":
        if (text) modelTurn().push(text);
        for (const call of message.tool_calls ?? []) {
          const part = {
            type: "functionCall",
            name: String(call?.function?.name),
            params: parsedArguments(call?.function?.arguments),
            result: "no result"
          };
          calls.set(call?.id, part);
          modelTurn().push(part);
        }
        break;
      case "tool":
        if (!calls.has(message.tool_call_id))
          throw badRequest(`no call ${message.tool_call_id} before its result`);
        calls.get(message.tool_call_id).result = text;
        break;
      default:
        throw badRequest(`no such role: ${message?.role}`);
    }
  }
  modelTurn();
  return history;
}

function functionsOf({tools, tool_choice: choice}) {
  if (choice !== undefined && choice !== null && choice !== "auto" && choice !== "none")
    throw badRequest("tool_choice: only auto and none");
  if (!Array.isArray(tools) || tools.length === 0 || choice === "none") return undefined;
  const functions = {};
  for (const tool of tools) {
    if (tool?.type !== "function" || typeof tool.function?.name !== "string")
      throw badRequest(`tools: only functions, not ${tool?.type}`);
    const {name, description, parameters} = tool.function;
    const hasParameters = Object.keys(parameters?.properties ?? {}).length > 0;
    functions[name] = {description, ...(hasParameters ? {params: parameters} : {})};
  }
  return functions;
}

async function grammarOf({grammar, response_format: format}) {
  if (grammar !== undefined && grammar !== null) {
    if (typeof grammar !== "string") throw badRequest("grammar is no text");
    if (format && format.type !== "text")
      throw badRequest("grammar and response_format do not go together");
    return llama.createGrammar({grammar}).catch(() => {
      throw badRequest("grammar: it is no GBNF, or has no root");
    });
  }
  switch (format?.type) {
    case undefined:
    case "text":
      return undefined;
    case "json_object":
      return llama.getGrammarFor("json");
    case "json_schema":
      return llama.createGrammarForJsonSchema(format.json_schema?.schema).catch(e => {
        throw badRequest(`response_format: ${e.message}`);
      });
    default:
      throw badRequest(`response_format: no ${format.type}`);
  }
}

function numberIn(body, name, low, high) {
  const number = body[name];
  if (number === undefined || number === null) return undefined;
  if (typeof number !== "number" || !(number >= low && number <= high))
    throw badRequest(`${name} is no number from ${low} to ${high}`);
  return number;
}

function promptTokens(history, functions) {
  const {contextText} = wrapper.generateContextState({
    chatHistory: history,
    availableFunctions: functions,
    documentFunctionParams: true
  });
  return contextText.tokenize(model.tokenizer).length;
}

async function readRequest(body) {
  if (body === null || typeof body !== "object") throw badRequest("the body is no JSON object");
  if ((body.n ?? 1) !== 1) throw badRequest("n: only 1");
  const history = historyOf(body.messages);
  const functions = functionsOf(body);
  const grammar = await grammarOf(body);
  if (grammar && functions)
    throw badRequest("tools go together with neither a grammar nor a response_format here");
  const prompt = promptTokens(history, functions);
  const room = contextTokens - prompt - 64; // some, for what the library adds
  if (room < 1)
    throw new Refused(
      400,
      "context_length_exceeded",
      `the messages have ${prompt} tokens; the context of this model has ${contextTokens}`
    );
  const wanted =
    numberIn(body, "max_completion_tokens", 1, 1e9) ?? numberIn(body, "max_tokens", 1, 1e9);
  const stops = [body.stop ?? []].flat();
  if (!stops.every(s => typeof s === "string" && s)) throw badRequest("stop is neither text nor texts");
  return {
    history,
    prompt,
    stream: body.stream === true,
    withUsage: body.stream_options?.include_usage === true,
    options: {
      ...(functions ? {functions, documentFunctionParams: true} : {}),
      ...(grammar ? {grammar} : {}),
      maxTokens: Math.min(Math.floor(wanted ?? answerTokensDefault), room),
      temperature: numberIn(body, "temperature", 0, 2) ?? 1, // these three as Gemma's authors advise
      topK: 64,
      topP: numberIn(body, "top_p", 0, 1) ?? 0.95,
      seed: numberIn(body, "seed", 0, 2 ** 31),
      customStopTriggers: [...stops, nextSpeaker]
    }
  };
}

// --- What is answered ------------------------------------------------------------------------

const toolCall = (call, index) => ({
  index,
  id: `call_${randomUUID()}`,
  type: "function",
  function: {name: call.functionName, arguments: JSON.stringify(call.params ?? {})}
});

const finishReasons = {maxTokens: "length", functionCalls: "tool_calls"};

async function answer(asked, response, signal) {
  const {history, options, prompt, stream, withUsage} = asked;
  const common = {id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model: modelName};
  const send = data => response.write(`data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`);
  const sendDelta = (delta, finish_reason = null) =>
    send({
      ...common,
      object: "chat.completion.chunk",
      choices: [{index: 0, delta, finish_reason}]
    });
  if (stream) {
    response.writeHead(200, {"content-type": "text/event-stream", "cache-control": "no-store"});
    sendDelta({role: "assistant", content: ""});
  }
  const begin = performance.now();
  let first;
  const meter = sequence.tokenMeter.getState();
  const out = await chat.generateResponse(history, {
    ...options,
    signal,
    stopOnAbortSignal: true,
    onTextChunk: text => {
      first ??= performance.now();
      if (stream && !signal.aborted) sendDelta({content: text});
    }
  });
  const used = sequence.tokenMeter.diff(meter);
  const end = performance.now();
  const made = used.usedOutputTokens;
  const usage = {prompt_tokens: prompt, completion_tokens: made, total_tokens: prompt + made};
  const seconds = ms => (ms / 1000).toFixed(1);
  console.error(
    `${prompt} tokens in (${used.usedInputTokens} new), first word after ${seconds((first ?? end) - begin)} s, ` +
      `${made} out at ${(made / Math.max((end - (first ?? begin)) / 1000, 1e-3)).toFixed(1)}/s` +
      (signal.aborted ? ", stopped by the caller" : "")
  );
  if (signal.aborted) return;
  const calls = (out.functionCalls ?? []).map(toolCall);
  const reason = finishReasons[out.metadata.stopReason] ?? "stop";
  if (!stream) {
    const message = {role: "assistant", content: out.response || (calls.length ? null : "")};
    if (calls.length) message.tool_calls = calls.map(({index, ...call}) => call);
    respond(response, 200, {
      ...common,
      object: "chat.completion",
      choices: [{index: 0, message, finish_reason: reason}],
      usage
    });
    return;
  }
  if (calls.length) sendDelta({tool_calls: calls});
  sendDelta({}, reason);
  if (withUsage) send({...common, object: "chat.completion.chunk", choices: [], usage});
  send("[DONE]");
  response.end();
}

function respond(response, status, body, headers = {}) {
  response.writeHead(status, {"content-type": "application/json", ...headers});
  response.end(JSON.stringify(body));
}

function respondError(response, why) {
  const e = why instanceof Refused ? why : new Refused(500, "failed", why?.message ?? String(why));
  console.error(`${e.status}: ${e.message}`);
  if (response.destroyed) return;
  if (response.headersSent) response.end(`data: ${JSON.stringify(errorBody(e))}\n\n`);
  else respond(response, e.status, errorBody(e), e.status === 429 ? {"retry-after": "5"} : {});
}

// --- Requests --------------------------------------------------------------------------------

let waiting = 0;
let isLoaded;
let last = new Promise(resolve => (isLoaded = resolve));

// Runs one after the other; a failed one does not stop those behind it.
function inTurn(work) {
  if (waiting > waitingMax) throw new Refused(429, "busy", `${waitingMax} requests wait already`);
  ++waiting;
  const mine = last.then(work).finally(() => --waiting);
  last = mine.catch(() => {});
  return mine;
}

async function bodyOf(request) {
  // A web page may send other types here without asking; this one it may not.
  if (!/^application\/json\b/.test(request.headers["content-type"] ?? ""))
    throw new Refused(415, "invalid_request", "the content type must be application/json");
  const parts = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size > bodyBytesMax) throw new Refused(413, "too_large", `a body has at most ${bodyBytesMax} bytes`);
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString("utf8"));
  } catch {
    throw badRequest("the body is no JSON");
  }
}

async function handle(request, response) {
  const path = request.url.split("?")[0];
  if (path === "/v1/models" && request.method === "GET")
    return respond(response, 200, {
      object: "list",
      data: [{id: modelName, object: "model", created: 0, owned_by: "google"}]
    });
  if (path !== "/v1/chat/completions")
    throw new Refused(404, "not_found", `no ${path} here: only /v1/chat/completions and /v1/models`);
  if (request.method !== "POST") throw new Refused(405, "not_found", "only POST");
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  const body = await bodyOf(request);
  await inTurn(async () => {
    if (gone.signal.aborted) return;
    await answer(await readRequest(body), response, gone.signal).catch(why => {
      if (!gone.signal.aborted) throw why; // nobody is there to be told
    });
  });
}

// --- The model -------------------------------------------------------------------------------

const server = createServer((request, response) => {
  handle(request, response).catch(why => respondError(response, why));
});
server.on("error", e => {
  console.error(e.code === "EADDRINUSE" ? `port ${port} is taken: try --port` : e.message);
  process.exit(1);
});
// First the port, which may be taken; requests wait until the model is loaded.
await new Promise(listening => server.listen(port, "127.0.0.1", listening));
for (const name of ["SIGINT", "SIGTERM"]) process.on(name, () => process.exit(0));

// Only the prebuilt binary of the package: nothing is fetched or compiled here.
const llama = await getLlama({gpu: false, build: "never", skipDownload: true, logLevel: "error"});
const model = await llama.loadModel({modelPath: modelFile});
const context = await model.createContext({contextSize: contextTokens, threads});
const sequence = context.getSequence();
// Gemma's own format is known only to its models that were tuned for chats.
const wrapper = new GeneralChatWrapper();
const chat = new LlamaChat({contextSequence: sequence, chatWrapper: wrapper});
isLoaded();

const address = `OPENAI_BASE_URL=http://127.0.0.1:${port}/v1`;
console.log(`serving ${modelFile}
at http://127.0.0.1:${port}/v1 until Ctrl-C. In another terminal:

  ${address} build/release/bin/troupe chat --model openai:${modelName}
  ${address} TROUPE_MODEL=openai:${modelName} tools/run coder FOLDER "TASK" --tool-grammar llama.cpp
`);
