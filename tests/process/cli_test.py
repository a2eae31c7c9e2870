"""The command line as a person or a script meets it: output, exit codes, bad input.

Arguments: the folder of the programs, and the source folder.
"""
import fcntl
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import sys
import tempfile
import unittest
from xml.etree import ElementTree

import store_damage
from programs import Program, json_lines, programs_folder, run

DONE, FAILED, USAGE, PAUSED, DRAINED, STORAGE, STOPPED = 0, 1, 2, 3, 4, 5, 130
BIN = programs_folder(sys.argv[1])
LIB = BIN.parent / "lib"
TROUPE = BIN / "troupe"
SHELL = {**os.environ, "NO_COLOR": ""}


class CliTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-cli-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.data = self.folder / "data"

    def troupe(self, *arguments, **options):
        return run([TROUPE, *arguments], cwd=self.folder, **options)

    def kept(self, command, graph, thread, *more, **options):
        return self.troupe(command, graph, "--data", self.data, "--thread", thread, *more,
                           **options)

    def begun(self, graph, thread, *more, **options):
        return self.kept("run", graph, thread, "--input", "{}", *more, **options)

    def ok(self, done, code=DONE):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def refused(self, done, code, *words, program="troupe"):
        """Ended with that code, and one line on stderr has the reason in these words."""
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        complaints = [line for line in done.stderr.splitlines()
                      if line and not line.startswith("thread ")]
        self.assertEqual(len(complaints), 1, done.stderr)
        self.assertTrue(complaints[0].startswith(program + ": "), complaints[0])
        for word in words:
            self.assertIn(word, complaints[0])
        return complaints[0]


class Help(CliTest):
    def test_help_names_every_command_and_the_exit_codes(self):
        text = self.ok(self.troupe("--help"))
        for word in ["run", "threads", "state", "history", "graphs", "draw", "Exit codes", "130"]:
            self.assertIn(word, text)

    def test_help_of_a_command_names_its_flags(self):
        text = self.ok(self.troupe("run", "--help"))
        for flag in ["--input", "--thread", "--data", "--durability", "--stream", "--resume",
                     "--recursion-limit", "--json", "--actors"]:
            self.assertIn(flag, text)

    def test_help_of_digest_names_its_flags(self):
        text = self.ok(run([BIN / "digest", "--help"]))
        for flag in ["--yes", "--thread", "--data", "--out", "--durability", "--delay-ms",
                     "--trace", "--resume", "--json", "--quiet"]:
            self.assertIn(flag, text)

    def test_no_command_is_wrong_usage(self):
        self.assertEqual(self.troupe().returncode, USAGE)

    def test_version_is_a_name_and_a_number(self):
        self.assertRegex(self.ok(self.troupe("--version")), r"^troupe \d+\.\d+\.\d+\n$")


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


