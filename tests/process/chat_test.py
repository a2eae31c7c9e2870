"""A conversation on the command line, through a pipe and on a terminal.

Arguments: the folder of the programs, and the source folder.
"""
import json
import os
import pathlib
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import termios
import time
import unittest

from programs import DEADLINE_S, json_lines, programs_folder, run

DONE, USAGE, PAUSED, STORAGE, NOT_WHOLE, STOPPED = 0, 2, 3, 5, 7, 130
BIN = programs_folder(sys.argv[1])
PLUGIN = BIN.parent / "lib" / "libchat_graphs.so"
TROUPE = BIN / "troupe"


class Terminal:
    """A program on a terminal of its own; what it printed is in `text`."""

    def __init__(self, arguments, cwd, kind):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.environ.update(NO_COLOR="1", TERM=kind)
            os.execv(arguments[0], [str(a) for a in arguments])
        self.text = ""

    def read(self):
        if not select.select([self.fd], [], [], DEADLINE_S)[0]:
            raise AssertionError(f"nothing more was printed: {self.text!r}")
        try:
            block = os.read(self.fd, 1 << 16)
        except OSError:  # the other side is gone
            block = b""
        self.text += block.decode(errors="replace").replace("\r\n", "\n")
        return bool(block)

    def wait_for(self, words, seconds=DEADLINE_S):
        """Reads until `words` were printed, and forgets what came up to them."""
        end = time.monotonic() + seconds
        while words not in self.text:
            if time.monotonic() > end or not self.read():
                raise AssertionError(f"never printed {words!r}: {self.text!r}")
        before, self.text = self.text.split(words, 1)
        return before

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def end(self):
        while self.read():
            pass
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


class ChatTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-chat-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.environ.pop("TROUPE_MODEL", None)

    def command(self, *arguments):
        return [TROUPE, "chat", *arguments, "--data", self.folder / "data"]

    def chat(self, lines, *arguments, code=DONE):
        done = run(self.command(*arguments), cwd=self.folder, input=lines)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def terminal(self, *arguments, kind="dumb"):
        return Terminal(self.command(*arguments), self.folder, kind)


