"""The SDK of Python, `langgraph-sdk`: every method of its client and of its blocking client.

    python_sdk.py URL
"""
import asyncio
import datetime
import http.server
import json
import logging
import sys
import threading
import unittest
import uuid
import zoneinfo

import httpx
from langgraph_sdk import errors, get_client, get_sync_client

from used_methods import Noted, public_methods_of_client, unused

URL = sys.argv[1]

# Methods that no test of this script calls -> why.
LEFT_OUT = {"threads.stream": "python_thread_stream.py"}

NOBODY = "00000000-0000-4000-8000-000000000000"
GRAPHS = {"plain", "approval", "fanout", "chat", "nested", "slow", "fail", "typed", "double", "subapproval", "ctx"}
PLAIN_LOG = ["a", "b"]
TEST_S = 60


class Webhook:
    """Keeps the body of the one request that it gets."""

    def __enter__(self):
        self._came = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                outer.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(204)
                self.end_headers()
                outer._came.set()

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    async def wait(self):
        if not await asyncio.to_thread(self._came.wait, 30):
            raise AssertionError("no webhook")
        return self.body


class Case(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.real = get_sync_client(url=URL) if self.blocking else get_client(url=URL)
        self.client = Noted(self.real, self.used, self.blocking)
        self.mark = {"test": str(uuid.uuid4())}  # metadata of what this test makes

    async def asyncTearDown(self):
        await (self.client.close() if self.blocking else self.client.aclose())

    async def thread(self, **options):
        return (await self.client.threads.create(metadata=self.mark, **options))["thread_id"]

    async def assistant(self, graph, **options):
        made = await self.client.assistants.create(graph, metadata=self.mark, **options)
        return made["assistant_id"]

    async def waiting(self):
        """A thread whose run has asked its question."""
        thread = await self.thread()
        await self.client.runs.wait(thread, "approval", input={})
        return thread

    async def running(self, thread, **options):
        """A run that has begun, and would go on for a minute."""
        run = await self.client.runs.create(thread, "slow", input={"ms": 60000}, **options)
        while (await self.client.runs.get(thread, run["run_id"]))["status"] == "pending":
            await asyncio.sleep(0)
        return run["run_id"]

    async def parts(self, *arguments, **options):
        return [part async for part in self.client.runs.stream(*arguments, **options)]


class Assistants(Case):
    async def test_each_graph_has_an_assistant_of_the_systems(self):
        found = await self.client.assistants.search(metadata={"created_by": "system"}, limit=100)
        self.assertEqual({a["graph_id"] for a in found}, GRAPHS)
        plain = next(a for a in found if a["graph_id"] == "plain")
        namespace = uuid.UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")
        self.assertEqual(plain["assistant_id"], str(uuid.uuid5(namespace, "plain")))
        self.assertEqual((plain["name"], plain["version"]), ("plain", 1))

    async def test_an_assistant_is_made_read_and_removed(self):
        name = str(uuid.uuid4())
        made = await self.client.assistants.create("ctx", {"tags": ["x"], "recursion_limit": 7}, context={"userId": "u"},
                                                   metadata=self.mark, assistant_id=name, name="mine", description="of ctx")
        self.assertEqual({k: made[k] for k in ("assistant_id", "graph_id", "name", "description", "version", "context")},
                         {"assistant_id": name, "graph_id": "ctx", "name": "mine", "description": "of ctx", "version": 1,
                          "context": {"userId": "u"}})
        self.assertEqual(made["config"]["tags"], ["x"])
        self.assertEqual(made["config"]["recursion_limit"], 7)
        self.assertEqual(made["metadata"]["test"], self.mark["test"])
        self.assertEqual(await self.client.assistants.get(name), made)
        again = await self.client.assistants.create("plain", assistant_id=name, if_exists="do_nothing")
        self.assertEqual(again, made)
        with self.assertRaises(errors.ConflictError):
            await self.client.assistants.create("plain", assistant_id=name)
        with self.assertRaises(errors.NotFoundError):
            await self.client.assistants.create("no such graph")
        await self.client.assistants.delete(name)
        with self.assertRaises(errors.NotFoundError):
            await self.client.assistants.get(name)

    async def test_an_update_makes_a_version_and_an_old_one_comes_back(self):
        name = await self.assistant("ctx", context={"userId": "first"}, name="one")
        new = await self.client.assistants.update(name, context={"userId": "second"}, metadata={"more": 1}, name="two",
                                                  description="d")
        self.assertEqual((new["version"], new["name"], new["context"]), (2, "two", {"userId": "second"}))
        self.assertEqual((new["metadata"]["test"], new["metadata"]["more"]), (self.mark["test"], 1))
        self.assertEqual((await self.client.runs.wait(None, name, input={}))["who"], "second")
        versions = await self.client.assistants.get_versions(name)
        self.assertEqual([v["version"] for v in versions], [2, 1])
        self.assertEqual([v["version"] for v in await self.client.assistants.get_versions(name, limit=1, offset=1)], [1])
        self.assertEqual([v["version"] for v in await self.client.assistants.get_versions(name, metadata={"more": 1})], [2])
        old = await self.client.assistants.set_latest(name, 1)
        # As the recorded server: the context stays that of the newer version.
        self.assertEqual((old["version"], old["name"], old["context"]), (1, "one", {"userId": "second"}))
        moved = await self.client.assistants.update(name, graph_id="plain")
        self.assertEqual((moved["graph_id"], moved["version"]), ("plain", 3))
        await self.client.assistants.delete(name)

    async def test_search_filters_sorts_and_pages(self):
        names = [await self.assistant(graph, name=f"{self.mark['test']} {graph}") for graph in ("plain", "chat", "slow")]
        search, count = self.client.assistants.search, self.client.assistants.count
        by_name = await search(metadata=self.mark, sort_by="name", sort_order="asc")
        self.assertEqual([a["graph_id"] for a in by_name], ["chat", "plain", "slow"])
        self.assertEqual([a["graph_id"] for a in await search(metadata=self.mark, graph_id="chat")], ["chat"])
        self.assertEqual([a["assistant_id"] for a in await search(name=f"{self.mark['test']} slow")], [names[2]])
        chosen = await search(metadata=self.mark, graph_id="chat", select=["graph_id", "version"])
        self.assertEqual(chosen, [{"graph_id": "chat", "version": 1}])
        page = await search(metadata=self.mark, sort_by="name", sort_order="asc", limit=2, response_format="object")
        self.assertEqual([a["graph_id"] for a in page["assistants"]], ["chat", "plain"])
        rest = await search(metadata=self.mark, sort_by="name", sort_order="asc", limit=2, offset=int(page["next"]),
                            response_format="object")
        self.assertEqual(([a["graph_id"] for a in rest["assistants"]], rest["next"]), (["slow"], None))
        self.assertEqual(await count(metadata=self.mark), 3)
        self.assertEqual(await count(metadata=self.mark, graph_id="plain"), 1)
        self.assertEqual(await count(name=f"{self.mark['test']} slow"), 1)
        for name in names:
            await self.client.assistants.delete(name)
        self.assertEqual(await count(metadata=self.mark), 0)

    async def test_its_threads_go_with_it_where_asked_for(self):
        name = await self.assistant("plain")
        thread = await self.thread()
        await self.client.runs.wait(thread, name, input={})
        other = await self.thread()
        await self.client.assistants.delete(name, delete_threads=True)
        with self.assertRaises(errors.NotFoundError):
            await self.client.threads.get(thread)
        self.assertEqual((await self.client.threads.get(other))["thread_id"], other)

    async def test_a_graph_is_drawn(self):
        drawn = await self.client.assistants.get_graph("plain")
        self.assertEqual([n["id"] for n in drawn["nodes"]], ["__start__", "a", "b", "__end__"])
        self.assertEqual([(e["source"], e["target"]) for e in drawn["edges"]],
                         [("__start__", "a"), ("a", "b"), ("b", "__end__")])
        inside = await self.client.assistants.get_graph("nested", xray=True)
        self.assertIn("sub:inner1", [n["id"] for n in inside["nodes"]])
        self.assertNotIn("sub:inner1", [n["id"] for n in (await self.client.assistants.get_graph("nested"))["nodes"]])
        self.assertEqual(inside, await self.client.assistants.get_graph("nested", xray=1))

    async def test_schemas_and_subgraphs(self):
        schemas = await self.client.assistants.get_schemas("typed")
        self.assertEqual(schemas["graph_id"], "typed")
        self.assertEqual(schemas["input_schema"]["properties"]["topic"]["type"], "string")
        self.assertEqual(list(schemas["output_schema"]["properties"]), ["n"])
        self.assertEqual(set(schemas["state_schema"]["properties"]), {"topic", "n", "tags"})
        self.assertEqual(list(schemas["context_schema"]["properties"]), ["userId"])
        subgraphs = await self.client.assistants.get_subgraphs("nested")
        self.assertEqual(list(subgraphs), ["sub"])
        self.assertEqual(set(subgraphs["sub"]["state_schema"]["properties"]), {"count", "log"})
        self.assertEqual(list(await self.client.assistants.get_subgraphs("nested", recurse=True)), ["sub"])
        self.assertEqual(list(await self.client.assistants.get_subgraphs("nested", "sub")), ["sub"])
        self.assertEqual(await self.client.assistants.get_subgraphs("plain"), {})


class Threads(Case):
    async def test_a_thread_is_made_changed_and_removed(self):
        name = str(uuid.uuid4())
        made = await self.client.threads.create(metadata=self.mark, thread_id=name, graph_id="plain", ttl=60)
        self.assertEqual((made["thread_id"], made["status"]), (name, "idle"))
        self.assertEqual((made["metadata"]["test"], made["metadata"]["graph_id"]), (self.mark["test"], "plain"))
        self.assertEqual((await self.client.threads.create(thread_id=name, if_exists="do_nothing"))["thread_id"], name)
        with self.assertRaises(errors.ConflictError):
            await self.client.threads.create(thread_id=name, if_exists="raise")
        kept = await self.client.threads.get(name, include=["ttl"])
        self.assertEqual((kept["ttl"]["strategy"], kept["ttl"]["ttl"]), ("delete", 60))
        new = await self.client.threads.update(name, metadata={"more": [1, {"x": None}]},
                                               ttl={"ttl": 5, "strategy": "keep_latest"})
        self.assertEqual((new["metadata"]["test"], new["metadata"]["more"]), (self.mark["test"], [1, {"x": None}]))
        kept = await self.client.threads.get(name, include=["ttl"])
        self.assertEqual((kept["ttl"]["strategy"], kept["ttl"]["ttl"]), ("keep_latest", 5))
        self.assertIsNone(await self.client.threads.update(name, metadata={"less": 0}, return_minimal=True))
        self.assertEqual((await self.client.threads.get(name))["metadata"]["less"], 0)
        await self.client.threads.delete(name)
        with self.assertRaises(errors.NotFoundError):
            await self.client.threads.get(name)

    async def test_supersteps_make_a_state(self):
        thread = await self.thread(graph_id="plain", supersteps=[
            {"updates": [{"values": {"count": 1, "log": ["in"]}, "as_node": "__start__"}]},
            {"updates": [{"values": {"count": 2, "log": ["a"]}, "as_node": "a"}]}])
        state = await self.client.threads.get_state(thread)
        self.assertEqual((state["values"], state["next"]), ({"count": 3, "log": ["in", "a"]}, ["b"]))
        self.assertEqual((await self.client.runs.wait(thread, "plain"))["log"], ["in", "a", "b"])

    async def test_search_and_count_filter(self):
        idle = await self.thread()
        asked = await self.waiting()
        done = await self.thread()
        await self.client.runs.wait(done, "plain", input={"count": 5})
        search, count = self.client.threads.search, self.client.threads.count
        ids = [t["thread_id"] for t in await search(metadata=self.mark, sort_by="created_at", sort_order="asc")]
        self.assertEqual(ids, [idle, asked, done])
        found = await search(metadata=self.mark, status="interrupted")
        self.assertEqual([t["thread_id"] for t in found], [asked])
        [question] = [i for some in found[0]["interrupts"].values() for i in some]
        self.assertEqual(question["value"], {"question": "approve?", "draft": "hello"})
        self.assertEqual([t["thread_id"] for t in await search(values={"count": 16}, metadata=self.mark)], [done])
        self.assertEqual({t["thread_id"] for t in await search(ids=[idle, done])}, {idle, done})
        self.assertEqual(await search(ids=[done], select=["thread_id", "values"]),
                         [{"thread_id": done, "values": {"count": 16, "log": PLAIN_LOG}}])
        [extracted] = await search(ids=[done], select=["thread_id"], extract={"last": "values.log[-1]"})
        self.assertEqual(extracted["extracted"], {"last": "b"})
        self.assertEqual(len(await search(metadata=self.mark, limit=2, offset=2)), 1)
        self.assertEqual(await count(metadata=self.mark), 3)
        self.assertEqual(await count(metadata=self.mark, status="idle"), 2)
        self.assertEqual(await count(metadata=self.mark, values={"count": 16}), 1)

    async def test_a_copy_has_the_history_and_a_life_of_its_own(self):
        thread = await self.waiting()
        copy = (await self.client.threads.copy(thread))["thread_id"]
        self.assertNotEqual(copy, thread)
        first, second = [await self.client.threads.get_history(t) for t in (thread, copy)]
        self.assertEqual([s["values"] for s in first], [s["values"] for s in second])
        done = await self.client.runs.wait(copy, "approval", command={"resume": "yes"})
        self.assertEqual(done["approved"], "yes")
        self.assertEqual((await self.client.threads.get_state(thread))["next"], ["review"])

    async def test_prune_removes_threads_or_their_past(self):
        gone, kept = await self.thread(), await self.thread()
        for thread in (gone, kept):
            await self.client.runs.wait(thread, "plain", input={})
        self.assertEqual((await self.client.threads.prune([gone, NOBODY]))["pruned_count"], 1)
        with self.assertRaises(errors.NotFoundError):
            await self.client.threads.get(gone)
        self.assertGreater(len(await self.client.threads.get_history(kept)), 1)
        pruned = await self.client.threads.prune([kept], strategy="keep_latest")
        self.assertEqual(pruned["pruned_count"], 1)
        [left] = await self.client.threads.get_history(kept)
        self.assertEqual(left["values"], {"count": 11, "log": PLAIN_LOG})

    async def test_a_state_is_read_now_and_then(self):
        thread = await self.thread()
        await self.client.runs.wait(thread, "plain", input={"count": 0})
        get_state, history = self.client.threads.get_state, await self.client.threads.get_history(thread)
        self.assertEqual([s["values"].get("log", []) for s in history], [["a", "b"], ["a"], [], []])
        self.assertEqual([s["next"] for s in history], [[], ["b"], ["a"], ["__start__"]])
        self.assertEqual([s["metadata"]["step"] for s in history], [2, 1, 0, -1])
        for newer, older in zip(history, history[1:]):
            self.assertEqual(newer["parent_checkpoint"]["checkpoint_id"], older["checkpoint"]["checkpoint_id"])
        middle = history[1]
        for state in (await get_state(thread, checkpoint=middle["checkpoint"]),
                      await get_state(thread, checkpoint_id=middle["checkpoint"]["checkpoint_id"])):
            self.assertEqual((state["values"], state["next"], state["checkpoint"]["checkpoint_id"], state["created_at"]),
                             (middle["values"], middle["next"], middle["checkpoint"]["checkpoint_id"], middle["created_at"]))
        self.assertEqual(await get_state(thread), history[0])
        chosen = await get_state(thread, checkpoint=history[0]["checkpoint"], select=["values.count", "next"])
        self.assertEqual(chosen, {"values": {"count": 11}, "next": []})
        # As the recorded server: without a checkpoint all members come.
        self.assertEqual((await get_state(thread, select=["values.count"]))["values"]["count"], 11)
        chosen = await self.client.threads.get_history(thread, select=["values.count"], limit=2)
        self.assertEqual(chosen, [{"values": {"count": 11}}, {"values": {"count": 1}}])
        with self.assertRaises(errors.NotFoundError):
            await get_state(NOBODY)

    async def test_a_history_is_filtered(self):
        thread = await self.thread()
        await self.client.runs.wait(thread, "plain", input={"count": 0})
        read = self.client.threads.get_history
        history = await read(thread)
        self.assertEqual(await read(thread, limit=2), history[:2])
        self.assertEqual(await read(thread, before=history[1]["checkpoint"]), history[2:])
        self.assertEqual(await read(thread, before=history[1]["checkpoint"]["checkpoint_id"]), history[2:])
        self.assertEqual(await read(thread, metadata={"source": "input"}), history[3:])
        self.assertEqual(await read(thread, checkpoint=history[0]["checkpoint"]), history)

    async def test_states_of_subgraphs(self):
        thread = await self.thread()
        await self.client.runs.wait(thread, "subapproval", input={})
        outer = await self.client.threads.get_state(thread)
        self.assertEqual(outer["tasks"][0]["checkpoint"]["checkpoint_ns"].split(":")[0], "sub")
        self.assertIsNone(outer["tasks"][0].get("state"))
        inner = (await self.client.threads.get_state(thread, subgraphs=True))["tasks"][0]["state"]
        self.assertEqual((inner["next"], inner["values"]["draft"]), (["review"], "hello"))
        there = await self.client.threads.get_state(thread, checkpoint=outer["tasks"][0]["checkpoint"])
        self.assertEqual(there["next"], ["review"])
        [*past] = await self.client.threads.get_history(thread, checkpoint=outer["tasks"][0]["checkpoint"])
        self.assertEqual(past[0]["next"], ["review"])

    async def test_an_update_of_a_state_moves_the_thread(self):
        thread = await self.waiting()
        state = await self.client.threads.get_state(thread)
        done = await self.client.threads.update_state(thread, {"approved": "no", "log": ["me"]}, as_node="review")
        new = await self.client.threads.get_state(thread)
        self.assertEqual(done["checkpoint"], new["checkpoint"])
        self.assertEqual((new["next"], new["values"]["log"]), (["publish"], ["write", "me"]))
        self.assertEqual(new["metadata"]["source"], "update")
        await self.client.threads.update_state(thread, {"draft": "other"}, checkpoint_id=state["checkpoint"]["checkpoint_id"])
        self.assertEqual((await self.client.threads.get_state(thread))["values"]["draft"], "other")
        await self.client.threads.update_state(thread, {"draft": "third"}, checkpoint=state["checkpoint"], as_node="write")
        last = await self.client.threads.get_state(thread)
        self.assertEqual((last["values"]["draft"], last["next"]), ("third", ["review"]))
        self.assertEqual(last["parent_checkpoint"]["checkpoint_id"], state["checkpoint"]["checkpoint_id"])
        with self.assertRaises(errors.APIStatusError):
            await self.client.threads.update_state(thread, {"draft": "x"}, as_node="no such node")
        await self.client.threads.update_state(thread, None, as_node="publish")
        self.assertEqual((await self.client.threads.get_state(thread))["next"], [])

    async def test_a_stream_of_a_thread_shows_its_runs(self):
        thread = await self.thread()
        await self.client.runs.create(thread, "plain", input={}, after_seconds=1)
        seen, first = [], None
        async for part in self.client.threads.join_stream(thread, stream_mode=["run_modes", "lifecycle"]):
            seen.append(part)
            if part.event == "metadata" and part.data.get("status") == "run_done":
                if first:
                    break
                first = part
                await self.client.runs.create(thread, "plain", input={})
        self.assertTrue(all(part.id for part in seen))
        self.assertEqual([p.data["count"] for p in seen if p.event == "values"][-1], 22)
        await self.client.runs.create(thread, "plain", input={}, after_seconds=1)
        async for part in self.client.threads.join_stream(thread, stream_mode="lifecycle", last_event_id=first.id):
            self.assertEqual(part.event, "metadata")
            if part.data.get("status") == "run_done":
                break


class Runs(Case):
    async def test_a_run_is_made_joined_and_read(self):
        thread = await self.thread()
        made_as = []
        run = await self.client.runs.create(thread, "plain", input={"count": 1}, metadata={"mine": 1}, on_run_created=made_as.append,
                                            config={"tags": ["t"]}, durability="sync")
        self.assertEqual((run["thread_id"], run["status"], run["metadata"]["mine"]), (thread, "pending", 1))
        self.assertEqual(made_as, [{"run_id": run["run_id"], "thread_id": thread}])
        self.assertEqual(await self.client.runs.join(thread, run["run_id"]), {"count": 12, "log": PLAIN_LOG})
        done = await self.client.runs.get(thread, run["run_id"])
        self.assertEqual((done["status"], done["kwargs"]["input"]), ("success", {"count": 1}))
        self.assertEqual((await self.client.threads.get(thread))["values"], {"count": 12, "log": PLAIN_LOG})
        second = await self.client.runs.create(thread, "fail", input={})
        with self.assertRaises(Exception):
            await self.client.runs.wait(thread, "fail", input={})
        runs = self.client.runs.list
        self.assertEqual([r["run_id"] for r in await runs(thread)][1:], [second["run_id"], run["run_id"]])
        self.assertEqual([r["run_id"] for r in await runs(thread, status="success")], [run["run_id"]])
        self.assertEqual([r["run_id"] for r in await runs(thread, limit=1, offset=1)], [second["run_id"]])
        self.assertEqual(await runs(thread, status="success", select=["run_id", "status"]),
                         [{"run_id": run["run_id"], "status": "success"}])
        await self.client.runs.delete(thread, run["run_id"])
        with self.assertRaises(errors.NotFoundError):
            await self.client.runs.get(thread, run["run_id"])
        with self.assertRaises(errors.NotFoundError):
            await self.client.runs.create(NOBODY, "plain", input={})

    async def test_every_mode_of_a_stream(self):
        thread = await self.thread()
        modes = ["values", "updates", "custom", "tasks", "checkpoints", "debug"]
        parts = await self.parts(thread, "plain", input={"count": 0}, stream_mode=modes)
        self.assertEqual(parts[0].event, "metadata")
        self.assertTrue(uuid.UUID(parts[0].data["run_id"]))
        of = {mode: [p.data for p in parts if p.event == mode] for mode in modes}
        self.assertEqual([v["count"] for v in of["values"]], [0, 1, 11])
        self.assertEqual(of["updates"], [{"a": {"count": 1, "log": ["a"]}}, {"b": {"count": 10, "log": ["b"]}}])
        self.assertEqual(of["custom"], [{"progress": "a-started"}])
        self.assertEqual([(t["name"], "result" in t) for t in of["tasks"]],
                         [("a", False), ("a", True), ("b", False), ("b", True)])
        self.assertEqual([c["next"] for c in of["checkpoints"]][-3:], [["a"], ["b"], []])
        self.assertEqual({d["type"] for d in of["debug"]}, {"checkpoint", "task", "task_result"})
        self.assertEqual({p.event for p in parts} - set(modes), {"metadata"})

    async def test_messages_are_streamed_in_both_forms(self):
        question = {"messages": [{"role": "user", "content": "hi"}]}
        parts = await self.parts(None, "chat", input=question, stream_mode="messages-tuple")
        pieces = [p.data[0]["content"] for p in parts if p.event == "messages"]
        self.assertEqual("".join(pieces), "Hello there")
        self.assertEqual({p.data[1]["langgraph_node"] for p in parts if p.event == "messages"}, {"model"})
        parts = await self.parts(None, "chat", input=question, stream_mode="messages")
        texts = [p.data[0]["content"] for p in parts if p.event == "messages/partial"]
        self.assertEqual(texts, ["Hel", "Hello ", "Hello there"])

    async def test_typed_parts_of_the_second_version(self):
        thread = await self.thread()
        parts = await self.parts(thread, "nested", input={"count": 0}, stream_mode=["values", "updates"], stream_subgraphs=True,
                                 version="v2")
        self.assertEqual({p["type"] for p in parts}, {"metadata", "values", "updates"})
        inside = [p for p in parts if p["ns"]]
        self.assertEqual([list(p["data"]) for p in inside if p["type"] == "updates"], [["inner1"], ["inner2"]])
        self.assertTrue(inside[0]["ns"][0].startswith("sub:"))
        self.assertEqual([p["data"]["count"] for p in parts if p["type"] == "values" and not p["ns"]][-1], 1102)

    async def test_an_error_ends_a_stream_and_a_wait(self):
        parts = await self.parts(await self.thread(), "fail", input={"n": 0})
        self.assertEqual((parts[-1].event, parts[-1].data),
                         ("error", {"error": "ValueError", "message": "boom happened"}))
        with self.assertRaisesRegex(Exception, "boom happened"):
            await self.client.runs.wait(None, "fail", input={})
        told = await self.client.runs.wait(None, "fail", input={}, raise_error=False)
        self.assertEqual(told["__error__"]["error"], "ValueError")
        with self.assertRaisesRegex(httpx.HTTPStatusError, "422"):
            await self.client.runs.wait(None, "no such assistant", input={})

    async def test_a_question_is_answered(self):
        thread = await self.thread()
        asked = await self.client.runs.wait(thread, "approval", input={})
        [question] = asked["__interrupt__"]
        self.assertEqual(question["value"], {"question": "approve?", "draft": "hello"})
        self.assertEqual((await self.client.threads.get(thread))["status"], "interrupted")
        parts = await self.parts(thread, "approval", command={"resume": {"ok": True}}, stream_mode="updates")
        self.assertEqual([p.data for p in parts if p.event == "updates"],
                         [{"review": {"approved": {"ok": True}, "log": ["review"]}}, {"publish": {"log": ["publish"]}}])
        self.assertEqual((await self.client.threads.get(thread))["status"], "idle")

    async def test_two_questions_are_answered_by_their_ids(self):
        thread = await self.thread()
        asked = await self.client.runs.wait(thread, "double", input={})
        answers = {i["id"]: i["value"]["ask"].upper() for i in asked["__interrupt__"]}
        self.assertEqual(sorted(answers.values()), ["LEFT", "RIGHT"])
        done = await self.client.runs.wait(thread, "double", command={"resume": answers}, strict_resume=True)
        self.assertEqual((done["left"], done["right"], done["log"][-1]), ("LEFT", "RIGHT", "end"))

    async def test_a_command_updates_and_jumps(self):
        thread = await self.waiting()
        done = await self.client.runs.wait(thread, "approval", command={"update": {"draft": "mine"}, "goto": {"node": "publish", "input": {}}})
        self.assertEqual(done["draft"], "mine")
        self.assertIn("publish", done["log"])

    async def test_breakpoints_stop_and_a_run_without_input_resumes(self):
        thread = await self.thread()
        await self.client.runs.wait(thread, "plain", input={}, interrupt_before=["b"])
        self.assertEqual((await self.client.threads.get_state(thread))["next"], ["b"])
        await self.client.runs.wait(thread, "plain", input=None, interrupt_after=["b"])
        self.assertEqual((await self.client.threads.get_state(thread))["values"], {"count": 11, "log": PLAIN_LOG})
        thread = await self.thread()
        await self.client.runs.wait(thread, "plain", input={}, interrupt_after="*")
        self.assertEqual((await self.client.threads.get_state(thread))["next"], ["b"])

    async def test_a_run_starts_from_an_old_checkpoint(self):
        thread = await self.thread()
        await self.client.runs.wait(thread, "plain", input={"count": 0})
        after_a = (await self.client.threads.get_history(thread))[1]["checkpoint"]
        again = await self.client.runs.wait(thread, "plain", checkpoint=after_a)
        self.assertEqual(again, {"count": 11, "log": PLAIN_LOG})
        again = await self.client.runs.wait(thread, "plain", checkpoint_id=after_a["checkpoint_id"], durability="exit")
        self.assertEqual(again, {"count": 11, "log": PLAIN_LOG})
        forks = [s for s in await self.client.threads.get_history(thread, limit=20)
                 if (s["parent_checkpoint"] or {}).get("checkpoint_id") == after_a["checkpoint_id"]]
        self.assertGreaterEqual(len(forks), 2)

    async def test_context_and_configuration_reach_the_graph(self):
        done = await self.client.runs.wait(None, "ctx", input={}, context={"userId": self.mark["test"]})
        self.assertEqual((done["who"], done["seen"]), (self.mark["test"], 1))
        done = await self.client.runs.wait(None, "ctx", input={}, config={"configurable": {"flavour": "mint"}})
        self.assertEqual(done["flavour"], "mint")
        with self.assertRaisesRegex(Exception, "(?i)recursion"):
            await self.client.runs.wait(None, "plain", input={}, config={"recursion_limit": 1})

    async def test_runs_on_a_busy_thread(self):
        thread = await self.thread()
        first = await self.running(thread)
        self.assertEqual((await self.client.threads.get(thread))["status"], "busy")
        with self.assertRaises(errors.ConflictError):
            await self.client.runs.create(thread, "slow", input={"ms": 1}, multitask_strategy="reject")
        queued = await self.client.runs.create(thread, "slow", input={"ms": 1}, multitask_strategy="enqueue")
        self.assertEqual((await self.client.runs.get(thread, queued["run_id"]))["status"], "pending")
        last = await self.client.runs.wait(thread, "slow", input={"ms": 1}, multitask_strategy="interrupt")
        self.assertGreaterEqual(last["n"], 2)
        self.assertEqual((await self.client.runs.get(thread, first))["status"], "interrupted")
        first = await self.running(thread)
        await self.client.runs.wait(thread, "slow", input={"ms": 1}, multitask_strategy="rollback")
        with self.assertRaises(errors.NotFoundError):
            await self.client.runs.get(thread, first)

    async def test_a_run_is_cancelled_or_rolled_back(self):
        thread = await self.thread()
        run = await self.running(thread)
        await self.client.runs.cancel(thread, run, wait=True)
        self.assertEqual((await self.client.runs.get(thread, run))["status"], "interrupted")
        run = await self.running(thread)
        await self.client.runs.cancel(thread, run, wait=True, action="rollback")
        with self.assertRaises(errors.NotFoundError):
            await self.client.runs.get(thread, run)
        with self.assertRaises(errors.NotFoundError):
            await self.client.runs.cancel(thread, NOBODY)

    async def test_many_runs_are_cancelled(self):
        thread, other = await self.thread(), await self.thread()
        runs = [await self.running(t) for t in (thread, other)]
        await self.client.runs.cancel_many(thread_id=thread, run_ids=runs[:1])
        await self.client.runs.join(thread, runs[0])
        self.assertEqual((await self.client.runs.get(thread, runs[0]))["status"], "interrupted")
        self.assertEqual((await self.client.runs.get(other, runs[1]))["status"], "running")
        await self.client.runs.cancel_many(status="all")
        await self.client.runs.join(other, runs[1])
        self.assertEqual((await self.client.runs.get(other, runs[1]))["status"], "interrupted")

    async def test_a_batch_makes_runs_without_threads_of_the_users(self):
        made = await self.client.runs.create_batch([
            {"assistant_id": "plain", "input": {"count": n}, "metadata": self.mark, "on_completion": "keep"} for n in (1, 2)])
        self.assertEqual(len(made), 2)
        outputs = [await self.client.runs.join(run["thread_id"], run["run_id"]) for run in made]
        self.assertEqual(sorted(o["count"] for o in outputs), [12, 13])

    async def test_a_run_without_a_thread_leaves_none(self):
        made_as = []
        await self.client.runs.wait(None, "plain", input={}, on_run_created=made_as.append, on_completion="delete")
        with self.assertRaises(errors.NotFoundError):
            await self.client.threads.get(made_as[0]["thread_id"])
        run = await self.client.runs.create(None, "plain", input={}, on_completion="keep")
        self.assertEqual((await self.client.runs.join(run["thread_id"], run["run_id"]))["count"], 11)
        self.assertEqual((await self.client.threads.get(run["thread_id"]))["status"], "idle")

    async def test_a_thread_is_made_where_asked_for(self):
        name = str(uuid.uuid4())
        await self.client.runs.wait(name, "plain", input={}, if_not_exists="create")
        self.assertEqual((await self.client.threads.get(name))["values"]["count"], 11)

    async def test_a_resumable_stream_is_joined_again(self):
        thread = await self.thread()
        created = []
        whole = await self.parts(thread, "plain", input={}, stream_resumable=True, stream_mode=["values", "updates"],
                                 on_run_created=created.append)
        run, third = created[0]["run_id"], whole[2].id
        join = self.client.runs.join_stream
        self.assertEqual([p async for p in join(thread, run, last_event_id="-1")], whole)
        self.assertEqual([p async for p in join(thread, run, last_event_id=third)], whole[3:])
        chosen = [p.event async for p in join(thread, run, last_event_id="-1", stream_mode="updates")]
        self.assertEqual([e for e in chosen if e != "metadata"], ["updates", "updates"])
        chosen = [p.event async for p in join(thread, run, last_event_id="-1", stream_mode=["values", "updates"])]
        self.assertEqual(chosen, [p.event for p in whole])

    async def test_a_live_stream_is_joined(self):
        thread = await self.thread()
        run = await self.client.runs.create(thread, "slow", input={"ms": 50}, stream_mode=["updates"], after_seconds=1)
        events = [p async for p in self.client.runs.join_stream(thread, run["run_id"])]
        self.assertEqual([p.data for p in events if p.event == "updates"], [{"s1": {"n": 1}}, {"s2": {"n": 1}}])

    async def test_the_last_reader_that_leaves_ends_a_run_where_asked_for(self):
        thread = await self.thread()
        run = await self.client.runs.create(thread, "slow", input={"ms": 60000}, stream_mode="tasks", after_seconds=1)
        async for part in self.client.runs.join_stream(thread, run["run_id"], cancel_on_disconnect=True):
            if part.event == "tasks":
                break
        await self.client.runs.wait(thread, "slow", input={"ms": 1}, multitask_strategy="enqueue")
        self.assertEqual((await self.client.runs.get(thread, run["run_id"]))["status"], "interrupted")

    async def test_a_webhook_is_called(self):
        with Webhook() as hook:
            thread = await self.thread()
            await self.client.runs.wait(thread, "plain", input={}, webhook=hook.url)
            body = await hook.wait()
        self.assertEqual((body["thread_id"], body["status"], body["values"]),
                         (thread, "success", {"count": 11, "log": PLAIN_LOG}))


class Crons(Case):
    async def test_a_cron_of_its_own(self):
        end = datetime.datetime(2100, 1, 1, tzinfo=datetime.timezone.utc)
        made = await self.client.crons.create("plain", schedule="30 6 * * *", input={"count": 1}, metadata=self.mark, end_time=end,
                                              timezone=zoneinfo.ZoneInfo("Europe/Berlin"), on_run_completed="keep", enabled=True)
        self.assertEqual((made["schedule"], made["timezone"], made["on_run_completed"], made["enabled"]),
                         ("30 6 * * *", "Europe/Berlin", "keep", True))
        due = datetime.datetime.fromisoformat(made["next_run_date"]).astimezone(zoneinfo.ZoneInfo("Europe/Berlin"))
        self.assertEqual((due.hour, due.minute), (6, 30))
        self.assertEqual(made["payload"]["input"], {"count": 1})
        cron = made["cron_id"]
        [found] = await self.client.crons.search(metadata=self.mark)
        self.assertEqual(found["cron_id"], cron)
        new = await self.client.crons.update(cron, schedule="0 0 1 1 *", enabled=False, input={"count": 2}, timezone="UTC",
                                             end_time=None)
        self.assertEqual((new["schedule"], new["enabled"], new["end_time"], new["payload"]["input"]),
                         ("0 0 1 1 *", False, None, {"count": 2}))
        self.assertEqual((await self.client.crons.search(metadata=self.mark, enabled=True)), [])
        await self.client.crons.delete(cron)
        self.assertEqual(await self.client.crons.count(metadata=self.mark), 0)
        with self.assertRaises(errors.NotFoundError):
            await self.client.crons.delete(cron)

    async def test_a_cron_of_a_thread(self):
        thread = await self.thread()
        made = await self.client.crons.create_for_thread(thread, "plain", schedule="0 0 29 2 *", input={}, metadata=self.mark)
        self.assertEqual(made["thread_id"], thread)
        [found] = await self.client.crons.search(thread_id=thread, select=["cron_id", "schedule"])
        self.assertEqual(found, {"cron_id": made["cron_id"], "schedule": "0 0 29 2 *"})
        self.assertEqual(await self.client.crons.count(thread_id=thread), 1)
        self.assertEqual(await self.client.crons.count(assistant_id=made["assistant_id"], metadata=self.mark), 1)
        by_date = await self.client.crons.search(assistant_id=made["assistant_id"], sort_by="next_run_date", sort_order="desc")
        self.assertIn(made["cron_id"], [c["cron_id"] for c in by_date])
        await self.client.crons.delete(made["cron_id"])
        with self.assertRaises(errors.NotFoundError):
            await self.client.crons.create_for_thread(NOBODY, "plain", schedule="* * * * *")

    async def test_a_schedule_that_cannot_be(self):
        for wrong in ({"schedule": "61 * * * *"}, {"schedule": "x"}, {"schedule": "0 0 * * *", "timezone": "Mars/Olympus"}):
            with self.assertRaises(errors.UnprocessableEntityError):
                await self.client.crons.create("plain", **wrong)


class Store(Case):
    async def test_items(self):
        space, store = ["users", self.mark["test"]], self.client.store
        await store.put_item(space, "first", {"name": "Ada", "age": 36, "tags": ["x"]})
        await store.put_item([*space, "deep"], "second", {"name": "Bob", "age": 20}, index=False, ttl=10)
        item = await store.get_item(space, "first")
        self.assertEqual((item["namespace"], item["key"], item["value"]), (space, "first", {"name": "Ada", "age": 36, "tags": ["x"]}))
        self.assertLessEqual(item["created_at"], item["updated_at"])
        self.assertEqual((await store.get_item([*space, "deep"], "second", refresh_ttl=True))["value"]["name"], "Bob")
        await store.put_item(space, "first", {"name": "Ada", "age": 37})
        new = await store.get_item(space, "first")
        self.assertEqual((new["value"], new["created_at"]), ({"name": "Ada", "age": 37}, item["created_at"]))
        found = (await store.search_items(space))["items"]
        self.assertEqual({i["key"] for i in found}, {"first", "second"})
        found = (await store.search_items(space, filter={"age": 20}))["items"]
        self.assertEqual([i["key"] for i in found], ["second"])
        found = (await store.search_items(space, filter={"age": {"$gt": 30}}))["items"]
        self.assertEqual([i["key"] for i in found], ["first"])
        self.assertEqual(len((await store.search_items(space, limit=1, offset=1))["items"]), 1)
        self.assertEqual(len((await store.search_items(space, query="Ada", refresh_ttl=False))["items"]), 2)
        await store.delete_item(space, "first")
        self.assertIsNone(await self._item_or_none(space, "first"))
        self.assertIsNone(await self._item_or_none(space, "never there"))

    async def _item_or_none(self, space, key):
        try:
            return await self.client.store.get_item(space, key)
        except errors.NotFoundError:
            return None

    async def test_namespaces(self):
        mine = self.mark["test"]
        for space in (["docs", mine, "a"], ["docs", mine, "b"], ["docs", mine, "b", "deep"]):
            await self.client.store.put_item(space, "k", {"x": 1})
        names = self.client.store.list_namespaces
        self.assertEqual((await names(["docs", mine]))["namespaces"],
                         [["docs", mine, "a"], ["docs", mine, "b"], ["docs", mine, "b", "deep"]])
        self.assertEqual((await names(prefix=["docs", mine], suffix=["deep"]))["namespaces"], [["docs", mine, "b", "deep"]])
        self.assertEqual((await names(prefix=["docs", mine], max_depth=3))["namespaces"],
                         [["docs", mine, "a"], ["docs", mine, "b"]])
        self.assertEqual((await names(prefix=["docs", mine], limit=1, offset=1))["namespaces"], [["docs", mine, "b"]])

    async def test_what_cannot_be_stored(self):
        for space, value in ((["a.b"], {}), ([], {}), (["langgraph"], {}), (["x"], "no object")):
            with self.assertRaises((errors.APIStatusError, ValueError)):
                await self.client.store.put_item(space, "k", value)


class Http(Case):
    async def test_the_plain_calls(self):
        http = self.client.http
        self.assertTrue((await http.get("/ok"))["ok"])
        seen = []
        thread = (await http.post("/threads", json={"metadata": self.mark}, on_response=seen.append))["thread_id"]
        self.assertEqual(seen[0].status_code, 200)
        new = await http.patch(f"/threads/{thread}", json={"metadata": {"more": 1}})
        self.assertEqual(new["metadata"]["more"], 1)
        await http.put("/store/items", json={"namespace": ["http"], "key": "k", "value": {"x": 1}})
        self.assertEqual((await http.get("/store/items", params={"namespace": "http", "key": "k"}))["value"], {"x": 1})
        events = [p.event async for p in http.stream(f"/threads/{thread}/runs/stream", "POST",
                                                     json={"assistant_id": "plain", "input": {}})]
        self.assertEqual(events, ["metadata", "values", "values"])
        done = await http.request_reconnect(f"/threads/{thread}/runs/wait", "POST",
                                            json={"assistant_id": "plain", "input": {}})
        self.assertEqual(done["count"], 22)
        await http.delete(f"/threads/{thread}")
        with self.assertRaises(errors.NotFoundError):
            await http.get(f"/threads/{thread}")


def bounded(test):
    async def within_time(self):
        await asyncio.wait_for(test(self), TEST_S)
    return within_time


def of_both_clients(loader):
    """The cases for either client; and what each of the clients was asked for."""
    suite, used = unittest.TestSuite(), {}
    for blocking, kind in ((False, "Async"), (True, "Blocking")):
        used[blocking] = set()
        for case in (Assistants, Threads, Runs, Crons, Store, Http):
            members = {"blocking": blocking, "used": used[blocking]}
            members |= {name: bounded(test) for name, test in vars(case).items() if name.startswith("test_")}
            suite.addTests(loader.loadTestsFromTestCase(type(kind + case.__name__, (case,), members)))
    return suite, used


def main():
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # its debug mode tells of every slow import
    suite, used = of_both_clients(unittest.TestLoader())
    if len(sys.argv) > 2:
        suite = unittest.TestSuite(t for t in suite if any(word in t.id() for word in sys.argv[2:]))
    passed = unittest.TextTestRunner(verbosity=2 if sys.argv[2:] else 1).run(suite).wasSuccessful()
    missing = []
    for blocking, client in ((False, get_client(url=URL)), (True, get_sync_client(url=URL))):
        missing += [f"{type(client).__name__}: {line}"
                    for line in unused(public_methods_of_client(client), used[blocking], LEFT_OUT)]
    if len(sys.argv) <= 2:
        print("\n".join(missing))
        passed = passed and not missing
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