class Run(CliTest):
    def test_output_for_people_is_plain_where_it_is_no_terminal(self):
        text = self.ok(self.troupe("run", "hello", env=SHELL))
        self.assertIn('"count": 3', text)
        self.assertEqual(text.count("add"), 3)
        self.assertNotIn("\33", text)

    def test_json_is_an_object_a_line(self):
        *parts, result = json_lines(self.ok(self.troupe("run", "hello", "--json")))
        self.assertEqual([p["data"] for p in parts], [{"add": {"count": 1}}] * 3)
        self.assertEqual({p["type"] for p in parts}, {"updates"})
        self.assertEqual([p["seq"] for p in parts], [1, 2, 3])
        self.assertEqual((result["type"], result["status"]), ("result", "done"))
        self.assertEqual(result["output"], {"count": 3})

    def test_input_comes_from_the_flag_a_file_or_standard_input(self):
        (self.folder / "in.json").write_text('{"until": 3}')
        for given in ['{"until": 3}', "@in.json", "@-"]:
            with (self.folder / "in.json").open() as text:
                done = self.troupe("run", "loop", "--json", "--input", given, stdin=text)
            self.assertEqual(json_lines(self.ok(done))[-1]["output"]["count"], 3)

    def test_several_streams_at_once(self):
        self.ok(self.begun("ask", "t"), PAUSED)
        done = self.kept("run", "ask", "t", "--json", "--resume", '"Ada"',
                         "--stream", "values,updates,custom")
        parts = json_lines(self.ok(done))
        self.assertEqual({p["type"] for p in parts}, {"values", "updates", "custom", "result"})
        self.assertIn({"greeted": "Ada"}, [p.get("data") for p in parts])

    def test_actors_are_listed(self):
        done = self.troupe("run", "loop", "--actors", "--json", "--input", '{"until": 2}')
        lists = [p["actors"] for p in json_lines(self.ok(done)) if p["type"] == "actors"]
        self.assertTrue(lists)
        self.assertIn("run", {a["kind"] for a in lists[0]})
        self.assertEqual({"kind", "name", "state", "mailbox", "host", "thread"}, set(lists[0][0]))
        self.assertIn("mailbox", self.troupe("run", "loop", "--actors",
                                             "--input", '{"until": 2}').stderr)

    def test_a_thread_is_kept_and_a_new_one_is_named(self):
        done = self.troupe("run", "hello", "--data", self.data)
        self.ok(done)
        thread = re.search(r"thread (\S+),", done.stderr).group(1)
        threads = json_lines(self.ok(self.troupe("threads", "--data", self.data, "--json")))
        self.assertEqual([t["thread"] for t in threads], [thread])

    def test_a_finished_thread_runs_on_from_its_state(self):
        self.ok(self.begun("hello", "t"))
        self.assertIn('"count": 4', self.ok(self.begun("hello", "t")))

    def test_a_paused_run_is_answered_by_another_process(self):
        first = self.begun("ask", "t", "--json")
        result = json_lines(self.ok(first, PAUSED))[-1]
        self.assertEqual(result["status"], "paused")
        self.assertEqual(result["interrupts"][0]["value"], {"question": "What is your name?"})
        again = self.kept("run", "ask", "t")
        self.assertIn("What is your name?", self.ok(again, PAUSED))
        self.assertIn("--resume", again.stderr)
        self.assertIn("Hello, Ada!", self.ok(self.kept("run", "ask", "t", "--resume", '"Ada"')))

    def test_a_question_is_answered_by_id(self):
        result = json_lines(self.begun("ask", "t", "--json").stdout)[-1]
        answer = json.dumps({result["interrupts"][0]["id"]: "Ada"})
        self.assertIn("Hello, Ada!", self.ok(self.kept("run", "ask", "t", "--resume", answer)))

    def test_state_and_history_show_what_is_kept(self):
        self.ok(self.begun("ask", "t"), PAUSED)
        state = json_lines(self.ok(self.kept("state", "ask", "t", "--json")))[0]
        self.assertEqual(state["next"], ["ask"])
        self.assertEqual(state["interrupts"][0]["value"]["question"], "What is your name?")
        self.ok(self.kept("run", "ask", "t", "--resume", '"Ada"'))
        self.assertIn("Hello, Ada!", self.ok(self.kept("state", "ask", "t")))
        history = json_lines(self.ok(self.kept("history", "ask", "t", "--json")))
        self.assertEqual([s["metadata"]["step"] for s in history],
                         sorted((s["metadata"]["step"] for s in history), reverse=True))
        older = history[-1]["checkpoint_id"]
        shown = self.ok(self.kept("state", "ask", "t", "--json", "--checkpoint", older))
        self.assertEqual(json.loads(shown)["checkpoint_id"], older)
        self.assertEqual(len(self.ok(self.kept("history", "ask", "t", "--limit", "1")).splitlines()), 1)

    def test_diff_shows_what_changed_between_two_checkpoints(self):
        self.ok(self.begun("loop", "t"))
        text = self.ok(self.kept("diff", "loop", "t"))
        for line in ["- /count 9", "+ /count 10", "- next: step"]:
            self.assertIn(line, text)
        steps = json_lines(self.ok(self.kept("history", "loop", "t", "--json")))
        newest, older = steps[0]["checkpoint_id"], steps[4]["checkpoint_id"]
        diff = json_lines(self.ok(self.kept("diff", "loop", "t", "--from", older, "--json")))[0]
        self.assertEqual((diff["from"], diff["to"], diff["steps"]), (older, newest, 4))
        self.assertEqual(diff["values"], [{"path": "/count", "before": 6, "after": 10}])
        self.refused(self.kept("diff", "loop", "t", "--to", "nope"), USAGE, "nope", "history")
        self.refused(self.kept("diff", "loop", "other"), USAGE, "other", "threads")


