"""The SDK of Python: streams of threads (`client.threads.stream`), over SSE, WebSocket and blocking.

    python_thread_stream.py URL
"""
import asyncio
import os
import sys
import time
import unittest

from langgraph_sdk import get_client, get_sync_client

from used_methods import unused

URL = sys.argv[1]
LEFT_OUT = {"observe_applied_through_seq": "the SDK calls it with what the server answers",
            "subagents": "the same object as subgraphs",
            "assistant_id": "of the caller", "thread_id": "of the caller"}
QUESTION = {"messages": [{"role": "user", "content": "hi"}]}


class Traced:
    """Notes which public members of a stream are used."""

    def __init__(self, target, used, name=""):
        self._target, self._used, self._name = target, used, name

    def __getattr__(self, name):
        self._used.add(self._name + name)
        member = getattr(self._target, name)
        return Traced(member, self._used, f"{name}.") if name in ("run", "agent") else member


def public_members(stream):
    names = {name for name in dir(stream) if not name.startswith("_")}
    for part in ("run", "agent"):
        names |= {f"{part}.{name}" for name in dir(getattr(stream, part)) if not name.startswith("_")}
    return names


class Async(unittest.IsolatedAsyncioTestCase):
    used = set()
    transport = "sse"

    async def asyncSetUp(self):
        self.client = get_client(url=URL)
        self.addAsyncCleanup(self.client.aclose)

    async def stream(self, assistant, thread=None):
        stream = self.client.threads.stream(thread, assistant_id=assistant, transport=self.transport)
        await self.enterAsyncContext(stream)
        return Traced(stream, self.used)

    async def test_values_and_the_output(self):
        thread = await self.stream("plain")
        started = await thread.run.start(input={"count": 1}, metadata={"mine": 1}, config={"tags": ["t"]})
        values = [v async for v in thread.values]
        self.assertEqual(values[-1], {"count": 12, "log": ["a", "b"]})
        self.assertEqual(await thread.output, values[-1])
        run = await self.client.runs.get(thread._target.thread_id, started["run_id"])
        self.assertEqual((run["status"], run["metadata"]["mine"]), ("success", 1))
        again = await self.stream("plain", thread._target.thread_id)
        self.assertEqual(await again.output, values[-1])

    async def test_messages_in_pieces(self):
        thread = await self.stream("paced_chat")
        await thread.run.start(input=QUESTION)

        async def items(projection):
            return [item async for item in projection]

        # Both at once: what begins after the end of a run waits for the next one.
        [message], calls = await asyncio.gather(items(thread.messages), items(thread.tool_calls))
        pieces = await items(message.text)
        self.assertGreater(len(pieces), 1)
        self.assertEqual(("".join(pieces), await message.text, calls), ("Hello there", "Hello there", []))

    async def test_a_question_is_answered(self):
        thread = await self.stream("approval")
        await thread.run.start(input={})
        self.assertEqual([v async for v in thread.values][-1]["draft"], "hello")
        self.assertTrue(thread.interrupted)
        [question] = thread.interrupts
        # This SDK looks for `value`; the protocol, and the recorded server, say `payload`.
        self.assertIsNone(question["value"])
        state = await self.client.threads.get_state(thread._target.thread_id)
        self.assertEqual(state["interrupts"][0]["id"], question["interrupt_id"])
        await thread.run.respond("yes", interrupt_id=question["interrupt_id"])
        self.assertEqual((await thread.output)["approved"], "yes")
        self.assertFalse(thread.interrupted)

    async def test_nested_graphs_are_found(self):
        thread = await self.stream("nested")
        await thread.run.start(input={"count": 0})
        found = []
        async for child in thread.subgraphs:
            found.append((child.graph_name, len(child.path)))
        self.assertEqual(found, [("sub", 1)])

    async def test_raw_events(self):
        thread = await self.stream("plain")
        events = thread.events
        await thread.run.start(input={})
        methods = []
        async for event in events:
            if "method" not in event:  # over WebSocket the answer to the subscription comes, too
                continue
            methods.append(event["method"])
            if event["method"] == "lifecycle" and event["params"]["data"]["event"] == "completed":
                break
        self.assertEqual([m for m in methods if m == "values"], ["values"] * 2)
        self.assertEqual((methods[0], methods[-1]), ("lifecycle", "lifecycle"))
        other = await self.stream("plain")
        await other.run.start(input={})
        got = [e["params"]["data"] async for e in other.subscribe(["values"], namespaces=[[]], depth=0) if "method" in e]
        self.assertEqual(got[-1]["count"], 11)

    async def test_items_of_several_projections(self):
        thread = await self.stream("paced_chat")
        await thread.run.start(input=QUESTION)
        kinds = [name async for name, _ in thread.interleave_projections(["values", "messages"])]
        self.assertEqual(set(kinds), {"values", "messages"})

    async def test_extensions_end_with_the_run(self):
        thread = await self.stream("plain")
        await thread.run.start(input={})
        self.assertEqual([item async for item in thread.extensions["progress"]], [])

    async def test_a_failed_run_raises(self):
        thread = await self.stream("fail")
        await thread.run.start(input={"n": 0})
        with self.assertRaisesRegex(Exception, "boom happened"):
            await thread.output

    async def test_the_graph_and_the_end(self):
        thread = await self.stream("nested")
        drawn = await thread.agent.get_tree(xray=True)
        self.assertIn("sub:inner1", [n["id"] for n in drawn["nodes"]])
        await thread.close()
        await thread.close()


