"""An agent is killed while one of two tools runs, and resumes: finished tools do not run again,
and the history is one that the providers take: each call is answered once, in order.

The model is a provider of our own, that refuses any other history. Arguments: the folder of the
programs, and the source folder.
"""
import json
import pathlib
import signal
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "process"))

from programs import Program, programs_folder, run  # noqa: E402

BIN = programs_folder(sys.argv[1])
SCRIPT = {"replies": [{"tool_calls": [{"id": "c1", "name": "first", "args": {}},
                                      {"id": "c2", "name": "second", "args": {}}]},
                      {"text": "all is done"}]}


class Agent:
    """An agent's data, and what its processes printed."""

    def __init__(self, data, model, url):
        self.data, self.model, self.lines = data, [model, url], []

    def kill_when(self, holds, condition):
        with Program([BIN / "troupe-crash", "agent", self.data, holds, *self.model]) as agent:
            assert agent.wait_until(lambda: condition(agent.out.lines)), (agent.out.lines, agent.err.lines)
            assert agent.kill() == -signal.SIGKILL
            self.lines += agent.out.lines

    def finish(self):
        done = run([BIN / "troupe-crash", "agent", self.data, "none", *self.model])
        assert done.returncode == 0, done.stderr
        self.lines += done.stdout.splitlines()
        return json.loads(self.lines[-1].removeprefix("M "))


def check_history(messages):
    roles = [m["type"] for m in messages]
    assert roles == ["human", "ai", "tool", "tool", "ai"], roles
    answers = [(m["tool_call_id"], m["content"], m["status"]) for m in messages[2:4]]
    assert answers == [("c1", "first is done", "success"), ("c2", "second is done", "success")], answers
    assert "all is done" in json.dumps(messages[4]["content"]), messages[4]


def trial(folder, model, url, holds, kills):
    other = "first" if holds == "second" else "second"
    agent = Agent(folder / "data", model, url)
    agent.kill_when(holds, lambda lines: f"S {holds}" in lines and any(
        l.startswith("T ") and f"{other} is done" in l for l in lines))
    for _ in range(kills - 1):
        agent.kill_when(holds, lambda lines: f"S {holds}" in lines)
    check_history(agent.finish())
    assert agent.lines.count(f"S {other}") == 1, agent.lines
    assert agent.lines.count(f"S {holds}") == kills + 1, agent.lines


with tempfile.TemporaryDirectory(prefix="troupe-tool-call-") as folder:
    script = pathlib.Path(folder) / "script.json"
    script.write_text(json.dumps(SCRIPT))
    with Program([BIN / "fake_provider", script]) as provider:
        assert provider.wait_until(lambda: provider.out.lines), provider.err.lines
        url = provider.out.lines[0]
        for model, base in [("anthropic:m", url), ("openai:m", url + "/v1")]:
            for holds, kills in [("second", 1), ("first", 1), ("second", 3)]:
                trial(pathlib.Path(tempfile.mkdtemp(dir=folder)), model, base, holds, kills)
print("tool calls: ok")
