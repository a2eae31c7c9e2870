"""The cases of Python's SDK about runs."""
import asyncio
import http.server
import json
import threading
import uuid

import httpx
from langgraph_sdk import errors

from sdk_case import NOBODY, PLAIN_LOG, Case


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
        self.assertEqual(done["log"], ["write"])  # what a task wrote beside a question comes with the step's end
        done = await self.client.runs.wait(thread, "approval", command={"resume": "yes"})
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
