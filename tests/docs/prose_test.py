"""tools/prose reports the patterns in added comments, strings and documents, and nothing else.

Runs the tool in a temporary git repository. Arguments: the folder of the programs, the source folder.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

source = pathlib.Path(sys.argv[2])
if shutil.which("git") is None:
    print("skipped: git is missing")
    sys.exit(77)

scratch = tempfile.TemporaryDirectory()
root = pathlib.Path(scratch.name)


def git(*arguments):
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments], cwd=root, check=True,
                   capture_output=True)


def write(name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def prose(*arguments):
    done = subprocess.run([sys.executable, "-B", source / "tools/prose", *arguments], cwd=root, capture_output=True,
                          text=True)
    return done.returncode, done.stdout.splitlines()


def check(what, wanted, got):
    if wanted != got:
        sys.exit(f"{what}: wanted {wanted}, got {got}")


def places(arguments=()):
    """The findings, as `file:line: pattern`."""
    code, lines = prose(*arguments)
    check("exit status with " + repr(lines), 1 if lines else 0, code)
    return [line.rsplit(": ", 1)[0] for line in lines]


git("init", "-q")
write("old.hpp", "// Who asks is told.\nint a;\n")
write("CHANGELOG.md", "- What was changed.\n")
git("add", "-A")
git("commit", "-q", "-m", "old")

check("old lines", [], places())

write("old.hpp", "// Who asks is told.\nint a; // a number\n")
write("CHANGELOG.md", "- What was changed.\n- A plain line.\n")
check("plain lines beside old ones", [], places())

# Comments, over lines too.
write("new.cpp", """\
// Who holds the lock.
int a; // Of a run.
// The lock is held. What comes
// right behind it is no
// problem.
/// Errors: What fails.
///  - Whoever waits.
/* Of all. */
int b; // what is kept; of a run
""")
check("comments", ["new.cpp:1: Who", "new.cpp:2: Of", "new.cpp:3: What", "new.cpp:4: is no", "new.cpp:4: right behind",
                   "new.cpp:6: What", "new.cpp:7: Whoever", "new.cpp:8: Of"], places())

# String literals: sentences, but neither questions nor words.
write("new.cpp", """\
auto a = "What is lost.";
auto b = "What is the time?";
auto c = "Of";
auto d = "the list "
         "is none";
auto e = R"(first line
it is no address)";
auto f = 1'000'000; // "is no" is quoted, and `is none` is code
auto g = "it is no longer there";
""")
check("strings", ["new.cpp:1: What", "new.cpp:5: is none", "new.cpp:7: is no"], places())

# Documents, scripts, citations.
write("new.cpp", "")
write("docs/guide.md", """\
# What it does

A list:

- Of the runs, one.
- the lines from behind that
| Who | does |

```
# What a program prints
```
See spec/channels.md for it.
""")
write("tools/step", "#!/bin/sh\n# What it does.\necho 'x # y' # is none\n")
write("tests/a.py", 'def f():\n    """Who calls it."""\n    return 1  # what it is\n')
write("notes.txt", "What is not read.\n")
check("documents", ["docs/guide.md:1: What", "docs/guide.md:5: Of", "docs/guide.md:6: behind that",
                    "docs/guide.md:6: from behind", "docs/guide.md:7: Who", "docs/guide.md:12: spec/channels.md",
                    "tests/a.py:2: Who", "tools/step:2: What", "tools/step:3: is none"], places())

# Recordings and quotes.
for name in ("docs/guide.md", "tools/step", "tests/a.py"):
    (root / name).unlink()
write("tests/conformance/cases/a.md", "What it says.\n")
write("tests/agents/wire/a.cpp", "// What it says.\n")
check("recordings", [], places())

# The base: an argument, the merge base with origin/main, the last commit.
write("new.hpp", "// Of one.\n")
git("add", "-A")
git("commit", "-q", "-m", "new")
check("the last commit", [], places())
check("an argument", ["new.hpp:1: Of"], places(["HEAD~1"]))
git("update-ref", "refs/remotes/origin/main", "HEAD~1")
check("the merge base", ["new.hpp:1: Of"], places())
check("a wrong argument", 2, prose("nothing")[0])

# Each finding has its remedy.
check("the remedy", True, all(line.count(": ") >= 2 for line in prose()[1]))
print("tools/prose: ok")
