// The page of react.mjs: one hook, what it shows in `window.shown`, and all it showed in `window.seen`.
//
// ?hook=legacy|current&api=URL&graph=NAME; the thread is kept in the address, so that a reload finds it.
import { useStream as useLegacy } from "@langchain/langgraph-sdk/react";
import { useStream as useCurrent } from "@langchain/react";
import { useState } from "react";
import { createRoot } from "react-dom/client";

const address = new URL(location.href);
const given = (name) => address.searchParams.get(name);
const textOf = ({ content }) => typeof content === "string" ? content : content.map((part) => part.text ?? "").join("");

function useOptions() {
  const [threadId, setThreadId] = useState(given("thread"));
  const onThreadId = (id) => {
    address.searchParams.set("thread", id);
    history.replaceState(null, "", address);
    setThreadId(id);
  };
  return { apiUrl: given("api"), assistantId: given("graph"), threadId, onThreadId };
}

function show(stream, more) {
  const { values, isLoading, isThreadLoading, messages } = stream;
  window.stream = stream;
  window.shown = {
    values, isLoading, isThreadLoading, ...more,
    texts: messages.map(textOf),
    ids: messages.map((message) => message.id),
    questions: stream.interrupts.map((one) => one.value?.question ?? one.when),
    error: stream.error ? String(stream.error.message ?? stream.error) : null,
  };
  window.seen.push(window.shown);
  return <pre>{JSON.stringify(window.shown, null, 1)}</pre>;
}

function Legacy() {
  const stream = useLegacy({ ...useOptions(), reconnectOnMount: true, fetchStateHistory: true });
  const about = stream.messages.map((message, index) => stream.getMessagesMetadata(message, index));
  window.parents = about.map((one) => one?.firstSeenState?.parent_checkpoint);
  return show(stream, { branches: about.map((one) => one?.branchOptions ?? []) });
}

function Current() {
  return show(useCurrent(useOptions()), {});
}

// Events come one at a time, each after the one before is drawn: as from a slow model, however busy the machine is.
const eventsTogether = window.fetch;
window.fetch = async (...request) => {
  const response = await eventsTogether(...request);
  if (!response.headers.get("content-type")?.startsWith("text/event-stream"))
    return response;
  const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  let rest = "";
  const oneByOne = new TransformStream({
    async transform(text, to) {
      const events = (rest + text).split(/(?<=\n\r?\n)/);
      rest = /\n\r?\n$/.test(events.at(-1)) ? "" : events.pop();
      for (const event of events) {
        to.enqueue(event);
        await drawn();
      }
    },
    flush: (to) => to.enqueue(rest),
  });
  const decoded = response.body.pipeThrough(new TextDecoderStream());
  return new Response(decoded.pipeThrough(oneByOne).pipeThrough(new TextEncoderStream()), response);
};

window.seen = [];
createRoot(document.body.appendChild(document.createElement("div"))).render(given("hook") === "legacy" ? <Legacy /> : <Current />);
