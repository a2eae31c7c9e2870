"""The libraries that commands of `troupe` load: those of the core, and more only for what needs them.

Arguments: the folder of the programs, and the source folder.
"""
import os
import pathlib
import re
import shutil
import sqlite3
import sys
import tempfile
import unittest

from programs import programs_folder, run

DONE, USAGE, STORAGE = 0, 2, 5
TROUPE = programs_folder(sys.argv[1]) / "troupe"
LIB = TROUPE.parent.parent / "lib"
AGENTS, CLUSTER, POSTGRES, SQLITE = parts = [
    {"libtroupe-cli-agents", "libtroupe_agents", "libcurl", "libre2", "libedit"},
    {"libtroupe-cli-cluster", "libtroupe_cluster", "libcaf_io"},
    {"libtroupe-cli-postgres", "libtroupe_postgres", "libpq"},
    {"libtroupe-cli-sqlite", "libsqlite3"}]
SHARED = {"libssl", "libcaf_openssl"}  # a part may bring them by way of another library


class Parts(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-parts-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def loaded(self, *arguments, code=DONE, **options):
        """Those libraries of parts that the dynamic loader brought into the process."""
        shell = {name: v for name, v in os.environ.items() if not name.startswith("TROUPE_")}
        done = run([TROUPE, *arguments], cwd=self.folder,
                   env={**shell, "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(self.folder / "loads")},
                   **options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.out = done.stdout
        names = set()
        for log in self.folder.glob("loads.*"):
            names |= {pathlib.Path(path).name
                      for path in re.findall(r"calling init: (\S+)", log.read_text())}
            log.unlink()
        self.assertTrue(any(name.startswith("libtroupe.so") for name in names), names)
        return {name for name in set.union(*parts, SHARED) if any(re.match(rf"{name}[-.]", lib) for lib in names)}

    def test_commands_of_the_core_load_the_core_alone(self):
        for arguments in [["--help"], ["run", "hello", "--data", "d", "--thread", "t", "--input", "{}"],
                          ["run", "loop", "--input", '{"until": 2}'], ["run", "--help"],
                          ["resume", "hello", "--data", "d"], ["threads", "--data", "d"],
                          ["state", "hello", "--data", "d", "--thread", "t"],
                          ["history", "hello", "--data", "d", "--thread", "t"],
                          ["diff", "hello", "--data", "d", "--thread", "t"],
                          ["update", "hello", "--data", "d", "--thread", "t", "--as-node", "add",
                           "--values", '{"count": 1}'],
                          ["graphs"], ["draw", "hello"], ["draw", "digest"],
                          ["store", "check", "--data", "d"],
                          ["store", "export", "--data", "d", "--to", "lines"],
                          ["store", "import", "--data", "e", "lines"]]:
            with self.subTest(arguments):
                self.assertEqual(self.loaded(*arguments), set())

    def test_agents_come_with_the_commands_and_the_graph_that_need_them(self):
        for arguments, more in [(["chat", "--help"], {}), (["chat"], {"input": "hello\n"}),
                                (["mcp", "hello"], {}), (["draw", "chat"], {}),
                                (["run", "loop", "--input", '{"until": "x"}'], {"code": USAGE})]:
            with self.subTest(arguments):
                self.assertEqual(self.loaded(*arguments, **more) - SHARED, AGENTS)

    def test_a_cluster_comes_with_its_commands_and_the_flags_for_workers(self):
        for arguments in [["worker", "--help"], ["cluster", "--help"],
                          ["run", "hello", "--listen", "127.0.0.1:0", "--plain"]]:
            with self.subTest(arguments):
                self.assertEqual(self.loaded(*arguments) - SHARED, CLUSTER)

    def test_postgres_comes_with_its_flag(self):
        nowhere = f"host={self.folder}"
        for arguments in [["threads"], ["run", "hello", "--thread", "t"]]:
            with self.subTest(arguments):
                loaded = self.loaded(*arguments, "--postgres", nowhere, code=STORAGE)
                self.assertEqual(loaded - SHARED, POSTGRES)

    def test_sqlite_comes_with_a_file_of_it(self):
        with sqlite3.connect(self.folder / "file") as db:
            db.execute("CREATE TABLE other (x)")
        self.assertEqual(self.loaded("store", "import", "--data", "d", "file", code=STORAGE), SQLITE)

    def test_the_program_exports_no_symbol_that_a_graph_library_may_define_too(self):
        exported = run(["nm", "--dynamic", "--defined-only", TROUPE]).stdout
        self.assertIn("6troupe3cli", exported)
        self.assertNotIn("6digest", exported)  # a graph library has this graph, too

    def test_a_library_exports_symbols_of_its_namespace_alone(self):
        for library in LIB.glob("libtroupe*.so.*.*.*"):
            with self.subTest(library.name):
                exported = run(["nm", "--dynamic", "--defined-only", "--format=just-symbols", library])
                others = re.findall(r"^_Z(?:T[ISV])?N?K?(?:St|3caf|8nlohmann|5boost).*$", exported.stdout, re.M)
                self.assertEqual(others, [])

    def test_the_core_is_looked_up_in_no_folder_but_the_systems(self):
        core = next(LIB.glob("libtroupe.so.*.*.*"))
        self.assertNotIn("PATH)", run(["readelf", "--dynamic", core]).stdout)

    def test_a_part_that_is_missing_is_named_and_the_rest_works(self):
        (self.folder / "bin").mkdir()
        (self.folder / "lib").mkdir()
        alone = self.folder / "bin" / "troupe"
        shutil.copy(TROUPE, alone)
        for library in LIB.glob("libtroupe.so*"):
            (self.folder / "lib" / library.name).symlink_to(library)
        for arguments, part in [(["chat"], "agents"), (["draw", "chat"], "agents"),
                                (["worker", "--help"], "cluster"),
                                (["threads", "--postgres", "x"], "postgres")]:
            with self.subTest(arguments):
                done = run([alone, *arguments], cwd=self.folder)
                self.assertEqual(done.returncode, USAGE, done.stdout + done.stderr)
                self.assertRegex(done.stderr, rf"^troupe: .*libtroupe-cli-{part}\.so.*: install .*\n$")
        self.assertEqual(run([alone, "run", "hello"], cwd=self.folder).returncode, DONE)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