class Store(CliTest):
    """Looking after a data directory."""

    def setUp(self):
        super().setUp()
        self.ok(self.begun("loop", "t"))
        self.ok(self.begun("ask", "asks"), PAUSED)

    def store(self, command, *arguments, data=None, **options):
        return self.troupe("store", command, *arguments, "--data", data or self.data, **options)

    def history(self, thread="t", graph="loop", data=None):
        return json_lines(self.ok(self.troupe("history", graph, "--data", data or self.data,
                                              "--thread", thread, "--json")))

    def test_check_finds_a_whole_store_whole(self):
        self.assertIn("0 damaged", self.ok(self.store("check")))
        report = json_lines(self.ok(self.store("check", "--json")))[-1]
        self.assertEqual((report["type"], report["damaged"]), ("check", 0))
        self.assertEqual(report["checkpoints"], len(self.history()) + len(self.history("asks", "ask")))

    def test_check_names_what_is_damaged(self):
        self.assertGreater(store_damage.flip_checkpoints(self.data / "troupe.mdb"), 0)
        result = self.store("check")
        self.assertEqual(result.returncode, STORAGE)
        self.assertIn("thread `t`: read a checkpoint record", result.stdout)
        self.assertEqual(self.store("check", "--json").returncode, STORAGE)

    def test_stats(self):
        stats = json_lines(self.ok(self.store("stats", "--json")))[0]
        self.assertEqual(stats["threads"], 2)
        self.assertEqual(stats["file_bytes"], (self.data / "troupe.mdb").stat().st_size)
        self.assertGreater(stats["records"]["checkpoint"]["records"], 10)
        self.assertIn("checkpoint", self.ok(self.store("stats")))

    def test_prune_keeps_what_its_flags_name_and_the_thread_goes_on(self):
        before = self.history()
        pruned = json_lines(self.ok(self.store("prune", "--thread", "t", "--keep-latest", "3", "--json")))[0]
        self.assertEqual(pruned["checkpoints"], len(before) - 3)
        self.assertEqual([(s["checkpoint_id"], s["values"]) for s in self.history()],
                         [(s["checkpoint_id"], s["values"]) for s in before[:3]])
        self.assertIn("0 damaged", self.ok(self.store("check")))
        self.refused(self.store("prune"), USAGE, "--keep-latest", "--dry-run")
        counted = json_lines(self.ok(self.store("prune", "--thread", "t", "--keep-latest", "1",
                                                "--dry-run", "--json")))[0]
        self.assertEqual((counted["checkpoints"], counted["dry_run"]), (2, True))
        self.assertEqual(len(self.history()), 3)
        self.ok(self.store("prune", "--keep-latest", "1"))
        self.assertIn("Hello, Ada!", self.ok(self.kept("run", "ask", "asks", "--resume", '"Ada"')))
        self.assertEqual(len(self.history()), 1)
        self.ok(self.store("prune", "--keep-latest", "1", "--older-than", "1"))
        self.refused(self.store("prune", "--keep-latest", "0"), USAGE, "keep-latest")

    def test_backup_and_compact_hold_the_same_threads(self):
        for command in ["backup", "compact"]:
            to = self.folder / command
            self.ok(self.store(command, to))
            self.assertEqual(self.history(data=to), self.history())
            self.refused(self.store(command, to), STORAGE, "troupe.mdb")

    def test_exported_threads_are_imported_as_they_were(self):
        lines = self.ok(self.store("export"))
        self.assertEqual({line["thread"] for line in json_lines(lines)}, {"t", "asks"})
        to = self.folder / "imported"
        self.ok(self.store("import", data=to, input=lines))
        for thread, graph in [("t", "loop"), ("asks", "ask")]:
            self.assertEqual(self.history(thread, graph, to), self.history(thread, graph))
        self.assertEqual(self.ok(self.store("export", data=to)), lines)
        self.assertIn("0 damaged", self.ok(self.store("check", data=to)))
        answered = self.troupe("run", "ask", "--data", to, "--thread", "asks", "--resume", '"Ada"')
        self.assertIn("Hello, Ada!", self.ok(answered))

        self.refused(self.store("import", data=to, input=lines), USAGE, "`asks`", "already")
        self.refused(self.store("import", data=to, input="no json\n"), USAGE, "line 1")
        self.refused(self.store("import", data=to, input='{"type": "checkpoint"}\n'), USAGE, "line 1")
        self.refused(self.store("export", "--thread", "nobody"), USAGE, "nobody")

    def test_a_directory_without_threads_is_left_alone(self):
        for command in [["check"], ["stats"], ["prune", "--keep-latest", "1"], ["export"]]:
            self.refused(self.store(*command, data=self.folder / "none"), STORAGE, "none")
        self.assertFalse((self.folder / "none").exists())


