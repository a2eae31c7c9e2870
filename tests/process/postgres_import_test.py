"""`troupe store import --from-postgres` of databases as LangGraph's PostgresSaver writes them.

Arguments: the folder of the programs, and the source folder.
"""
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

from postgres_server import Server
from programs import json_lines, programs_folder, run
from sqlite_import_test import ID, TASK, Ext, human, of_types, pack, python_set, send, version

TROUPE = programs_folder(sys.argv[1]) / "troupe"
DONE, USAGE, STORAGE = 0, 2, 5

try: # LangGraph itself; without it, a test is skipped
    import langgraph.checkpoint.postgres
    REFERENCE = True
except ImportError:
    REFERENCE = False

# Source: langgraph/checkpoint/postgres/base.py, MIGRATIONS.
SCHEMA = """
CREATE TABLE checkpoints (
    thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
    parent_checkpoint_id TEXT, type TEXT, checkpoint JSONB NOT NULL,
    metadata JSONB NOT NULL DEFAULT '{}', PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id));
CREATE TABLE checkpoint_blobs (
    thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', channel TEXT NOT NULL,
    version TEXT NOT NULL, type TEXT NOT NULL, blob BYTEA,
    PRIMARY KEY (thread_id, checkpoint_ns, channel, version));
CREATE TABLE checkpoint_writes (
    thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
    task_id TEXT NOT NULL, idx INTEGER NOT NULL, channel TEXT NOT NULL, type TEXT,
    blob BYTEA NOT NULL, task_path TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx));
"""


def literal(v):
    if isinstance(v, bytes):
        return f"'\\x{v.hex()}'::bytea"
    if v is None:
        return "NULL"
    return "'" + str(v).replace("'", "''") + "'"


