#!/usr/bin/env python3
"""The agent layer against tools that others made: fakellm and llmock as models' providers, the
official MCP client and the inspector on `troupe mcp`, server-everything and server-filesystem
under our MCP client, schemathesis on the document of `troupe serve`.

    tests/others/run.py [BIN [SOURCE]] [unittest's arguments]

BIN is the folder of the programs (build/release/bin). The tools are installed, in the versions of
tests/others/installed.py, into BIN/../others, once. Without the registries, python >= 3.10, or node,
it prints why and ends with 77: CTest counts that as skipped. TROUPE_OTHERS=required fails instead.
"""
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "process")]
sys.dont_write_bytecode = True

import installed  # noqa: E402


def main():
    folder = HERE.parent.parent / "build" / "release" / "bin"
    arguments = sys.argv[1:]
    if arguments and pathlib.Path(arguments[0]).is_dir():
        folder = pathlib.Path(arguments.pop(0))
    if arguments and pathlib.Path(arguments[0]).is_dir():
        arguments.pop(0)  # the source folder, which CTest gives to every script
    try:
        installed.prepare(folder.resolve())
    except installed.Missing as why:
        print(f"skipped: {why}", flush=True)
        return 1 if os.environ.get("TROUPE_OTHERS") == "required" else 77
    names = ["providers", "mcp_server", "mcp_client", "reviews", "openapi"]
    loader = unittest.TestLoader()
    wanted = [a for a in arguments if not a.startswith("-")]
    if wanted:
        suite = loader.loadTestsFromNames(wanted)
    else:
        suite = unittest.TestSuite(loader.loadTestsFromName(n) for n in names)
    verbose = 2 if "-v" in arguments else 1
    return 0 if unittest.TextTestRunner(verbosity=verbose).run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