class Pipe(ChatTest):
    def test_lines_go_in_and_answers_come_out(self):
        done = self.chat("hello there\n\nand now\n", "chat", "--thread", "t1")
        self.assertEqual((done.stdout, done.stderr), ("hello there\nand now\n", ""))

    def test_the_conversation_goes_on_in_the_next_call(self):
        self.chat("one\n", "--thread", "t1")
        self.chat("two\n", "--thread", "t1")
        state = run([TROUPE, "state", "chat", "--thread", "t1", "--data", self.folder / "data",
                     "--json"])
        messages = json.loads(state.stdout)["values"]["messages"]
        said = [m["$message"]["content"] for m in messages]
        self.assertEqual(said, ["one", "one", "two", "two"])

    def test_tools_are_told_of_beside_the_answers(self):
        done = self.chat("hi\n", f"{PLUGIN}:clerk", "--thread", "t", code=PAUSED)
        self.assertIn('→ lookup {"what":"hi"}', done.stderr)
        self.assertIn("← lookup: found hi", done.stderr)
        self.assertIn('asks  "send" {"to":"hi"}: yes, no', done.stdout)
        self.assertIn("to be asked again", done.stderr)

    def test_an_answer_that_was_cut_is_told_of(self):
        done = self.chat("hi\n", f"{PLUGIN}:cut", code=NOT_WHOLE)
        self.assertEqual(done.stdout, "half an\n")
        self.assertIn("the answer was cut at its token limit (length)", done.stderr)
        self.assertEqual(self.chat("hi\n", f"{PLUGIN}:cut", "--json", code=NOT_WHOLE).stderr, "")

    def test_flags_of_the_model_are_for_the_built_in_graph(self):
        flags = ["--max-tokens", "5", "--model-seconds", "9", "--model-attempts", "1",
                 "--first-token-seconds", "3"]
        self.assertEqual(self.chat("hi\n", *flags).stdout, "hi\n")
        refused = self.chat("hi\n", f"{PLUGIN}:cut", *flags, code=USAGE)
        self.assertIn("has models of its own", refused.stderr)

    def test_a_question_is_answered_by_the_next_line(self):
        clerk = f"{PLUGIN}:clerk"
        self.assertTrue(self.chat("hi\nyes\n", clerk).stdout.endswith("done: sent to hi\n"))
        self.assertTrue(self.chat('hi\nedit {"to": "Ada"}\n', clerk).stdout
                        .endswith("Tool response:\nsent to Ada\n"))
        self.assertIn("with reason: too late", self.chat("hi\nno too late\n", clerk).stdout)
        self.assertTrue(self.chat("hi\nrespond it is there\n", clerk).stdout
                        .endswith("done: it is there\n"))
        refused = self.chat("hi\nperhaps\n", clerk, code=USAGE)
        self.assertIn("not a valid answer: perhaps", refused.stderr)

    def test_a_wrong_answer_through_a_pipe_leaves_the_question_open(self):
        careful = f"{PLUGIN}:careful"
        refused = self.chat("Ada\nyes\nedit {}\n", careful, "--thread", "t", code=USAGE)
        self.assertIn("not a valid answer: edit {}", refused.stderr)
        self.assertIn("yes, no [WHY]", refused.stderr)
        self.chat('{"decisions":[{"type":"edit"}]}\n', careful, "--thread", "t", code=USAGE)
        done = self.chat('{"decisions":[{"type":"approve"},{"type":"reject"}]}\n', careful,
                         "--thread", "t")
        self.assertIn("so: sent to Ada", done.stdout)  # call 1; its result is the last message
        self.assertNotIn("sent to Eve", done.stdout)
        self.chat("Ada\n", careful, "--thread", "u", code=PAUSED)
        self.assertTrue(self.chat("/leave\nhello\n", careful, "--thread", "u").stdout
                        .endswith("so: hello\n"))

    def test_a_question_that_waits_is_asked_again_by_the_next_call(self):
        clerk = f"{PLUGIN}:clerk"
        self.chat("hi\n", clerk, "--thread", "t", code=PAUSED)
        done = self.chat("yes\n", clerk, "--thread", "t")
        self.assertTrue(done.stdout.endswith("done: sent to hi\n"), done.stdout)

    def test_a_free_question_takes_text_or_json(self):
        asker = f"{PLUGIN}:asker"
        self.assertTrue(self.chat("x\nblue, please\n", asker).stdout.endswith('"blue, please"\n'))
        self.assertTrue(self.chat('x\n{"n": 1}\n', asker).stdout.endswith('{"n":1}\n'))

    def test_json_is_an_object_a_line(self):
        lines = json_lines(self.chat("hi\n", "--json", "--thread", "t").stdout)
        self.assertEqual(lines[-1]["type"], "result")
        self.assertEqual(lines[-1]["output"]["messages"][-1]["$message"]["content"], "hi")
        self.assertIn("messages", {line["type"] for line in lines})

    def test_what_can_not_be_talked_to_is_refused(self):
        for arguments, words in [(["hello"], "no channel `messages` but `count`"),
                                 (["nobody"], "unknown graph: nobody"),
                                 (["--model", "nobody:x"], "unknown provider `nobody`"),
                                 (["ask", "--model", "echo"], "--model: only for")]:
            done = self.chat("hi\n", *arguments, code=USAGE)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stdout, "")

    def test_a_failure_ends_a_pipe_with_its_code(self):
        done = self.chat("hi\nagain\n", f"{PLUGIN}:broken", code=1)
        self.assertIn("the model is out", done.stderr)

    def test_help_says_how_to_answer(self):
        text = run([TROUPE, "chat", "--help"]).stdout
        for word in ["--thread", "--model", "Ctrl-C", "yes, no [WHY], edit"]:
            self.assertIn(word, text)

    def test_a_turn_that_was_cut_off_goes_on(self):
        slow = f"{PLUGIN}:slow"
        with subprocess.Popen(self.command(slow, "--thread", "t"), cwd=self.folder, text=True,
                              stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdout=subprocess.PIPE) as program:
            program.stdin.write("hi\n")
            program.stdin.flush()
            self.assertIn("→ wait", program.stderr.readline())
            program.kill()
        (self.folder / "go").write_text("")  # from now on, it does not wait
        done = self.chat("", slow, "--thread", "t")
        self.assertEqual(done.stdout, "waited\n")
        self.assertIn("it resumes", done.stderr)

    def test_a_thread_that_another_process_takes_over_is_said_to_be_in_use(self):
        slow = f"{PLUGIN}:slow"
        with subprocess.Popen(self.command(slow, "--thread", "t"), cwd=self.folder, text=True,
                              stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdout=subprocess.PIPE) as program:
            program.stdin.write("hi\n")
            program.stdin.flush()
            self.assertIn("→ wait", program.stderr.readline())
            done = self.chat("never mind\n", slow, "--thread", "t")
            self.assertIn("it was cancelled: Cancelled by the user.", done.stdout)
            (self.folder / "go").write_text("")
            self.assertIn("thread t is in use", program.stderr.readline())
            self.assertEqual(program.wait(timeout=DEADLINE_S), STORAGE)


