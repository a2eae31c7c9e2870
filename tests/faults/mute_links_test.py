"""Links that finish TLS with a certificate of the cluster and then stay silent, more of them than a worker may
have descriptors: it closes the oldest, logs it, and serves its home all the time.

Arguments: the folder of the programs, and the source folder (or --help). Ends with 77, and a printed reason,
where this process itself may not have as many descriptors.
"""
import argparse
import json
import os
import pathlib
import re
import resource
import select
import shutil
import socket
import ssl
import sys
import tempfile
import threading
import time

from hosts import Certificates, Process

SKIPPED = 77
LINKS, DESCRIPTORS = 1100, 1024
OWN_DESCRIPTORS = 64  # of this process
OTHERS_MAX = 100  # descriptors that a worker takes for handshakes and for what waits to be closed
LATE_S = 20  # on a busy machine
LOSS = "for its lease of"
HALF_HEADER = bytes([1]) + bytes(15)  # of a first message; every tenth link begins one
LONG_MESSAGE = bytes([1, 0, 0, 0]) + (1 << 30).to_bytes(4, "big") + bytes(24)
GARBAGE = {"bytes": bytes(range(256)), "http": b"GET / HTTP/1.1\r\nHost: worker\r\n\r\n",
           "a long message": LONG_MESSAGE}


def limit(source, name):
    """A number of limits.hpp."""
    text = (source / "include" / "troupe" / "limits.hpp").read_text()
    return int(re.search(rf"\b{name}\{{? ?=? ?([\d']+)", text)[1].replace("'", ""))


class Peer:
    """Somebody with a certificate of the cluster."""

    def __init__(self, certificates, port):
        self.port = port
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.check_hostname = False
        own = str(certificates.of("c"))
        self.context.load_cert_chain(own + ".pem", own + ".key")
        self.context.load_verify_locations(certificates.folder / "ca.pem")

    def link(self, begins=b""):
        """A connection on which TLS is finished, and these bytes are sent."""
        out = self.context.wrap_socket(socket.create_connection(("127.0.0.1", self.port), LATE_S))
        out.sendall(begins)
        return out


class MuteLinks:
    """Silent links, each with when it was dialled, and when the worker closed it."""

    def __init__(self):
        self.sockets, self.dialled, self.closed = [], [], {}
        self.numbers = {}  # by descriptor
        self.news, self.over = threading.Condition(), False
        self.ends = select.epoll()
        self.reader = threading.Thread(target=self.follow, daemon=True)
        self.reader.start()

    def add(self, peer, begins):
        self.dialled.append(time.monotonic())
        one = peer.link(begins)
        self.numbers[one.fileno()] = len(self.sockets)
        self.sockets.append(one)
        self.ends.register(one.fileno(), select.EPOLLRDHUP)

    def follow(self):
        while not self.over:
            for fd, _ in self.ends.poll(1):
                with self.news:
                    self.closed[self.numbers[fd]] = time.monotonic()
                    self.ends.unregister(fd)
                    self.news.notify_all()

    def wait_for_ends(self, count, seconds):
        with self.news:
            return self.news.wait_for(lambda: len(self.closed) >= count, seconds)

    def lived(self, number):
        return self.closed[number] - self.dialled[number]

    def close(self):
        self.over = True
        self.reader.join()
        for one in self.sockets:
            one.close()


def updates(home):
    return [when for when, line in list(home.out) if line.startswith('{"type":"updates"')]


def wait_for_more(home, count=20):
    wanted = len(updates(home)) + count
    assert home.wait_until(lambda: len(updates(home)) >= wanted), f"the home gets nothing: {home.err[-3:]}"


def wait_for_line(worker, words):
    assert worker.wait_until(lambda: any(words in line for _, line in worker.err), LATE_S), \
        f"no `{words}` in the worker's log: {worker.err[-5:]}"


