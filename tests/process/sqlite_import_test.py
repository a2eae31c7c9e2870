"""`troupe store import` of files as LangGraph's SqliteSaver writes them.

Arguments: the folder of the programs, and the source folder.
"""
import hashlib
import json
import pathlib
import shutil
import sqlite3
import struct
import sys
import tempfile
import unittest

from programs import json_lines, programs_folder, run

TROUPE = programs_folder(sys.argv[1]) / "troupe"
DONE, USAGE, PAUSED, STORAGE = 0, 2, 3, 5


# ---- msgpack as JsonPlusSerializer writes it ----

class Ext:
    def __init__(self, code, content):
        self.code, self.content = code, content


def human(text, id):
    return Ext(5, ["langchain_core.messages.human", "HumanMessage",
                   {"content": text, "additional_kwargs": {}, "response_metadata": {},
                    "type": "human", "name": None, "id": id}, "model_validate_json"])


def tool_call(call, id):
    return Ext(5, ["langchain_core.messages.ai", "AIMessage",
                   {"content": "", "additional_kwargs": {}, "response_metadata": {"model": "m"},
                    "type": "ai", "name": None, "id": id, "tool_calls": [call],
                    "invalid_tool_calls": [], "usage_metadata": {"total_tokens": 3}},
                   "model_validate_json"])


def removal(id):
    return Ext(5, ["langchain_core.messages.modifier", "RemoveMessage",
                   {"content": "", "additional_kwargs": {}, "response_metadata": {},
                    "type": "remove", "name": None, "id": id}, "model_validate_json"])


def send(node, argument, *more):
    return Ext(1, ["langgraph.types", "Send", [node, argument, *more]])


def of_types(name, **members):
    return Ext(2, ["langgraph.types", name, members])


def python_set(*items):
    return Ext(0, ["builtins", "set", list(items)])


def head(size, short, short_max, *longer):
    """A head byte with the size in it, or one of those that are followed by it."""
    if size <= short_max:
        return bytes([short | size])
    for byte, form in longer:
        if size < 1 << 8 * struct.calcsize(form):
            return bytes([byte]) + struct.pack(form, size)
    raise ValueError(size)


def pack(v):
    if v is None or isinstance(v, bool):
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[v]
    if isinstance(v, int):
        if 0 <= v < 128 or -32 <= v < 0:
            return struct.pack("b", v)
        return b"\xd3" + struct.pack(">q", v) if v < 1 << 63 else b"\xcf" + struct.pack(">Q", v)
    if isinstance(v, float):
        return b"\xcb" + struct.pack(">d", v)
    if isinstance(v, str):
        text = v.encode()
        return head(len(text), 0xa0, 31, (0xd9, ">B"), (0xda, ">H"), (0xdb, ">I")) + text
    if isinstance(v, bytes):
        return head(len(v), 0, -1, (0xc4, ">B"), (0xc5, ">H"), (0xc6, ">I")) + v
    if isinstance(v, list):
        return head(len(v), 0x90, 15, (0xdc, ">H"), (0xdd, ">I")) + b"".join(map(pack, v))
    if isinstance(v, dict):
        return head(len(v), 0x80, 15, (0xde, ">H"), (0xdf, ">I")) + b"".join(
            pack(k) + pack(x) for k, x in v.items())
    content = pack(v.content)
    fixed = {1: b"\xd4", 2: b"\xd5", 4: b"\xd6", 8: b"\xd7", 16: b"\xd8"}.get(len(content))
    return (fixed or head(len(content), 0, -1, (0xc7, ">B"), (0xc8, ">H"), (0xc9, ">I"))) \
        + bytes([v.code]) + content


# ---- a file ----

SCHEMA = """
CREATE TABLE checkpoints (
    thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
    parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id));
CREATE TABLE writes (
    thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
    task_id TEXT NOT NULL, task_path TEXT NOT NULL DEFAULT '', idx INTEGER NOT NULL,
    channel TEXT NOT NULL, type TEXT, value BLOB,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx));
"""
try: # LangGraph itself; without it, two tests are skipped
    import langgraph.checkpoint.sqlite
    REFERENCE = True
except ImportError:
    REFERENCE = False
SPECIAL = {"__error__": -1, "__scheduled__": -2, "__interrupt__": -3, "__resume__": -4}
ID = "1f1e686b-2ce8-602b-bfff-698e94fbd4b{}"
TASK = "3af3b8ec-6766-f5c2-7a0f-d80a1c87cc24"


def version(number, random=0.25):
    return f"{number:032}.{random:016}"


