"""The tools of others, installed below the build folder; and where they are."""
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys

# The folder below the build's of a set of tools -> its packages of PyPI, those of npm.
SETS = {
    "others": (["fakellm==0.3.5", "llmock==0.2.2", "mcp==2.3.0", "schemathesis==4.32.5"],
               {"@modelcontextprotocol/inspector": "2.12.0",
                "@modelcontextprotocol/server-everything": "2026.8.31",
                "@modelcontextprotocol/server-filesystem": "2026.8.31"}),
    "server_clients": (["a2a-sdk==1.3.0", "langgraph==1.2.24", "langgraph-sdk==0.4.14", "mcp==2.3.0"],
                       {"@a2a-js/sdk": "1.3.0",
                        "@ag-ui/client": "1.0.0",
                        "@ag-ui/langgraph": "0.0.43",
                        "@langchain/core": "1.4.0",
                        "@langchain/langgraph": "1.7.3",
                        "@langchain/langgraph-sdk": "1.15.0"}),
    "react_hooks": ([], {"@langchain/core": "1.4.0",
                         "@langchain/langgraph-sdk": "1.15.0",
                         "@langchain/react": "1.1.0",
                         "esbuild": "0.28.2",
                         "puppeteer-core": "24.8.2",
                         "react": "19.3.1",
                         "react-dom": "19.3.1"}),
}
OUR_PROGRAMS = ("bin/troupe", "bin/coder", "bin/ask", "bin/others_agents", "lib/libothers_graphs.so")
PYTHON_AT_LEAST, NODE_AT_LEAST = (3, 10), 20
INSTALL_S = 480

bin_folder = None   # of our programs
tools_folder = None


class Missing(Exception):
    """Why the tools are not here."""


def python():
    return tools_folder / "venv" / "bin" / "python"


def command(name):
    return tools_folder / "venv" / "bin" / name


def node_script(package, path):
    return ["node", str(tools_folder / "node" / "node_modules" / "@modelcontextprotocol" / package / path)]


def _run(arguments, what, **options):
    try:
        done = subprocess.run([str(a) for a in arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=INSTALL_S,
                              stdin=subprocess.DEVNULL, **options)
    except (OSError, subprocess.TimeoutExpired) as why:
        raise Missing(f"{what}: {why}") from None
    if done.returncode != 0:
        last = (done.stdout.strip().splitlines() or ["no reason"])[-1]
        raise Missing(f"{what}: {last}")
    return done.stdout


def _install_python(packages):
    if sys.version_info < PYTHON_AT_LEAST:
        raise Missing(f"python {sys.version.split()[0]} is older than 3.10")
    _run([sys.executable, "-m", "venv", tools_folder / "venv"], "make a virtual environment")
    _run([python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1",
          *packages], "install from PyPI")


def _install_node(packages):
    if not shutil.which("node") or not shutil.which("npm"):
        raise Missing("node or npm is not installed")
    version = _run(["node", "--version"], "ask node for its version").strip()
    if int(version.lstrip("v").split(".")[0]) < NODE_AT_LEAST:
        raise Missing(f"node {version} is older than {NODE_AT_LEAST}")
    folder = tools_folder / "node"
    folder.mkdir(exist_ok=True)
    (folder / "package.json").write_text(json.dumps({"private": True, "dependencies": packages}))
    _run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1"],
         "install from npm", cwd=folder)


def prepare(folder, tools="others", programs=OUR_PROGRAMS):
    """Installs a set of tools unless it is there. `folder`: of our programs.

    Errors: Missing: a tool is not here and can't be installed, or our programs are not built.
    """
    global bin_folder, tools_folder
    bin_folder = folder
    for program in programs:
        if not (folder.parent / program).exists():
            raise Missing(f"{folder.parent / program} is not built")
    tools_folder = folder.parent / tools
    tools_folder.mkdir(exist_ok=True)
    python_packages, node_packages = SETS[tools]
    wanted = json.dumps([python_packages, node_packages])
    with open(tools_folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        mark = tools_folder / "installed.json"
        if mark.exists() and mark.read_text() == wanted:
            return
        if os.environ.get("TROUPE_OFFLINE"):
            raise Missing("the tools are not installed, and TROUPE_OFFLINE is set")
        for name in ("venv", "node"):
            shutil.rmtree(tools_folder / name, ignore_errors=True)
        if python_packages:
            _install_python(python_packages)
        _install_node(node_packages)
        mark.write_text(wanted)