def try_mute(worker, home, peer, source):
    most_mute = limit(source, "cluster_mute_links_max")
    quiet_s = limit(source, "link_quiet_max") / 1000
    links, descriptors = MuteLinks(), 0
    folder = f"/proc/{worker.process.pid}/fd"
    usual = len(os.listdir(folder))
    begin = time.monotonic()
    try:
        for number in range(LINKS):
            links.add(peer, HALF_HEADER if number % 10 == 0 else b"")
            if number % 20 == 0:
                descriptors = max(descriptors, len(os.listdir(folder)))
        took = time.monotonic() - begin
        assert descriptors <= usual + most_mute + OTHERS_MAX, f"{descriptors} descriptors, usual {usual}"
        wait_for_more(home)  # while as many as there may be are open
        assert links.wait_for_ends(LINKS - most_mute, LATE_S), \
            f"{len(links.closed)} links were closed, {most_mute} may stay"
        assert links.wait_for_ends(LINKS, quiet_s + LATE_S), "mute links stay open"
        early = [n for n in range(LINKS) if links.lived(n) < quiet_s]
        assert all(n < LINKS - most_mute for n in early), f"not the oldest were closed: {early[-5:]}"
        wait_for_line(worker, f"cluster_mute_links_max ({most_mute})")
        wait_for_line(worker, "were silent for link_quiet_max")
        wait_for_more(home)
        times = [when for when in updates(home) if when >= begin]
        gap = max(b - a for a, b in zip(times, times[1:]))
        assert not any(LOSS in line for _, line in home.err), home.err[-3:]
        print(f"mute links: {LINKS} in {took:.1f} s, {len(early)} closed early, at most {descriptors} "
              f"descriptors (usual: {usual}), longest time without a step of the home {gap:.2f} s")
    finally:
        links.close()


def try_garbage(worker, home, peer):
    """Garbage within TLS: the link ends, and the log has a line."""
    for what, data in GARBAGE.items():
        with peer.link(data) as one:
            try:
                while one.recv(1 << 12):
                    pass  # its own greeting
            except ConnectionError:
                pass  # reset
            except TimeoutError:
                raise AssertionError(f"a link stays open after {what}") from None
    wait_for_line(worker, "the peer sent something that is not a message of troupe")
    wait_for_more(home)


def try_all(programs, source, folder):
    certificates = Certificates(programs, folder)
    troupe, graph = programs / "troupe", f"{programs.parent / 'lib' / 'libnetwork_graphs.so'}:network"

    def tls(host):
        at = str(certificates.of(host))
        return ["--tls-cert", at + ".pem", "--tls-key", at + ".key", "--tls-ca", folder / "ca" / "ca.pem"]

    worker = Process(None, [troupe, "worker", graph, "--name", "b", "--listen", "127.0.0.1:0", "--json",
                            *tls("b")],
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                           (DESCRIPTORS, DESCRIPTORS)))
    home = None
    try:
        ready = worker.wait_for('{"type":"worker"')
        assert ready, worker.err
        port = json.loads(ready[1])["port"]
        order = json.dumps({"rounds": 1_000_000, "tasks": 1, "body_ms": 10})
        home = Process(None, [troupe, "run", graph, "--input", order, "--json", "--stream", "updates",
                              "--recursion-limit", 10_000_000, "--worker", f"127.0.0.1:{port}",
                              *tls("a")])
        wait_for_more(home)
        peer = Peer(certificates, port)
        try_garbage(worker, home, peer)
        try_mute(worker, home, peer, source)
    finally:
        for one in [home, worker]:
            if one:
                one.end()


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("bin", type=pathlib.Path)
    options.add_argument("source", type=pathlib.Path, nargs="?",
                         default=pathlib.Path(__file__).resolve().parents[2])
    options = options.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < LINKS + OWN_DESCRIPTORS:
        print(f"skipped: a process may have {most} descriptors here, {LINKS + OWN_DESCRIPTORS} are needed")
        sys.exit(SKIPPED)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-mute-"))
    try:
        try_all(options.bin.resolve(), options.source.resolve(), folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