class Stopping(CliTest):
    def loop(self, delay_ms, until):
        return Program([TROUPE, "run", "loop", "--data", self.data, "--thread", "t", "--json",
                        "--recursion-limit", "1000", "--input",
                        json.dumps({"until": until, "delay_ms": delay_ms})], cwd=self.folder)

    def test_ctrl_c_stops_at_the_end_of_the_step_and_the_thread_goes_on(self):
        with self.loop(10, 300) as program:
            self.assertTrue(program.wait_until(lambda: len(program.out.lines) >= 2))
            program.signal(signal.SIGINT)
            self.assertEqual(program.end(), DRAINED, program.err.lines)
            steps = [json.loads(line) for line in program.out.lines]
            self.assertIn("resume with: troupe run loop", "\n".join(program.err.lines))
        done = sum(s["type"] == "updates" for s in steps)
        self.assertEqual(steps[-1]["code"], "graph_drained")
        state = json_lines(self.ok(self.kept("state", "loop", "t", "--json")))[0]
        self.assertEqual((state["values"]["count"], state["next"]), (done, ["step"]))
        rest = self.kept("run", "loop", "t", "--json", "--recursion-limit", "1000")
        rest = json_lines(self.ok(rest))
        self.assertEqual(rest[-1]["output"]["count"], 300)
        self.assertEqual(sum(s["type"] == "updates" for s in rest), 300 - done)

    def test_a_second_ctrl_c_stops_at_once(self):
        with self.loop(3_600_000, 2) as program:
            self.assertTrue(self.wait_for_data(program))
            program.signal(signal.SIGINT)
            self.assertTrue(program.wait_until(lambda: "stopping" in "".join(program.err.lines)))
            program.signal(signal.SIGINT)
            self.assertEqual(program.end(), STOPPED)

    def wait_for_data(self, program):
        """Until the run has stored its input: then it is under way."""
        while program.process.poll() is None:
            if (self.data / "troupe.mdb").exists():
                state = self.kept("state", "loop", "t")
                if state.returncode == DONE:
                    return True
        return False

    def test_a_killed_run_goes_on(self):
        with self.loop(10, 100) as program:
            self.assertTrue(program.wait_until(lambda: len(program.out.lines) >= 5))
            program.kill()
        done = self.kept("run", "loop", "t", "--json", "--recursion-limit", "1000")
        self.assertEqual(json_lines(self.ok(done))[-1]["output"]["count"], 100)


