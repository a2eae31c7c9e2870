"""The reports of tools/bench: ratios, the README's lines, the chart, refused arguments.

Arguments: the folder of the programs, the source folder.
"""
import pathlib
import subprocess
import sys
import xml.etree.ElementTree

source = pathlib.Path(sys.argv[2])
sys.path.insert(0, str(source / "bench/suite"))
import lines  # noqa: E402
import measure  # noqa: E402
import report  # noqa: E402


def check(what, wanted, got):
    if wanted != got:
        sys.exit(f"{what}: wanted {wanted}, got {got}")


def line(name, least, middle, variant=None, unit="us"):
    return {"workload": name, "unit": unit, "min": least, "median": middle, "runs": 3,
            **({"variant": variant} if variant else {})}


# The fastest call path counts, a weaker guarantee never.
chosen = measure.best_path([line("w", 9, 10, "sync"), line("w", 5, 7, "async"), line("w", 6, 9, "async"),
                            line("w", 1, 1, "syncNORMAL")])
check("call path", {"min": 5, "median": 8.0, "samples": 6, "unit": "us"}, chosen)
check("only weaker guarantees", None, measure.best_path([line("w", 1, 1, "syncNORMAL")]))

table = measure.figures({"troupe": [line("chain3_invoke", 2, 3), line("startup_peak_rss", 1e6, 2e6, unit="bytes")],
                         "langgraph-py": [line("chain3_invoke", 400, 500)],
                         "neograph": [line("chain3_invoke", 40, 50)]}, ["chain3_invoke", "startup_peak_rss", "absent"])
check("rows", ["chain3_invoke", "startup_peak_rss"], list(table))
check("ratio", ("neograph", 20.0), measure.ratio(table["chain3_invoke"], "troupe"))
check("ratio without a rival", None, measure.ratio(table["startup_peak_rss"], "troupe"))

results = {"machine": measure.machine(), "rounds": 1, "programs": ["troupe", "langgraph-py", "neograph"],
           "versions": {"troupe": "troupe 1", "langgraph-py": "langgraph-py 2", "neograph": "neograph 3"},
           "skipped": {"langgraph-js": "npm is missing"}, "complaints": [], "table": table}
page = report.markdown(results, "results.svg")
for wanted in ("| `chain3_invoke` | 2 µs (3 µs) | 400 µs (500 µs) | 40 µs (50 µs) | neograph | 20.0 |",
               "| `startup_peak_rss` | 1.00 MB (2.00 MB) |  |  | | |", "- langgraph-js was skipped: npm is missing"):
    if wanted not in page:
        sys.exit(f"the page lacks: {wanted}\n{page}")
xml.etree.ElementTree.fromstring(report.chart(results))
xml.etree.ElementTree.fromstring(report.curve_chart([
    {"name": "a<b", "what": "bytes", "sizes": [10, 100], "counts": [0, 5], "power": 1.0, "holds": False}]))

filled = report.with_lines(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n", results)
check("the rest of the README", True, filled.startswith("before\n") and filled.endswith("after\n"))
check("old lines", False, "old" in filled)
check("filled twice", filled, report.with_lines(filled, results))
try:
    report.with_lines("nothing", results)
    sys.exit("a README without a marked place is accepted")
except ValueError:
    pass
if report.BEGIN not in (source / "README.md").read_text():
    sys.exit("README.md lacks its marked place")
if unknown := set(lines.README) - set(lines.COMPARED):
    sys.exit(f"not compared: {unknown}")


def run(*arguments):
    return subprocess.run([sys.executable, source / "tools/bench", *arguments], capture_output=True, text=True)


for arguments, code, wanted in ((["--help"], 0, "--baseline"), (["--rounds", "0"], 2, "at least 1"),
                                (["--filter", "("], 2, "--filter"),
                                (["--program", "/bin/true", "--filter", "absent"], 1, "no compared workload")):
    done = run(*arguments)
    check(f"exit status of {arguments}", code, done.returncode)
    if wanted not in done.stdout + done.stderr:
        sys.exit(f"{arguments}: its output lacks {wanted}: {done.stdout}{done.stderr}")
