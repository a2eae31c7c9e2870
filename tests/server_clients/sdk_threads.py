"""The cases of Python's SDK about threads."""
import uuid

from langgraph_sdk import errors

from sdk_case import NOBODY, PLAIN_LOG, Case


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
        self.assertEqual(await read(thread, checkpoint=history[1]["checkpoint"]), history[1:2])

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
