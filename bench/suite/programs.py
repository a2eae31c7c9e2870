"""The programs that are compared: ours, and the peers, installed into a cache folder outside the tree."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PEERS = SOURCE / "bench/peers"
INSTALL_SECONDS, ROUND_SECONDS = 400, 900


def note(text):
    print(text, file=sys.stderr, flush=True)


def exactly(names):
    return "^(" + "|".join(map(re.escape, names)) + ")$"


def reason_of(failed):
    """The last line that a program wrote before it failed."""
    lines = [line for line in (failed.stderr or failed.stdout or "").splitlines() if line.strip()]
    return lines[-1].strip()[:200] if lines else f"exit status {failed.returncode}"


def attempt(command, seconds=INSTALL_SECONDS, **more):
    """Runs a command. Returns why it failed, or None."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL,
                              **more)
    except FileNotFoundError:
        return f"{command[0]} is missing"
    except subprocess.TimeoutExpired:
        return f"{command[0]} took longer than {seconds} s"
    return reason_of(done) if done.returncode else None


class Program:
    def __init__(self, name, command, environment=None):
        self.name, self.command, self.environment = name, command, environment or {}
        self.version = name
        self.complaints = []

    def run(self, names, more=(), seconds=ROUND_SECONDS):
        """The result lines of these workloads. A workload that fails is noted and left out."""
        command = [*self.command, "--filter", exactly(names), *more]
        begin = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL,
                                  env={**os.environ, **self.environment})
            output, errors = done.stdout, done.stderr
        except subprocess.TimeoutExpired as late:
            output, errors = ((text or b"").decode() for text in (late.stdout, late.stderr))
            errors += f"\n{self.name}: stopped after {seconds} s"
        lines = [json.loads(line) for line in output.splitlines() if line.startswith("{") and line.endswith("}")]
        known = set(self.complaints)
        self.complaints += [line for line in errors.splitlines()
                            if re.match(r"(\S+-?\S* [\d.]+|troupe-bench|" + re.escape(self.name) + r"): ", line)
                            and line not in known]
        if lines:
            self.version = lines[-1].get("runtime", self.version)
        note(f"  {self.name}: {len({line['workload'] for line in lines})} workloads in "
             f"{time.monotonic() - begin:.0f} s")
        return lines


def compile_ours():
    note("building troupe-bench")
    if subprocess.run([SOURCE / "tools/compile", "release", "troupe-bench"]).returncode:
        sys.exit("tools/bench: troupe-bench does not build")
    return SOURCE / "build/release/bin/troupe-bench"


def python_peers(cache, offline):
    """(name, program or None, reason) of each peer with a wheel."""
    venv = cache / "venv"
    python = venv / "bin/python"
    if not python.exists():
        if why := attempt([sys.executable, "-m", "venv", venv]):
            return [(name, None, why) for name in ("langgraph-py", "fast-langgraph", "neograph")]

    def install(*packages):
        return None if offline else attempt([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-U", *packages])

    def program(name, script, *more):
        command = [str(python), "-B", str(PEERS / script), *more]
        why = attempt([*command, "--list"], 120)
        return (name, None if why else Program(name, command), why)

    found = []
    why = install("langgraph", "langgraph-checkpoint-sqlite")
    found.append(("langgraph-py", None, why) if why else program("langgraph-py", "langgraph_py.py"))
    fast = why or install("fast-langgraph")
    found.append(("fast-langgraph", None, fast) if fast
                 else program("fast-langgraph", "langgraph_py.py", "--fast"))
    why = install("neograph-engine")
    found.append(("neograph", None, why) if why else program("neograph", "neograph.py"))
    return found


def node_peer(cache, offline):
    name, folder = "langgraph-js", cache / "node"
    if shutil.which("node") is None or shutil.which("npm") is None:
        return name, None, "node and npm are missing"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}\n')
    npm = ["npm", "install", "--no-fund", "--no-audit", "--loglevel=error"]
    if not offline:
        if why := attempt([*npm, "@langchain/langgraph", "@langchain/core"], cwd=folder):
            return name, None, why
        if why := attempt([*npm, "@langchain/langgraph-checkpoint-sqlite"], cwd=folder):
            note(f"langgraph-js: without its lines of files: {why}")
    program = Program(name, ["node", str(PEERS / "langgraph_js.mjs")], {"TROUPE_BENCH_NODE_MODULES": str(folder)})
    why = attempt([*program.command, "--list"], 120, env={**os.environ, **program.environment})
    return name, None if why else program, why


def installed_peers(cache, wanted, offline):
    """The peers that work here. Each other one is skipped with its reason."""
    cache.mkdir(parents=True, exist_ok=True)
    programs, skipped = [], {}
    note(f"{'using' if offline else 'installing'} the peers in {cache}")
    for name, program, why in [*python_peers(cache, offline), node_peer(cache, offline)]:
        if wanted and name not in wanted:
            continue
        if program is None:
            note(f"skipped: {name}: {why}")
            skipped[name] = why
        else:
            programs.append(program)
    return programs, skipped
