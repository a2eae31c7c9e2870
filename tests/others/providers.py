"""Our chat models and agents against fakellm and llmock, over both wire formats."""
import json
import os
import pathlib
import shutil
import socket
import tempfile
import unittest
import urllib.request

import installed
from programs import Followed, run

DONE, FAILED, USAGE, NOT_WHOLE = 0, 1, 2, 7
KEY = "sk-others-0123456789"
READY_S = 30
RUNS = "Uvicorn running"
FORMATS = ("openai", "anthropic")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def get(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=READY_S) as answer:
        return json.loads(answer.read() or b"null")


class Served(Followed):
    """A server of others, until the tests of its class are over. `ready`: what it logs when its port is open."""

    def __init__(self, arguments, url, ready, **options):
        super().__init__(arguments, **options)
        self.url = url
        if not self.wait_until(lambda: any(ready in line for _, line in self.err), READY_S):
            self.end()
            raise AssertionError(f"it does not serve: {arguments}: {self.err[-3:]}")

    @classmethod
    def for_class(cls, test, *arguments, **options):
        server = cls(*arguments, **options)
        test.addClassCleanup(server.end)
        return server


class Provider(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-others-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def environment(self, form):
        base = {"openai": {"OPENAI_BASE_URL": self.server.url + "/v1", "OPENAI_API_KEY": KEY},
                "anthropic": {"ANTHROPIC_BASE_URL": self.server.url + self.anthropic_path,
                              "ANTHROPIC_API_KEY": KEY}}[form]
        kept = {n: t for n, t in os.environ.items()
                if not n.startswith(("OPENAI_", "ANTHROPIC_", "TROUPE_MODEL"))}
        return kept | base

    def program(self, name, *arguments, form="openai", code=DONE, **options):
        done = run([installed.bin_folder / name, *arguments], env=self.environment(form),
                   cwd=self.folder, **options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def agent(self, kind, form, question, *more, code=DONE):
        return self.program("others_agents", kind, f"{form}:m", question, *more, form=form, code=code)

    def chat(self, lines, *flags, form="openai", code=DONE):
        return self.program("troupe", "chat", "--model", f"{form}:m", "--data", self.folder / "data",
                            *flags, form=form, code=code, input=lines)


class LlmockServer(Provider):
    anthropic_path = "/anthropic"

    @classmethod
    def setUpClass(cls):
        port = free_port()
        cls.server = Served.for_class(
            cls, [installed.command("llmock"), "serve", "--port", port, "--response-style", "echo"],
            f"http://127.0.0.1:{port}", RUNS)

    def setUp(self):
        super().setUp()
        get(self.server.url + "/_llmock/reset", {})

    def script(self, *behaviors):
        get(self.server.url + "/_llmock/scenario", {"behaviors": list(behaviors)})

    def verdict(self):
        return str(get(self.server.url + "/_llmock/verdict"))


class Llmock(LlmockServer):
    def calls(self, **arguments):
        return {"type": "reply", "tool_calls": [{"name": "add", "arguments": arguments}]}

    def test_answers_whole_and_streamed(self):
        for form in FORMATS:
            for more in ((), ("stream",)):
                self.script({"type": "reply", "text": "Hello from afar", "finish_reason": "stop"})
                done = self.agent("react", form, "hi", *more)
                self.assertIn("assistant: Hello from afar", done.stdout)

    def test_tools_are_called_one_by_one_and_side_by_side(self):
        for form in FORMATS:
            for kind in ("react", "agent"):
                both = self.calls(a=1, b=2)
                both["tool_calls"].append({"name": "add", "arguments": {"a": 3, "b": 4}})
                self.script(both, self.calls(a=5, b=6), {"type": "reply", "text": "sums"})
                out = self.agent(kind, form, "add", "stream").stdout
                self.assertEqual([line for line in out.splitlines() if line.startswith("tool:")],
                                 ["tool: 3", "tool: 7", "tool: 11"])
                self.assertTrue(out.endswith("assistant: sums\n"), out)

    def test_malformed_arguments_are_told_to_the_model(self):  # D2, D3
        for form in FORMATS:
            for kind in ("react", "agent"):
                self.script({"type": "tool_fault", "kind": "malformed_arguments"}, self.calls(a=1, b=2),
                            self.calls(a=1, b=2), {"type": "reply", "text": "three"})
                # in parts: whole answers of Anthropic's format have objects for arguments
                out = self.agent(kind, form, "add", "stream").stdout
                self.assertIn("could not be executed - arguments were malformed", out)
                self.assertTrue(out.endswith("tool: 3\nassistant: three\n"), out)

    def test_arguments_that_stay_malformed_end_in_an_error(self):  # D3
        for form in FORMATS:
            for kind in ("react", "agent"):
                self.script({"type": "tool_fault", "kind": "malformed_arguments", "times": None},
                            {**self.calls(a=1, b=2), "times": None})
                done = self.agent(kind, form, "add", "stream", code=FAILED)
                self.assertIn("MalformedToolCallError", done.stderr)
                self.assertIn("of graph `sums` failed", done.stderr)  # D9
                self.assertIn("3 times in a row", done.stderr)
                get(self.server.url + "/_llmock/reset", {})

    def test_what_a_tool_throws_is_told_to_the_model_whatever_it_is(self):  # D10
        falls = {"type": "reply", "tool_calls": [{"name": "fall", "arguments": {}}]}
        for form in FORMATS:
            for kind in ("react", "agent"):
                self.script(falls, {"type": "reply", "text": "sorry"})
                out = self.agent(kind, form, "fall", "handle").stdout
                self.assertIn("a tool threw something that is not a std::exception", out)
                self.assertTrue(out.endswith("assistant: sorry\n"), out)
                self.script(falls)
                self.assertIn("error", self.agent(kind, form, "fall", code=FAILED).stderr)

    def test_an_unknown_tool_is_told_to_the_model(self):
        self.script({"type": "tool_fault", "kind": "unknown_tool"}, self.calls(a=1, b=2),
                    {"type": "reply", "text": "well"})
        out = self.agent("agent", "openai", "add").stdout
        self.assertIn("is not a valid tool", out)

    def test_refusals_are_tried_again(self):
        for form in FORMATS:
            for status in (429, 500, 503):
                self.script({"type": "fail", "status": status, "times": 2},
                            {"type": "reply", "text": "at last"})
                self.assertIn("at last", self.agent("react", form, "hi").stdout)
            self.script({"type": "fail", "status": 400})
            self.assertIn("status 400", self.agent("react", form, "hi", code=FAILED).stderr)

    def test_retry_after_is_obeyed(self):
        self.script({"type": "fail", "status": 429, "retry_after": 1},
                    {"type": "reply", "text": "at last"})
        self.assertIn("at last", self.agent("react", "openai", "hi").stdout)
        self.assertNotIn("retry_after_ignored", self.verdict())

    def test_the_caller_learns_of_the_models_failure(self):  # D6, D9, D12
        for form in FORMATS:
            for more in ((), ("stream",)):
                self.script({"type": "fail", "status": 429, "retry_after": 600})
                said = self.agent("agent", form, "hi", *more, code=FAILED).stderr
                self.assertIn("the provider asks to wait 600 s", said)
                self.assertIn(self.server.url + "/", said)
                self.assertNotIn(KEY, said)

    def test_a_slow_first_word_is_waited_for_or_not(self):
        self.script({"type": "slow_first_token", "seconds": 1}, {"type": "reply", "text": "late"})
        self.assertEqual(self.chat("hi\n").stdout, "late\n")
        self.script({"type": "slow_first_token", "seconds": 20}, {"type": "reply", "text": "too late"})
        failed = self.chat("hi\n", "--first-token-seconds", "1", "--model-attempts", "1", code=FAILED)
        self.assertIn("the answer did not begin in time", failed.stderr)

    def test_streams_that_break_are_tried_again_while_nothing_was_read(self):
        for form in FORMATS:
            for kind in ("disconnect", "malformed"):
                get(self.server.url + "/_llmock/reset", {})
                self.script({"type": "stream_fault", "kind": kind, "after_chunks": 0},
                            {"type": "reply", "text": "whole answer", "times": None})
                out = self.agent("react", form, "hi", "stream").stdout
                self.assertIn("assistant: whole answer", out, (form, kind))
                # Whether the server saw the first stream end early is a race: the second request counts.
                self.assertIn("'attempts': 2", self.verdict())

    def test_a_stream_that_ends_early_is_not_an_answer(self):
        for form in FORMATS:
            for kind in ("truncate", "disconnect", "malformed"):
                self.script({"type": "stream_fault", "kind": kind, "after_chunks": 4},
                            {"type": "reply", "text": "one two three four five six seven eight nine"})
                self.agent("react", form, "hi", "stream", code=FAILED)

    def test_chat_tells_why_an_answer_ended(self):  # D4
        for reason, words in (("length", "cut at its token limit"), ("content_filter", "filter")):
            self.script({"type": "reply", "text": "half an", "finish_reason": reason})
            done = self.chat("hi\n", code=NOT_WHOLE)
            self.assertEqual(done.stdout, "half an\n")
            self.assertIn(words, done.stderr)
        self.script({"type": "reply", "text": "", "finish_reason": "refusal"})
        self.assertIn("refused", self.chat("hi\n", form="anthropic", code=NOT_WHOLE).stderr)
        self.script({"type": "reply", "text": "half", "finish_reason": "length"})
        self.assertNotIn("!", self.chat("hi\n", "--json", code=NOT_WHOLE).stderr)

    def test_chat_goes_on_after_a_failure(self):
        self.script({"type": "fail", "status": 404})
        self.assertIn("status 404", self.chat("hi\n", "--thread", "t", code=FAILED).stderr)
        self.script({"type": "reply", "text": "there"})
        self.assertEqual(self.chat("again\n", "--thread", "t").stdout, "there\n")

    def coder(self, task, *flags, **options):
        project = self.folder / "project"
        project.mkdir(exist_ok=True)
        return self.program("coder", project, task, *flags, **options)

    def test_coder_goes_on_after_malformed_arguments(self):  # D3
        write = {"type": "reply", "tool_calls": [
            {"name": "write_file", "arguments": {"file_path": "a.txt", "content": "hello"}}]}
        self.script({"type": "tool_fault", "kind": "malformed_arguments"}, write, write,
                    {"type": "reply", "text": "written"})
        done = self.coder("write", "--model", "openai:m", "--allow", "write_file")
        self.assertTrue(done.stdout.endswith("written\n"), done.stdout)
        self.assertEqual((self.folder / "project" / "a.txt").read_text(), "hello")

    def test_coder_fails_loudly_on_arguments_that_stay_malformed(self):  # D3
        self.script({"type": "tool_fault", "kind": "malformed_arguments", "times": None})
        done = self.coder("write", "--model", "openai:m", code=FAILED)
        self.assertIn("MalformedToolCallError", done.stderr)
        self.assertIn("of graph `coder`", done.stderr)

    def test_coder_tells_why_an_answer_ended_and_which_model_it_is_with(self):  # D4, D13
        self.script({"type": "reply", "text": "half", "finish_reason": "length"})
        done = self.coder("x", "--model", "openai:first", code=NOT_WHOLE)
        self.assertIn("cut at its token limit", done.stderr)
        self.script({"type": "reply", "text": "well"})
        done = self.coder("y", "--model", "openai:second")
        self.assertIn("was with openai:first; from now on it is with openai:second", done.stderr)

    def test_ask_fails_where_its_model_does(self):  # D7
        self.script({"type": "fail", "status": 401})
        done = self.program("ask", "openai:m", "What?", code=FAILED)
        self.assertEqual(done.stdout, "")
        self.assertIn("status 401", done.stderr)
        self.script({"type": "fail", "status": 401})
        self.assertEqual(self.program("ask", "openai:m", "What?", "echo").stdout, "What?\n")


class NobodyThere(Provider):
    anthropic_path = ""

    class server:
        url = "http://127.0.0.1:9"

    def test_ask_tells_that_nobody_listens(self):  # D7
        done = self.program("ask", "openai:m", "What?", code=FAILED)
        self.assertIn("127.0.0.1", done.stderr)


RULES = """
version: 1
rules:
  - name: first
    when: {turn: 1, messages_contain: "sum"}
    respond: {tool_calls: [{name: add, arguments: {a: 20, b: 22}}]}
  - name: second
    when: {tool_result_contains: "42"}
    respond: {content: "It is 42."}
  - name: refused
    when: {messages_contain: "forbidden"}
    respond: {status: 403, error: "not for you"}
  - name: words
    when: {messages_contain: "words"}
    respond: {content: "one two three"}
"""


class Fakellm(Provider):
    anthropic_path = ""

    @classmethod
    def setUpClass(cls):
        port = free_port()
        folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-fakellm-"))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        (folder / "fakellm.yaml").write_text(RULES)
        cls.server = Served.for_class(
            cls, [installed.command("fakellm"), "serve", "--port", port, "--config",
                  folder / "fakellm.yaml"], f"http://127.0.0.1:{port}", RUNS, cwd=folder)

    def setUp(self):
        super().setUp()
        get(self.server.url + "/_fakellm/reset", {})

    def test_an_agent_calls_its_tool_and_ends(self):
        for form in FORMATS:
            for kind in ("react", "agent"):
                for more in ((), ("stream",)):
                    get(self.server.url + "/_fakellm/reset", {})
                    out = self.agent(kind, form, "a sum, please", *more).stdout
                    self.assertTrue(out.endswith("tool: 42\nassistant: It is 42.\n"), out)

    def test_words_come_whole_through_chat(self):
        for form in FORMATS:
            self.assertEqual(self.chat("some words\n", form=form).stdout, "one two three\n")

    def test_a_refusal_is_told(self):
        for form in FORMATS:
            said = self.agent("agent", form, "the forbidden", code=FAILED).stderr
            self.assertIn("status 403", said)
            self.assertIn("not for you", said)
