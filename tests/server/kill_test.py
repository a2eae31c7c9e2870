"""A server that is killed under load, again and again: no run is lost, no step runs again after its checkpoint,
and streams resume where they were.

Arguments: the folder of the programs, the source folder, and perhaps the number of kills and a seed.
"""
import http.client
import json
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid

CLIENTS = 5
KILLS = 8
END_WAIT_S = 120
OVER = {"success", "error", "timeout", "interrupted"}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, programs, data):
        library = pathlib.Path(programs).parent / "lib" / "libserver_graphs.so"
        self.port = free_port()
        self.command = [f"{programs}/troupe", "serve", f"{library}:plain", f"{library}:slow",
                        "--listen", f"127.0.0.1:{self.port}", "--data", data, "--json"]
        self.process = None

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        if not self.process.stdout.readline():
            raise RuntimeError(f"the server ended with status {self.process.wait()}")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, method, path, body=None, headers=None):
        """The answer's status and JSON. Raises OSError or HTTPException when the server is gone."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None,
                               {"Content-Type": "application/json", **(headers or {})})
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text else None
        finally:
            connection.close()

    def persist(self, method, path, body=None):
        """The same, until the server answers."""
        for _ in range(600):
            try:
                return self.ask(method, path, body)
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)
        raise RuntimeError(f"no answer: {method} {path}")

    def events(self, path, after, take):
        """Calls `take` with the events of a stream until it ends, however that comes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path, headers={"Last-Event-ID": after})
            answer = connection.getresponse()
            if answer.status != 200:
                return
            event = {}
            while line := answer.readline():
                line = line.decode().rstrip("\r\n")
                if not line:
                    if "data" in event:
                        take((int(event["id"]), event["event"], event["data"]))
                    event = {}
                elif not line.startswith(":"):
                    name, _, rest = line.partition(":")
                    event[name] = rest.strip()
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()


class Client(threading.Thread):
    """Starts runs on threads of its own. Follows some of them, over all kills."""

    def __init__(self, server, seed, stops):
        super().__init__()
        self.server, self.random, self.stops = server, random.Random(seed), stops
        self.threads = {str(uuid.UUID(int=self.random.getrandbits(128), version=4)): graph
                        for graph in ("plain", "slow", "slow")}
        self.acknowledged = []  # (thread, run)
        self.streams = {}  # (thread, run) -> events
        self.fault = None

    def run(self):
        try:
            while not self.stops.is_set():
                self.start_a_run()
        except Exception as e:  # the main thread reports it
            self.fault = e

    def start_a_run(self):
        thread, graph = self.random.choice(list(self.threads.items()))
        ms = self.random.choice([10, 60, 150])
        body = {"assistant_id": graph, "if_not_exists": "create", "multitask_strategy": "enqueue",
                "durability": "sync", "stream_mode": ["tasks", "values"], "stream_resumable": True,
                "input": {"ms": ms} if graph == "slow" else {}}
        try:
            status, run = self.server.ask("POST", f"/threads/{thread}/runs", body)
        except (OSError, http.client.HTTPException):
            time.sleep(0.05)
            return
        if status != 200:
            raise RuntimeError(f"POST: {status} {run}")
        self.acknowledged.append((thread, run["run_id"]))
        if self.random.random() < 0.5:
            self.follow(thread, run["run_id"])
        else:
            self.server.persist("GET", f"/threads/{thread}/runs/{run['run_id']}/join")

    def follow(self, thread, run):
        got = self.streams[thread, run] = []
        path = f"/threads/{thread}/runs/{run}"
        for _ in range(600):
            is_over = self.server.persist("GET", path)[1]["status"] in OVER
            self.server.events(f"{path}/stream", str(got[-1][0]) if got else "-1", got.append)
            if is_over:
                return
            time.sleep(0.02)
        raise RuntimeError(f"a stream without an end: {path}")


def wait_until_over(server, clients):
    deadline = time.monotonic() + END_WAIT_S
    for client in clients:
        for thread, run in client.acknowledged:
            while True:
                status, record = server.persist("GET", f"/threads/{thread}/runs/{run}")
                if status != 200 or record["status"] in OVER:
                    break
                if time.monotonic() > deadline:
                    break
                time.sleep(0.05)


def faults_of_stream(server, thread, run, got):
    """A client that came back again and again has what a client gets that reads all at once."""
    whole = []
    server.events(f"/threads/{thread}/runs/{run}/stream", "-1", whole.append)
    if got != whole:
        yield f"run {run}: a reader with kills has {len(got)} events, one without {len(whole)}"
    numbers = [one[0] for one in got]
    if numbers != sorted(set(numbers)):
        yield f"run {run}: numbers of events do not rise: {numbers}"
    if not got or got[-1][1] != "values":
        yield f"run {run}: the stream does not end with the values"
    begun = [json.loads(data)["name"] for _, name, data in got if name == "tasks" and "triggers" in json.loads(data)]
    if begun != sorted(begun):  # a, b and s1, s2: a step begins when the one before is stored
        yield f"run {run}: a step ran again after its checkpoint: {begun}"


def faults_of_thread(server, thread, graph, acknowledged):
    """All runs are there and succeeded, and each counts once."""
    _, runs = server.persist("GET", f"/threads/{thread}/runs?limit=1000")
    listed = {one["run_id"]: one["status"] for one in runs}
    for run in acknowledged:
        if run not in listed:
            yield f"run {run} is lost"
    for run, status in listed.items():
        if status != "success":
            yield f"run {run} is {status}"
    _, state = server.persist("GET", f"/threads/{thread}/state")
    values = state["values"]
    if graph == "slow" and values["n"] != 2 * len(listed):
        yield f"thread {thread}: n is {values['n']} after {len(listed)} runs"
    if graph == "plain" and values["log"] != ["a", "b"] * len(listed):
        yield f"thread {thread}: {len(values['log'])} steps after {len(listed)} runs"


def main(programs, source, kills=KILLS, seed=None):
    seed = int(seed) if seed is not None else random.randrange(1 << 30)
    print(f"seed {seed}, {kills} kills")
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as data:
        server = Server(programs, data)
        server.start()
        stops = threading.Event()
        clients = [Client(server, rng.random(), stops) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        for _ in range(int(kills)):
            time.sleep(rng.uniform(0.2, 2.0))
            server.kill()
            server.start()
        stops.set()
        for client in clients:
            client.join()
        wait_until_over(server, clients)
        faults = [f"a client failed: {client.fault!r}" for client in clients if client.fault]
        for client in clients:
            for thread, graph in client.threads.items():
                runs = [run for at, run in client.acknowledged if at == thread]
                if runs:
                    faults += faults_of_thread(server, thread, graph, runs)
            for (thread, run), got in client.streams.items():
                faults += faults_of_stream(server, thread, run, got)
        total = sum(len(client.acknowledged) for client in clients)
        followed = sum(len(client.streams) for client in clients)
        print(f"{total} runs, {followed} of them followed")
        server.process.terminate()
        if (status := server.process.wait(timeout=60)) != 0:
            faults.append(f"the server ended with status {status}")
    for fault in faults[:50]:
        print(fault)
    return int(bool(faults) or total == 0 or followed == 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
