"""The coding agent: its questions, its work, and that it resumes after a kill.

Arguments: the folder of the programs, and the source folder.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from programs import DEADLINE_S, Program, programs_folder, run

DONE, USAGE, PAUSED = 0, 2, 3
CODER = programs_folder(sys.argv[1]) / "coder"
ENVIRONMENT = {name: text for name, text in os.environ.items()
               if name not in ("TROUPE_MODEL", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY")}
ENVIRONMENT["SECRET_API_KEY"] = "do-not-tell"


class CoderTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-coder-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.project = self.folder / "project"
        self.project.mkdir()
        (self.project / "a.c").write_text("int main() {}\n")
        (self.project / "src").mkdir()
        (self.project / "src" / "b.c").write_text("one\ntwo\n")

    def coder(self, task, answers, *flags, code=DONE, env=None):
        done = run([CODER, self.project, task, *flags], input="".join(a + "\n" for a in answers),
                   env=env or ENVIRONMENT)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def listed(self):
        return (self.project / "CODER.md").read_text()

    def test_it_asks_before_it_writes_edits_and_runs(self):
        done = self.coder("list the files", ["yes", "yes", "yes"])
        asked = [line.removeprefix("? ").split() for line in done.stdout.splitlines()]
        self.assertEqual([words[1] for words in asked if words[:1] == ["asks"]],
                         ["write_file", "edit_file", "shell"])
        self.assertEqual(self.listed(), "# What is here\n\n- a.c\n- src/b.c\n")
        self.assertTrue(done.stdout.endswith("CODER.md is written: 4 CODER.md\n"), done.stdout)
        self.assertIn("a script takes its place. It does not understand the task", done.stderr)
        self.assertIn("← task: 1 lines", done.stderr)  # what the explorer found out
        self.assertEqual((self.project / ".coder" / "memories" / "coder.md").read_text(),
                         "CODER.md lists the files.\n")

    def test_who_is_refused_stops(self):
        done = self.coder("list the files", ["no not now"])
        self.assertIn("✗ write_file: The user said no: not now", done.stderr)
        self.assertFalse((self.project / "CODER.md").exists())

    def test_an_edited_call_runs_in_place_of_the_other(self):
        self.coder("list", ['edit {"file_path": "CODER.md", "content": "# Files\\nmine\\n"}', "yes",
                             "yes"])
        self.assertEqual(self.listed(), "# What is here\nmine\n")

    def test_always_holds_for_the_thread(self):
        self.coder("list", ["always", "always", "yes"])
        done = self.coder("once more", ["yes"])
        self.assertEqual(done.stdout.count("asks  "), 1)
        self.assertIn("asks  shell", done.stdout)
        self.coder("another thread", [], "--thread", "t2", code=PAUSED)
        self.coder("a third", [], "--thread", "t3", "--allow", "write_file,edit_file,shell")

    def test_it_waits_for_an_answer_and_the_same_command_asks_again(self):
        for _ in range(2):
            done = self.coder("list", [], code=PAUSED)
            self.assertIn("asks  write_file", done.stdout)
            self.assertIn("the same command asks it again", done.stderr)
        self.coder("list", ["yes", "yes"], code=PAUSED)
        done = self.coder("list", ["yes"])
        self.assertTrue(done.stdout.endswith("CODER.md is written: 4 CODER.md\n"), done.stdout)

    def test_killed_while_it_waits_it_goes_on(self):
        with Program([CODER, self.project, "list"], stdin=subprocess.PIPE,
                     env=ENVIRONMENT) as program:
            self.assertTrue(program.wait_until(lambda: any("asks  write_file" in line
                                                           for line in program.out.lines)))
            program.kill()
            program.process.stdin.close()
        done = self.coder("list", ["yes", "yes", "yes"])
        self.assertNotIn("→ glob", done.stderr)  # that was done
        self.assertEqual(self.listed(), "# What is here\n\n- a.c\n- src/b.c\n")

    def test_killed_while_a_command_runs_it_asks_whether_to_run_it_again(self):
        task = "list, run: echo x >> runs; while [ ! -e go ]; do sleep 0.02; done; echo there"
        with Program([CODER, self.project, task, "--allow", "write_file,edit_file"], stdin=subprocess.PIPE,
                     env=ENVIRONMENT) as program:
            program.process.stdin.write(b"yes\n")
            program.process.stdin.flush()
            end = time.monotonic() + DEADLINE_S
            runs = self.project / "runs"
            while not runs.exists() or runs.read_text() != "x\n":
                self.assertLess(time.monotonic(), end)
                self.assertIsNone(program.process.poll())
                program.wait_until(lambda: False, seconds=0.02)
            program.kill()
            program.process.stdin.close()
        (self.project / "go").write_text("")
        done = self.coder(task, ["yes"])
        self.assertTrue(done.stdout.endswith("CODER.md is written: there\n"), done.stdout)
        self.assertEqual((self.project / "runs").read_text(), "x\nx\n")

    def shell(self, command, *flags):
        return self.coder("run: " + command, [], "--allow", "write_file,edit_file,shell",
                          *flags).stdout

    def test_commands_have_no_keys_and_end(self):
        for flags in [[], ["--no-sandbox"]]:
            out = self.shell("env | grep -c SECRET; true", *flags)
            self.assertTrue(out.endswith("CODER.md is written: 0\n"), out)
            out = self.shell("sleep 100", "--shell-seconds", "1", *flags)
            self.assertTrue(out.endswith("Error: Command timed out after 1.0 seconds.\n"), out)
            out = self.shell("sleep 100 & exit 3", *flags)  # a process it leaves delays nobody
            self.assertTrue(out.endswith("CODER.md is written: <no output>\n"), out)

    def test_a_sandbox_is_used_where_there_is_one_and_said(self):
        (self.folder / "outside").write_text("mine")
        outside = self.folder / "outside"
        done = self.coder(f"run: echo theirs > {outside}; true", [], "--allow",
                          "write_file,edit_file,shell")
        if "not in a sandbox" in done.stderr:
            self.assertEqual(outside.read_text(), "theirs\n")
        else:
            self.assertIn("they write only", done.stderr)
            self.assertEqual(outside.read_text(), "mine")
        done = self.coder("again", [], "--no-sandbox", "--thread", "t2", code=PAUSED)
        self.assertIn("they run with your rights", done.stderr)

    def test_a_folder_of_its_own_that_leads_elsewhere_is_refused(self):
        (self.project / ".coder").symlink_to(self.folder)
        done = self.coder("list", [], code=USAGE)
        self.assertIn(".coder is not a folder", done.stderr)

    def test_wrong_flags(self):
        self.assertIn("does not exist",
                      run([CODER, self.folder / "nowhere", "x"], env=ENVIRONMENT).stderr)
        self.assertIn("give a TASK",
                      run([CODER, self.project], env=ENVIRONMENT).stderr)
        done = self.coder("x", [], "--model", "nobody:x", code=USAGE)
        self.assertIn("unknown provider `nobody`", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
