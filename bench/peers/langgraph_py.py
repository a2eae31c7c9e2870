"""Workloads on LangGraph for Python, a JSON line each. With --fast, patched by fast-langgraph."""
import asyncio
import gc
import importlib.metadata
import operator
import os
import random
import string
import subprocess
import sys
import uuid
from typing import Annotated, Any, TypedDict

FAST = "--fast" in sys.argv
if FAST:
    sys.argv.remove("--fast")
    import fast_langgraph
    fast_langgraph.shim.patch_langgraph()

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt

from sampling import Scratch, bytes_of, expect, main, resident_bytes, time_us

UNLIMITED = 10**9
letters = string.ascii_lowercase


def new_run():
    return {"configurable": {"thread_id": uuid.uuid4().hex}, "recursion_limit": UNLIMITED}


# ---- graphs ----


class Counter(TypedDict):
    counter: int


def inc(state):
    return {"counter": state["counter"] + 1}


def chain(nodes, **options):
    graph = StateGraph(Counter)
    for name in nodes:
        graph.add_node(name, inc)
    for before, after in zip([START, *nodes], [*nodes, END]):
        graph.add_edge(before, after)
    return graph.compile(**options)


def counter_loop(end, **options):
    graph = StateGraph(Counter)
    graph.add_node("step", inc)
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", lambda state: "step" if state["counter"] < end else END, ["step", END])
    return graph.compile(**options)


class Items(TypedDict):
    items: Annotated[list, operator.add]


def append_loop(end, **options):
    graph = StateGraph(Items)
    graph.add_node("step", lambda state: {"items": [f"item {len(state['items']):06d} ".ljust(100, "x")]})
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", lambda state: "step" if len(state["items"]) < end else END, ["step", END])
    return graph.compile(**options)


class Results(TypedDict):
    results: Annotated[list, operator.add]
    count: int


def worker(i):
    return lambda state: {"results": [i]}


def fanout_join(n):
    graph = StateGraph(Results)
    graph.add_node("join", lambda state: {"count": len(state["results"])})
    for i in range(n):
        name = f"worker{1000 + i}"
        graph.add_node(name, worker(i))
        graph.add_edge(START, name)
        graph.add_edge(name, "join")
    graph.add_edge("join", END)
    return graph.compile()


def send_fanout(n):
    graph = StateGraph(Results)
    graph.add_node("worker", lambda argument: {"results": [argument["i"]]})
    graph.add_conditional_edges(START, lambda _: [Send("worker", {"i": k}) for k in range(n)], ["worker"])
    graph.add_edge("worker", END)
    return graph.compile()


class Messages(TypedDict):
    messages: Annotated[list, add_messages]


def idle_chain(n):
    graph = StateGraph(Messages)
    names = [f"node{i}" for i in range(n)]
    for name in names:
        graph.add_node(name, lambda state: None)
    for before, after in zip([START, *names], [*names, END]):
        graph.add_edge(before, after)
    return graph


def asking_chain(saver):
    graph = StateGraph(Counter)
    graph.add_node("a", inc)
    graph.add_node("b", lambda state: {"counter": state["counter"] + interrupt("go?")})
    graph.add_node("c", inc)
    for before, after in [(START, "a"), ("a", "b"), ("b", "c"), ("c", END)]:
        graph.add_edge(before, after)
    return graph.compile(checkpointer=saver)


class Joke(TypedDict):
    subject: Any
    jokes: list


class JokeInput(TypedDict):
    subject: Any


class JokeOutput(TypedDict):
    jokes: list


class Jokes(TypedDict):
    subjects: list
    jokes: Annotated[list, operator.add]


def told(joke):
    return joke.endswith(" a" * 10)


def fanout_to_subgraph():
    child = StateGraph(Joke, input_schema=JokeInput, output_schema=JokeOutput)
    child.add_node("edit", lambda state: {"subject": f"{state['subject']} - hohoho"})
    child.add_node("generate", lambda state: {"jokes": [f"Joke about {state['subject']}"]})
    child.add_node("bump", lambda state: {"jokes": [state["jokes"][0] + " a"]})
    child.add_edge(START, "edit")
    child.add_edge("edit", "generate")
    child.add_edge("generate", "bump")
    child.add_edge("generate", END)
    child.add_conditional_edges("bump", lambda state: END if told(state["jokes"][0]) else "bump", ["bump", END])
    graph = StateGraph(Jokes)
    graph.add_node("generate_joke", child.compile())
    graph.add_conditional_edges(START, lambda state: [Send("generate_joke", {"subject": s})
                                                      for s in state["subjects"]], ["generate_joke"])
    graph.add_edge("generate_joke", END)
    return graph.compile()


