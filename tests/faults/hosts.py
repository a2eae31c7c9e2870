"""Hosts as network namespaces, each linked to one more where the relay is all there is between them: A is
the home's, B, C and D are workers'.

Needs root (or the rights of it over network namespaces) and `ip`.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "process"))
from programs import Followed, run  # noqa: E402

# .1: the relay's end, .2: the host's
HOSTS = {"a": "10.77.1", "b": "10.77.2", "c": "10.77.3", "d": "10.77.4"}
WORKER_PORT, HOME_PORT = 4242, 4343
DIAL_PORT = {"b": 5002, "c": 5003, "d": 5004}  # of the relay, for the home
JOIN_PORT = 6000  # of the relay, for workers
DEADLINE_S = 120


def ip(*arguments):
    done = run(["ip", *arguments])
    if done.returncode != 0:
        raise RuntimeError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


def why_not():
    """Why there can be no namespaces here; empty: there can."""
    if shutil.which("ip") is None:
        return "there is no `ip` (Debian: iproute2)"
    name = f"troupe-try-{os.getpid()}"
    try:
        ip("netns", "add", name)
    except RuntimeError as e:
        return str(e)
    try:
        ip("-n", name, "link", "add", "u", "type", "veth", "peer", "name", "v")
    except RuntimeError as e:
        return str(e)
    finally:
        ip("netns", "del", name)
    return ""


class Process(Followed):
    """A program, in a namespace if there is one. `codes`: how it may end."""

    def __init__(self, namespace, arguments, **options):
        inside = ["ip", "netns", "exec", namespace] if namespace else []
        super().__init__([*inside, *arguments], **options)
        self.codes = (0, -signal.SIGKILL)


class Certificates:
    """A CA and a certificate for each host."""

    def __init__(self, programs, folder):
        self.folder = folder / "ca"
        troupe = programs / "troupe"
        self.order([troupe, "cluster", "init-ca", "--dir", self.folder])
        for name, network in HOSTS.items():
            self.order([troupe, "cluster", "issue-cert", name, "--dir", self.folder,
                        "--host", f"{network}.2"])

    @staticmethod
    def order(arguments):
        done = run(arguments)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)

    def of(self, host):
        return self.folder / host


class Network:
    """The namespaces and the relay. `dialers`: who connects, of each worker: home or worker."""

    def __init__(self, dialers, seed):
        self.dialers = dialers
        self.hosts = ["a", *dialers]
        self.prefix = f"troupe-{os.getpid()}-"
        self.relay = None
        self.middle = self.prefix + "x"
        ip("netns", "add", self.middle)
        try:
            for host in self.hosts:
                self.add_host(host)
            ip("-n", self.middle, "link", "set", "lo", "up")
            self.start_relay(seed)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def name(self, host):
        return self.prefix + host

    def add_host(self, host):
        ip("netns", "add", self.name(host))
        ip("-n", self.middle, "link", "add", f"x{host}", "type", "veth", "peer", "name", "net",
           "netns", self.name(host))
        ip("-n", self.middle, "addr", "add", f"{HOSTS[host]}.1/24", "dev", f"x{host}")
        ip("-n", self.name(host), "addr", "add", f"{HOSTS[host]}.2/24", "dev", "net")
        for namespace, device in [(self.middle, f"x{host}"), (self.name(host), "net"),
                                  (self.name(host), "lo")]:
            ip("-n", namespace, "link", "set", device, "up")

    def set_link(self, host, up):
        """The wire itself: packets are lost, TCP is left to itself."""
        ip("-n", self.middle, "link", "set", f"x{host}", "up" if up else "down")

    def start_relay(self, seed):
        links = []
        for worker, dialer in self.dialers.items():
            if dialer == "home":
                near = f"{HOSTS['a']}.1:{DIAL_PORT[worker]}"
                far = f"{HOSTS[worker]}.2:{WORKER_PORT}"
            else:
                near = f"{HOSTS[worker]}.1:{JOIN_PORT}"
                far = f"{HOSTS['a']}.2:{HOME_PORT}"
            links.append(f"{worker}={near}={far}={dialer}")
        self.relay = Process(self.middle, [sys.executable, "-B",
                                           pathlib.Path(__file__).with_name("relay.py"), seed,
                                           *links], stdin=subprocess.PIPE)
        if self.relay.wait_for("ready") is None:
            self.relay.end()
            raise RuntimeError(f"the relay does not start: {self.relay.err}")

    def order(self, link, **what):
        """Tells the relay; gives what the link has carried so far."""
        answers = len(self.relay.out)
        self.relay.process.stdin.write(json.dumps({"link": link, **what}) + "\n")
        self.relay.process.stdin.flush()
        if not self.relay.wait_until(lambda: len(self.relay.out) > answers):
            raise RuntimeError(f"the relay is gone: {self.relay.err}")
        return json.loads(self.relay.out[answers][1])

    def close(self):
        if self.relay:
            self.relay.process.stdin.close()
            self.relay.end()
        for host in [*self.hosts, "x"]:
            subprocess.run(["ip", "netns", "del", self.name(host)], stderr=subprocess.DEVNULL)


class Cluster:
    """The home and its workers, on a network."""

    def __init__(self, programs, network, certificates, folder, capacity=64):
        self.program = programs / "troupe-network"
        self.network, self.certificates, self.folder = network, certificates, folder
        self.capacity = capacity
        self.data, self.effects = folder / "data", folder / "effects"
        self.running, self.ended = {}, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for host in list(self.running):
            self.kill(host)

    def start(self, host, arguments, ready="ready", **options):
        """`ready`: how the line begins that reports it; empty: it is not waited for."""
        process = Process(self.network.name(host), arguments, **options)
        process.host = host
        self.running[host] = process
        if ready and process.wait_for(ready) is None:
            raise RuntimeError(f"{host} does not start: {process.err}")
        return process

    def start_worker(self, host):
        dials = self.network.dialers[host] == "worker"
        return self.start(host, [self.program, "worker", self.effects, host,
                                 self.certificates.of(host), self.capacity,
                                 "-" if dials else f"{HOSTS[host]}.2:{WORKER_PORT}",
                                 f"{HOSTS[host]}.1:{JOIN_PORT}" if dials else "-"])

    def start_home(self, groups_here, order):
        workers = [f"{HOSTS['a']}.1:{DIAL_PORT[w]}" for w, dialer in self.network.dialers.items()
                   if dialer == "home"]
        listen = f"{HOSTS['a']}.2:{HOME_PORT}" if len(workers) < len(self.network.dialers) else "-"
        return self.start("a", [self.program, "home", self.data, self.effects,
                                self.certificates.of("a"), listen,
                                "yes" if groups_here else "no", json.dumps(order), *workers])

    @staticmethod
    def steps_of(home):
        """(when, number, id) of every step that it reported as durable."""
        words = [line.split(" ") for _, line in list(home.out) if line.startswith("step ")]
        return [(int(ns) / 1e9, int(number), id_) for _, number, id_, ns in words]

    @staticmethod
    def finished(home, seconds):
        """When its run had finished; None: not in time."""
        line = home.wait_for("finished", seconds)
        return line and line[0]

    def effects_of(self, prefix=""):
        """The notes of one run's bodies. The `prefix` of its keys is left out."""
        if not self.effects.exists():
            return ""
        begins = prefix + "r"
        words = [line.split(" ", 2) for line in self.effects.read_text().splitlines()]
        return "\n".join(f"{w[0]} {w[1].removeprefix(prefix)} {w[2]}" for w in words
                         if len(w) == 3 and w[1].startswith(begins))

    def kill(self, host):
        process = self.running.pop(host)
        process.code = process.end()
        self.ended.append(process)
        return process

    def signal(self, host, number):
        self.running[host].signal(number)

    def processes(self, host):
        return [p for p in [*self.ended, *self.running.values()] if p.host == host]

    def show(self):
        done = run([self.program, "show", self.data])
        if done.returncode != 0:
            raise RuntimeError(f"the store can't be read: {done.stderr}")
        return json.loads(done.stdout)
