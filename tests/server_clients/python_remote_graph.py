"""RemoteGraph of Python's langgraph: a served graph as a graph of one's own.

    python_remote_graph.py URL
"""
import logging
import operator
import sys
import unittest
import uuid
from typing import Annotated, Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.pregel.remote import RemoteException, RemoteGraph
from langgraph.types import Command
from typing_extensions import TypedDict

URL = sys.argv[1]
QUESTION = {"messages": [{"role": "user", "content": "hi"}]}


class Counted(TypedDict, total=False):
    count: Annotated[int, operator.add]
    log: Annotated[list, operator.add]


class Reviewed(TypedDict, total=False):
    draft: str
    approved: Any
    log: list


def remote(name):
    return RemoteGraph(name, url=URL)


def fresh():
    return {"configurable": {"thread_id": str(uuid.uuid4())}}


def around(graph, state, node):
    """A graph of ours with a served graph as its node."""
    builder = StateGraph(state).add_node(node, graph).add_edge(START, node).add_edge(node, END)
    return builder.compile(checkpointer=InMemorySaver())


class Blocking(unittest.TestCase):
    def test_invoke(self):
        self.assertEqual(remote("plain").invoke({"count": 1}), {"count": 12, "log": ["a", "b"]})
        done = remote("plain").invoke({"count": 1}, fresh(), version="v2")
        self.assertEqual((done.value["count"], done.interrupts), (12, ()))
        with self.assertRaisesRegex(RemoteException, "boom happened"):
            remote("fail").invoke({"n": 0})

    def test_streams(self):
        graph = remote("plain")
        self.assertEqual(list(graph.stream({"count": 1}, stream_mode="updates")),
                         [{"a": {"count": 1, "log": ["a"]}}, {"b": {"count": 10, "log": ["b"]}}])
        parts = list(graph.stream({"count": 1}, stream_mode=["values", "custom"]))
        self.assertEqual([p.event for p in parts], ["values", "custom", "values", "values"])
        self.assertEqual(parts[-1].data["count"], 12)
        pieces = list(remote("chat").stream(QUESTION, stream_mode="messages"))
        self.assertEqual("".join(message["content"] for message, _ in pieces), "Hello there")
        typed = list(graph.stream({"count": 1}, stream_mode="values", version="v2"))
        self.assertEqual((typed[-1]["type"], typed[-1]["data"]["count"]), ("values", 12))

    def test_streams_of_subgraphs(self):
        graph = remote("nested")
        inside = [list(data) for ns, data in graph.stream({"count": 0}, stream_mode="updates", subgraphs=True) if ns]
        self.assertEqual(inside, [["inner1"], ["inner2"]])
        parts = list(graph.stream({"count": 0}, stream_mode=["updates"], subgraphs=True))
        self.assertEqual(parts[1][0][0].split(":")[0], "sub")
        outside = [list(data) for data in graph.stream({"count": 0}, stream_mode="updates")]
        self.assertEqual(outside, [["outer"], ["sub"]])

    def test_a_question_is_answered(self):
        graph, config = remote("approval"), fresh()
        asked = graph.invoke({}, config, version="v2")
        self.assertEqual(asked.interrupts[0].value, {"question": "approve?", "draft": "hello"})
        state = graph.get_state(config)
        self.assertEqual((state.next, state.interrupts[0].id), (("review",), asked.interrupts[0].id))
        done = graph.invoke(Command(resume="yes"), config)
        self.assertEqual((done["approved"], done["log"]), ("yes", ["write", "review", "publish"]))

    def test_states(self):
        graph, config = remote("plain"), fresh()
        graph.invoke({"count": 1}, config)
        history = list(graph.get_state_history(config))
        self.assertEqual([s.next for s in history], [(), ("b",), ("a",), ("__start__",)])
        self.assertEqual(history[0].metadata["step"], 2)
        self.assertEqual(history[0].parent_config, history[1].config)
        self.assertEqual(graph.get_state(history[1].config).values, {"count": 2, "log": ["a"]})
        self.assertEqual([s.config for s in graph.get_state_history(config, limit=1, before=history[1].config)],
                         [history[2].config])
        self.assertEqual(len(list(graph.get_state_history(config, filter={"source": "input"}))), 1)
        new = graph.update_state(config, {"count": 100}, as_node="b")
        self.assertEqual(graph.get_state(new).values["count"], 112)
        self.assertEqual(graph.get_state(config).config["configurable"]["checkpoint_id"],
                         new["configurable"]["checkpoint_id"])

    def test_states_of_subgraphs(self):
        graph, config = remote("subapproval"), fresh()
        graph.invoke({}, config)
        inner = graph.get_state(config, subgraphs=True).tasks[0].state
        self.assertEqual((inner.next, inner.values["draft"]), (("review",), "hello"))
        here = graph.get_state(config).tasks[0].state
        self.assertEqual(graph.get_state(here).next, ("review",))

    def test_the_graph_is_drawn(self):
        drawn = remote("plain").get_graph()
        self.assertEqual(list(drawn.nodes), ["__start__", "a", "b", "__end__"])
        self.assertIn("a --> b", drawn.draw_mermaid())
        self.assertIn("sub:inner1", remote("nested").get_graph(xray=True).nodes)

    def test_breakpoints_and_configurations(self):
        graph, config = remote("plain"), fresh()
        graph.invoke({}, config, interrupt_before=["b"])
        self.assertEqual(graph.get_state(config).next, ("b",))
        graph.invoke(None, config)
        self.assertEqual(graph.get_state(config).next, ())
        tuned = remote("ctx").with_config({"configurable": {"flavour": "mint"}})
        self.assertEqual(tuned.invoke({})["flavour"], "mint")
        self.assertEqual(remote("ctx").invoke({}, context={"userId": "u1"})["who"], "u1")

    def test_as_a_node(self):
        graph = around(remote("plain"), Counted, "far")
        self.assertEqual(graph.invoke({"count": 1}, fresh()), {"count": 13, "log": ["a", "b"]})
        updates = [part for part in graph.stream({"count": 0}, fresh(), stream_mode="updates", subgraphs=True)]
        self.assertEqual([list(data) for _, data in updates], [["a"], ["b"], ["far"]])
        self.assertTrue(updates[0][0][0].startswith("far:"))

    def test_a_question_of_a_node_comes_up(self):
        graph, config = around(remote("approval"), Reviewed, "far"), fresh()
        asked = graph.invoke({}, config)
        self.assertEqual(asked["__interrupt__"][0].value, {"question": "approve?", "draft": "hello"})
        self.assertEqual(graph.get_state(config).next, ("far",))

    def test_events_of_the_third_version(self):
        with remote("plain").stream_events({"count": 1}, fresh(), version="v3") as run:
            self.assertEqual(list(run.values)[-1]["count"], 12)
            self.assertEqual(run.output["count"], 12)
        with remote("chat").stream_events(QUESTION, version="v3") as run:
            self.assertEqual(["".join(m.text) for m in list(run.messages)], ["Hello there"])
        with remote("plain").stream_events({}, version="v3") as run:
            self.assertIn("values", [event["method"] for event in run])


