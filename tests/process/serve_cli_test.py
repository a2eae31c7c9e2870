"""`troupe serve` with its flags and its configuration, and `troupe new`.

Arguments: the folder of the programs, and the source folder.
"""
import contextlib
import json
import os
import subprocess
import sys
import unittest

from api_case import ApiTest
from cli_case import LIB, TROUPE, USAGE, CliTest
from programs import json_lines


class Serve(ApiTest):
    @contextlib.contextmanager
    def serving(self, *arguments, **variables):
        """The URL of a server in memory, in the test's folder."""
        command = [TROUPE, "serve", "--in-memory", "--listen", "127.0.0.1:0", "--json", *arguments]
        shell = {name: v for name, v in os.environ.items() if not name.startswith("TROUPE_")}
        server = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, text=True,
                                  env={**shell, **variables})
        try:
            yield json.loads(server.stdout.readline())["url"]
        finally:
            server.terminate()
            self.assertEqual(server.wait(timeout=60), 0)
            server.stdout.close()

    def test_a_new_key_opens_a_server_that_has_its_line(self):
        made = json_lines(self.ok(self.troupe("serve", "--new-api-key", "web", "--json")))[0]
        self.write("keys", made["line"] + "\n")
        with self.serving("hello", "--api-keys", "keys") as url:
            self.assertEqual(self.ask(url, "/ok")[0], 200)
            self.assertEqual(self.ask(url, "/assistants/search", {})[0], 401)
            self.assertEqual(self.ask(url, "/assistants/search", {}, x_api_key="guess")[0], 401)
            status, found = self.ask(url, "/assistants/search", {}, x_api_key=made["key"])
            self.assertEqual((status, [one["graph_id"] for one in found]), (200, ["hello"]))

    def test_a_new_key_is_shown_apart_from_its_line(self):
        done = self.troupe("serve", "--new-api-key", "web")
        self.assertRegex(self.ok(done), r"^sha256:[0-9a-f]{64} web\n$")
        self.assertRegex(done.stderr, r"troupe_[0-9a-f]{64}")
        self.refused(self.troupe("serve", "--new-api-key", "a b"), USAGE, "blanks")

    def test_the_configuration_of_the_folder_is_taken(self):
        library = os.path.relpath(LIB / "libserver_graphs.so", self.folder)
        self.write("troupe.json", {"graphs": {"mine": f"{library}:plain", "hello": "hello"},
                                   "http": {"disable_store": True, "cors": {"allow_origins": ["https://a.example"]}}})
        with self.serving() as url:
            names = {one["graph_id"] for one in self.ask(url, "/assistants/search", {})[1]}
            self.assertEqual(names, {"mine", "hello"})
            self.assertEqual(self.ask(url, "/store/items/search", {})[0], 404)
        with self.serving("loop") as url: # a graph that is named: without the file
            names = {one["graph_id"] for one in self.ask(url, "/assistants/search", {})[1]}
            self.assertEqual(names, {"loop"})
            self.assertEqual(self.ask(url, "/store/items/search", {"namespace_prefix": []})[0], 200)

    def test_without_graphs_the_built_in_ones_are_served_and_the_first_assistant_talks(self):
        with self.serving() as url:
            found = self.ask(url, "/assistants/search", {})[1]
            self.assertEqual([one["graph_id"] for one in found],
                             ["agent", "hello", "ask", "loop", "digest", "chat"])
            said = {"messages": [{"role": "human", "content": "what's the weather in la"}]}
            status, state = self.ask(url, "/runs/wait", {"assistant_id": found[0]["assistant_id"], "input": said})
            self.assertEqual((status, [m["type"] for m in state["messages"]]), (200, ["human", "ai"]))

    def test_variables_of_the_file_yield_to_those_of_the_shell(self):
        self.write(".env", "LG_WEBHOOK_A=file\nLG_WEBHOOK_B=file\n")
        self.write("c.json", {"graphs": {"hello": "hello"}, "env": ".env", "webhooks": {
            "url": {"require_https": False, "disable_loopback": False},
            "headers": {"x-a": "${{ env.LG_WEBHOOK_A }}"}}})
        with self.serving("--config", "c.json") as url:
            run = {"assistant_id": "hello", "input": {}, "webhook": "http://127.0.0.1:1/"}
            self.assertEqual(self.ask(url, "/runs/wait", run)[0], 200)
            run["webhook"] = "http://10.0.0.1/"
            self.assertEqual(self.ask(url, "/runs/wait", run)[0], 422)

    def test_a_wrong_configuration_is_refused_with_the_file_and_the_key(self):
        self.write("c.json", {"http": {"cors": {"allow_origin": ["*"]}}})
        self.refused(self.troupe("serve", "--config", "c.json"), USAGE, "c.json", "http.cors.allow_origin",
                     "did you mean allow_origins?")
        self.refused(self.troupe("serve", "--config", "missing.json"), USAGE, "missing.json")
        self.write("c.json", {"env": ".env"})
        self.refused(self.troupe("serve", "--config", "c.json"), USAGE, ".env")
        self.write(".env", "A=1\nnonsense\n")
        self.refused(self.troupe("serve", "--config", "c.json"), USAGE, ".env", "line 2")

    def test_flags_that_exclude_each_other_are_refused(self):
        self.write("keys", "")
        for flags in (["--no-auth", "--api-keys", "keys"], ["--tls-cert", "keys"], ["--tls-key", "keys"],
                      ["--jwt-issuer", "me"], ["--jwks", "a", "--jwt-secret", "b"],
                      ["--in-memory", "--data", "d"], ["--data", "d", "--postgres", "host=h"], ["--rate", "0"],
                      ["--api-keys", "missing"], ["--listen", "0.0.0.0:0"]):
            self.refused(self.troupe("serve", "hello", *flags), USAGE)


class New(CliTest):
    def test_a_project_is_made_and_never_overwritten(self):
        self.ok(self.troupe("new", "demo"))
        made = self.folder / "demo"
        self.assertLessEqual({"CMakeLists.txt", "agent.cpp", "agent_test.cpp", "troupe.json", "Dockerfile",
                              "README.md"}, {file.name for file in made.iterdir()})
        self.assertEqual(json.loads((made / "troupe.json").read_text())["graphs"],
                         {"demo": "build/libagent.so:agent"})
        self.assertNotIn("@NAME@", "".join(file.read_text() for file in made.iterdir()))
        (made / "agent.cpp").write_text("mine")
        self.refused(self.troupe("new", "demo"), USAGE, "demo", "not an empty folder")
        self.assertEqual((made / "agent.cpp").read_text(), "mine")
        (self.folder / "file").touch()
        self.refused(self.troupe("new", "file"), USAGE, "not an empty folder")

    def test_names_are_those_of_targets(self):
        for name in ("", "7up", "a b", "../x y", "a;b"):
            self.refused(self.troupe("new", name), USAGE)
        (self.folder / "empty").mkdir()
        self.ok(self.troupe("new", "empty/"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