class BadInput(CliTest):
    def test_wrong_flags(self):
        for arguments in [("run",), ("run", "hello", "--nope"), ("frobnicate",), ("state", "hello"),
                          ("run", "hello", "--durability", "often"),
                          ("run", "hello", "--recursion-limit", "0"),
                          ("run", "hello", "--recursion-limit", "-1"),
                          ("run", "hello", "--recursion-limit", "many"),
                          ("run", "hello", "--stream", "colours"),
                          ("run", "hello", "--input", "{}", "--resume", "1"),
                          ("history", "hello", "--thread", "t", "--limit", "-3")]:
            with self.subTest(arguments):
                self.refused(self.troupe(*arguments), USAGE, "--help")

    def test_json_that_is_none(self):
        for text in ["{", "", "{'a': 1}", "[1,]", "nul", '{"a":1} x', '"\\ud800']:
            with self.subTest(text):
                self.refused(self.troupe("run", "hello", "--input", text), USAGE, "--input")
        self.refused(self.kept("run", "hello", "t", "--resume", "yes"), USAGE, "--resume")
        self.assertFalse(self.data.exists(), "a typo made a data directory")

    def test_json_that_is_too_deep(self):
        for depth in [129, 1_000_000]:
            for left, right in [("[", "]"), ('{"a":', "}")]:
                (self.folder / "deep.json").write_text(left * depth + "1" + right * depth)
                with self.subTest(depth=depth, of=left):
                    self.refused(self.troupe("run", "hello", "--input", "@deep.json"), USAGE,
                                 "--input", "too deep")

    def test_json_that_is_too_large(self):
        (self.folder / "large.json").write_text('{"a": "' + "x" * (65 << 20) + '"}')
        self.refused(self.troupe("run", "hello", "--input", "@large.json"), USAGE, "--input")

    def test_input_that_is_no_map_or_of_the_wrong_kind(self):
        self.assertNotEqual(self.troupe("run", "hello", "--input", "[1]").returncode, DONE)
        self.refused(self.troupe("run", "hello", "--input", '{"count": {"a": 1}}'), FAILED, "the input", "`count`")

    def test_input_for_a_channel_the_graph_does_not_have(self):
        self.refused(self.troupe("run", "ask", "--input", '{"nmae": "Ada"}'), USAGE, "nmae", "name")

    def test_input_files_that_can_not_be_read(self):
        self.refused(self.troupe("run", "hello", "--input", "@nowhere.json"), USAGE, "nowhere.json")
        self.refused(self.troupe("run", "hello", "--input", "@" + str(self.folder)), USAGE, "--input")

    def test_a_graph_nobody_knows(self):
        self.refused(self.troupe("run", "nope"), USAGE, "nope", "hello")
        self.refused(self.troupe("draw", "nope"), USAGE, "nope")
        self.refused(self.troupe("run", "./nowhere.so:nope"), USAGE, "nowhere.so")
        (self.folder / "text.so").write_text("no library")
        self.refused(self.troupe("run", "./text.so:nope"), USAGE, "text.so")
        self.refused(self.troupe("run", f"{LIB / 'libdigest.so'}:nope"), USAGE, "nope")

    @unittest.skipUnless(shutil.which("c++"), "needs a compiler")
    def test_a_library_of_another_abi(self):
        source = ('extern "C" int troupe_abi_version_old() { return 0; }\n'
                  'extern "C" void* troupe_graph_old() { __builtin_trap(); }\n')
        self.ok(run(["c++", "-shared", "-fPIC", "-x", "c++", "-", "-o", self.folder / "old.so"],
                    stdin=self.text_file(source)))
        self.refused(self.troupe("run", "./old.so:old"), USAGE, "ABI", "old.so")

    def text_file(self, text):
        file = tempfile.TemporaryFile("w+")
        self.addCleanup(file.close)
        file.write(text)
        file.seek(0)
        return file

    def test_threads_nobody_knows(self):
        self.ok(self.begun("hello", "t"))
        for command in ["state", "history"]:
            self.refused(self.kept(command, "hello", "other"), USAGE, "other", "troupe threads")
        self.refused(self.kept("run", "hello", "other", "--resume", "1"), USAGE, "other")
        self.refused(self.kept("state", "hello", "t", "--checkpoint", "nope"), USAGE)
        self.refused(self.begun("hello", "x" * 401), USAGE, "400")

    def test_a_resume_with_nothing_to_resume(self):
        self.refused(self.troupe("run", "ask", "--resume", "1"), USAGE, "nothing to resume")
        self.ok(self.begun("hello", "t"))
        before = self.ok(self.kept("history", "hello", "t", "--json"))
        self.refused(self.kept("run", "hello", "t", "--resume", "1"), USAGE, "nothing to resume")
        self.ok(self.begun("ask", "t2"), PAUSED)
        answer = json.dumps({"0" * 32: "Ada"})
        self.refused(self.kept("run", "ask", "t2", "--resume", answer), USAGE, "0" * 32)
        self.assertEqual(self.ok(self.kept("history", "hello", "t", "--json")), before)

    def test_a_loop_without_end_meets_the_recursion_limit(self):
        done = self.kept("run", "loop", "t", "--input", '{"until": 100}', "--recursion-limit", "5")
        self.refused(done, FAILED, "limit")
        done = self.kept("run", "loop", "t", "--recursion-limit", "200", "--json")
        self.assertEqual(json_lines(self.ok(done))[-1]["output"]["count"], 100)


