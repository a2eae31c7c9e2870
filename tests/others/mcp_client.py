"""Our MCP client against server-everything and server-filesystem."""
import os
import pathlib
import shutil
import tempfile
import unittest

import installed
from programs import run
from providers import Served, free_port


class Client(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-others-client-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def call(self, tool, arguments, *server, code=0):
        done = run([installed.bin_folder / "others_agents", "mcp", tool, arguments, *server],
                   cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done


class Everything(Client):
    def server(self):
        return [*installed.node_script("server-everything", "dist/index.js"), "stdio"]

    def test_its_tools_are_listed_and_called(self):
        out = self.call("echo", '{"message": "from afar"}', *self.server()).stdout
        self.assertIn("tool echo\n", out)
        self.assertIn('result null Echo: from afar', out)
        out = self.call("get-sum", '{"a": 2, "b": 40}', *self.server()).stdout
        self.assertIn("42", out)

    def test_wrong_arguments_are_told_to_the_model(self):
        out = self.call("get-sum", '{"a": "x"}', *self.server()).stdout
        self.assertIn('result "error"', out)

    def test_its_resources_and_prompts_are_listed_and_read(self):
        out = self.call("echo", '{"message": "x"}', *self.server()).stdout
        self.assertRegex(out, r"\nresource \S+ (text|blob)\n")
        self.assertRegex(out, r"\ntemplate \S+\{\w+\}\n")
        self.assertRegex(out, r"\nprompt simple")
        self.assertRegex(out, r"\nmessage .*simple prompt")

    def test_its_questions_interrupt_and_its_progress_is_streamed(self):
        out = self.call("trigger-elicitation-request", "{}", *self.server()).stdout
        self.assertIn('"type":"mcp_elicitation"', out)
        self.assertRegex(out, r"\nresult null .*(declined|decline)")
        out = self.call("trigger-sampling-request", '{"prompt": "Rhyme", "maxTokens": 9}', *self.server()).stdout
        self.assertIn('"type":"mcp_sampling"', out)
        self.assertIn("Rhyme", out.split("result null")[1])
        out = self.call("trigger-long-running-operation", '{"duration": 1, "steps": 2}', *self.server()).stdout
        self.assertIn('"type":"mcp_progress"', out)

    def test_tools_that_only_run_as_tasks_are_not_offered(self):  # D11
        out = self.call("echo", '{"message": "x"}', *self.server()).stdout
        self.assertNotIn("tool simulate-research-query\n", out)

    def test_over_http_its_tools_are_listed_and_called(self):
        port = free_port()
        url = f"http://127.0.0.1:{port}/mcp"
        server = Served([*installed.node_script("server-everything", "dist/index.js"), "streamableHttp"],
                        url, f"listening on port {port}", env=os.environ | {"PORT": str(port)})
        self.addCleanup(server.end)
        out = self.call("echo", '{"message": "from afar"}', url).stdout
        self.assertIn('result null Echo: from afar', out)


class Filesystem(Client):
    def server(self):
        return [*installed.node_script("server-filesystem", "dist/index.js"), str(self.folder)]

    def test_files_are_written_and_read(self):
        path = self.folder / "a.txt"
        out = self.call("write_file", f'{{"path": "{path}", "content": "hello"}}', *self.server()).stdout
        self.assertIn('result null', out)
        self.assertEqual(path.read_text(), "hello")
        out = self.call("read_text_file", f'{{"path": "{path}"}}', *self.server()).stdout
        self.assertIn('result null hello', out)

    def test_what_it_refuses_is_told_to_the_model(self):
        out = self.call("read_text_file", '{"path": "/etc/hostname"}', *self.server()).stdout
        self.assertIn('result "error"', out)
        self.assertIn("Access denied", out)

    def test_a_program_that_ends_at_once_is_told_of(self):
        failed = self.call("x", "{}", "false", code=1)
        self.assertIn("error", failed.stderr)