def shown_version(text):
    number, random = text.split(".", 1)
    return [int(number), struct.unpack(">q", struct.pack(">d", float(random)))[0]]


class File:
    def __init__(self, path):
        self.path = path
        self.db = sqlite3.connect(path)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.executescript(SCHEMA)

    def add(self, values, writes=(), thread="t", ns="", number=0, parent=None, metadata=None,
            kind="msgpack", id=None, **members):
        id = id or ID.format(number)
        checkpoint = {"v": 4, "ts": "2026-11-22T15:09:22.507971+00:00", "id": id,
                      "channel_values": values,
                      "channel_versions": {channel: version(number + 1) for channel in values},
                      "versions_seen": {"__input__": {}}, "updated_channels": None, **members}
        metadata = metadata or {"source": "loop", "step": number, "parents": {}}
        self.db.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)",
                        (thread, ns, id, parent, kind, pack(checkpoint),
                         json.dumps(metadata).encode()))
        for position, (task, path, channel, value) in enumerate(writes):
            typed = value if isinstance(value, tuple) else ("msgpack", pack(value))
            self.db.execute("INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                            (thread, ns, id, task, path, SPECIAL.get(channel, position), channel,
                             *typed))

    def close(self):
        self.db.commit()
        self.db.close()


# ---- the tests ----

def of_shown(v):
    """A value that export printed, as a Python value."""
    if isinstance(v, list):
        return [of_shown(item) for item in v]
    if not isinstance(v, dict):
        return v
    if "$interrupt" in v:
        return of_types("Interrupt", **of_shown(v["$interrupt"]))
    return {key: of_shown(item) for key, item in v.items()}