class PostgresImport(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-import-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.data = self.folder / "data"
        self.sql("DROP TABLE IF EXISTS checkpoints, checkpoint_blobs, checkpoint_writes,"
                 " checkpoint_migrations;" + SCHEMA)

    def sql(self, text):
        done = run([self.server.bin / "psql", "-q", "-v", "ON_ERROR_STOP=1", "-d",
                    self.server.conninfo, "-f", "-"], input=text)
        self.assertEqual(done.returncode, 0, done.stderr)

    def insert(self, table, *row):
        return f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});"

    def add(self, values, writes=(), thread="t", number=0, parent=None, unchanged=(), **members):
        """Plain values are in the checkpoint, others in blobs, as PostgresSaver.put splits them."""
        id = ID.format(number)
        plain = {c: v for c, v in values.items() if v is None or isinstance(v, (str, int, float))}
        versions = {c: version(number + 1) for c in values}
        versions.update({c: version(at) for c, at in unchanged})
        text = self.insert("checkpoints", thread, "", id, parent, None, json.dumps(
            {"v": 4, "ts": "2026-11-22T15:09:22.507971+00:00", "id": id, "channel_values": plain,
             "channel_versions": versions, "versions_seen": {"__input__": {}},
             "updated_channels": None, **members}),
            json.dumps({"source": "loop", "step": number, "parents": {}}))
        for channel in values.keys() - plain.keys():
            blob = values[channel]
            typed = blob if isinstance(blob, tuple) else ("msgpack", pack(blob))
            text += self.insert("checkpoint_blobs", thread, "", channel, versions[channel], *typed)
        for position, (channel, value) in enumerate(writes):
            typed = value if isinstance(value, tuple) else ("msgpack", pack(value))
            text += self.insert("checkpoint_writes", thread, "", id, TASK, position, channel, *typed,
                                "~__pregel_pull, b")
        self.sql(text)

    def troupe(self, *arguments):
        return run([TROUPE, *arguments, "--data", self.data])

    def brought(self, database=None):
        return self.troupe("store", "import", "--from-postgres", database or self.server.conninfo)

    def imported(self):
        done = self.brought()
        self.assertEqual(done.returncode, DONE, done.stderr)
        check = self.troupe("store", "check")
        self.assertIn("0 damaged", check.stdout)
        return json_lines(self.troupe("store", "export").stdout)

    def refused(self, *words, code=USAGE, database=None):
        done = self.brought(database)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse(self.data.exists(), "something was stored")
        return done

    def test_values_in_checkpoints_and_in_blobs_come_over(self):
        self.add({"none": None, "yes": True, "n": 5, "text": "Grüße {\"$bytes\": 1}",
                  "map": {"a": [1]}, "messages": [human("hi", "1")], "raw": ("bytes", b"\x00\xff"),
                  "gone": ("empty", None), "__pregel_tasks": [send("w", {"i": 0})],
                  "join:b+a:c": python_set("b", "a"), "big": Ext(7, ["a"])},
                 [("__interrupt__", [of_types("Interrupt", value="go?", id="i",
                                              response_schema=None)]),
                  ("nothing", ("null", b""))])
        self.add({"n": 6}, number=1, parent=ID.format(0), unchanged=[("map", 1), ("gone", 1)])
        self.add({"n": 7}, thread="s")
        other, first, second = self.imported()
        self.assertEqual((other["thread"], other["values"]), ("s", {"n": 7}))
        self.assertEqual(first["values"], {
            "none": None, "yes": True, "n": 5, "text": "Grüße {\"$bytes\": 1}", "map": {"a": [1]},
            "messages": [{"$message": {"role": "user", "content": "hi", "id": "1"}}],
            "raw": {"$bytes": "AP8="}, "__pregel_tasks": [{"$send": ["w", {"i": 0}]}],
            "join:b+a:c": ["a", "b"], "big": {"$delta_snapshot": ["a"]}})
        self.assertEqual({w["channel"]: w["value"] for w in first["writes"]}, {
            "__interrupt__": [{"$interrupt": {"value": "go?", "id": "i", "response_schema": None}}],
            "nothing": None})
        self.assertEqual((second["values"], second["parent"]),
                         ({"n": 6, "map": {"a": [1]}}, ID.format(0)))
        self.assertEqual(second["metadata"], {"source": "loop", "step": 1, "parents": {}})

    def test_what_has_no_counterpart_is_refused_before_anything_is_stored(self):
        self.add({"fine": [1]}, thread="fine")
        self.add({"user": Ext(2, ["app.models", "User", {"name": "Ada"}])}, thread="bad")
        self.refused("`bad`", ID.format(0), "`user`", "app.models.User")

    def test_another_layout_is_refused(self):
        self.add({"n": 1}, v=3)
        self.refused("`t`", "layout 3")

    def test_a_database_of_something_else_and_one_that_is_not_there_are_refused(self):
        self.sql("DROP TABLE checkpoint_blobs")
        self.add({"n": 1})
        self.refused("checkpoint_blobs", code=STORAGE)
        there = f"postgresql://u:s3cret@/db?host={self.folder}"
        self.assertNotIn("s3cret", self.refused("Postgres", code=STORAGE, database=there).stderr)
        both = self.troupe("store", "import", "file", "--from-postgres", self.server.conninfo)
        self.assertEqual(both.returncode, USAGE)

    @unittest.skipUnless(REFERENCE, "Python's langgraph with langgraph-checkpoint-postgres is not installed")
    def test_a_thread_of_the_reference_comes_over(self):
        from langchain_core.messages import AIMessage, HumanMessage
        from langgraph.checkpoint.postgres import PostgresSaver
        from langgraph.graph import START, MessagesState, StateGraph
        from langgraph.types import interrupt

        self.sql("DROP TABLE checkpoints, checkpoint_blobs, checkpoint_writes")
        graph = StateGraph(MessagesState)
        graph.add_node("ask", lambda state: {"messages": [AIMessage(interrupt("well?"), id="2")]})
        graph.add_edge(START, "ask")
        config = {"configurable": {"thread_id": "theirs"}}
        with PostgresSaver.from_conn_string(self.server.conninfo) as saver:
            saver.setup()
            app = graph.compile(checkpointer=saver)
            app.invoke({"messages": [HumanMessage("hello", id="1")]}, config)
            theirs = list(saver.list(config))
        lines = self.imported()
        self.assertEqual([line["id"] for line in lines[::-1]], [t.checkpoint["id"] for t in theirs])
        self.assertEqual(lines[-1]["values"]["messages"],
                         [{"$message": {"role": "user", "content": "hello", "id": "1"}}])
        self.assertIn("__interrupt__", [w["channel"] for w in lines[-1]["writes"]])


if __name__ == "__main__":
    if not REFERENCE:
        print("tests with LangGraph itself are skipped: Python's langgraph-checkpoint-postgres is not installed")
    unittest.main(argv=sys.argv[:1])