def nested_map(outer, inner):
    leaves = ["hi?" * 10, True, 1, 6327816386138, None] * 5
    return {str(i) * 10: {str(j) * 10: list(leaves) for j in range(inner)} for i in range(outer)}


LISTS = {"messages", "trigger_events", "categorizations", "responses", "memory_docs", "relevant_rules"}
SINGLES = {"user_info", "crm_info", "slack_participants", "autoresponse", "notified_assignees", "issue"}


def unless_empty(old, new):
    return new if new else old


def unless_null(old, new):
    return old if new is None else new


def merge(old, new):
    return {**old, **new}


class Wide(TypedDict):
    messages: Annotated[list, operator.add]
    trigger_events: Annotated[list, operator.add]
    primary_issue_medium: Annotated[str, lambda old, new: new or old or "email"]
    autoresponse: Annotated[dict, lambda old, new: new]
    issue: Annotated[dict, unless_empty]
    relevant_rules: list
    memory_docs: list
    categorizations: Annotated[list, operator.add]
    responses: Annotated[list, operator.add]
    user_info: Annotated[dict, unless_null]
    crm_info: Annotated[dict, unless_null]
    email_thread_id: Annotated[str, unless_null]
    slack_participants: Annotated[dict, merge]
    bot_id: str
    notified_assignees: Annotated[dict, merge]


def wide_graph(n):
    def mover(reads, writes):
        def run(state):
            v = state[reads]
            if isinstance(v, str):
                v = {v: v}
            one = v[-1] if isinstance(v, list) else v
            all_ = v if isinstance(v, list) else [v]
            return {name: all_ if name in LISTS else one if name in SINGLES
                    else "".join(random.choice(letters) for _ in range(n)) for name in writes}
        return run
    graph = StateGraph(Wide)
    for name, reads, writes in [
            ("one", "messages", ["trigger_events", "primary_issue_medium"]),
            ("two", "trigger_events", ["autoresponse", "issue"]),
            ("three", "autoresponse", ["relevant_rules"]),
            ("four", "trigger_events", ["categorizations", "responses", "memory_docs"]),
            ("five", "categorizations", ["user_info", "crm_info", "email_thread_id", "slack_participants", "bot_id",
                                         "notified_assignees"]),
            ("six", "responses", ["messages"])]:
        graph.add_node(name, mover(reads, writes))
    graph.add_edge(START, "one")
    graph.add_edge("one", "two")
    graph.add_edge("two", "three")
    graph.add_edge("two", "four")
    graph.add_edge(["three", "four"], "five")
    graph.add_edge("five", "six")
    graph.add_conditional_edges("six", lambda state: END if len(state["messages"]) > n else "one", ["one", END])
    return graph


def react_agent(rounds):
    import warnings
    warnings.simplefilter("ignore")
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import StructuredTool
    from langgraph.prebuilt import create_react_agent

    class Model(BaseChatModel):
        asked: int = 0

        @property
        def _llm_type(self):
            return "fake"

        def bind_tools(self, tools, **_):
            return self

        def _generate(self, messages, stop=None, run_manager=None, **_):
            if self.asked == rounds:
                self.asked = 0
                answer = AIMessage("answer" * 100, id=str(uuid.uuid4()))
            else:
                self.asked += 1
                answer = AIMessage("", id=str(uuid.uuid4()), tool_calls=[
                    {"name": "search", "args": {"query": str(uuid.uuid4()) * 100}, "id": str(uuid.uuid4())}])
            return ChatResult(generations=[ChatGeneration(message=answer)])

    def search(query: str) -> str:
        """Searches."""
        return f"result for query: {query}" * 10
    return create_react_agent(Model(), [StructuredTool.from_function(search)])


# ---- ways to run ----