class AsyncSocket(Async):
    transport = "websocket"


class Blocking(unittest.TestCase):
    used = set()

    def setUp(self):
        self.client = get_sync_client(url=URL)
        self.addCleanup(self.client.close)

    def stream(self, assistant, thread=None):
        return Traced(self.enterContext(self.client.threads.stream(thread, assistant_id=assistant)), self.used)

    def test_values_and_the_output(self):
        thread = self.stream("plain")
        thread.run.start(input={"count": 1})
        values = list(thread.values)
        self.assertEqual(values[-1], {"count": 12, "log": ["a", "b"]})
        self.assertEqual(thread.output, values[-1])
        self.assertEqual(self.stream("plain", thread._target.thread_id).output, values[-1])

    def test_messages_in_pieces(self):
        thread = self.stream("paced_chat")
        thread.run.start(input=QUESTION)
        self.assertEqual(["".join(message.text) for message in list(thread.messages)], ["Hello there"])
        other = self.stream("plain")
        other.run.start(input={})
        self.assertEqual(list(other.tool_calls), [])

    def test_a_question_is_answered(self):
        thread = self.stream("approval")
        thread.run.start(input={})
        until = time.monotonic() + 30
        while not thread.interrupted:  # a reader of values would wait for ever if it came after the question
            self.assertLess(time.monotonic(), until)
            os.sched_yield()
        self.assertEqual(len(thread.interrupts[0]["interrupt_id"]), 32)
        thread.run.respond("yes")
        self.assertEqual(thread.output["approved"], "yes")

    def test_nested_graphs_and_raw_events(self):
        thread = self.stream("nested")
        thread.run.start(input={"count": 0})
        self.assertEqual([child.graph_name for child in thread.subgraphs], ["sub"])
        other = self.stream("plain")
        other.run.start(input={})
        methods = [event["method"] for event in other.events]
        self.assertIn("values", methods)
        third = self.stream("plain")
        third.run.start(input={})
        self.assertEqual([e["params"]["data"] for e in third.subscribe(["values"])][-1]["count"], 11)

    def test_items_of_several_projections(self):
        thread = self.stream("paced_chat")
        thread.run.start(input=QUESTION)
        self.assertEqual({name for name, _ in thread.interleave_projections(["values", "messages"])}, {"values", "messages"})
        other = self.stream("plain")
        other.run.start(input={})
        self.assertEqual(list(other.extensions["progress"]), [])

    def test_the_graph_and_the_end(self):
        thread = self.stream("nested")
        self.assertIn("sub:inner1", [n["id"] for n in thread.agent.get_tree(xray=True)["nodes"]])
        thread.close()


async def missing():
    client, blocking = get_client(url=URL), get_sync_client(url=URL)
    lines = []
    for case, stream in ((Async, client.threads.stream(assistant_id="plain")),
                         (Blocking, blocking.threads.stream(assistant_id="plain"))):
        found = public_members(stream)
        left_out = {name: why for name, why in LEFT_OUT.items() if name in found}
        lines += [f"{case.__name__}: {line}" for line in unused(found, case.used, left_out)]
    return lines


def main():
    import logging
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    chosen = sys.argv[2:]
    program = unittest.main(argv=[sys.argv[0], *chosen], exit=False)
    lines = [] if chosen else asyncio.run(missing())
    print("\n".join(lines))
    return 0 if program.result.wasSuccessful() and not lines else 1


if __name__ == "__main__":
    sys.exit(main())