class SqliteImport(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-sqlite-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.data = self.folder / "data"
        self.file = File(self.folder / "checkpoints.sqlite")
        self.addCleanup(self.file.db.close)

    def troupe(self, *arguments, data=None):
        return run([TROUPE, *arguments, "--data", data or self.data])

    def ok(self, done, code=DONE):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def imported(self):
        self.file.close()
        self.ok(self.troupe("store", "import", self.file.path))
        self.assertIn("0 damaged", self.ok(self.troupe("store", "check")))
        return json_lines(self.ok(self.troupe("store", "export")))

    def refused(self, *words, code=USAGE):
        self.file.close()
        done = self.troupe("store", "import", self.file.path)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse(self.data.exists(), "something was stored")

    def test_plain_values_come_over_as_they_are(self):
        plain = {"none": None, "yes": True, "small": 5, "negative": -7, "large": 1 << 40,
                 "real": 0.5, "text": "Grüße", "long": "x" * 70000, "raw": b"\x00\xff",
                 "list": list(range(20)), "map": {str(n): [n] for n in range(20)}}
        self.file.add(plain)
        (line,) = self.imported()
        self.assertEqual(line["values"], {**plain, "raw": {"$bytes": "AP8="}})
        self.assertEqual((line["thread"], line["id"], line["v"], line["ts"]),
                         ("t", ID.format(0), 4, "2026-11-22T15:09:22.507971+00:00"))
        self.assertEqual(line["versions"]["text"], shown_version(version(1)))
        self.assertEqual(line["seen"], {"__input__": {}})
        self.assertEqual(line["metadata"], {"source": "loop", "step": 0, "parents": {}})

    def test_messages_and_what_the_engine_stores_have_counterparts(self):
        call = {"name": "f", "args": {"x": 1}, "id": "c", "type": "tool_call"}
        self.file.add({"messages": [human("hi", "1"), tool_call(call, "2")],
                       "__pregel_tasks": [send("w", {"i": 0})],
                       "join:b+a:c": python_set("b", "a"),
                       "branch:to:x": None,
                       "big": Ext(7, ["a"])},
                      [(TASK, "~__pregel_pull, b", "messages", [removal("1")]),
                       (TASK, "~__pregel_pull, b", "log", of_types("Overwrite", value=[1])),
                       (TASK, "~__pregel_pull, b", "branch:to:x", ("null", b"")),
                       (TASK, "~__pregel_pull, b", "raw", ("bytes", b"\x01")),
                       (TASK, "~__pregel_pull, b", "__interrupt__",
                        [of_types("Interrupt", value="go?", id="i", response_schema=None)])])
        (line,) = self.imported()
        self.assertEqual(line["values"], {
            "messages": [{"$message": {"role": "user", "content": "hi", "id": "1"}},
                         {"$message": {"role": "assistant", "content": "", "id": "2",
                                       "tool_calls": [call], "usage": {"total_tokens": 3},
                                       "response_metadata": {"model": "m"}}}],
            "__pregel_tasks": [{"$send": ["w", {"i": 0}]}],
            "join:b+a:c": ["a", "b"], "branch:to:x": None, "big": {"$delta_snapshot": ["a"]}})
        self.assertEqual({w["channel"]: w["value"] for w in line["writes"]}, {
            "__interrupt__": [{"$interrupt": {"value": "go?", "id": "i", "response_schema": None}}],
            "messages": [{"$remove_message": "1"}], "log": {"$overwrite": [1]},
            "branch:to:x": None, "raw": {"$bytes": "AQ=="}})
        self.assertEqual({(w["task"], w["path"]) for w in line["writes"]},
                         {(TASK, "~__pregel_pull, b")})

    def test_threads_and_namespaces_keep_their_order_and_parents(self):
        inner = "sub:fe57026d-6710-6f36-7ca6-d4cbfca7878f"
        for thread in "ba":
            for number in range(2):
                parent = ID.format(number - 1) if number else None
                self.file.add({"n": number}, thread=thread, number=number, parent=parent)
            self.file.add({"n": 7}, thread=thread, ns=inner, number=5)
        lines = self.imported()
        self.assertEqual([(x["thread"], x["ns"], x["id"], x["parent"], x["values"]["n"])
                          for x in lines],
                         [(thread, ns, ID.format(number), parent, n) for thread in "ab"
                          for ns, number, parent, n in [("", 0, "", 0), ("", 1, ID.format(0), 1),
                                                        (inner, 5, "", 7)]])

    def test_a_thread_that_waits_for_an_answer_goes_on(self):
        kept = self.folder / "kept"
        self.ok(self.troupe("run", "ask", "--thread", "asks", "--input", "{}", data=kept), PAUSED)
        lines = json_lines(self.ok(self.troupe("store", "export", data=kept)))
        tags = {}

        def text(versions):
            return {channel: version(number, tags.setdefault(tag, 1 / (2 + len(tags))))
                    for channel, (number, tag) in versions.items()}

        for line in lines:
            self.file.add(of_shown(line["values"]), [
                (w["task"], w["path"], w["channel"], of_shown(w["value"])) for w in line["writes"]],
                thread="asks", id=line["id"], ts=line["ts"], parent=line["parent"] or None,
                metadata=line["metadata"], channel_versions=text(line["versions"]),
                versions_seen={node: text(seen) for node, seen in line["seen"].items()},
                updated_channels=line["updated"])
        again = self.imported()
        for before, after in zip(lines, again, strict=True):
            for key in set(before) - {"versions", "seen"}:
                self.assertEqual(before[key], after[key])
        answered = self.troupe("run", "ask", "--thread", "asks", "--resume", '"Ada"')
        self.assertIn("Hello, Ada!", self.ok(answered))

    def test_a_class_without_a_counterpart_names_thread_and_channel_and_nothing_is_stored(self):
        self.file.add({"fine": 1}, thread="fine")
        self.file.add({"ok": 1, "user": Ext(2, ["app.models", "User", {"name": "Ada"}])},
                      thread="bad")
        self.refused("`bad`", ID.format(0), "`user`", "app.models.User")

    def test_a_write_without_a_counterpart_names_thread_and_channel(self):
        self.file.add({"ok": 1}, [(TASK, "", "when", Ext(3, ["datetime", "datetime",
                                                             "2026-11-22", "fromisoformat"]))])
        self.refused("`t`", "`when`", "datetime.datetime")

    def test_what_can_not_be_kept_is_refused(self):
        deep = []
        for _ in range(200):
            deep = [deep]
        for channel, value, word in [
                ("n", {1: 2}, "not a text"), ("n", 1 << 63, "64 bits"),
                ("n", python_set("a"), "builtins.set"), ("join:a:b", python_set(1), "set"),
                ("n", send("w", 1, {"run": 1}), "time-out"), ("n", Ext(6, ["<f8", [0]]), "class"),
                ("n", Ext(5, ["langchain_core.messages.chat", "ChatMessage", {}]), "ChatMessage"),
                ("n", deep, "deep")]:
            with self.subTest(value=str(value)[:40]):
                self.file = File(self.folder / f"{len(list(self.folder.iterdir()))}.sqlite")
                self.file.add({channel: value})
                self.refused("`t`", f"`{channel}`", word)

    def test_another_layout_or_another_kind_of_blob_is_refused(self):
        self.file.add({"n": 1}, v=3)
        self.refused("`t`", "layout 3")
        self.file = File(self.folder / "json.sqlite")
        self.file.add({"n": 1}, kind="json")
        self.refused("`t`", "json")

    def test_every_checkpoint_cut_short_is_refused(self):
        whole = pack({"v": 4, "channel_values": {"messages": [human("hi", "1")]}})
        for size in range(0, len(whole), 7):
            self.file = File(self.folder / f"{size}.sqlite")
            self.file.add({})
            self.file.db.execute("UPDATE checkpoints SET checkpoint = ?", (whole[:size],))
            self.refused("`t`")

    def test_a_database_of_something_else_is_refused_and_a_thread_that_is_there_stays(self):
        self.file.db.execute("DROP TABLE writes")
        self.refused("writes", code=STORAGE)
        self.file = File(self.folder / "more.sqlite")
        self.file.add({"n": 1})
        self.imported()
        again = self.troupe("store", "import", self.file.path)
        self.assertEqual(again.returncode, USAGE)
        self.assertIn("already", again.stderr)

    def test_the_file_is_not_changed(self):
        self.file.add({"n": 1})
        self.file.close()
        before = hashlib.sha256(self.file.path.read_bytes()).hexdigest()
        self.ok(self.troupe("store", "import", self.file.path))
        self.assertEqual(hashlib.sha256(self.file.path.read_bytes()).hexdigest(), before)

    # ---- export ----

    def exported(self, name="back.sqlite", data=None):
        file = self.folder / name
        self.ok(self.troupe("store", "export", "--format", "sqlite", "--to", file, data=data))
        return file

    def rows(self, file, table):
        with sqlite3.connect(file) as db:
            return sorted(db.execute(f"SELECT * FROM {table}"), key=str)

    def test_an_exported_file_holds_what_was_imported(self):
        call = {"name": "f", "args": {"x": 1}, "id": "c", "type": "tool_call"}
        plain = {"none": None, "yes": True, "large": 1 << 40, "negative": -7, "real": 0.5,
                 "text": "Grüße", "long": "x" * 70000, "raw": b"\x00\xff", "short": "x" * 40,
                 "list": list(range(20)), "map": {str(n): [n] for n in range(20)},
                 "messages": [human("hi", "1"), tool_call(call, "2")],
                 "__pregel_tasks": [send("w", {"i": 0})], "join:b+a:c": python_set("a", "b"),
                 "big": Ext(7, ["a"])}
        for number in range(2):
            self.file.add(plain, [
                (TASK, "~__pregel_pull, b", "messages", [removal("1")]),
                (TASK, "~__pregel_pull, b", "log", of_types("Overwrite", value=[1])),
                (TASK, "~__pregel_pull, b", "nothing", ("null", b"")),
                (TASK, "~__pregel_pull, b", "raw", ("bytes", b"\x01")),
                (TASK, "~__pregel_pull, b", "__interrupt__",
                 [of_types("Interrupt", value="go?", id="i", response_schema=None)])],
                number=number, parent=ID.format(0) if number else None)
        lines = self.imported()
        file = self.exported()
        other = self.folder / "other"
        self.ok(self.troupe("store", "import", file, data=other))
        self.assertEqual(json_lines(self.ok(self.troupe("store", "export", data=other))), lines)
        shown = [(row[:4], json.loads(row[6])) for row in self.rows(file, "checkpoints")]
        self.assertEqual(shown, [(row[:4], json.loads(row[6]))
                                 for row in self.rows(self.file.path, "checkpoints")])
        places = {(row[2], row[5], row[6], row[7]) for row in self.rows(file, "writes")}
        self.assertIn((ID.format(1), -3, "__interrupt__", "msgpack"), places)
        self.assertIn(("null", b""), {row[7:] for row in self.rows(file, "writes")})
        self.assertIn(("bytes", b"\x01"), {row[7:] for row in self.rows(file, "writes")})

    def test_an_export_replaces_no_file_and_leaves_none_when_it_fails(self):
        self.file.add({"n": 1})
        self.imported()
        file = self.exported()
        before = file.read_bytes()
        again = self.troupe("store", "export", "--format", "sqlite", "--to", file)
        self.assertEqual(again.returncode, USAGE)
        self.assertIn("exists already", again.stderr)
        self.assertEqual(file.read_bytes(), before)
        nowhere = self.troupe("store", "export", "--format", "sqlite")
        self.assertEqual(nowhere.returncode, USAGE)
        self.assertIn("--to", nowhere.stderr)
        lines = json_lines(self.ok(self.troupe("store", "export")))
        lines[0]["values"]["n"] = [{"$message": {"role": "poet", "content": "O!"}}]
        odd = self.folder / "odd"
        done = run([TROUPE, "store", "import", "--data", odd], input=json.dumps(lines[0]) + "\n")
        self.ok(done)
        target = self.folder / "odd.sqlite"
        done = self.troupe("store", "export", "--format", "sqlite", "--to", target, data=odd)
        self.assertEqual(done.returncode, USAGE)
        for word in ["`t`", ID.format(0), "`n`", "poet"]:
            self.assertIn(word, done.stderr)
        self.assertEqual(list(self.folder.glob("odd.sqlite*")), [])

    @unittest.skipUnless(REFERENCE, "Python's langgraph with langgraph-checkpoint-sqlite is not installed")
    def test_the_reference_resumes_an_exported_thread(self):
        from langchain_core.messages import AIMessage, HumanMessage
        from langgraph.checkpoint.sqlite import SqliteSaver
        from langgraph.graph import END, START, MessagesState, StateGraph
        from langgraph.types import Command, Send, interrupt

        def ask(state):
            return {"messages": [AIMessage(f"you said {interrupt('well?')}", id="2")]}

        graph = StateGraph(MessagesState)
        graph.add_node("left", lambda state: {})
        graph.add_node("right", lambda state: {})
        graph.add_node("ask", ask)
        graph.add_node("each", lambda part: {"messages": [AIMessage(part["text"], id=part["text"])]})
        graph.add_edge(START, "left")
        graph.add_edge(START, "right")
        graph.add_edge(["left", "right"], "ask")
        graph.add_conditional_edges("ask", lambda state: [Send("each", {"text": "3"}),
                                                          Send("each", {"text": "4"})])
        graph.add_edge("each", END)
        config = {"configurable": {"thread_id": "kept"}}
        with SqliteSaver.from_conn_string(str(self.folder / "theirs.sqlite")) as saver:
            app = graph.compile(checkpointer=saver, interrupt_before=["each"])
            app.invoke({"messages": [HumanMessage("hello", id="1")]}, config)
            asked = app.get_state(config)
        self.ok(self.troupe("store", "import", self.folder / "theirs.sqlite"))
        with SqliteSaver.from_conn_string(str(self.exported())) as saver:
            app = graph.compile(checkpointer=saver, interrupt_before=["each"])
            back = app.get_state(config)
            self.assertEqual((back.values, back.next, back.tasks, back.metadata, back.created_at),
                             (asked.values, asked.next, asked.tasks, asked.metadata,
                              asked.created_at))
            app.invoke(Command(resume="hi"), config)
        with SqliteSaver.from_conn_string(str(self.folder / "back.sqlite")) as saver:
            app = graph.compile(checkpointer=saver)
            self.assertEqual(app.get_state(config).next, ("each", "each"))
            done = app.invoke(None, config)
        self.assertEqual([m.content for m in done["messages"]], ["hello", "you said hi", "3", "4"])

    @unittest.skipUnless(REFERENCE, "Python's langgraph with langgraph-checkpoint-sqlite is not installed")
    def test_the_reference_reads_a_thread_that_began_here(self):
        from langgraph.checkpoint.sqlite import SqliteSaver

        kept = self.folder / "kept"
        self.ok(self.troupe("run", "ask", "--thread", "asks", "--input", "{}", data=kept), PAUSED)
        lines = json_lines(self.ok(self.troupe("store", "export", data=kept)))
        with SqliteSaver.from_conn_string(str(self.exported(data=kept))) as saver:
            found = list(saver.list({"configurable": {"thread_id": "asks"}}))
            newest = saver.get_tuple({"configurable": {"thread_id": "asks"}})
        self.assertEqual([t.checkpoint["id"] for t in found], [line["id"] for line in lines[::-1]])
        self.assertEqual(newest.metadata, lines[-1]["metadata"])
        (question,) = [v for _, channel, v in newest.pending_writes if channel == "__interrupt__"]
        shown = [w["value"][0]["$interrupt"] for w in lines[-1]["writes"]
                 if w["channel"] == "__interrupt__"][0]
        self.assertEqual((question[0].id, question[0].value), (shown["id"], shown["value"]))
        versions = newest.checkpoint["channel_versions"]
        self.assertEqual({c: int(v.split(".")[0]) for c, v in versions.items()},
                         {c: number for c, (number, _) in lines[-1]["versions"].items()})


if __name__ == "__main__":
    if not REFERENCE:
        print("tests with LangGraph itself are skipped: Python's langgraph-checkpoint-sqlite is not installed")
    unittest.main(argv=sys.argv[:1])
