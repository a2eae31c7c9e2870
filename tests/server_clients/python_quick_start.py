"""The quick start of Python's SDK, word for word but for the address, and its README's streaming.

    python_quick_start.py URL
"""
import asyncio
import sys

URL = sys.argv[1]


async def quick_start():
    from langgraph_sdk import get_client

    # If you're using a remote server, initialize the client with `get_client(url=REMOTE_URL)`
    client = get_client(url=URL)

    # List all assistants
    assistants = await client.assistants.search()

    # We auto-create an assistant for each graph you register in config.
    agent = assistants[0]

    # Start a new thread
    thread = await client.threads.create()

    # Start a streaming run
    input = {"messages": [{"role": "human", "content": "what's the weather in la"}]}
    chunks = []
    async for chunk in client.runs.stream(
        thread["thread_id"], agent["assistant_id"], input=input
    ):
        chunks.append(chunk)
    assert [c.event for c in chunks] == ["metadata", "values", "values"], chunks
    assert chunks[-1].data["messages"][0]["content"] == "what's the weather in la", chunks
    assert chunks[-1].data["messages"][-1]["content"] == "Hello there", chunks


async def local_server():
    """docs.langchain.com, "Run a local server"."""
    from langgraph_sdk import get_client

    client = get_client(url=URL)
    chunks = []
    async for chunk in client.runs.stream(
        None,  # Threadless run
        "agent",  # Name of assistant. Defined in langgraph.json.
        input={
        "messages": [{
            "role": "human",
            "content": "What is LangGraph?",
            }],
        },
    ):
        chunks.append((chunk.event, chunk.data))
    assert chunks[-1][1]["messages"][-1]["content"] == "Hello there", chunks


def local_server_blocking():
    from langgraph_sdk import get_sync_client

    client = get_sync_client(url=URL)
    pieces = []
    for chunk in client.runs.stream(
        None,  # Threadless run
        "agent",
        input={
            "messages": [{
                "role": "human",
                "content": "What is LangGraph?",
            }],
        },
        stream_mode="messages-tuple",
    ):
        if chunk.event == "messages":
            pieces.append(chunk.data[0]["content"])
    assert "".join(pieces) == "Hello there", pieces


async def thread_centric():
    from langgraph_sdk import get_client

    client = get_client(url=URL)

    async with client.threads.stream(
        thread_id="11111111-2222-4333-8444-555555555555",  # there: "my-thread", which is not a UUID
        assistant_id="agent",
    ) as thread:
        await thread.run.start(input={"messages": [{"role": "user", "content": "hi"}]})

        # Start all consumers concurrently so they share one SSE connection.
        async def get_messages():
            return [s async for s in thread.messages]

        async def get_tool_calls():
            return [c async for c in thread.tool_calls]

        messages, tool_calls = await asyncio.gather(get_messages(), get_tool_calls())

        assert [await stream.text for stream in messages] == ["Hello there"]
        assert tool_calls == []

        final = await thread.output  # terminal state values
        assert final["messages"][-1]["content"] == "Hello there", final


async def main():
    for part in (quick_start, local_server, thread_centric):
        await asyncio.wait_for(part(), 30)
    await asyncio.wait_for(asyncio.to_thread(local_server_blocking), 30)


if __name__ == "__main__":
    asyncio.run(main())
