"""Three servers on one Postgres that are killed under load, as kill_test.py does with one.

Arguments: the folder of the programs, the source folder, and perhaps the number of kills and a seed.
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "process")]

from kill_test import Server, report  # noqa: E402
from postgres_server import Server as PostgresServer  # noqa: E402

SERVERS = 3
KILLS = 4


def main(programs, source, kills=KILLS, seed=None):
    postgres = PostgresServer()
    try:
        return report([Server(programs, ["--postgres", postgres.conninfo]) for _ in range(SERVERS)], kills, seed)
    finally:
        postgres.stop()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
