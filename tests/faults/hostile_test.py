"""Strangers at a worker's port: what they send costs little memory, and who belongs there hardly
notices.

Arguments: the folder of the programs, the source folder, and how many connections (or --help). The
time of healthy steps is judged with --strict only: on a busy machine it means little.
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import socket
import ssl
import sys
import tempfile
import threading
import time

from hosts import Certificates, Process

MIB = 1 << 20
GROWTH_MAX, EACH_MAX = 64 * MIB, 64 << 10
SLOWER_MAX = 2
HOLD_S, A_SECOND = 2, 200
WINDOW_S = 5

GARBAGE = os.urandom(512)
BASP_BOMB = bytes([0, 0, 0, 0]) + (1 << 30).to_bytes(4, "big") + bytes(24)  # a header, and its length
RECORD_BOMB = b"\x16\x03\x01\xff\xff\x01\x00\xff\xfb" + bytes(200)  # a record, a hello: both too long
SENT = {"silent": b"", "garbage": GARBAGE, "basp": BASP_BOMB, "record": RECORD_BOMB,
        "http": b"GET / HTTP/1.1\r\n", "one byte": b"\x16"}


class Program(Process):
    def __init__(self, arguments):
        super().__init__(None, arguments)

    def line(self, word, seconds=60):
        found = self.wait_for(word, seconds)
        assert found, f"no `{word}` of {self.process.args}: {self.err[-3:]}"
        return found[1]

    def memory(self, what="VmRSS"):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(what):
                return int(line.split()[1]) << 10
        raise AssertionError("the process is gone")

    def step_times(self):
        """When steps were durable, in seconds."""
        return [int(line.split()[3]) / 1e9 for _, line in list(self.out) if line.startswith("step ")]


def without_certificate(port):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), 5) as plain:
        try:
            with context.wrap_socket(plain) as one:
                one.sendall(BASP_BOMB)
                assert not one.recv(1), "somebody without a certificate was answered"
        except (ssl.SSLError, OSError):
            pass


def assault(port, count):
    """Opens so many connections, `A_SECOND` of them a second, and leaves them open for a while."""
    held, threads = [], []
    kinds = [*SENT.items(), ("no certificate", None)]
    begin = time.monotonic()
    for number in range(count):
        time.sleep(max(0, begin + number / A_SECOND - time.monotonic()))
        _, data = kinds[number % len(kinds)]
        if data is None:
            threads.append(threading.Thread(target=without_certificate, args=(port,)))
            threads[-1].start()
            continue
        one = socket.create_connection(("127.0.0.1", port), 5)
        try:
            one.sendall(data)
        except OSError:
            pass
        held.append(one)
    time.sleep(HOLD_S)
    for thread in threads:
        thread.join()
    for one in held:
        one.close()
    return begin, time.monotonic()


def p99(times, begin, end):
    inside = [t for t in times if begin <= t <= end]
    gaps = sorted(b - a for a, b in zip(inside, inside[1:]))
    assert gaps, "the healthy run stands still"
    return gaps[int(len(gaps) * 0.99)]


def try_all(programs, folder, options):
    certificates = Certificates(programs, folder)
    network = programs / "troupe-network"
    worker = Program([network, "worker", folder / "effects", "b", certificates.of("b"), 16,
                      "127.0.0.1:0", "-"])
    port = int(worker.line("ready").split()[1])
    order = json.dumps({"rounds": 1_000_000, "tasks": 1})
    home = Program([network, "home", folder / "data", folder / "effects", certificates.of("a"), "-",
                    "no", order, f"127.0.0.1:{port}"])
    try:
        home.line("step 20")
        begin = time.monotonic()
        time.sleep(WINDOW_S if options.strict else 1)
        calm = begin, time.monotonic()
        before = worker.memory()
        stormy = assault(port, options.connections)
        growth = worker.memory("VmHWM") - before
        home.line(f"step {len(home.step_times()) + 20}")
        times = home.step_times()
        usual, then = p99(times, *calm), p99(times, *stormy)
        print(f"hostile: {options.connections} connections: memory grew by {growth / MIB:.1f} MiB at "
              f"most, {growth / options.connections / 1024:.1f} KiB each; a step took {usual * 1e3:.1f}"
              f" ms before and {then * 1e3:.1f} ms then (p99), load {os.getloadavg()[0]:.1f}")
        assert growth <= GROWTH_MAX, "too much memory"
        # Few connections have to share what the allocator takes at once.
        assert growth <= max(EACH_MAX * options.connections, 16 * MIB), "too much memory each"
        assert not options.strict or then <= SLOWER_MAX * usual, "who belongs there is slowed down"
        last = len(times)
        home.line(f"step {last + 20}")  # and the run continues
    finally:
        home.end()
        worker.end()


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("bin", type=pathlib.Path)
    options.add_argument("source", type=pathlib.Path, nargs="?")
    options.add_argument("--connections", type=int, default=100)
    options.add_argument("--strict", action="store_true")
    options = options.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-hostile-"))
    try:
        try_all(options.bin.resolve(), folder, options)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
