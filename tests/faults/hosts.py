"""Three hosts as network namespaces, each linked to a fourth one where the relay is all there is between
them: A is the home's, B and C are workers'.

Needs root (or the rights of it over network namespaces) and `ip`.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "process"))
from programs import run  # noqa: E402

HOSTS = {"a": "10.77.1", "b": "10.77.2", "c": "10.77.3"}  # .1: the relay's end, .2: the host's
WORKER_PORT, HOME_PORT = 4242, 4343
DIAL_PORT = {"b": 5002, "c": 5003}  # of the relay, for the home
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


class Process:
    """A program, in a namespace if there is one. `out` and `err`: its lines, each with when it came."""

    def __init__(self, namespace, arguments, **options):
        inside = ["ip", "netns", "exec", namespace] if namespace else []
        self.process = subprocess.Popen([*inside, *map(str, arguments)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        stdin=options.pop("stdin", subprocess.DEVNULL), **options)
        self.out, self.err = [], []
        self.news, self.open_streams = threading.Condition(), 2
        self.readers = [threading.Thread(target=self.follow, args=pair, daemon=True) for pair in
                        [(self.process.stdout, self.out), (self.process.stderr, self.err)]]
        for reader in self.readers:
            reader.start()

    def follow(self, stream, lines):
        for line in stream:
            with self.news:
                lines.append((time.monotonic(), line.rstrip("\n")))
                self.news.notify_all()
        with self.news:
            self.open_streams -= 1
            self.news.notify_all()

    def wait_until(self, found, seconds=DEADLINE_S):
        """What is found in its lines; None, or what is false, if the program ends before or in time."""
        with self.news:
            self.news.wait_for(lambda: found() or self.open_streams == 0, seconds)
            return found()

    def wait_for(self, word, seconds=DEADLINE_S):
        """(when, line) of the first line that begins with this word; None: as wait_until."""
        return self.wait_until(
            lambda: next((one for one in self.out if one[1].startswith(word)), None), seconds)

    def signal(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)

    def end(self):
        """Kills it, if it has not ended; gives how it did."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        code = self.process.wait()
        for reader in self.readers:
            reader.join()
        for stream in [self.process.stdout, self.process.stderr]:
            stream.close()
        return code


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
        self.prefix = f"troupe-{os.getpid()}-"
        self.relay = None
        self.middle = self.prefix + "x"
        ip("netns", "add", self.middle)
        try:
            for host in HOSTS:
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
        for host in [*HOSTS, "x"]:
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

    def start(self, host, arguments):
        process = Process(self.network.name(host), arguments)
        process.host = host
        self.running[host] = process
        if process.wait_for("ready") is None:
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
        listen = f"{HOSTS['a']}.2:{HOME_PORT}" if len(workers) < 2 else "-"
        return self.start("a", [self.program, "home", self.data, self.effects,
                                self.certificates.of("a"), listen,
                                "yes" if groups_here else "no", json.dumps(order), *workers])

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
