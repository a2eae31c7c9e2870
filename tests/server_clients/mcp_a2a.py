"""The official clients of MCP and A2A, at /mcp and /a2a/{assistant}.

    mcp_a2a.py URL
"""
import asyncio
import logging
import sys
import unittest
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (CancelTaskRequest, GetTaskRequest, ListTasksRequest, Message, Part, Role,
                       SendMessageRequest, SubscribeToTaskRequest, TaskState)
from langgraph_sdk import get_client
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

URL = sys.argv[1]
TEST_S = 30


class Mcp(unittest.IsolatedAsyncioTestCase):
    async def test_tools_are_listed_and_called(self):
        async with streamable_http_client(URL + "/mcp") as streams, ClientSession(streams[0], streams[1]) as session:
            await session.initialize()
            await session.send_ping()
            tools = {tool.name: tool for tool in (await session.list_tools()).tools}
            self.assertGreaterEqual(set(tools), {"plain", "chat", "fail", "typed"})
            self.assertIn("topic", tools["typed"].input_schema["properties"])
            done = await session.call_tool("plain", {"count": 1})
            self.assertFalse(done.is_error)
            self.assertEqual(done.content[0].text, "{'count': 12, 'log': ['a', 'b']}")
            failed = await session.call_tool("fail", {"n": 0})
            self.assertTrue(failed.is_error)
            self.assertIn("ValueError", failed.content[0].text)
            with self.assertRaises(Exception):
                await session.call_tool("no such tool", {})


def message(text, **members):
    return Message(role=Role.ROLE_USER, message_id=str(uuid.uuid4()), parts=[Part(text=text)], **members)


def texts(parts):
    return "".join(part.text for part in parts)


class A2a(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.sdk = get_client(url=URL)
        self.addAsyncCleanup(self.sdk.aclose)

    async def agent(self, graph, streaming, version="1.0"):
        """A client for the assistant of a graph, which it knows by its card, and for one version of A2A."""
        [found] = await self.sdk.assistants.search(graph_id=graph, metadata={"created_by": "system"})
        http = httpx.AsyncClient(timeout=TEST_S)
        self.addAsyncCleanup(http.aclose)
        self.card = await A2ACardResolver(http, f"{URL}/a2a/{found['assistant_id']}").get_agent_card()
        for interface in list(self.card.supported_interfaces):
            if interface.protocol_version != version:
                self.card.supported_interfaces.remove(interface)
        self.assertEqual(len(self.card.supported_interfaces), 1)
        return ClientFactory(ClientConfig(streaming=streaming, httpx_client=http)).create(self.card)

    async def test_the_card(self):
        await self.agent("chat", True)
        self.assertEqual((self.card.name, self.card.capabilities.streaming), ("chat", True))
        self.assertEqual(self.card.supported_interfaces[0].protocol_binding, "JSONRPC")
        self.assertEqual([skill.name for skill in self.card.skills], ["chat Capabilities"])

    async def test_a_message_is_sent_and_its_task_read(self):
        for version in "1.0", "0.3":
            with self.subTest(version):
                await self.send_and_read(await self.agent("chat", False, version))

    async def send_and_read(self, client):
        [event] = [e async for e in client.send_message(SendMessageRequest(message=message("hi")))]
        task = event.task
        self.assertEqual(task.status.state, TaskState.TASK_STATE_COMPLETED)
        self.assertEqual(texts(task.artifacts[0].parts), "Hello there")
        known = await client.get_task(GetTaskRequest(id=task.id))
        self.assertEqual((known.id, known.status.state), (task.id, TaskState.TASK_STATE_COMPLETED))
        self.assertEqual([texts(m.parts) for m in known.history], ["hi", "Hello there"])
        again = SendMessageRequest(message=message("more", context_id=task.context_id))
        [event] = [e async for e in client.send_message(again)]
        self.assertEqual(event.task.context_id, task.context_id)
        self.assertNotEqual(event.task.id, task.id)

    async def test_tasks_are_listed(self):
        client = await self.agent("chat", False)
        [event] = [e async for e in client.send_message(SendMessageRequest(message=message("hi")))]
        context = event.task.context_id
        again = SendMessageRequest(message=message("more", context_id=context))
        [newer] = [e async for e in client.send_message(again)]
        wanted = ListTasksRequest(context_id=context, page_size=1, include_artifacts=True)
        page = await client.list_tasks(wanted)
        self.assertEqual((page.total_size, page.page_size), (2, 1))
        self.assertEqual(page.tasks[0].id, newer.task.id)
        self.assertEqual(texts(page.tasks[0].artifacts[0].parts), "Hello there")
        wanted.page_token = page.next_page_token
        page = await client.list_tasks(wanted)
        self.assertEqual((page.tasks[0].id, page.next_page_token), (event.task.id, ""))
        failed = await client.list_tasks(ListTasksRequest(context_id=context, status=TaskState.TASK_STATE_FAILED))
        self.assertEqual(list(failed.tasks), [])

    async def test_a_message_is_streamed(self):
        for version in "1.0", "0.3":
            with self.subTest(version):
                await self.stream_one(await self.agent("chat", True, version))

    async def stream_one(self, client):
        events = [e async for e in client.send_message(SendMessageRequest(message=message("hi")))]
        kinds = [e.WhichOneof("payload") for e in events]
        self.assertEqual((kinds[0], kinds[-1]), ("task", "status_update"))
        grown = [texts(e.status_update.status.message.parts) for e in events if e.HasField("status_update")]
        self.assertIn("Hello ", grown)
        self.assertEqual(events[-1].status_update.status.state, TaskState.TASK_STATE_COMPLETED)
        [artifact] = [e.artifact_update.artifact for e in events if e.HasField("artifact_update")]
        self.assertEqual(texts(artifact.parts), "Hello there")

    async def test_a_task_is_cancelled(self):
        # Data alone begins a task of a graph without messages.
        client = await self.agent("slow", True)
        slow = message("")
        del slow.parts[:]
        slow.parts.add().data.struct_value.update({"ms": 60000})
        events = client.send_message(SendMessageRequest(message=slow))
        task = (await anext(events)).task
        await self.until_it_runs(task.id)
        followed = client.subscribe(SubscribeToTaskRequest(id=task.id))
        self.assertEqual((await anext(followed)).task.id, task.id)
        done = await client.cancel_task(CancelTaskRequest(id=task.id))
        self.assertEqual(done.status.state, TaskState.TASK_STATE_CANCELED)
        for stream in (events, followed):
            *_, last = [e async for e in stream]
            self.assertEqual(last.status_update.status.state, TaskState.TASK_STATE_CANCELED)
        with self.assertRaises(Exception):
            await client.cancel_task(CancelTaskRequest(id=task.id))
        with self.assertRaises(Exception):
            await client.get_task(GetTaskRequest(id=f"{uuid.uuid4()}:{uuid.uuid4()}"))

    async def until_it_runs(self, task_id):
        while (await self.sdk.runs.get(*task_id.split(":")))["status"] == "pending":
            await asyncio.sleep(0)


if __name__ == "__main__":
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
