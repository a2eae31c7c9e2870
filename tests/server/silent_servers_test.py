"""Three servers on one Postgres. Under load, one of them is silent for longer than its lease, and comes back: it
is frozen, or its host is cut off from the network. The checks are those of kill_test.py.

Arguments: the folder of the programs, the source folder, and perhaps the number of times and a seed. Without
network namespaces, servers are frozen alone.
"""
import functools
import os
import pathlib
import signal
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "process"), str(HERE.parent / "faults")]

from hosts import HOSTS, Network, why_not  # noqa: E402
from kill_test import Server, report  # noqa: E402
from postgres_server import Server as PostgresServer  # noqa: E402
from programs import Followed, Stuck  # noqa: E402

SERVERS = "abc"
TIMES = 4
MISSED = "it shows no sign of life"
NOTICED = "other servers took its runs over"
INSIDE = "TROUPE_TEST_INSIDE"


class Links(Network):
    """A host for each server. The middle has the database and the clients; no relay is between."""

    def __init__(self):
        super().__init__(dict.fromkeys(SERVERS[1:]), seed=0)

    def start_relay(self, seed):
        pass


class LinksFromInside(Links):
    """Those that another process has made."""

    def __init__(self, prefix):
        self.prefix, self.middle = prefix, prefix + "x"


class SilentServer(Server):
    """A server that others can miss. `link`: takes its host off the network, or back; None: it stays."""

    news = threading.Condition()  # of all of them

    def __init__(self, programs, records, others, network=None, host=None):
        super().__init__(programs, records, **({"host": f"{HOSTS[host]}.2"} if network else {}))
        self.others = others
        if network:
            self.command = ["ip", "netns", "exec", network.name(host), *self.command, "--no-auth"]
        self.link = network and functools.partial(network.set_link, host)
        self.is_cut_next = False

    def start(self):
        self.followed = Followed(self.command, self.news)
        self.process = self.followed.process
        if not self.followed.wait_until(lambda: self.followed.out):
            raise RuntimeError(f"the server ended: {self.followed.err}")
        self.is_up.set()

    def times(self, word):
        return sum(word in line for _, line in list(self.followed.err))

    def times_of_all(self, word):
        return sum(one.times(word) for one in self.others())

    def wait(self, condition, what):
        other = next(one for one in self.others() if one is not self)
        if not other.followed.wait_until(condition):
            raise Stuck(f"{what}: {[one.followed.err for one in self.others()]}")

    def be_silent(self):
        """Until a server's runs were taken over, and all servers whose runs were know it. A server that is frozen
        within a transaction stops the others, too, until the database ends its session: they may miss each other."""
        self.is_up.clear()
        missed = self.times_of_all(MISSED)
        is_cut, self.is_cut_next = self.link and self.is_cut_next, not self.is_cut_next
        self.link(False) if is_cut else self.followed.signal(signal.SIGSTOP)
        try:
            self.wait(lambda: self.times_of_all(MISSED) > missed, "no server missed the silent one")
        finally:
            self.link(True) if is_cut else self.followed.signal(signal.SIGCONT)
        self.wait(lambda: self.times_of_all(NOTICED) >= self.times_of_all(MISSED),
                  "a server whose runs were taken over does not know it")
        self.starts += 1
        self.is_up.set()


def try_silence(programs, times, seed, network):
    postgres = PostgresServer(*("*", "10.77.0.0/16") if network else ())
    servers = []
    try:
        for name in SERVERS:
            at = f"host={HOSTS[name]}.1 dbname=postgres user=troupe" if network else postgres.conninfo
            servers.append(SilentServer(programs, ["--postgres", at], lambda: servers, network, name))
        return report(servers, times, seed, SilentServer.be_silent)
    finally:
        for server in servers:
            if hasattr(server, "followed"):
                server.followed.end()
        postgres.stop()


def main(programs, source, times=TIMES, seed=None):
    if INSIDE in os.environ:  # the network of the middle
        return try_silence(programs, times, seed, LinksFromInside(os.environ[INSIDE]))
    if reason := why_not():
        print(f"servers are frozen, but not cut off: no network namespaces: {reason}")
        return try_silence(programs, times, seed, None)
    with Links() as network:
        inside = {**os.environ, INSIDE: network.prefix}
        return os.spawnvpe(os.P_WAIT, "ip", ["ip", "netns", "exec", network.middle, sys.executable, "-B",
                                             *sys.argv], inside)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