def sync_invoke(build, state, check, durability=None):
    def run(sampler):
        graph, last = build(), None
        how = {"durability": durability} if durability else {}

        def one():
            nonlocal last
            last = graph.invoke(state, new_run(), **how)
        return sampler.timed(one, lambda: check(last))
    return run


def async_invoke(build, state, check):
    def run(sampler):
        graph, last = build(), None
        loop = asyncio.new_event_loop()

        def one():
            nonlocal last
            last = loop.run_until_complete(graph.ainvoke(state, new_run()))
        try:
            return sampler.timed(one, lambda: check(last))
        finally:
            loop.close()
    return run


def sync_drain(build, make_state, events, check=None):
    def run(sampler):
        graph, state, count = build(), make_state(), 0
        if check:
            check(graph.invoke(state, new_run()))

        def one():
            nonlocal count
            count = sum(1 for _ in graph.stream(state, new_run(), stream_mode="updates", durability="exit"))
        return sampler.timed(one, lambda: expect(count == events, f"the number of events: {count}"))
    return run


def async_drain(build, make_state, events):
    def run(sampler):
        graph, state, count = build(), make_state(), 0
        loop = asyncio.new_event_loop()

        async def drain():
            nonlocal count
            count = 0
            async for _ in graph.astream(state, new_run(), stream_mode="updates", durability="exit"):
                count += 1
        try:
            return sampler.timed(lambda: loop.run_until_complete(drain()),
                                 lambda: expect(count == events, f"the number of events: {count}"))
        finally:
            loop.close()
    return run


def counter_is(n):
    return lambda state: expect(state == {"counter": n}, f"the counter: {state}")


def results_are(n, count):
    wanted = {"results": list(range(n)), "count": count}
    return lambda state: expect(state == wanted, "the results")


def items_are(state, end):
    wanted = [f"item {i:06d} ".ljust(100, "x") for i in range(end)]
    expect(state["items"] == wanted, "the items")


def compile_time(sampler):
    builder = idle_chain(1000)

    def one():
        graph = None

        def compile_():
            nonlocal graph
            graph = builder.compile()
        us = time_us(compile_)
        expect(len(graph.nodes) >= 1000, "the nodes")
        return us
    return sampler.each(one)


def stream_custom(sampler):
    from langgraph.config import get_stream_writer

    class State(TypedDict):
        n: int

    def emit(state):
        write = get_stream_writer()
        for _ in range(10_000):
            write("token-token-token-tok")
        return {"n": 1}
    graph = StateGraph(State)
    graph.add_node("emit", emit)
    graph.add_edge(START, "emit")
    graph.add_edge("emit", END)
    compiled, got = graph.compile(), []

    def run():
        got[:] = compiled.stream({"n": 0}, new_run(), stream_mode="custom", durability="exit")
    return sampler.timed(run, lambda: expect(got == ["token-token-token-tok"] * 10_000, "the events"))


def concurrent(runs):
    def run(sampler):
        graph, loop = chain("abc"), asyncio.new_event_loop()
        results = []

        async def all_at_once():
            results[:] = await asyncio.gather(*(graph.ainvoke({"counter": 0}, new_run()) for _ in range(runs)))
        try:
            return sampler.timed(lambda: loop.run_until_complete(all_at_once()),
                                 lambda: expect(results == [{"counter": 3}] * runs, "a counter"))
        finally:
            loop.close()
    return run


def jokes(n):
    def subjects():
        return {"subjects": [[letters[(7 * i + 11 * j) % 26] for j in range(1000)] for i in range(n)]}

    def check(state):
        expect(len(state["jokes"]) == n and all(len(j) == 5040 and told(j) for j in state["jokes"]), "the jokes")
    return sync_drain(fanout_to_subgraph, subjects, n, check)


def wide(n, outer, inner, node_runs, messages):
    return sync_drain(lambda: wide_graph(n).compile(), lambda: {"messages": [nested_map(outer, inner)]}, node_runs,
                      lambda state: expect(len(state["messages"]) == messages, "the messages"))


def react(rounds):
    def check(state):
        all_ = state["messages"]
        expect(len(all_) == 2 * rounds + 2 and len(all_[2].content) == 36_180 and len(all_[-1].content) == 600,
               "the conversation")
    return sync_drain(lambda: react_agent(rounds), lambda: {"messages": [("human", "hi?")]}, 2 * rounds + 1, check)


