"""Servers that are killed under load, again and again: no run is lost, no step runs again after its checkpoint,
and streams resume where they were.

Arguments: the folder of the programs, the source folder, and perhaps the number of kills and a seed.
shared_kill_test.py does the same with several servers on one database.
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
import uuid

CLIENTS = 5
KILLS = 8
PROGRESS_MAX = 400  # acknowledged runs and events between two kills
PROGRESS_WAIT_S = 20
OVER = {"success", "error", "timeout", "interrupted"}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """`records`: the arguments that say where they are. `host`: its address."""

    def __init__(self, programs, records, host="127.0.0.1"):
        library = pathlib.Path(programs).parent / "lib" / "libserver_graphs.so"
        self.host, self.port = host, free_port()
        self.command = [f"{programs}/troupe", "serve", f"{library}:plain", f"{library}:slow",
                        "--listen", f"{host}:{self.port}", *records, "--json"]
        self.process = None
        self.starts = 0  # and ends of other troubles: a stream that saw none was not cut
        self.is_up = threading.Event()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        if not self.process.stdout.readline():
            raise RuntimeError(f"the server ended with status {self.process.wait()}")
        self.starts += 1
        self.is_up.set()

    def kill(self):
        self.is_up.clear()  # first: a client that finds it gone waits for the next start
        self.process.kill()
        self.process.wait()

    def ask(self, method, path, body=None, headers=None):
        """The answer's status and JSON. Raises OSError or HTTPException when the server is gone."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None,
                               {"Content-Type": "application/json", **(headers or {})})
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text else None
        finally:
            connection.close()

    def events(self, path, after, take):
        """Calls `take` with the events of a stream until it ends, however that comes."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
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


class Site:
    """Servers of the same records. Each request goes to one that runs."""

    def __init__(self, servers):
        self.servers = servers
        self.progress = threading.Semaphore(0)  # one for each acknowledged run and each event

    def server(self):
        while True:
            running = [one for one in self.servers if one.is_up.is_set()]
            if running:
                return random.choice(running)
            self.servers[0].is_up.wait()

    def ask(self, *request):
        return self.server().ask(*request)

    def persist(self, *request):
        """The same, until a server answers."""
        for _ in range(600):
            try:
                return self.ask(*request)
            except (OSError, http.client.HTTPException):
                pass
        raise RuntimeError(f"no answer: {request}")

    def events(self, path, after, take):
        """False: the server was killed meanwhile, so the stream may have been cut."""
        def take_one(event):
            take(event)
            self.progress.release()
        server = self.server()
        starts = server.starts
        server.events(path, after, take_one)
        return server.is_up.is_set() and server.starts == starts


class Client(threading.Thread):
    """Starts runs on threads of its own. Follows some of them, over all kills."""

    def __init__(self, site, seed, stops):
        super().__init__()
        self.site, self.random, self.stops = site, random.Random(seed), stops
        self.threads = {str(uuid.UUID(int=self.random.getrandbits(128), version=4)): graph
                        for graph in ("plain", "slow", "slow")}
        self.waited = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        self.acknowledged = []  # (thread, run)
        self.answered = []  # runs of the thread `waited`
        self.streams = {}  # (thread, run) -> events
        self.fault = None

    def run(self):
        try:
            while not self.stops.is_set():
                self.wait_for_a_run() if self.random.random() < 0.4 else self.start_a_run()
        except Exception as e:  # the main thread reports it
            self.fault = e
            self.stops.set()

    def wait_for_a_run(self):
        body = {"assistant_id": "plain", "if_not_exists": "create", "multitask_strategy": "enqueue",
                "durability": "exit", "input": {}}
        server = self.site.server()
        connection = http.client.HTTPConnection(server.host, server.port, timeout=30)
        try:
            connection.request("POST", f"/threads/{self.waited}/runs/wait", json.dumps(body),
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            if answer.status != 200:
                raise RuntimeError(f"POST: {answer.status} {answer.read()}")
            self.answered.append(answer.getheader("Content-Location").rpartition("/")[2])
            answer.read()
            self.site.progress.release()
        except (OSError, http.client.HTTPException):
            server.is_up.wait()
        finally:
            connection.close()

    def start_a_run(self):
        thread, graph = self.random.choice(list(self.threads.items()))
        ms = self.random.choice([10, 60, 150])
        body = {"assistant_id": graph, "if_not_exists": "create", "multitask_strategy": "enqueue",
                "durability": "sync", "stream_mode": ["tasks", "values"], "stream_resumable": True,
                "input": {"ms": ms} if graph == "slow" else {}}
        try:
            status, run = self.site.ask("POST", f"/threads/{thread}/runs", body)
        except (OSError, http.client.HTTPException):
            return
        if status != 200:
            raise RuntimeError(f"POST: {status} {run}")
        self.acknowledged.append((thread, run["run_id"]))
        self.site.progress.release()
        if self.random.random() < 0.5:
            self.follow(thread, run["run_id"])
        else:
            self.site.persist("GET", f"/threads/{thread}/runs/{run['run_id']}/join")

    def follow(self, thread, run):
        got = self.streams[thread, run] = []
        path = f"/threads/{thread}/runs/{run}"
        for _ in range(600):
            is_over = self.site.persist("GET", path)[1]["status"] in OVER
            is_whole = self.site.events(f"{path}/stream", str(got[-1][0]) if got else "-1", got.append)
            if is_over and is_whole:
                return
        raise RuntimeError(f"a stream without an end: {path}")


def wait_until_over(site, clients):
    for client in clients:
        for thread, run in client.acknowledged + [(client.waited, run) for run in client.answered]:
            site.persist("GET", f"/threads/{thread}/runs/{run}/join")


def faults_of_stream(site, thread, run, got):
    """A client that came back again and again has what a client gets that reads all at once."""
    whole = []
    site.events(f"/threads/{thread}/runs/{run}/stream", "-1", whole.append)
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


def faults_of_thread(site, thread, graph, acknowledged):
    """All runs are there and succeeded, and each counts once."""
    _, runs = site.persist("GET", f"/threads/{thread}/runs?limit=1000")
    listed = {one["run_id"]: one["status"] for one in runs}
    for run in acknowledged:
        if run not in listed:
            yield f"run {run} is lost"
    for run, status in listed.items():
        if status != "success":
            yield f"run {run} is {status}"
    _, state = site.persist("GET", f"/threads/{thread}/state")
    values = state["values"]
    if graph == "slow" and values["n"] != 2 * len(listed):
        yield f"thread {thread}: n is {values['n']} after {len(listed)} runs"
    if graph == "plain" and values["log"] != ["a", "b"] * len(listed):
        yield f"thread {thread}: {len(values['log'])} steps after {len(listed)} runs"


def faults_of_waits(site, thread, answered):
    """All runs that a client heard of are there and succeeded. One that it did not may be missing, and count."""
    _, runs = site.persist("GET", f"/threads/{thread}/runs?limit=1000")
    listed = {one["run_id"]: one["status"] for one in runs}
    for run in answered:
        if run not in listed:
            yield f"run {run} is lost, and its client heard of it"
    for run, status in listed.items():
        if status != "success":
            yield f"run {run} is {status}"
    log = site.persist("GET", f"/threads/{thread}/state")[1]["values"]["log"]
    if log != ["a", "b"] * (len(log) // 2) or len(log) < 2 * len(listed):
        yield f"thread {thread}: the steps {log} after {len(listed)} runs"


def kill(server):
    server.kill()
    server.start()


def try_troubles(servers, troubles, seed, trouble):
    """Starts the servers, brings trouble to one after the other under load, and returns what is wrong then."""
    rng = random.Random(seed)
    site = Site(servers)
    for server in servers:
        server.start()
    stops = threading.Event()
    clients = [Client(site, rng.random(), stops) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    is_stuck = False
    for _ in range(troubles):
        steps = rng.randint(1, PROGRESS_MAX)
        is_stuck = not all(site.progress.acquire(timeout=PROGRESS_WAIT_S) for _ in range(steps))
        if is_stuck or stops.is_set():
            break
        trouble(rng.choice(servers))
    stops.set()
    for client in clients:
        client.join()
    wait_until_over(site, clients)
    faults = [f"a client failed: {client.fault!r}" for client in clients if client.fault]
    if is_stuck:
        faults.append(f"no run and no event within {PROGRESS_WAIT_S} s")
    for client in clients:
        for thread, graph in client.threads.items():
            runs = [run for at, run in client.acknowledged if at == thread]
            if runs:
                faults += faults_of_thread(site, thread, graph, runs)
        if client.answered:
            faults += faults_of_waits(site, client.waited, client.answered)
        for (thread, run), got in client.streams.items():
            faults += faults_of_stream(site, thread, run, got)
    total = sum(len(client.acknowledged) for client in clients)
    followed = sum(len(client.streams) for client in clients)
    waits = sum(len(client.answered) for client in clients)
    print(f"{total} runs, {followed} of them followed, and {waits} waits")
    if total == 0 or followed == 0 or waits == 0:
        faults.append("no run was made, followed and waited for")
    for server in servers:
        server.process.terminate()
    for server in servers:
        if (status := server.process.wait(timeout=60)) != 0:
            faults.append(f"a server ended with status {status}")
    return faults


def report(servers, troubles, seed, trouble=kill):
    seed = int(seed) if seed is not None else random.randrange(1 << 30)
    print(f"seed {seed}, {troubles} times", flush=True)
    faults = try_troubles(servers, int(troubles), seed, trouble)
    for fault in faults[:50]:
        print(fault)
    return int(bool(faults))


def main(programs, source, kills=KILLS, seed=None):
    with tempfile.TemporaryDirectory() as data:
        return report([Server(programs, ["--data", data])], kills, seed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
