#!/usr/bin/env python3
"""`troupe serve` under the official clients: the SDKs of Python and JavaScript, both RemoteGraphs, the
quick starts word for word, the clients of MCP, A2A and AG-UI, and React's hooks in a browser.

    tests/server_clients/run.py [BIN [SOURCE]] [SCRIPT…]

BIN is the folder of the programs (build/release/bin). Each script runs against a server of its own: with
the graphs of the recorded exchanges, or those of the quick starts. SCRIPT@two, on request, runs against two
servers on one Postgres, which take turns for its connections. The streams of Python's SDK race with each other
there, so python_thread_stream.py@two does not always pass. The clients are installed, in the
versions of tests/others/installed.py, into BIN/../server_clients, once; what the hooks need into
BIN/../react_hooks. Without the registries, python >= 3.10, or node, this prints why and ends with 77: CTest
counts that as skipped. React's hooks are skipped, with a reason, without chromium, which tools/setup does not
install unless told to: `tools/setup chromium`. TROUPE_OTHERS=required fails instead.
"""
import itertools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "others"), str(HERE.parent / "server")]
sys.dont_write_bytecode = True

import installed  # noqa: E402
from recordings_test import GRAPHS, serve  # noqa: E402
from two_servers import TwoServers  # noqa: E402

TWO = "@two"
SCRIPTS = ["python_sdk.py", "python_thread_stream.py", "python_remote_graph.py", "python_quick_start.py",
           "mcp_a2a.py", "js_sdk.mjs", "js_remote_graph.mjs", "js_quick_start.mjs", "agents.mjs", "react.mjs"]
BROWSER = "chromium"  # a program, and the Debian package that has it
OTHER_TOOLS = {"react.mjs": "react_hooks"}  # of installed.py
PROGRAMS = ("bin/troupe", "lib/libserver_graphs.so")
QUICK_START_GRAPHS = ["agent=chat", "my-agent=paced_chat"]  # the names there
MORE_GRAPHS = {"python_thread_stream.py": ["paced_chat"], "react.mjs": ["talk"]}
SCRIPT_S = 300


def command(script):
    if script.suffix == ".py":
        return [str(installed.python()), "-B", "-W", "ignore::ResourceWarning", str(script)]
    # Modules are found from the folder of the script that imports them.
    beside_modules = installed.tools_folder / "node"
    for part in (*HERE.glob("*.mjs"), *HERE.glob("*.jsx")):
        shutil.copyfile(part, beside_modules / part.name)
    return ["node", "--test-force-exit", "--experimental-websocket", "--no-warnings", str(beside_modules / script.name)]


class OneServer:
    def __init__(self, programs, folder, graphs):
        self.server, self.url = serve(programs, ["--data", folder + "/data"], graphs)

    def stop(self):
        self.server.terminate()
        return self.server.wait(timeout=60)


def passes(name):
    script = name.removesuffix(TWO)
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_"))}
    with tempfile.TemporaryDirectory() as folder:
        graphs = QUICK_START_GRAPHS if "quick_start" in script else [*GRAPHS, *MORE_GRAPHS.get(script, [])]
        programs = str(installed.bin_folder)
        served = TwoServers(programs, graphs) if name.endswith(TWO) else OneServer(programs, folder, graphs)
        began = time.monotonic()
        try:
            done = subprocess.run([*command(HERE / script), served.url], env=environment, stdin=subprocess.DEVNULL,
                                  timeout=SCRIPT_S)
            failed = done.returncode != 0
        except subprocess.TimeoutExpired:
            print(f"{name}: no end after {SCRIPT_S} s")
            failed = True
        finally:
            status = served.stop()
    if status != 0:
        print(f"{name}: the server ended with status {status}")
    print(f"{name}: {'failed' if failed else 'passed'} in {time.monotonic() - began:.1f} s", flush=True)
    return not failed and status == 0


def main():
    folder = HERE.parent.parent / "build" / "release" / "bin"
    arguments = sys.argv[1:]
    if arguments and pathlib.Path(arguments[0]).is_dir():
        folder = pathlib.Path(arguments.pop(0))
    if arguments and pathlib.Path(arguments[0]).is_dir():
        arguments.pop(0)  # the source folder, which CTest gives to every script
    results, skipped = [], []
    for tools, scripts in itertools.groupby(arguments or SCRIPTS, lambda script: OTHER_TOOLS.get(script.removesuffix(TWO), "server_clients")):
        try:
            if tools == "react_hooks" and not shutil.which(BROWSER):
                raise installed.Missing(f"{BROWSER} is not installed: tools/setup {BROWSER}")
            installed.prepare(folder.resolve(), tools, PROGRAMS)
        except installed.Missing as why:
            print(f"{', '.join(scripts)}: skipped: {why}", flush=True)
            skipped.append(tools)
        else:
            results += [passes(script) for script in scripts]
    if not all(results) or skipped and os.environ.get("TROUPE_OTHERS") == "required":
        return 1
    return 77 if "server_clients" in skipped or not results else 0


if __name__ == "__main__":
    sys.exit(main())