# ---- stores ----


class Store:
    """A new saver, in memory or in a file of SQLite (WAL, synchronous=FULL)."""
    def __init__(self, file):
        self.file = file

    def __enter__(self):
        if not self.file:
            return InMemorySaver()
        self.scratch = Scratch()
        self.path = self.scratch.__enter__()
        self.manager = SqliteSaver.from_conn_string(os.path.join(self.path, "store.sqlite"))
        saver = self.manager.__enter__()
        saver.setup()
        expect(saver.conn.execute("PRAGMA synchronous").fetchone()[0] == 2, "durable commits")
        return saver

    def close(self):
        self.manager.__exit__(None, None, None)
        self.manager = None
        return bytes_of(self.path)

    def __exit__(self, *_):
        if self.file:
            if self.manager:
                self.manager.__exit__(None, None, None)
            self.scratch.__exit__()


def loop_run(build, state, check, durability, file, want_bytes=False):
    def one():
        store = Store(file)
        with store as saver:
            graph, config, last = build(checkpointer=saver), new_run(), None

            def run():
                nonlocal last
                last = graph.invoke(state, config, durability=durability)
            us = time_us(run)
            check(last)
            count = sum(1 for _ in saver.list(config))
            expect(count == 1 if durability == "exit" else count in (len_steps(last) + 1, len_steps(last) + 2),
                   f"the number of checkpoints: {count}")
            return store.close() if want_bytes else us
    return lambda sampler: sampler.each(one)


def len_steps(state):
    return state["counter"] if "counter" in state else len(state["items"])


def count_loop(end, durability, file, **more):
    return loop_run(lambda **o: counter_loop(end, **o), {"counter": 0}, counter_is(end), durability, file, **more)


def item_loop(end, file, **more):
    return loop_run(lambda **o: append_loop(end, **o), {"items": []}, lambda s: items_are(s, end), "sync", file,
                    **more)


def one_step(file):
    def run(sampler):
        with Store(file) as saver:
            return sync_invoke(lambda: chain("a", checkpointer=saver), {"counter": 0}, counter_is(1), "sync")(sampler)
    return run


def interrupt_resume(file):
    def run(sampler):
        with Store(file) as saver:
            graph, last = asking_chain(saver), None

            def one():
                nonlocal last
                config = new_run()
                graph.invoke({"counter": 0}, config, durability="sync")
                last = graph.invoke(Command(resume=10), config, durability="sync")
            return sampler.timed(one, lambda: counter_is(12)(last))
    return run


def concurrent_file(sampler):
    from concurrent.futures import ThreadPoolExecutor
    with Store(True) as saver, ThreadPoolExecutor(64) as pool:
        graph, results = counter_loop(10, checkpointer=saver), []

        def run():
            results[:] = pool.map(lambda _: graph.invoke({"counter": 0}, new_run(), durability="sync"), range(64))
        return sampler.timed(run, lambda: expect(results == [{"counter": 10}] * 64, "a counter"))


def reading(file, limit):
    """`limit` 0: the latest state; None: all snapshots."""
    def run(sampler):
        with Store(file) as saver:
            graph, config = counter_loop(1000, checkpointer=saver), new_run()
            graph.invoke({"counter": 0}, config, durability="async")
            got = None

            def one():
                nonlocal got
                got = graph.get_state(config) if limit == 0 else sum(
                    1 for _ in graph.get_state_history(config, limit=limit))
            return sampler.timed(one, lambda: expect(
                got.values == {"counter": 1000} if limit == 0 else got in ((limit,) if limit else (1001, 1002)),
                "the snapshots"))
    return run


def codec(decode):
    def run(sampler):
        serde, state = JsonPlusSerializer(), [nested_map(5, 5) for _ in range(100)]
        typed, got = serde.dumps_typed(state), None

        def one():
            nonlocal got
            got = serde.loads_typed(typed) if decode else serde.dumps_typed(state)
        return sampler.timed(one, lambda: expect(got == (state if decode else typed), "the value"))
    return run


# ---- processes ----


