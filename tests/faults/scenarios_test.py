"""Half a minute of scenarios.py, with fixed seeds.

Arguments: the folder of the programs, and the source folder. Ends with 77 where there can be no network
namespaces.
"""
import sys

import scenarios

SAMPLE = ["kill_home_early", "drain_short"]


def main():
    sys.argv += ["--patient", *(word for name in SAMPLE for word in ("--only", name))]
    scenarios.main()


if __name__ == "__main__":
    main()