class Person(ChatTest):
    def test_a_conversation_on_a_terminal(self):
        screen = self.terminal("--thread", "t1")
        screen.wait_for("Ctrl-D ends\n> ")
        screen.type("good morning\n")
        screen.wait_for("good morning\ngood morning\n> ")
        screen.type("\4")
        self.assertEqual(screen.end(), DONE)
        screen = self.terminal("--thread", "t1")
        screen.wait_for("> good morning\ngood morning\n> ")  # the earlier messages, then the prompt
        screen.type("\4")
        self.assertEqual(screen.end(), DONE)

    def test_a_person_approves_after_a_typing_error(self):
        screen = self.terminal(f"{PLUGIN}:clerk")
        screen.wait_for("> ")
        screen.type("hi\n")
        screen.wait_for("asks  ")
        screen.wait_for("? ")
        screen.type("perhaps\n")
        screen.wait_for("asks  ")
        screen.wait_for("? ")
        screen.type("yes\n")
        screen.wait_for("done: sent to hi\n> ")
        screen.type("\4")
        self.assertEqual(screen.end(), DONE)

    def test_only_decisions_that_are_allowed_are_offered_and_taken(self):
        screen = self.terminal(f"{PLUGIN}:clerk_by_call")
        screen.wait_for("> ")
        screen.type("hi\n")
        screen.wait_for('asks  "send" {"to":"hi"}: yes; or /leave\n')
        for line in ["no", "respond it is there", 'edit {"to": "Eve"}', '{"to": "Eve"}',
                     '{"type": "reject"}']:
            screen.wait_for("? ")
            screen.type(line + "\n")
            screen.wait_for('asks  "send"')
        screen.wait_for("? ")
        screen.type("yes\n")
        screen.wait_for("done: sent to hi\n> ")
        screen.type("\4")
        self.assertEqual(screen.end(), DONE)

    def test_an_answer_that_the_graph_refuses_leaves_the_question_open(self):
        screen = self.terminal(f"{PLUGIN}:careful")
        screen.wait_for("> ")
        screen.type("Ada\n")
        screen.wait_for('asks  "send" {"to":"Ada"}: yes, no [WHY]; or /leave\n')
        screen.wait_for("? ")
        screen.type('edit {"to": "x@y"}\n')
        screen.wait_for('asks  "send" {"to":"Ada"}')
        screen.wait_for("? ")
        screen.type('{"decisions": [{"type": "approve"}]}\n')  # there are two calls
        screen.wait_for("does not match number of hanging tool calls (2)")
        for to in ["Ada", "Eve"]:
            screen.wait_for(f'asks  "send" {{"to":"{to}"}}')
            screen.wait_for("? ")
            screen.type("yes\n")
        screen.wait_for("so: sent to Eve\n> ")
        screen.type("\4")
        self.assertEqual(screen.end(), DONE)

    def test_a_question_can_be_left_for_another_message(self):
        screen = self.terminal(f"{PLUGIN}:careful")
        screen.wait_for("> ")
        screen.type("Ada\n")
        screen.wait_for("? ")
        screen.type("/leave\n")
        screen.wait_for("the question stays open")
        screen.wait_for("> ")
        screen.type("hello\n")
        screen.wait_for("so: hello\n> ")
        screen.type("\4")
        self.assertEqual(screen.end(), DONE)

    def test_ctrl_c_stops_an_answer_and_the_conversation_goes_on(self):
        screen = self.terminal(f"{PLUGIN}:slow", "--thread", "t")
        screen.wait_for("> ")
        screen.type("hi\n")
        screen.wait_for("→ wait")
        screen.type("\3")
        screen.wait_for("(cancelled)\n> ")
        screen.type("never mind\n")
        screen.wait_for("it was cancelled: Cancelled by the user.\n> ")
        screen.type("\3")
        screen.wait_for("(press again to end)\n> ")
        screen.type("\3")
        self.assertEqual(screen.end(), STOPPED)

    def editing_terminal(self):
        screen = self.terminal("--thread", "t", kind="vt100")
        screen.wait_for("Ctrl-D ends\n")
        screen.wait_for("> ")
        return screen

    def test_a_line_is_edited_and_comes_back_by_arrow(self):
        up, left = "\33[A", "\33[D"
        screen = self.editing_terminal()
        screen.type("grüß dih" + left + "c\n")
        screen.wait_for("\ngrüß dich\n> ")
        screen.type(up + "!\n")
        screen.wait_for("\ngrüß dich!\n> ")
        screen.type("\4")
        self.assertEqual(screen.end(), DONE)
        screen = self.editing_terminal()  # and in the next session
        screen.type(up + up + "?\n")
        screen.wait_for("\ngrüß dich?\n> ")
        screen.type("\4")
        self.assertEqual(screen.end(), DONE)

    def test_ctrl_c_drops_the_line_and_the_terminal_is_left_as_it_was(self):
        for last in ("\3", "\4"):
            screen = self.editing_terminal()
            screen.type("never said")
            screen.wait_for("never said")
            screen.type("\3")
            screen.wait_for("(press again to end)\n")
            screen.wait_for("> ")
            modes = termios.tcgetattr(screen.fd)[3]
            self.assertFalse(modes & termios.ICANON)
            screen.type(last)
            while screen.read():
                pass
            modes = termios.tcgetattr(screen.fd)[3]
            self.assertEqual(modes & (termios.ICANON | termios.ECHO),
                             termios.ICANON | termios.ECHO)
            self.assertEqual(screen.end(), STOPPED if last == "\3" else DONE)
        self.assertNotIn("never said", self.chat("", "--thread", "t").stdout)

    def test_a_failure_is_said_and_the_prompt_comes_back(self):
        screen = self.terminal(f"{PLUGIN}:broken")
        screen.wait_for("> ")
        screen.type("hi\n")
        screen.wait_for("the model is out")
        screen.wait_for("> ")
        screen.type("\4")
        self.assertEqual(screen.end(), DONE)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
