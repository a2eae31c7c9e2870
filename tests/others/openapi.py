"""The document at /openapi.json against the answers of `troupe serve`, asked by schemathesis: status, media and body
of each answer are those of the document, and none is of status 500 or above."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import installed

GRAPHS = ["plain", "approval", "fanout", "chat", "nested", "fail", "typed", "ctx"]
CHECKS = ["not_a_server_error", "status_code_conformance", "content_type_conformance",
          "response_headers_conformance", "response_schema_conformance"]
EXAMPLES = 4        # of each route, besides those at the bounds of its schema
ENDLESS = ["/threads/{thread_id}/stream", "/threads/{thread_id}/stream/events"]  # streams that stay open
LONGEST_S = 300
# One worker: CPython 3.11 does not parse lambdas on two threads at once (gh-106905).


class Document(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        library = installed.bin_folder.parent / "lib" / "libserver_graphs.so"
        # Webhooks would call hosts that schemathesis invents.
        config = {"graphs": {name: f"{library}:{name}" for name in GRAPHS},
                  "webhooks": {"url": {"allowed_domains": ["nowhere.invalid"]}}}
        (self.folder / "troupe.json").write_text(json.dumps(config))
        self.server = subprocess.Popen(
            [installed.bin_folder / "troupe", "serve", "--config", self.folder / "troupe.json", "--listen",
             "127.0.0.1:0", "--data", self.folder / "data", "--json"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.stop)
        self.url = json.loads(self.server.stdout.readline())["url"]

    def stop(self):
        self.server.terminate()
        self.server.wait(timeout=60)
        self.server.stdout.close()

    def test_answers_are_as_described(self):
        command = [installed.command("schemathesis"), "run", self.url + "/openapi.json", "--seed", "1",
                   "--max-examples", EXAMPLES, "--phases", "coverage,fuzzing", "--checks", ",".join(CHECKS),
                   "--no-shrink", "--continue-on-failure", "--request-timeout", "20", "--workers", "1",
                   "--warnings", "off", "--generation-database", "none", "--no-color"]
        for path in ENDLESS:
            command += ["--exclude-path", path]
        hooks = {"SCHEMATHESIS_HOOKS": "openapi_hooks", "PYTHONPATH": str(pathlib.Path(__file__).parent),
                 "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([str(a) for a in command], cwd=self.folder, env=os.environ | hooks, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LONGEST_S)
        self.assertEqual(done.returncode, 0, done.stdout[-20_000:])
        self.assertIsNone(self.server.poll())


if __name__ == "__main__":
    unittest.main()