class Keys(CliTest):
    def with_keys(self, *keys):
        text = ",".join(f"{key}:{key[-1] * 64}" for key in keys)
        return {"env": {**os.environ, "TROUPE_STORE_KEYS": text}}

    def rotate(self, *keys):
        return self.troupe("store", "rotate-keys", "--data", self.data, "--json",
                           **self.with_keys(*keys))

    def test_an_encrypted_thread_needs_its_key_and_its_key_is_rotated(self):
        self.ok(self.begun("hello", "t", **self.with_keys("k1")))
        self.assertNotIn(b"branch:to:", (self.data / "troupe.mdb").read_bytes())
        self.refused(self.kept("state", "hello", "t"), STORAGE, "`k1`", "TROUPE_STORE_KEY_FILE")
        self.refused(self.troupe("threads", "--data", self.data), STORAGE, "`k1`")
        self.refused(self.rotate("k2"), STORAGE, "`k1`")
        rotated = json_lines(self.ok(self.rotate("k1", "k2")))
        self.assertEqual(rotated, [{"type": "rotated", "key": "k2", "threads": 1, "files": 0,
                                    "rewrapped": 1}])
        self.ok(self.kept("state", "hello", "t", **self.with_keys("k2")))
        self.assertIn("t", self.ok(self.troupe("threads", "--data", self.data,
                                               **self.with_keys("k2"))))

    def test_keys_come_from_a_file_that_nobody_else_reads(self):
        file = self.folder / "keys"
        file.write_text("k1 " + "1" * 64 + "\n")
        environment = {"env": {**os.environ, "TROUPE_STORE_KEY_FILE": str(file)}}
        file.chmod(0o640)
        self.refused(self.begun("hello", "t", **environment), USAGE, str(file), "chmod 600")
        file.chmod(0o600)
        self.ok(self.begun("hello", "t", **environment))
        self.ok(self.troupe("store", "rotate-keys", "--data", self.data, **environment))

    def test_rotating_without_keys_or_a_store_is_refused(self):
        self.refused(self.rotate("k1"), STORAGE, str(self.data))
        self.ok(self.begun("hello", "t"))
        done = self.troupe("store", "rotate-keys", "--data", self.data)
        self.refused(done, USAGE, "TROUPE_STORE_KEY_FILE")
        self.refused(self.rotate(), USAGE, "TROUPE_STORE_KEYS")


