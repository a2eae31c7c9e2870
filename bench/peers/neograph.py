"""Workloads on NeoGraph, through its Python binding, a JSON line each.

Its nodes are functions of Python, so a line includes the calls into Python. Its runs store a checkpoint after each
step, and none of the input. A node makes its sends, as an edge can't: one step more than the page asks for.
"""
import importlib.metadata
import os
import uuid

os.environ.setdefault("NEOGRAPH_SUPPRESS_FANOUT_WARNING", "1")
import neograph_engine as ng

from sampling import Scratch, bytes_of, expect, main, time_us

UNLIMITED = 10**9
START, END = ng.START_NODE, ng.END_NODE


def node(kind, run_node):
    class Node(ng.GraphNode):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def get_name(self):
            return self.name

        def run(self, input):
            return run_node(input)
    ng.NodeFactory.register_type(kind, lambda name, config, context: Node(name))
    return kind


def compiled(channels, nodes, edges, conditional=(), store=None):
    definition = {"schema_version": ng.TOPOLOGY_SCHEMA_VERSION, "name": "bench",
                  "channels": {name: {"reducer": reducer} for name, reducer in channels.items()},
                  "nodes": {name: kind if isinstance(kind, dict) else {"type": kind} for name, kind in nodes.items()},
                  "edges": [{"from": a, "to": b} for a, b in edges], "conditional_edges": list(conditional)}
    return ng.GraphEngine.compile(definition, ng.NodeContext(), store, stderr_notices=False)


def values(result):
    return {name: cell["value"] for name, cell in result.output["channels"].items()}


def new_run(state):
    return ng.RunConfig(thread_id=uuid.uuid4().hex, input=state, max_steps=UNLIMITED)


INC = node("inc", lambda input: [ng.ChannelWrite("counter", input.state.get("counter") + 1)])


def ask(input):
    if input.ctx.resume_value is None:
        raise ng.NodeInterrupt("go?")
    return [ng.ChannelWrite("counter", input.state.get("counter") + input.ctx.resume_value)]


def chain(names, store=None, **kinds):
    return compiled({"counter": "overwrite"}, {name: kinds.get(name, INC) for name in names},
                    list(zip([START, *names], [*names, END])), store=store)


def loop(channels, kind, condition, store):
    return compiled(channels, {"step": kind}, [(START, "step")],
                    [{"from": "step", "condition": condition, "routes": {"more": "step", "end": END}}], store)


def counter_loop(end, store=None):
    ng.ConditionRegistry.register_condition(
        f"below_{end}", lambda state: "more" if state.get("counter") < end else "end")
    return loop({"counter": "overwrite"}, INC, f"below_{end}", store)


def append_loop(end, store=None):
    kind = node("item", lambda input: [ng.ChannelWrite(
        "items", [f"item {len(input.state.get('items')):06d} ".ljust(100, "x")])])
    ng.ConditionRegistry.register_condition(
        f"shorter_{end}", lambda state: "more" if len(state.get("items")) < end else "end")
    return loop({"items": "append"}, kind, f"shorter_{end}", store)


RESULTS = {"results": "append", "count": "overwrite"}


def fanout_join(n):
    names = [f"worker{1000 + i}" for i in range(n)]
    nodes = {name: node(name, lambda input, i=i: [ng.ChannelWrite("results", [i])]) for i, name in enumerate(names)}
    join = node("join", lambda input: [ng.ChannelWrite("count", len(input.state.get("results")))])
    nodes["join"] = {"type": join, "barrier": {"wait_for": names}}
    edges = [(START, name) for name in names] + [(name, "join") for name in names] + [("join", END)]
    return compiled(RESULTS, nodes, edges)


def send_fanout(n):
    split = node(f"split{n}", lambda input: [ng.Send("worker", {"i": k}) for k in range(n)])
    worker = node("worker", lambda input: [ng.ChannelWrite("results", [input.state.get("i")])])
    return compiled({**RESULTS, "i": "overwrite"}, {"split": split, "worker": worker},
                    [(START, "split"), ("worker", END)])


def idle_chain(n):
    idle = node("idle", lambda input: [])
    names = [f"node{i}" for i in range(n)]
    return compiled({"messages": "append"}, {name: idle for name in names}, list(zip([START, *names], [*names, END])))


def invoked(build, state, wanted):
    def run(sampler):
        engine, last = build(), None

        def one():
            nonlocal last
            last = engine.run(new_run(state))

        def check():
            got = values(last)
            expect({name: got[name] for name in wanted} == wanted, f"the state: {str(got)[:100]}")
        return sampler.timed(one, check)
    return run


def drained(n):
    def run(sampler):
        engine, events = idle_chain(n), []

        def one():
            events.clear()
            config = new_run({"messages": []})
            config.stream_mode = ng.StreamMode.EVENTS
            engine.run_stream(config, lambda event: events.append(event.node_name)
                              if event.type == ng.GraphEvent.Type.NODE_END else None)
        return sampler.timed(one, lambda: expect(len(events) == n, f"the number of events: {len(events)}"))
    return run