class Async(unittest.IsolatedAsyncioTestCase):
    async def test_invoke_and_streams(self):
        graph = remote("plain")
        self.assertEqual(await graph.ainvoke({"count": 1}), {"count": 12, "log": ["a", "b"]})
        self.assertEqual([list(u) async for u in graph.astream({}, stream_mode="updates")], [["a"], ["b"]])
        inside = [ns async for ns, _ in remote("nested").astream({"count": 0}, stream_mode="updates", subgraphs=True) if ns]
        self.assertEqual(len(inside), 2)
        with self.assertRaisesRegex(RemoteException, "boom happened"):
            await remote("fail").ainvoke({"n": 0})

    async def test_states_and_questions(self):
        graph, config = remote("approval"), fresh()
        await graph.ainvoke({}, config)
        state = await graph.aget_state(config)
        self.assertEqual((state.next, state.interrupts[0].value["question"]), (("review",), "approve?"))
        new = await graph.aupdate_state(config, {"draft": "mine"})
        self.assertEqual((await graph.aget_state(new)).values["draft"], "mine")
        done = await graph.ainvoke(Command(resume="yes"), config)
        self.assertEqual((done["approved"], done["draft"]), ("yes", "mine"))
        history = [s async for s in graph.aget_state_history(config, limit=3)]
        self.assertEqual(len(history), 3)
        self.assertEqual(list((await graph.aget_graph()).nodes), ["__start__", "write", "review", "publish", "__end__"])

    async def test_as_a_node(self):
        graph = around(remote("plain"), Counted, "far")
        self.assertEqual((await graph.ainvoke({"count": 1}, fresh()))["count"], 13)

    async def test_events_of_the_third_version(self):
        async with await remote("approval").astream_events({}, fresh(), version="v3") as run:
            self.assertEqual([v async for v in run.values][-1]["draft"], "hello")
            self.assertTrue(await run.interrupted())
            self.assertEqual(len(await run.interrupts()), 1)
        async with await remote("slow").astream_events({"ms": 60000}, fresh(), version="v3") as run:
            await run.abort()


if __name__ == "__main__":
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