class BadDataDirectory(CliTest):
    def refuses_data(self, *words, commands=("threads", "state", "run"), **options):
        for command in commands:
            more = [] if command == "threads" else ["hello", "--thread", "t"]
            with self.subTest(command):
                done = self.troupe(command, *more, "--data", self.data, **options)
                self.refused(done, STORAGE, *words)

    def test_missing(self):
        self.refuses_data(str(self.data), commands=["threads", "state"])
        self.assertFalse(self.data.exists(), "a look made a data directory")
        self.data = self.folder / "no" / "such" / "parent"
        self.refuses_data(str(self.data))

    def test_a_file_in_its_place(self):
        self.data.write_text("a file")
        self.refuses_data(str(self.data))
        self.data = self.data / "below"
        self.refuses_data(str(self.data))

    def test_a_folder_without_threads_is_not_changed_by_a_look(self):
        self.data.mkdir()
        self.refuses_data(str(self.data), commands=["threads", "state"])
        self.assertEqual(list(self.data.iterdir()), [])

    def test_unwritable(self):
        nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        try:
            if run([TROUPE, "--version"], **nobody).returncode != 0:
                raise PermissionError
        except PermissionError:
            self.skipTest("the programs are not for everybody")
        self.folder.chmod(0o755)
        self.data.mkdir()
        self.data.chmod(0o555)
        self.refuses_data(str(self.data), commands=["run"], **nobody)
        self.data.chmod(0o755)

    def test_no_store_at_all(self):
        self.ok(self.begun("hello", "t"))
        file = self.data / "troupe.mdb"
        file.write_bytes(b"\xa5" * file.stat().st_size)
        self.refuses_data("troupe.mdb")

    def test_cut_to_nothing(self):
        self.ok(self.begun("hello", "t"))
        os.truncate(self.data / "troupe.mdb", 0)
        self.refuses_data("troupe.mdb is empty")
        self.refused(self.troupe("resume", "hello", "--data", self.data), STORAGE, "is empty")
        for command, *more in [["stats"], ["prune", "--keep-latest", "1"],
                               ["backup", self.folder / "copy"], ["export"]]:
            with self.subTest(command):
                done = self.troupe("store", command, *more, "--data", self.data)
                self.refused(done, STORAGE, "is empty")
        checked = self.troupe("store", "check", "--data", self.data)
        self.assertEqual(checked.returncode, STORAGE)
        self.assertIn("troupe.mdb is empty", checked.stdout)
        self.assertEqual((self.data / "troupe.mdb").stat().st_size, 0)

    def test_cut_short(self):
        self.ok(self.begun("hello", "t"))
        os.truncate(self.data / "troupe.mdb", 8192)
        self.refuses_data(commands=["state"])

    def test_damaged_records(self):
        self.ok(self.begun("hello", "t"))
        self.assertIn("0 damaged", self.ok(self.troupe("store", "check", "--data", self.data)))
        self.assertGreater(store_damage.flip_checkpoints(self.data / "troupe.mdb"), 0)
        checked = self.troupe("store", "check", "--data", self.data)
        self.assertEqual(checked.returncode, STORAGE)
        self.assertIn("checksum does not match", checked.stdout)
        self.refuses_data("checksum", commands=["state", "run"])
        listed = self.troupe("threads", "--data", self.data)
        self.assertEqual(listed.returncode, STORAGE)
        self.assertRegex(listed.stdout, "^t +damaged: .*checksum")
        self.assertIn("1 of 1 damaged", listed.stderr)

    def test_a_newer_format(self):
        self.ok(self.begun("hello", "t"))
        self.assertGreater(store_damage.make_newer(self.data / "troupe.mdb"), 0)
        before = (self.data / "troupe.mdb").read_bytes()
        self.refuses_data("newer")
        self.assertEqual((self.data / "troupe.mdb").read_bytes(), before)

    def test_locked(self):
        self.ok(self.begun("hello", "t"))
        with (self.data / "troupe.mdb-lock").open("r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX)
            self.refuses_data(str(self.data), commands=["threads", "run"], timeout=30)
        self.ok(self.kept("state", "hello", "t"))

    def test_full(self):
        self.ok(self.begun("hello", "t"))

        def small_files_only():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 10, 256 << 10))

        (self.folder / "in.json").write_text(json.dumps({"name": os.urandom(1 << 20).hex()}))
        done = self.kept("run", "ask", "t2", "--input", "@in.json", preexec_fn=small_files_only)
        self.refused(done, STORAGE)
        self.assertIn('"count": 3', self.ok(self.kept("state", "hello", "t")))
        self.assertIn('"count": 4', self.ok(self.begun("hello", "t")))

    def test_a_failure_is_a_json_line_too(self):
        done = self.troupe("threads", "--data", self.data, "--json")
        self.refused(done, STORAGE)
        self.assertEqual(json_lines(done.stdout)[0]["code"], "storage_failed")


