"""The recorded exchanges with LangGraph's Agent Server, asked of `troupe serve` with the same graphs.

An exchange agrees in status, headers, names of events, shape and values (replay.py). Those in DIFFERS do
not, each with its reason; the test fails, too, when one of them agrees.
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

# The name of an exchange -> why it differs.
DIFFERS = {}


def serve(programs, data):
    library = pathlib.Path(programs).parent / "lib" / "libserver_graphs.so"
    command = [f"{programs}/troupe", "serve", *(f"{library}:{name}" for name in GRAPHS),
               "--listen", "127.0.0.1:0", "--data", data, "--allow-local-webhooks", "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    return server, json.loads(server.stdout.readline())["url"]


def main(programs, sources):
    here = pathlib.Path(sources) / "tests" / "server"
    with tempfile.TemporaryDirectory() as folder:
        server, url = serve(programs, folder + "/data")
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
    for name in sorted(bad - DIFFERS.keys()):
        print(f"differs: {name}")
    for name in sorted(DIFFERS.keys() - bad):
        print(f"agrees by now: {name}")
    if status != 0:
        print(f"the server ended with status {status}")
    return int(bad != DIFFERS.keys() or status != 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
