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

window.seen = [];
createRoot(document.body.appendChild(document.createElement("div"))).render(given("hook") === "legacy" ? <Legacy /> : <Current />);
