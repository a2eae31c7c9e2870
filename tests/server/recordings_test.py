"""The recorded exchanges with LangGraph's Agent Server, asked of `troupe serve` with the same graphs.

An exchange agrees in status, headers, names of events, shape and values (replay.py). Those in DIFFERS need
not, each for its reason.
"""
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import urllib.request

GRAPHS = ["plain", "approval", "fanout", "chat", "nested", "slow", "fail", "typed", "double", "subapproval",
          "ctx"]

# Why some exchanges differ -> their names.
DIFFERS = {
    "titles and defaults of Python types in schemas": """
        050-assistants-schemas-typed 051-assistants-schemas-plain 053-assistants-subgraphs 054-assistants-subgraphs-recurse
        055-assistants-subgraphs-namespace
    """,
    "the order of two tasks follows their ids, which differ": """
        226-threads-get-interrupt-double 227-threads-state-interrupt-double 229-threads-state-resume-double-one
        633-v2-sse-double 635-v2-sse-double--respond-all
    """,
    "more is answered than the recorded server could": """
        070-threads-get-ttl 151-runs-stream-tools 535-threads-prune-keep-latest 536-threads-prune-history
    """,
    "pydantic checks the input of a graph": """
        193-runs-stream-subgraph-error-namespace 195-runs-stream-input-invalid
    """,
    "metadata keep the configuration of an earlier run on the thread": """
        470-threads-state-context
    """,
    "edges in the order of a set of Python": """
        573-remotegraph-getgraph
    """,
    "the recorded server ignores `stream_mode`, the SDKs' name of `stream_modes`": """
        554-threads-stream-lifecycle
    """,
    "messages get other ids when their events are read": """
        810-v2-sse-chat
    """,
}


def graph_argument(library, name):
    """`name`: as plain, or agent=plain for another name."""
    shown, equals, graph = name.rpartition("=")
    return f"{shown}{equals}{library}:{graph}"


def serve(programs, state, graphs=GRAPHS):
    """Shape: `state`: the options that say where it is."""
    library = pathlib.Path(programs).parent / "lib" / "libserver_graphs.so"
    command = [f"{programs}/troupe", "serve", *(graph_argument(library, name) for name in graphs),
               "--listen", "127.0.0.1:0", *state, "--allow-local-webhooks", "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    return server, json.loads(server.stdout.readline())["url"]


def main(programs, sources):
    here = pathlib.Path(sources) / "tests" / "server"
    with tempfile.TemporaryDirectory() as folder:
        server, url = serve(programs, ["--data", folder + "/data"])
        try:
            results = folder + "/results.json"
            replay = subprocess.run([sys.executable, "-B", str(here / "replay.py"), url, str(here / "recordings"),
                                     "--json", results], capture_output=True, text=True)
            print(replay.stdout[-6000:], replay.stderr[-2000:])
            outcome = json.loads(pathlib.Path(results).read_text())
        finally:
            server.terminate()
            status = server.wait(timeout=60)
    bad = {one["fixture"] for one in outcome["results"] if one["result"] == "differ"}
    unknown = bad - {name for names in DIFFERS.values() for name in names.split()}
    for name in sorted(unknown):
        print(f"differs: {name}")
    if status != 0:
        print(f"the server ended with status {status}")
    return int(bool(unknown) or status != 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
