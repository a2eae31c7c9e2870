"""Workloads on LangGraph for Python, a JSON line each. With --fast, patched by fast-langgraph."""
import asyncio
import gc
import importlib.metadata
import os
import subprocess
import sys
from typing import TypedDict

FAST = "--fast" in sys.argv
if FAST:
    sys.argv.remove("--fast")
    import fast_langgraph
    fast_langgraph.shim.patch_langgraph()

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from sampling import Scratch, bytes_of, expect, main, resident_bytes, time_us
from langgraph_graphs import (append_loop, asking_chain, chain, counter_loop, fanout_join, fanout_to_subgraph, idle_chain,
                              letters, nested_map, new_run, react_agent, send_fanout, told, wide_graph)


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
