"""The SDK of Python, `langgraph-sdk`: every method of its client and of its blocking client.

    python_sdk.py URL [WORD-OF-A-TEST…]
"""
import datetime
import logging
import sys
import unittest
import uuid
import zoneinfo

from langgraph_sdk import errors, get_client, get_sync_client

from sdk_case import NOBODY, URL, Case, of_both_clients
from sdk_runs import Runs
from sdk_threads import Threads
from used_methods import public_methods_of_client, unused

# Methods that no test of this script calls -> why.
LEFT_OUT = {"threads.stream": "python_thread_stream.py"}

GRAPHS = {"plain", "approval", "fanout", "chat", "nested", "slow", "fail", "typed", "double", "subapproval", "ctx"}


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


def main():
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # its debug mode tells of every slow import
    suite, used = of_both_clients(unittest.TestLoader(), [Assistants, Threads, Runs, Crons, Store, Http])
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
