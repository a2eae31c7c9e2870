"""Each example prints the lines that its comment promises, though not every word is checked.

Arguments: the folder of the programs, and the source folder.
"""
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

from programs import programs_folder, run

BIN = programs_folder(sys.argv[1])
SOURCE = pathlib.Path(sys.argv[2])


class ExamplesTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-examples-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def lines(self, example, *arguments):
        """The example's output; it must end well and complain about nothing."""
        done = run([BIN / example, *arguments], cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout.splitlines()

    def in_order(self, lines, *wanted):
        """These lines are there, in this order; others may stand between them."""
        rest = iter(lines)
        for line in wanted:
            self.assertIn(line, rest, "\n".join(lines))

    def test_every_example_has_a_test(self):
        examples = {path.parent.name for path in SOURCE.glob("examples/*/main.cpp")}
        tested = {name[len("test_"):] for name in dir(self) if name.startswith("test_")}
        self.assertLessEqual(examples - {"digest", "cluster", "coder"},
                             tested)  # digest_cli_test.py, worker_test.py, coder_test.py

    def test_hello(self):
        self.assertEqual(self.lines("hello"), ["3"])
        self.assertEqual(self.lines("hello"), ["4"])

    def test_agent(self):
        self.assertEqual(self.lines("agent"), ["Book an umbrella? yes",
                                               "It rains in Oslo, and an umbrella is yours."])

    def test_ask(self):
        self.assertEqual(self.lines("ask"), ["What is a graph?"])

    def test_ask_fails_where_its_model_does(self):
        nobody = dict(os.environ, OPENAI_BASE_URL="http://127.0.0.1:9/v1")
        for others, code, words in [([], 1, ""), (["echo"], 0, "why?\n")]:
            done = run([BIN / "ask", "openai:m", "why?", *others], env=nobody)
            self.assertEqual((done.returncode, done.stdout.strip("\n")), (code, words.strip("\n")))
            self.assertEqual("openai:m" in done.stderr, code == 1)

    def test_host(self):
        lines = self.lines("host")
        self.in_order(lines,
                      "ada asks the forecaster",
                      '  tool_call forecaster: {"args":{"city":"Paris"},"id":"call-1","name":"weather",'
                      '"type":"tool_call"}',
                      "  tool_result forecaster: rain in Paris",
                      "  message forecaster: Rain in Paris, take an umbrella.",
                      "  finished forecaster: Rain in Paris, take an umbrella.",
                      "bob asks the desk",
                      "  question desk: Is this about the weather? yes or no",
                      "bob answers",
                      "  message forecaster: Rain in Paris, take an umbrella.",
                      "ada asks the desk",
                      "  message desk: Then nobody here can help you, ada.",
                      "desk has a session of ada with 2 messages",
                      "desk has a session of bob with 4 messages")

    def test_computer(self):
        self.assertEqual(self.lines("computer"), [
            "Let me look.", '  {"action":"screenshot"}',
            '  {"action":"left_click","coordinate":[32,24]}',
            '  {"action":"type","text":"hello, world"}', '  {"action":"key","text":"Return"}',
            "  the field says: hello, world", "I typed hello, world."])

    def test_computer_refuses_a_display_that_is_none(self):
        done = run([BIN / "computer", "--display", "nonsense"])
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("computer: use an X display: not the name of a display", done.stderr)

    def test_mcp(self):
        server = SOURCE / "tests/mcp/scripted_server.py"
        tool, *_, last = self.lines("mcp", "/usr/bin/python3", server, "good")
        self.assertEqual((tool, last), ("echo: Tool echo", "{}"))

    def test_embed(self):
        self.assertEqual(self.lines("embed"),
                         ["Actors pass messages: 3 words: brief",
                          "Nobody reads a line that goes on and on: 9 words: too long"])

    def test_remote_graph(self):
        self.in_order(self.lines("remote_graph"), "propose", '"A title for an article about rain?"',
                      "Drops: it falls, mostly in April.")

    def test_loop(self):
        self.assertEqual(self.lines("loop"), [
            'draft 0: "A really quite gentle and very short tour of agent graphs"',
            'draft 1: "A quite gentle and very short tour of agent graphs"',
            'draft 2: "A quite gentle and short tour of agent graphs"',
            "in ten columns: graph_recursion"])

    def test_map_reduce(self):
        *done, first, second, third, words = self.lines("map_reduce")
        blurb = [first, second, third]  # in order, whoever was done first
        self.assertEqual(blurb, ["1. Actors… (11 words)", "2. Barriers… (4 words)",
                                 "3. Checkpoints… (7 words)"])
        self.assertEqual(sorted(done), [f'done: "{line}"' for line in blurb])
        self.assertEqual(words, "22 words in all")

    def approval(self, *arguments):
        return self.lines("approval", "--data", self.folder / "data", *arguments)

    def test_approval(self):
        prepared = "preparing the payment to Ada"
        question = "Pay 120 EUR to Ada? Answer with --answer yes or no."
        self.assertEqual(self.approval(), [prepared, question])
        self.assertEqual(self.approval(), [question])  # another process, and it still waits
        self.assertEqual(self.approval("--answer", "yes"), ["paid"])
        self.assertEqual(self.approval(), [prepared, question])  # the next payment asks again
        self.assertEqual(self.approval("--answer", "no"), ["declined"])

    def test_approval_keeps_its_question_after_a_wrong_answer(self):
        self.approval()
        done = run([BIN / "approval", "--data", self.folder / "data", "--answer", "perhaps"])
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "approval: node `approve`: the answer to its question does not fit: "
                                      "read an enum: `perhaps` is not a decision, which has yes, no\n")
        self.assertEqual(self.approval("--answer", "yes"), ["paid"])

    def test_approval_refuses_an_answer_that_nobody_waits_for(self):
        done = run([BIN / "approval", "--data", self.folder / "data", "--answer", "yes"])
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "approval: nobody asked anything\n")

    def test_subgraph(self):
        self.assertEqual(self.lines("subgraph"), [
            '"I want a refund": refund 20 EUR?',
            'office: next desk, state {"log":[],"request":"I want a refund",'
            '"text":"Ich will mein Geld zurück"}',
            'desk:   next ask, state {"log":[],"offer":20,"request":"I want a refund"}',
            "the desk says yes",
            "the cashier pays"])

    def test_workflow(self):
        first, second, third, *rest = self.lines("workflow")  # the first three side by side
        self.assertEqual({first, second, third},
                         {"  Albatross wants 190, attempt 3", "  Condor wants 160, attempt 1",
                          "  Gull wants 140, attempt 1"})
        self.assertEqual(rest, ["Book for 140 EUR?", "booked", "  Heron wants 150, attempt 1",
                                "Book for 150 EUR? The last one cost 140.", "booked", "6 words"])

    def test_time_travel(self):
        lines = self.lines("time_travel")
        self.in_order(lines, "the hike", "  forecast runs", "  choose runs", "  walk runs",
                      "its history, newest first",
                      '  step 3 by loop, next: -, weather "rain", goal "hut"',
                      '  step 1 by loop, next: choose, weather "rain", goal null',
                      "  step -1 by input, next: __start__, weather null, goal null",
                      "replayed from there", "  choose runs", "  walk runs",
                      "forked there, with sunshine", "  choose runs", "  walk runs",
                      "the replay ends as the hike; the fork differs:",
                      '  diary: ["there was rain","reached the hut"] -> '
                      '["there was sun","reached the summit"]',
                      '  goal: "hut" -> "summit"', '  weather: "rain" -> "sun"')
        self.assertEqual(lines.count("  forecast runs"), 1)

    def test_streaming(self):
        *parts, stopped, went_on = self.lines("streaming")
        self.assertEqual(parts, [
            "switchboard values: 1 messages",
            'switchboard custom: {"connecting":"the model"}',
            "switchboard updates: by connect",
            "switchboard/model values: 1 messages",
            'switchboard/model messages: "you"', 'switchboard/model messages: " said"',
            'switchboard/model messages: " good"', 'switchboard/model messages: " morning"',
            "switchboard/model updates: by speak",
            "switchboard/model values: 2 messages",
            "switchboard updates: by model",
            "switchboard values: 2 messages"])
        self.assertRegex(stopped, r"^stopped at \d+ of 1000$")
        self.assertIn(int(stopped.split()[2]), range(3, 1000))
        self.assertEqual(went_on, "then went on to 1000")

    def test_teams(self):
        headcount = "A and B have 133317 people."
        self.in_order(self.lines("teams"),
                      "supervisor", "  research: A has 67317, B 66000.",
                      "  math: Together they are 133317.", f"  supervisor: {headcount}",
                      "hierarchy", f"  supervisor: {headcount}", "  editor: The sentence is written.",
                      "  director: 133317 people: a large choir.",
                      "tools", '  lead: → math {"task":"67317 + 66000"}', f"  lead: {headcount}",
                      "swarm", "  Bob: Arr, here be Bob!", "  user: Who are you?",
                      "  Bob: Ye still talk to Bob.",
                      "network", "  cars: A car waits at the hotel.", "  cars: It is a red one.",
                      "plan_execute", "  assistant: boil water: The kettle is on. "
                      "make tea: The tea is in the pot.")
        self.assertEqual(self.lines("teams", "swarm")[-1], "  Bob: Ye still talk to Bob.")

    def test_resilience(self):
        timed_out = ("ask_station: Node 'ask_station' exceeded its idle timeout of 0.400s without "
                     "making progress")
        lines = [timed_out if line.startswith(timed_out) else line
                 for line in self.lines("resilience")]
        end = "actors share nothing; it seems to be dry"
        self.assertEqual(lines, [
            "fetch: attempt 1", "fetch: attempt 2", "fetch: attempt 3",
            "graph_drained: Graph drained: deployment", "next: summarize",
            "summarize: done after 500 ms, none of them idle", timed_out, end,
            "-- the same page on another thread: no summary is made",
            "fetch: attempt 1", timed_out, end])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
