"""Two servers on one Postgres, behind an address that gives each connection to the next of them."""
import itertools
import pathlib
import socket
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "process"), str(HERE.parent / "server")]

from postgres_server import Server as PostgresServer  # noqa: E402
from recordings_test import serve  # noqa: E402


def carry(source, to):
    """Bytes, until one side has closed."""
    try:
        while data := source.recv(65536):
            to.sendall(data)
    except OSError:
        pass
    for end in (source, to):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class TwoServers:
    """Shape: `url` for clients; stop() returns the worst exit status of the servers."""

    def __init__(self, programs, graphs):
        self.postgres = PostgresServer()
        started = [serve(programs, ["--postgres", self.postgres.conninfo], graphs) for _ in range(2)]
        self.servers = [server for server, _ in started]
        self.next_port = itertools.cycle([int(url.rsplit(":", 1)[1]) for _, url in started])
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", next(self.next_port)))
            for ends in ((client, server), (server, client)):
                threading.Thread(target=carry, args=ends, daemon=True).start()

    def stop(self):
        self.listener.close()
        for server in self.servers:
            server.terminate()
        statuses = [server.wait(timeout=60) for server in self.servers]
        self.postgres.stop()
        return max(statuses, key=abs)