def compile_time(sampler):
    return sampler.each(lambda: time_us(lambda: idle_chain(1000)))


class Store:
    def __init__(self, file):
        self.file = file

    def __enter__(self):
        if not self.file:
            return ng.InMemoryCheckpointStore()
        self.scratch = Scratch()
        self.path = self.scratch.__enter__()
        return ng.SqliteCheckpointStore(os.path.join(self.path, "store.sqlite"))

    def __exit__(self, *_):
        if self.file:
            self.scratch.__exit__()


def loop_run(build, state, steps, check, file, want_bytes=False):
    def one():
        holder = Store(file)
        with holder as store:
            engine, config, last = build(store=store), new_run(state), None

            def run():
                nonlocal last
                last = engine.run(config)
            us = time_us(run)
            check(values(last))
            count = len(store.list(config.thread_id, 10 * steps))
            expect(steps <= count <= steps + 2, f"the number of checkpoints: {count}")
            if not want_bytes:
                return us
            del engine, store  # the last references close the file
            return bytes_of(holder.path)
    return lambda sampler: sampler.each(one)


def count_loop(end, file, **more):
    return loop_run(lambda **o: counter_loop(end, **o), {"counter": 0}, end,
                    lambda got: expect(got["counter"] == end, "the counter"), file, **more)


def item_loop(end, file, **more):
    wanted = [f"item {i:06d} ".ljust(100, "x") for i in range(end)]
    return loop_run(lambda **o: append_loop(end, **o), {"items": []}, end,
                    lambda got: expect(got["items"] == wanted, "the items"), file, **more)


def one_step(file):
    def run(sampler):
        with Store(file) as store:
            return invoked(lambda: chain("a", store), {"counter": 0}, {"counter": 1})(sampler)
    return run


def interrupt_resume(file):
    def run(sampler):
        with Store(file) as store:
            engine, last = chain("abc", store, b=node("ask", ask)), None

            def one():
                nonlocal last
                config = new_run({"counter": 0})
                engine.run(config)
                last = engine.resume(config.thread_id, 10)
            return sampler.timed(one, lambda: expect(values(last)["counter"] == 12, "the counter"))
    return run


def reading(file, history):
    def run(sampler):
        with Store(file) as store:
            engine, config, got = counter_loop(1000, store), new_run({"counter": 0}), None
            engine.run(config)

            def one():
                nonlocal got
                got = (len(engine.get_state_history(config.thread_id, 5000)) if history
                       else engine.get_state(config.thread_id)["channels"]["counter"]["value"])
            return sampler.timed(one, lambda: expect(1000 <= got <= 1002, "the snapshots"))
    return run


def workloads():
    none, no_results = {"counter": 0}, {"results": [], "count": 0}
    yield "single_step_none", "us", None, invoked(lambda: chain("a"), none, {"counter": 1})
    yield "chain3_invoke", "us", None, invoked(lambda: chain("abc"), none, {"counter": 3})
    yield "counter_loop_1000_none", "us", None, invoked(lambda: counter_loop(1000), none, {"counter": 1000})
    for n in (10, 100):
        yield (f"fanout_join_{n}", "us", None,
               invoked(lambda n=n: fanout_join(n), no_results, {"results": list(range(n)), "count": n}))
    for n in (100, 1000):
        yield (f"send_fanout_{n}", "us", None,
               invoked(lambda n=n: send_fanout(n), no_results, {"results": list(range(n)), "count": 0}))
    for n in (10, 1000):
        yield f"sequential_{n}", "us", None, drained(n)
    yield "sequential_1000_compilation", "us", None, compile_time
    yield "single_step_memory", "us", None, one_step(False)
    yield "single_step_file", "us", None, one_step(True)
    yield "counter_loop_1000_memory_sync", "us", None, count_loop(1000, False)
    yield "counter_loop_1000_file_sync", "us", None, count_loop(1000, True)
    yield "counter_loop_1000_file_sync_bytes", "bytes", None, count_loop(1000, True, want_bytes=True)
    yield "append_loop_1000_memory", "us", None, item_loop(1000, False)
    yield "append_loop_100_file", "us", None, item_loop(100, True)
    yield "append_loop_1000_file_bytes", "bytes", None, item_loop(1000, True, want_bytes=True)
    yield "interrupt_resume_memory", "us", None, interrupt_resume(False)
    yield "interrupt_resume_file", "us", None, interrupt_resume(True)
    for file, where in ((False, "memory"), (True, "file")):
        yield f"get_state_counter1000_{where}", "us", None, reading(file, False)
        yield f"get_state_history_counter1000_{where}", "us", None, reading(file, True)


if __name__ == "__main__":
    main("neograph " + importlib.metadata.version("neograph-engine"), workloads())