def child(job):
    arguments = [sys.executable, os.path.abspath(__file__), *(["--fast"] if FAST else []), "--child", job]
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


def run_child(job):
    if job == "idle_threads":
        graph = chain("abc", checkpointer=InMemorySaver(), interrupt_before=["b"])

        def leave_waiting(count):
            for _ in range(count):
                graph.invoke({"counter": 0}, new_run())
        leave_waiting(100)
        gc.collect()
        before = resident_bytes()
        leave_waiting(5000)
        print((resident_bytes() - before) / 5000)
        return
    counter_is(3)(chain("abc").invoke({"counter": 0}, new_run()))
    with open("/proc/self/status") as status:
        print(next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM")))


def both(name, build, state, check):
    yield name, "us", "sync", sync_invoke(build, state, check)
    yield name, "us", "async", async_invoke(build, state, check)


def both_drained(name, build, state, events):
    yield name, "us", "sync", sync_drain(build, state, events)
    yield name, "us", "async", async_drain(build, state, events)


def workloads():
    none = {"counter": 0}
    yield from both("single_step_none", lambda: chain("a"), none, counter_is(1))
    yield from both("chain3_invoke", lambda: chain("abc"), none, counter_is(3))
    yield from both("counter_loop_1000_none", lambda: counter_loop(1000), none, counter_is(1000))
    no_results = {"results": [], "count": 0}
    for n in (10, 100):
        yield from both(f"fanout_join_{n}", lambda n=n: fanout_join(n), no_results, results_are(n, n))
    for n in (100, 1000):
        yield from both(f"send_fanout_{n}", lambda n=n: send_fanout(n), no_results, results_are(n, 0))
    for n in (10, 1000):
        yield from both_drained(f"sequential_{n}", lambda n=n: idle_chain(n).compile(), lambda: {"messages": []}, n)
    yield "sequential_1000_compilation", "us", None, compile_time
    yield "stream_custom_10000", "us", None, stream_custom
    yield "concurrent_64_chain3", "us", "async", concurrent(64)
    yield "fanout_to_subgraph_10x", "us", None, jokes(10)
    yield "react_agent_10x", "us", None, react(10)
    yield "react_agent_100x", "us", None, react(100)
    yield "wide_dict_25x300", "us", None, wide(300, 5, 5, 36, 595)
    yield "wide_dict_9x1200", "us", None, wide(1200, 3, 3, 42, 1873)
    yield "single_step_memory", "us", None, one_step(False)
    yield "single_step_file", "us", None, one_step(True)
    yield "counter_loop_1000_memory_sync", "us", None, count_loop(1000, "sync", False)
    yield "counter_loop_1000_file_sync", "us", None, count_loop(1000, "sync", True)
    yield "counter_loop_1000_file_sync_bytes", "bytes", None, count_loop(1000, "sync", True, want_bytes=True)
    yield "append_loop_1000_memory", "us", None, item_loop(1000, False)
    yield "append_loop_100_file", "us", None, item_loop(100, True)
    yield "append_loop_1000_file_bytes", "bytes", None, item_loop(1000, True, want_bytes=True)
    yield "interrupt_resume_memory", "us", None, interrupt_resume(False)
    yield "interrupt_resume_file", "us", None, interrupt_resume(True)
    yield "concurrent_64x10_file", "us", None, concurrent_file
    for file, where in ((False, "memory"), (True, "file")):
        yield f"get_state_counter1000_{where}", "us", None, reading(file, 0)
        yield f"get_state_history_counter1000_{where}", "us", None, reading(file, None)
    yield "serde_encode_100x25", "us", None, codec(False)
    yield "serde_decode_100x25", "us", None, codec(True)
    yield "startup_first_invoke", "us", None, lambda s: s.each(lambda: time_us(lambda: child("first_invoke")))
    yield "startup_peak_rss", "bytes", None, lambda s: s.each(lambda: int(child("first_invoke")))
    yield "mem_idle_thread_memory", "bytes", None, lambda s: s.each(lambda: float(child("idle_threads")))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        run_child(sys.argv[2])
    else:
        name = "langgraph-py " + importlib.metadata.version("langgraph")
        if FAST:
            name = f"fast-langgraph {importlib.metadata.version('fast-langgraph')}"
        main(name, workloads())
