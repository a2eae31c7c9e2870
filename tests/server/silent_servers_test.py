"""Three servers on one Postgres. Under load, one of them is silent for longer than its lease, and comes back: it
is frozen, its host is cut off from the network, or it is frozen while the others wait for its transaction. The checks
are those of kill_test.py.

Arguments: the folder of the programs, the source folder, and perhaps the number of times and a seed. Without
network namespaces, servers are frozen alone.
"""
import functools
import itertools
import os
import pathlib
import signal
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "process"), str(HERE.parent / "faults")]

from hosts import HOSTS, Network, why_not  # noqa: E402
from kill_test import Server, report  # noqa: E402
from postgres_server import Server as PostgresServer  # noqa: E402
from programs import Followed, Stuck  # noqa: E402

SERVERS = "abc"
TIMES = 6
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


class HeldTransaction:
    """Stops whichever server changes documents next, within its transaction. `name`: that server's."""

    LOCK = """
BEGIN;
LOCK TABLE troupe.documents IN ACCESS EXCLUSIVE MODE;
CREATE FUNCTION pg_temp.held_server() RETURNS text LANGUAGE plpgsql AS $$
DECLARE name text;
BEGIN
  LOOP
    PERFORM pg_stat_clear_snapshot();
    SELECT application_name INTO name FROM pg_stat_activity JOIN pg_locks AS l USING (pid)
      WHERE NOT l.granted AND l.relation = 'troupe.documents'::regclass AND EXISTS (SELECT 1 FROM pg_locks AS s
        WHERE s.pid = l.pid AND s.granted AND s.relation = 'troupe.documents_state'::regclass
        AND s.mode = 'RowShareLock');
    IF FOUND THEN RETURN name; END IF;
    PERFORM pg_sleep(0.01);
  END LOOP;
END $$;
SELECT pg_temp.held_server();
"""

    def __init__(self, psql, conninfo):
        self.command = [psql, "-qtAX", "-v", "ON_ERROR_STOP=1", conninfo]

    def __enter__(self):
        self.psql = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.psql.stdin.write(self.LOCK)
        self.psql.stdin.flush()
        self.name = self.psql.stdout.readline().strip()
        return self

    def __exit__(self, *_):
        self.psql.stdin.close()  # psql ends, and its transaction
        self.psql.wait()
        self.psql.stdout.close()


class SilentServer(Server):
    """A server that others can miss. `link`: takes its host off the network, or back; None: it stays."""

    news = threading.Condition()  # of all of them

    def __init__(self, programs, records, others, host, network=None):
        super().__init__(programs, records, **({"host": f"{HOSTS[host]}.2"} if network else {}))
        self.name, self.others = host, others
        if network:
            self.command = ["ip", "netns", "exec", network.name(host), *self.command, "--no-auth"]
        self.link = network and functools.partial(network.set_link, host)

    def start(self):
        self.followed = Followed(self.command, self.news)
        self.process = self.followed.process
        if not self.followed.wait_until(lambda: self.followed.out):
            raise RuntimeError(f"the server ended: {self.followed.err}")
        self.is_up.set()

    def times(self, word):
        return sum(word in line for _, line in list(self.followed.err))

    def times_missed(self):
        return sum(one.times(MISSED) for one in self.others() if one is not self)

    def wait(self, condition, what):
        other = next(one for one in self.others() if one is not self)
        if not other.followed.wait_until(condition):
            raise Stuck(f"{what}: {[one.followed.err for one in self.others()]}")

    def freeze(self):
        self.followed.signal(signal.SIGSTOP)

    def thaw(self):
        self.followed.signal(signal.SIGCONT)

    def be_silent(self, begin, end):
        """Until another server took its runs over and it knows."""
        self.is_up.clear()
        missed, noticed = self.times_missed(), self.times(NOTICED)
        begin()
        try:
            self.wait(lambda: self.times_missed() > missed, f"no server missed {self.name}")
        finally:
            end()
        self.wait(lambda: self.times(NOTICED) > noticed, f"{self.name} did not notice")
        self.starts += 1
        self.is_up.set()


def try_silence(programs, times, seed, network):
    postgres = PostgresServer(*("*", "10.77.0.0/16") if network else ())
    servers = {}

    def freeze(server):
        server.be_silent(server.freeze, server.thaw)

    def cut(server):
        server.be_silent(lambda: server.link(False), lambda: server.link(True))

    def freeze_in_a_transaction(_):
        held = HeldTransaction(postgres.bin / "psql", postgres.conninfo)
        with held:
            server = servers[held.name]
            server.freeze()
        server.be_silent(server.freeze, server.thaw)

    kinds = itertools.cycle([freeze, cut, freeze_in_a_transaction] if network else [freeze, freeze_in_a_transaction])
    try:
        for name in SERVERS:
            at = f"host={HOSTS[name]}.1 dbname=postgres user=troupe" if network else postgres.conninfo
            records = ["--postgres", f"{at} application_name={name}"]
            servers[name] = SilentServer(programs, records, servers.values, name, network)
        return report(list(servers.values()), times, seed, lambda server: next(kinds)(server))
    finally:
        for server in servers.values():
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
