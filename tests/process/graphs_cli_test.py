"""`troupe graphs` and `troupe draw`: lists, pictures, graphs of libraries.

Arguments: the folder of the programs, and the source folder.
"""
import os
import shutil
import sys
import unittest
from xml.etree import ElementTree

from cli_case import FAILED, LIB, PAUSED, USAGE, CliTest
from programs import json_lines


class Graphs(CliTest):
    def test_graphs_lists_what_run_takes(self):
        lines = json_lines(self.ok(self.troupe("graphs", "--json")))
        self.assertLessEqual({"hello", "ask", "loop", "digest"}, {line["name"] for line in lines})
        self.assertIn("hello", self.ok(self.troupe("graphs")))

    def test_draw_prints_mermaid(self):
        text = self.ok(self.troupe("draw", "hello"))
        self.assertRegex(text, r"graph TD|flowchart TD")
        self.assertIn("add", text)

    def test_draw_prints_dot(self):
        text = self.ok(self.troupe("draw", "loop", "--format", "dot", "--direction", "right"))
        self.assertTrue(text.startswith("digraph ") and text.endswith("}\n"), text)
        self.assertIn("rankdir=LR", text)

    def with_program(self, name, script):
        """An environment in which the program is this shell script."""
        program = self.folder / "programs" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\n" + script)
        program.chmod(0o755)
        return {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}

    def with_dot(self, script):
        return self.with_program("dot", script)

    def test_draw_prints_what_graphviz_makes_of_the_dot_text(self):
        flags = ["draw", "digest", "--xray", "--title", "<&>"]
        text = self.ok(self.troupe(*flags, "--format=dot"))
        for format in ["svg", "png"]:
            done = self.troupe(*flags, "--format", format, env=self.with_dot('echo "$*"; cat'))
            self.assertEqual(self.ok(done), f"-T{format}\n{text}")

    def test_draw_without_graphviz_names_the_package_and_another_format(self):
        done = self.troupe("draw", "hello", "--format=svg", env={"PATH": str(self.folder)})
        self.refused(done, USAGE, "install graphviz", "--format dot")

    def test_draw_reports_how_graphviz_fails_and_prints_no_half_picture(self):
        for script, words in [("echo half; echo 'bad font' >&2; exit 3", ["exit code 3", "bad font"]),
                              ("echo half; kill -SEGV $$", ["signal 11"]),
                              ("exec yes", ["64 MiB"])]:
            done = self.troupe("draw", "hello", "--format=svg", env=self.with_dot(script))
            self.refused(done, FAILED, *words)
            self.assertEqual(done.stdout, "")

    def test_draw_ends_a_graphviz_that_hangs(self):
        hangs = self.with_dot(f"echo $$ >{self.folder}/id; exec sleep 600")
        done = self.troupe("draw", "hello", "--format=svg", "--timeout=1", env=hangs)
        self.refused(done, FAILED, "not ended in time", "--timeout")
        with self.assertRaises(ProcessLookupError):
            os.kill(int((self.folder / "id").read_text()), 0)

    def test_draw_as_characters_is_by_graph_easy_and_a_list_without_it(self):
        flags = ["draw", "hello", "--format=ascii"]
        listed = self.ok(self.troupe(*flags, env={"PATH": str(self.folder)}))
        self.assertTrue(listed.startswith("start\n  -> "), listed)
        programs = self.with_program("graph-easy", 'echo "$*"; cat')
        drawn = self.ok(self.troupe(*flags, env=programs))
        self.assertTrue(drawn.startswith("--from=dot --as=ascii\ndigraph "), drawn)
        fails = self.with_program("graph-easy", "echo half; echo 'no perl' >&2; exit 2")
        done = self.troupe(*flags, env=fails)
        self.refused(done, FAILED, "graph-easy failed with exit code 2", "no perl")
        self.assertEqual(done.stdout, "")
        hangs = self.with_program("graph-easy", "exec sleep 600")
        done = self.troupe(*flags, "--timeout=0.5", env=hangs)
        self.refused(done, FAILED, "graph-easy has not ended in time")

    def test_draw_shows_the_runs_of_a_thread(self):
        data = ["--data", self.folder / "drawn"]
        self.troupe("run", "ask", "--thread", "t", "--input", "{}", *data)
        waiting = self.ok(self.troupe("draw", "ask", "--thread", "t", *data))
        self.assertIn("asks", waiting)
        self.assertIn(":::waits", waiting)
        self.ok(self.troupe("run", "ask", "--thread", "t", "--resume", '"Ada"', *data))
        finished = self.ok(self.troupe("draw", "ask", "--thread", "t", "--format=dot", *data))
        self.assertIn("ran 1 time", finished)
        self.assertNotIn("asks", finished)
        self.refused(self.troupe("draw", "ask", "--thread", "nobody", *data), USAGE, "nobody")

    @unittest.skipUnless(shutil.which("dot"), "Graphviz is not installed")
    def test_graphviz_reads_the_dot_text(self):
        for graph in ["hello", "ask", "loop", "digest"]:
            text = self.ok(self.troupe("draw", graph, "--format=svg", "--xray", "--title", "<&>"))
            self.assertEqual(ElementTree.fromstring(text).tag, "{http://www.w3.org/2000/svg}svg")
        picture = self.troupe("draw", "hello", "--format=png", encoding="latin-1")
        self.assertTrue(self.ok(picture).startswith("\x89PNG"))

    def test_draw_refuses_what_it_does_not_know(self):
        self.refused(self.troupe("draw", "hello", "--format", "gif"), USAGE, "gif", "mermaid")
        self.refused(self.troupe("draw", "hello", "--xray=-1"), USAGE, "-1", "xray")
        self.refused(self.troupe("draw", "hello", "--direction=up"), USAGE, "up", "right")

    def test_a_library_gives_the_same_graph_as_the_one_built_in(self):
        library = self.troupe("draw", f"{LIB / 'libdigest.so'}:digest")
        self.assertEqual(self.ok(library), self.ok(self.troupe("draw", "digest")))

    def test_a_library_runs(self):
        (self.folder / "a.md").write_text("# One\ntwo three\n")
        done = self.troupe("run", f"{LIB / 'libdigest.so'}:digest", "--data", self.data,
                           "--thread", "t", "--input", '{"sources": ["a.md"]}')
        self.ok(done, PAUSED)
        done = self.kept("run", f"{LIB / 'libdigest.so'}:digest", "t", "--resume", "true")
        self.ok(done)
        self.assertIn("| Words | 3 |", (self.folder / "digest.md").read_text())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