class Examples(CliTest):
    def digest(self, *arguments, **options):
        return run([BIN / "digest", *arguments], cwd=self.folder, **options)

    def make_files(self):
        (self.folder / "docs" / ".git").mkdir(parents=True)
        (self.folder / "docs" / "build").mkdir()
        (self.folder / "docs" / "a.md").write_text("# First | part\none two three\n## Second\nfour\n")
        (self.folder / "docs" / "b.txt").write_text("five six\n\nseven apples, eight apples\n")
        (self.folder / "docs" / "c.bin").write_bytes(b"\0\1")
        for hidden in [".git/x.md", "build/y.md"]:
            (self.folder / "docs" / hidden).write_text("# Hidden\n")

    def test_hello_counts_to_three_and_goes_on_from_there(self):
        first = run([BIN / "hello"], cwd=self.folder)
        self.assertEqual(self.ok(first), "3\n")
        self.assertEqual(self.ok(run([BIN / "hello"], cwd=self.folder)), "4\n")

    def test_embed_answers_and_ends(self):
        text = self.ok(run([BIN / "embed"], cwd=self.folder))
        self.assertEqual(text, "Actors pass messages: 3 words: brief\n"
                               "Nobody reads a line that goes on and on: 9 words: too long\n")

    def test_digest_reports_on_files(self):
        self.make_files()
        done = self.digest("docs", "--yes")
        self.assertIn("digest.md (2 files", self.ok(done))
        report = (self.folder / "digest.md").read_text()
        self.assertIn("| docs/a.md | 7 | 2 | First \\| part |", report)
        self.assertIn("| apples | 2 |", report)
        self.assertIn("| Left out: binary | 1 |", report)
        self.assertNotIn("Hidden", report)

    def test_digest_waits_for_an_answer(self):
        self.make_files()
        done = self.digest("docs", "--thread", "t", "--json")
        result = json_lines(self.ok(done, PAUSED))[-1]
        self.assertEqual(result["status"], "paused")
        self.assertIn("# Digest", result["interrupts"][0]["value"]["draft"])
        self.assertFalse((self.folder / "digest.md").exists())
        again = self.digest("--thread", "t")
        self.ok(again, PAUSED)
        self.assertIn("digest --thread t --yes", again.stderr)
        odd = self.digest("--thread", "t", "--resume", '"perhaps"')
        self.ok(odd, PAUSED)
        self.ok(self.digest("--thread", "t", "--yes"))
        self.assertTrue((self.folder / "digest.md").exists())

    def test_digest_takes_no_for_an_answer(self):
        self.make_files()
        self.ok(self.digest("docs", "--thread", "t"), PAUSED)
        done = self.digest("--thread", "t", "--resume", '"no"')
        self.ok(done)
        self.assertIn("not written", done.stderr)
        self.assertFalse((self.folder / "digest.md").exists())

    def test_digest_that_is_finished_says_so(self):
        self.make_files()
        self.ok(self.digest("docs", "--thread", "t", "--yes"))
        done = self.digest("docs", "--thread", "t", "--yes", "--trace", "trace")
        self.assertIn("finished already", self.ok(done))
        self.assertFalse((self.folder / "trace").exists())
        self.ok(self.digest("docs", "--thread", "t", "--yes", "--again", "--trace", "trace"))
        self.assertEqual(sorted((self.folder / "trace").read_text().splitlines()),
                         ["docs/a.md", "docs/b.txt"])
        self.assertIn("| Files | 2 |", (self.folder / "digest.md").read_text())

    def test_digest_of_a_thousand_files(self):
        (self.folder / "many").mkdir()
        for i in range(1000):
            (self.folder / "many" / f"{i}.txt").write_text(f"word{i} and common words\n" * 20)
        done = self.digest("many", "--yes", "--quiet", "--trace", "trace")
        self.assertEqual(self.ok(done) + done.stderr, "")
        self.assertEqual(len((self.folder / "trace").read_text().splitlines()), 1000)
        self.assertIn("| Files | 1000 |", (self.folder / "digest.md").read_text())

    def test_digest_drains(self):
        self.make_files()
        arguments = ["docs", "--thread", "t", "--yes", "--json", "--jobs", "1", "--delay-ms", "400"]
        with Program([BIN / "digest", *arguments], cwd=self.folder) as program:
            self.assertTrue(program.wait_until(lambda: len(program.out.lines) >= 2))
            program.signal(signal.SIGINT)
            self.assertEqual(program.end(), DRAINED, program.err.lines)
        self.ok(self.digest("--thread", "t", "--yes", "--trace", "trace"))
        self.assertFalse((self.folder / "trace").exists(), "files were read again")

    def test_digest_of_what_is_not_there(self):
        refused = lambda done, code, *words: self.refused(done, code, *words, program="digest")
        self.make_files()
        refused(self.digest(), USAGE, "name files")
        refused(self.digest("docs", "nowhere"), USAGE, "nowhere")
        refused(self.digest("docs", "--resume", "{"), USAGE, "--resume")
        refused(self.digest("docs", "--thread", "t", "--resume", "true"), USAGE, "nothing to resume")
        refused(self.digest("docs", "--out", "no/such/folder.md"), USAGE, "--out")
        refused(self.digest("docs", "--out", "docs"), USAGE, "--out")
        refused(self.digest("docs", "--delay-ms", "-1"), USAGE, "--delay-ms")
        refused(self.digest("docs", "--data", "no/such/data"), STORAGE, "no/such/data")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
