"""A server of Postgres for tests that use real processes."""
import os
import pathlib
import pwd
import shutil
import signal
import tempfile

from programs import Program, run


class Server:
    """A server on a Unix socket in a folder of its own, and for a network of other hosts, if one is given."""

    def __init__(self, address="", network=""):
        programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        if not programs:
            raise AssertionError("no Postgres server: tools/setup installs it")
        self.bin = programs[-1].parent
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-postgres-"))
        self.user = {}
        if os.geteuid() == 0:  # Postgres does not run as root
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self.user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        made = run([self.bin / "initdb", "--pgdata", self.folder / "data", "--username", "troupe",
                    "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync",
                    "--no-instructions"], cwd="/", **self.user)
        if made.returncode != 0:
            raise AssertionError(made.stdout + made.stderr)
        if network:
            with open(self.folder / "data" / "pg_hba.conf", "a", encoding="utf-8") as rules:
                rules.write(f"host all all {network} trust\n")
        self.program = Program([self.bin / "postgres", "-D", self.folder / "data", "-k", self.folder,
                                "-c", f"listen_addresses={address}", "-c", "fsync=off", "-c",
                                "shared_buffers=16MB"], cwd="/", **self.user)
        if not self.program.wait_until(lambda: any("ready to accept" in line
                                                   for line in self.program.err.lines)):
            raise AssertionError(self.program.err.lines)
        self.conninfo = f"host={self.folder} dbname=postgres user=troupe"

    def stop(self):
        self.program.signal(signal.SIGQUIT)
        self.program.end()
        self.program.__exit__()
        shutil.rmtree(self.folder, ignore_errors=True)
