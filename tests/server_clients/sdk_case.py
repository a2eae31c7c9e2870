"""The base of the cases of Python's SDK, which run with either client."""
import asyncio
import sys
import unittest
import uuid

from langgraph_sdk import get_client, get_sync_client

from used_methods import Noted

URL = sys.argv[1]
NOBODY = "00000000-0000-4000-8000-000000000000"
PLAIN_LOG = ["a", "b"]
TEST_S = 60


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


def bounded(test):
    async def within_time(self):
        await asyncio.wait_for(test(self), TEST_S)
    return within_time


def of_both_clients(loader, cases):
    """The cases for either client; and what each of the clients was asked for."""
    suite, used = unittest.TestSuite(), {}
    for blocking, kind in ((False, "Async"), (True, "Blocking")):
        used[blocking] = set()
        for case in cases:
            members = {"blocking": blocking, "used": used[blocking]}
            members |= {name: bounded(test) for name, test in vars(case).items() if name.startswith("test_")}
            suite.addTests(loader.loadTestsFromTestCase(type(kind + case.__name__, (case,), members)))
    return suite, used
