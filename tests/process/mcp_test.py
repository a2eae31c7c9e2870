"""Graphs served to MCP clients by the command line: over stdin and stdout, and over HTTP.

Arguments: the folder of the programs, and the source folder.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

from programs import Program, json_lines, programs_folder, run

DONE, USAGE, STOPPED = 0, 2, 130
BIN = programs_folder(sys.argv[1])
PLUGIN = BIN.parent / "lib" / "libchat_graphs.so"
TROUPE = BIN / "troupe"
GREETING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t"}}


def request(number, method, params=None):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}


def call(number, name, **arguments):
    return request(number, "tools/call", {"name": name, "arguments": arguments})


def lines(*messages):
    greeted = [request(0, "initialize", GREETING),
               {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    return "".join(json.dumps(m) + "\n" for m in [*greeted, *messages])


class McpTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-mcp-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def serve(self, *arguments, **options):
        options.setdefault("cwd", self.folder)
        program = Program([TROUPE, "mcp", *arguments], **options)
        self.addCleanup(program.__exit__)
        return program

    def said(self, arguments, *messages, code=DONE):
        """The answers to these messages, by their ids."""
        done = run([TROUPE, "mcp", *arguments], cwd=self.folder, input=lines(*messages))
        self.assertEqual(done.returncode, code, done.stderr)
        return {m["id"]: m for m in json_lines(done.stdout)}, done.stderr


class Stdio(McpTest):
    def test_graphs_are_listed_and_run(self):
        answers, said = self.said(["hello", "ask", "--description", "ask=Asks for a name"],
                                  request(1, "tools/list"), call(2, "hello", count=2), call(3, "ask"),
                                  call(4, "nobody"))
        self.assertEqual(answers[0]["result"]["serverInfo"]["name"], "troupe")
        hello, ask = answers[1]["result"]["tools"]
        self.assertEqual((hello["name"], ask["name"]), ("hello", "ask"))
        self.assertIn("counts to three", hello["description"])
        self.assertEqual(ask["description"], "Asks for a name")
        self.assertEqual(list(hello["inputSchema"]["properties"]), ["count"])
        self.assertEqual(answers[2]["result"]["structuredContent"], {"count": 3})
        self.assertTrue(answers[3]["result"]["isError"])
        self.assertIn("What is your name?", answers[3]["result"]["content"][0]["text"])
        self.assertEqual(answers[4]["error"], {"code": -32602, "message": "Unknown tool: nobody"})
        self.assertEqual(said, "")

    def test_the_chat_takes_the_input_that_troupe_graphs_shows(self):
        shown = {g["name"]: g["input"] for g in json_lines(run([TROUPE, "graphs", "--json"]).stdout)}
        answers, _ = self.said(["chat"], call(1, "chat", **shown["chat"]))
        self.assertFalse(answers[1]["result"]["isError"], answers)

    def test_a_question_waits_on_disk_for_another_process(self):
        flags = ["ask", "--data", "data"]
        answers, _ = self.said(flags, call(1, "ask", thread_id="t"))
        self.assertIn('{"thread_id": "t", "resume": ANSWER}', answers[1]["result"]["content"][0]["text"])
        answers, _ = self.said(flags, call(1, "ask", thread_id="t", resume="Ada"))
        self.assertEqual(answers[1]["result"]["structuredContent"]["text"], "Hello, Ada!")

    def test_a_client_that_can_ask_its_user_is_asked(self):
        server = self.serve("ask", "--data", "data", stdin=subprocess.PIPE)

        def say(*messages):
            server.process.stdin.write("".join(json.dumps(m) + "\n" for m in messages).encode())
            server.process.stdin.flush()

        def heard(number):
            self.assertTrue(server.wait_until(lambda: len(server.out.lines) > number), server.err.lines)
            return json.loads(server.out.lines[number])

        say(request(0, "initialize", {**GREETING, "capabilities": {"elicitation": {"form": {}}}}), call(1, "ask"))
        asked = heard(1)
        self.assertEqual(asked["method"], "elicitation/create")
        self.assertEqual(asked["params"]["message"], '{"question": "What is your name?"}')
        say({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"answer": "Ada"}}})
        self.assertEqual(heard(2)["result"]["structuredContent"]["text"], "Hello, Ada!")
        say(call(3, "ask", thread_id="t"))
        say({"jsonrpc": "2.0", "id": heard(3)["id"], "result": {"action": "decline"}})
        declined = heard(4)["result"]
        self.assertTrue(declined["isError"])
        self.assertIn('{"thread_id": "t", "resume": ANSWER}', declined["content"][0]["text"])
        server.process.stdin.close()
        self.assertEqual(server.end(), DONE)

    def test_a_server_without_resources_lists_none(self):
        answers, _ = self.said(["hello"], request(1, "resources/list"), request(2, "prompts/list"),
                               request(3, "resources/read", {"uri": "file:///etc/passwd"}))
        self.assertEqual(answers[1]["result"], {"resources": []})
        self.assertEqual(answers[2]["result"], {"prompts": []})
        self.assertEqual(answers[3]["error"]["code"], -32002)

    def test_no_description_has_advice_for_the_command_line(self):
        graphs = ["hello", "ask", "loop", "digest", "chat"]
        answers, _ = self.said(graphs, request(1, "tools/list"))
        for tool in answers[1]["result"]["tools"]:
            for word in ["--", "troupe", "TROUPE"]:
                self.assertNotIn(word, tool["description"])

    def test_a_graph_of_a_library_is_not_described_as_the_built_in_one_of_its_name(self):
        for graph, described in [("digest", True), (f"{PLUGIN.parent / 'libdigest.so'}:digest", False)]:
            answers, _ = self.said([graph], request(1, "tools/list"))
            tool, = answers[1]["result"]["tools"]
            self.assertEqual(bool(tool["description"]), described)

    def test_only_the_protocol_is_on_stdout_and_no_argument_is_logged(self):
        answers, said = self.said([f"{PLUGIN}:loud"], call(1, "loud", secret="hush"))
        self.assertEqual(answers[1]["result"]["structuredContent"], {"read": -1, "secret": "hush"})
        self.assertEqual(sorted(said.splitlines()), ["by printf", "on cout"])
        answers, said = self.said([f"{PLUGIN}:loud"], call(1, "loud", secret="fail"))
        self.assertEqual(answers[1]["result"]["content"][0]["text"], "Error: it is out")
        self.assertEqual(said, "")

    def test_ctrl_c_waits_for_what_runs_and_ends_well(self):
        server = self.serve(f"{PLUGIN}:slow", stdin=subprocess.PIPE)
        self.addCleanup(server.process.stdin.close)
        said = lines(call(1, "slow", messages=[{"role": "user", "content": "go"}]))
        server.process.stdin.write(said.encode())
        server.process.stdin.flush()
        self.assertTrue(server.wait_until(lambda: server.out.lines))
        server.signal(signal.SIGINT)
        self.assertTrue(server.wait_until(lambda: len(server.err.lines) > 1))
        self.assertEqual(server.err.lines[1],
                         "stopping: no more calls are accepted, and running calls end first; once more stops at once")
        (self.folder / "go").touch()
        self.assertEqual(server.end(), DONE)
        answer = json.loads(server.out.lines[1])
        last = answer["result"]["structuredContent"]["messages"][-1]
        self.assertEqual((last["role"], last["content"]), ("assistant", "waited"))

    def test_a_second_ctrl_c_ends_at_once(self):
        server = self.serve(f"{PLUGIN}:slow", stdin=subprocess.PIPE)
        self.addCleanup(server.process.stdin.close)
        said = lines(call(1, "slow", messages=[{"role": "user", "content": "go"}]))
        server.process.stdin.write(said.encode())
        server.process.stdin.flush()
        self.assertTrue(server.wait_until(lambda: server.out.lines))
        server.signal(signal.SIGINT)
        self.assertTrue(server.wait_until(lambda: len(server.err.lines) > 1))
        server.signal(signal.SIGINT)
        self.assertEqual(server.end(), STOPPED)

    def test_what_makes_no_sense_is_refused_before_anything_is_said(self):
        for flags, why in [(["nobody"], "unknown graph: nobody"),
                           (["hello", "hello"], "two tools have the same name: hello"),
                           (["hello", "--description", "x"], "NAME=TEXT is expected"),
                           (["hello", "--listen", "nowhere"], "HOST:PORT is expected"),
                           (["hello", "--listen", "0.0.0.0:0"], "a token is needed"),
                           (["hello", "--listen", "127.0.0.1:0", "--token-file", "none"],
                            "the first line must be a token: none")]:
            done = run([TROUPE, "mcp", *flags], cwd=self.folder)
            self.assertEqual((done.returncode, done.stdout), (USAGE, ""), done.stderr)
            self.assertIn(why, done.stderr)


class Http(McpTest):
    def listening(self, *arguments, **options):
        server = self.serve(*arguments, "--listen", "127.0.0.1:0", "--json", **options)
        self.assertTrue(server.wait_until(lambda: server.out.lines), server.err.lines)
        return server, json.loads(server.out.lines[0])["url"]

    def post(self, url, message, **headers):
        asked = urllib.request.Request(url, json.dumps(message).encode(), {
            "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
            **{name.replace("_", "-"): text for name, text in headers.items()}})
        return urllib.request.urlopen(asked, timeout=60)

    def test_a_session_from_its_greeting_to_its_end(self):
        server, url = self.listening("hello")
        self.assertTrue(url.startswith("http://127.0.0.1:") and url.endswith("/mcp"), url)
        with self.post(url, request(0, "initialize", GREETING)) as answer:
            session = answer.headers["Mcp-Session-Id"]
        with self.post(url, call(1, "hello"), Mcp_Session_Id=session) as answer:
            text = answer.read().decode()
        data, = [line[6:] for line in text.splitlines() if line.startswith("data: ")] or [text]
        self.assertEqual(json.loads(data)["result"]["structuredContent"], {"count": 3})
        server.signal(signal.SIGTERM)
        self.assertEqual(server.end(), DONE)

    def test_a_token_is_asked_for_and_said_nowhere(self):
        (self.folder / "token").write_text("f1le-k3y\nmore\n")
        environment = {**os.environ, "TROUPE_MCP_TOKEN": "env-k3y"}
        for flags, token in [([], "env-k3y"), (["--token-file", "token"], "f1le-k3y")]:
            server, url = self.listening("hello", *flags, env=environment)
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.post(url, request(0, "initialize", GREETING), Authorization="Bearer wrong")
            self.assertEqual(refused.exception.code, 401)
            with self.post(url, request(0, "initialize", GREETING),
                           Authorization=f"Bearer {token}") as answer:
                self.assertEqual(answer.status, 200)
            server.signal(signal.SIGINT)
            self.assertEqual(server.end(), DONE)
            self.assertNotIn("k3y", "".join(server.out.lines + server.err.lines))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
