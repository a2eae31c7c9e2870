"""Fails when a wrong program does not say in the compiler's first error what to do about it.

Each case is a program, and a part of the sentence that the first error must hold. Arguments: the
compiler and its flags.
"""
import pathlib
import subprocess
import sys
import tempfile

NOT_KEPT = "specialise troupe::value_traits<T> for it, or give the struct a TROUPE_STATE declaration"
MANY = ", ".join(f"m{i}" for i in range(129))
MEMBERS = " ".join(f"int m{i} = 0;" for i in range(129))

WITH_MEMBER = """
{before}
struct st {{ {member}; TROUPE_STATE(st, member) }};
int main() {{ troupe::state_graph<st> g; }}
"""

CASES = {
    "a member that is an enum": (
        WITH_MEMBER.format(before="enum class mood { good };", member="mood member{}"), NOT_KEPT),
    "a member that needs a header": (
        WITH_MEMBER.format(before="", member="std::chrono::milliseconds member"),
        "troupe/value_conversions.hpp adds enums (TROUPE_ENUM)"),
    "a member that is a time point": (
        WITH_MEMBER.format(before="", member="std::chrono::system_clock::time_point member"), NOT_KEPT),
    "a member that is a struct without a declaration": (
        WITH_MEMBER.format(before="struct inner { int n; };", member="std::vector<inner> member"), NOT_KEPT),
    "a graph over a struct without a declaration": (
        "struct st { int n = 0; };\nint main() { troupe::state_graph<st> g; }",
        "the state of a graph is a struct with a TROUPE_STATE declaration"),
    "a reducer that is no function of two values": (
        "auto c = troupe::reduce(\"r\", [](int a) { return a; });\nint main() {}",
        "troupe::reduce wants a function of two values or of two C++ types"),
    "too many members": (
        f"struct st {{ {MEMBERS} TROUPE_STATE(st, {MANY}) }};\nint main() {{ st s; }}",
        "TROUPE_STATE takes at most 128 members"),
    "a value that does not fit the member": (
        "struct st { int n = 0; TROUPE_STATE(st, n) };\nauto u = troupe::set(&st::n, \"x\");\nint main() {}",
        "the value does not fit the member"),
}
FLAGS = {
    "C++17": ("-std=c++17", "troupe needs C++20"),
    "no exceptions": ("-fno-exceptions", "troupe needs exceptions"),
}


def first_error(folder, program, *flags):
    pathlib.Path(folder, "file.cpp").write_text(program)
    run = subprocess.run([*sys.argv[1:], "-std=c++20", *flags, "-fsyntax-only", "file.cpp"], cwd=folder,
                         capture_output=True, text=True)
    if run.returncode == 0:
        return "it compiles"
    return next((line for line in run.stderr.splitlines() if "error:" in line or "#error" in line), run.stderr)


bad = []
with tempfile.TemporaryDirectory() as folder:
    for name, (program, wanted) in CASES.items():
        found = first_error(folder, "#include <troupe/state_graph.hpp>\n\n#include <chrono>\n" + program)
        if wanted not in found:
            bad.append(f"{name}: the first error is: {found}")
    for name, (flag, wanted) in FLAGS.items():
        found = first_error(folder, "#include <troupe/troupe.hpp>\nint main() {}\n", flag)
        if wanted not in found:
            bad.append(f"{name}: the first error is: {found}")

print("\n".join(bad) or "compile errors: ok")
sys.exit(bool(bad))
