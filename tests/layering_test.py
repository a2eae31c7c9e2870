"""Layering of the source tree: fails when a file includes what its folder may not know.

The folders alone decide, there is no list of files. The table is the picture in ARCHITECTURE.md: a
folder knows itself and the folders of its row. Argument: the source folder.
"""
import pathlib
import re
import sys

CORE = {"graph", "channels", "tasks", "engine", "persistence", "actors", "coordinator"}

# Folder or room -> the folders and rooms whose files it may include, besides its own; "x/" is x with
# all its rooms. The longest name that fits a file counts. Public headers include public headers only,
# as <troupe/...>.
KNOWS = {
    "include": set(),
    "graph": set(),
    "channels": {"graph"},
    "tasks": {"graph", "channels"},
    "engine": {"graph", "channels", "tasks", "persistence", "persistence/record"},
    "persistence": {"graph", "persistence/record"},
    "persistence/record": {"graph"},
    "persistence/crypt": {"graph", "persistence/record"},
    "persistence/lmdb": {"graph", "persistence", "persistence/record", "persistence/crypt"},
    "persistence/store": {"graph", "persistence", "persistence/record", "persistence/crypt", "persistence/lmdb"},
    "persistence/cache": {"graph", "persistence", "persistence/record", "persistence/crypt", "persistence/lmdb",
                          "persistence/store"},
    "persistence/postgres": {"graph", "persistence", "persistence/record", "persistence/crypt", "persistence/store",
                             "persistence/cache"},
    "actors": {"graph", "channels", "tasks", "persistence"},
    "coordinator": {folder + "/" for folder in CORE},
    "http": set(),
    "agents": {"agents/", "http"},  # and the public API, as a user's own agent
    "cluster": {folder + "/" for folder in CORE | {"cluster"}},
    "cluster/wire": {"graph"},
    "cluster/links": {"graph", "actors", "persistence/crypt", "cluster/wire"},
    "cluster/placement": {"cluster/wire"},
    "server": {"server/", "graph", "actors"},
    "server/edge": {"http", "graph", "actors", "server/auth", "server/rules"},
    "server/auth": {"graph", "http", "persistence/crypt", "server/edge", "server/rules"},
    "server/rules": {"graph", "coordinator", "persistence/record", "server/edge", "server/runs"},
    "server/documents": {"graph", "persistence/"},
    "server/runs": {"graph", "coordinator", "tasks", "actors", "http", "server/documents", "server/edge", "server/rules"},
    "server/reload": {"graph", "actors"},
    "server/protocol": {"graph", "coordinator", "agents", "server/rules", "server/runs"},
    "server/api": {"graph", "http", "agents", "server/"},
    "client": {"http", "graph", "tasks", "coordinator"},
    "testing": set(),  # the public API, as a test of a user's own saver
}
# Library -> its folders, and the libraries it links. Nothing of another library is included.
LIBRARIES = {
    "core": (CORE, set()),
    "postgres": ({"persistence/postgres"}, {"core"}),
    "agents": ({"http", "agents"}, {"core"}),
    "cluster": ({"cluster"}, {"core"}),
    "server": ({"server"}, {"core", "postgres", "agents"}),
    "client": ({"client"}, {"core", "agents"}),
    "testing": ({"testing"}, {"core"}),
}
PUBLIC = {"postgres": ["troupe/postgres.hpp"], "agents": ["troupe/agents.hpp", "troupe/agents/"],
          "cluster": ["troupe/cluster.hpp"], "server": ["troupe/server.hpp", "troupe/server/"],
          "client": ["troupe/client.hpp", "troupe/client/"], "testing": ["troupe/testing/"]}  # what of include/ belongs to a library; else core
ON_TOP = {"tools", "examples", "tests", "bench"}  # may include anything; no other folder includes them

KNOW_CAF = {"actors", "coordinator", "cluster", "cluster/links"}
KNOW_CAF_PUBLIC = {"troupe/actor.hpp", "troupe/cluster.hpp"}
NO_CLOCK = {"graph", "channels", "engine", "cluster/wire", "cluster/placement"}  # time is an argument

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
USING = re.compile(r"^\s*using\s+namespace\s+(?:::)?(caf|troupe)\b", re.M)
CLOCK = re.compile(r"\b(?:steady_clock|system_clock|high_resolution_clock)::now\b|\bclock_gettime\b")


def longest(names, path):
    """The longest of `names` that is a folder of `path`."""
    return max((n for n in names if path.startswith(n + "/")), key=len, default=None)


def room_of(path):
    return longest(KNOWS, path) or longest(ON_TOP, path)


def library_of(path):
    for library, parts in PUBLIC.items():
        if any(path.removeprefix("include/").startswith(p) for p in parts):
            return library
    if path.startswith(("include/", "troupe/")):
        return "core"
    folders = {folder: library for library, (own, _) in LIBRARIES.items() for folder in own}
    return folders.get(longest(folders, path))


def may_know(room, other):
    return other == room or any(
        (other + "/").startswith(known) if known.endswith("/") else other == known
        for known in KNOWS[room])


def complaints(name, text):
    """The faults of the file `name`, a path below the source folder."""
    room, library = room_of(name), library_of(name)
    knows_caf = room in KNOW_CAF | ON_TOP or name.removeprefix("include/") in KNOW_CAF_PUBLIC
    for target in INCLUDE.findall(text):
        top = target.split("/")[0] if "/" in target else None
        if target == "caf/all.hpp":
            yield f"includes <{target}>: name the headers that are used"
        elif not knows_caf and (top == "caf" or target in KNOW_CAF_PUBLIC):
            yield f"includes <{target}>, but is free of CAF"
        if room in ON_TOP:
            continue
        if top == "..":
            yield f'includes "{target}": write the path from the source folder'
            continue
        other = room_of(target)
        if other and not may_know(room, other):
            yield f'includes "{target}", which {room}/ may not know'
        theirs = library_of(target) if other or top == "troupe" else None
        if theirs and theirs != library and theirs not in LIBRARIES[library][1]:
            yield f'includes "{target}" of troupe::{theirs}, which troupe::{library} does not link'
    if room in NO_CLOCK and CLOCK.search(text):
        yield "reads a clock: time is an argument here"
    for namespace in USING.findall(text):
        yield f"has `using namespace {namespace}`"


def main(root):
    bad = []
    for folder in sorted({name.split("/")[0] for name in KNOWS} | ON_TOP):
        for path in sorted((root / folder).rglob("*.[ch]pp")):
            name = path.relative_to(root).as_posix()
            bad += [f"{name}: {what}" for what in complaints(name, path.read_text())]
    print("\n".join(bad) or "layering: ok")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
