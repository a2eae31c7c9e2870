"""Fails when a file includes what its folder may not know. Argument: the source folder.

The table is the picture in ARCHITECTURE.md: a folder knows the folders below it, never one above
or beside. What is CAF-free stays so, and so does a program that includes a public header.
"""
import pathlib
import re
import sys

BELOW = {"graph", "channels", "http", "persistence", "actors", "coordinator"}
MAY_INCLUDE = {  # folder -> the folders whose files it may include
    "include": set(),  # public headers include public headers only, as <troupe/...>
    "graph": {"graph"},
    "channels": {"channels", "graph"},
    "http": {"http"},  # on the public API, below who speaks to servers
    "persistence": {"persistence", "graph", "http"},
    "actors": {"actors", "channels", "persistence", "graph"},
    "coordinator": BELOW,
    "agents": {"agents", "http"},  # else the public API only, as a user's own agent
    "cluster": {"cluster"} | BELOW,
    "server": {"server"} | BELOW,
}
ON_TOP = {"tools", "examples", "tests", "bench"}  # may include anything; nobody includes them
CAF_FREE = {"include", "graph", "channels", "http", "persistence", "agents"}
KNOWS_CAF = {"troupe/actor.hpp", "troupe/cluster.hpp"}  # the public headers that may
PURE = {  # what decides: files of coordinator/ that know neither CAF nor its actors
    "coordinator/plan",
    "coordinator/apply",
    "coordinator/thread_state",
    "coordinator/stored_writes",
    "coordinator/parts",
    "coordinator/run_loop",
    "coordinator/run_entry",
    "coordinator/run_saving",
    "coordinator/run_report",
    "coordinator/state_access",
    "coordinator/snapshot",
    "coordinator/outside_update",
    "coordinator/outside_writers",
    "coordinator/acting_node",
    "coordinator/checkpoint_metadata",
    "coordinator/delta_book",
    "coordinator/delta_values",
    "coordinator/exit_writes",
    "coordinator/given_values",
    "coordinator/message_writes",
    "coordinator/run_calls",
    "coordinator/run_deltas",
    "coordinator/task_cache",
    "cluster/messages",
    "cluster/placement",
    "cluster/lease",
    "cluster/dispatcher",
    "cluster/dispatcher_ahead",
    "cluster/dispatcher_answers",
    "cluster/dispatcher_workers",
    "cluster/fair_queue",
    "cluster/status",
    "cluster/desk",
    "cluster/desk_orders",
    "cluster/peer_names",
    "cluster/peer_process",
    "cluster/refusal_log",
    "cluster/wire",
    "cluster/wire_fields",
    "cluster/wire_reader",
    "cluster/stream",
    "cluster/first_words",
    "coordinator/thread_owners",
    "coordinator/unfinished",
}
TASKS = {"actors/task_scope.hpp", "actors/run_shared.hpp", "actors/held_claim.hpp", "actors/part_gate.hpp", "actors/nested.hpp"}  # what the pure files and the actors share

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
USING = re.compile(r"^\s*using\s+namespace\s+(?:::)?(caf|troupe)\b", re.M)


def complaints(name, text):
    """What is wrong with the file `name`, a path below the source folder."""
    folder = name.split("/")[0]
    is_pure = without_ending(name) in PURE
    is_caf_free = is_pure or (folder in CAF_FREE and name.removeprefix("include/") not in KNOWS_CAF)
    for target in INCLUDE.findall(text):
        top = target.split("/")[0] if "/" in target else None
        if target == "caf/all.hpp":
            yield f"includes <{target}>: name the headers that are used"
        elif is_caf_free and (top == "caf" or target in KNOWS_CAF):
            yield f"includes <{target}>, but is CAF-free"
        if folder not in MAY_INCLUDE:
            continue
        if top == "..":
            yield f'includes "{target}": write the path from the source folder'
        elif top in MAY_INCLUDE.keys() | ON_TOP and top not in MAY_INCLUDE[folder]:
            yield f'includes "{target}", which {folder}/ may not know'
        elif is_pure and (top == "actors" and target not in TASKS or top == folder and without_ending(target) not in PURE):
            yield f'includes "{target}", which is not pure'
    for namespace in USING.findall(text):
        yield f"says `using namespace {namespace}`"


def without_ending(name):
    return name.rpartition(".")[0]


def main(root):
    bad = []
    for folder in sorted(MAY_INCLUDE.keys() | ON_TOP):
        for path in sorted((root / folder).rglob("*.[ch]pp")):
            name = path.relative_to(root).as_posix()
            bad += [f"{name}: {what}" for what in complaints(name, path.read_text())]
    print("\n".join(bad) or "layering: ok")
    return bool(bad)


sys.exit(main(pathlib.Path(sys.argv[1])))
