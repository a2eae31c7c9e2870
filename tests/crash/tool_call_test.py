"""An agent is killed while one of two tools runs, and goes on: what had finished does not run again,
and the history is one that every provider takes: each call is answered once, in order.

Arguments: the folder of the programs, and the source folder.
"""
import json
import pathlib
import signal
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "process"))

from programs import Program, programs_folder, run  # noqa: E402

PROGRAM = programs_folder(sys.argv[1]) / "troupe-crash"


def killed(data, holds):
    """The lines of an agent that is killed when one tool is finished, and the other one holds."""
    other = "first" if holds == "second" else "second"
    with Program([PROGRAM, "agent", data, holds]) as agent:
        def other_is_done():
            lines = agent.out.lines
            return f"S {holds}" in lines and any(l.startswith("T ") and f"{other} is done" in l for l in lines)
        assert agent.wait_until(other_is_done), (agent.out.lines, agent.err.lines)
        assert agent.kill() == -signal.SIGKILL
        return agent.out.lines


def check_history(messages):
    roles = [m["type"] for m in messages]
    assert roles == ["human", "ai", "tool", "tool", "ai"], roles
    calls = [c["id"] for c in messages[1]["tool_calls"]]
    answers = [(m["tool_call_id"], m["content"], m["status"]) for m in messages[2:4]]
    assert calls == ["c1", "c2"], calls
    assert answers == [("c1", "first is done", "success"), ("c2", "second is done", "success")], answers
    assert messages[4]["content"] == "all is done", messages[4]


for holds in ["second", "first"]:
    for kills in [1, 3]:
        with tempfile.TemporaryDirectory(prefix="troupe-tool-call-") as folder:
            data = pathlib.Path(folder) / "data"
            started = []
            for n in range(kills):
                if n == 0:
                    started += killed(data, holds)
                    continue
                with Program([PROGRAM, "agent", data, holds]) as agent:
                    assert agent.wait_until(lambda: f"S {holds}" in agent.out.lines), agent.err.lines
                    agent.kill()
                    started += agent.out.lines
            done = run([PROGRAM, "agent", data, "none"])
            assert done.returncode == 0, done.stderr
            lines = started + done.stdout.splitlines()
            other = "first" if holds == "second" else "second"
            assert lines.count(f"S {other}") == 1, lines
            assert lines.count(f"S {holds}") == kills + 1, lines
            check_history(json.loads(lines[-1].removeprefix("M ")))
print("tool calls: ok")
