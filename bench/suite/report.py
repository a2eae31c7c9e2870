"""The table, the chart and the README's lines, made of results.json."""
import html
import math
import re
import textwrap

from lines import README, SECTIONS
from measure import ratio

BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
COLOURS = {"langgraph-py": "#3b6fb6", "fast-langgraph": "#2a9d8f", "langgraph-js": "#e09f3e", "neograph": "#b5446e",
           "baseline": "#777777"}
COMPLAINT_MAX = 160  # characters of a peer's failure on the page
NOT_COMPARED = """\
- NeoGraph runs through its Python binding: its nodes are functions of Python, as LangGraph's are.
- NeoGraph stores no checkpoint of the input, and its sends take a step more.
- Names of workloads without a line of a peer: the peer lacks what the workload needs, or its program has none.
- Models, tools and the network of a real agent cost far more than any engine. These lines show the engine alone."""


def figure(value, unit):
    if unit == "bytes":
        return f"{value / 1e6:.2f} MB" if value >= 1e6 else f"{value / 1e3:.1f} kB"
    if unit == "per_s":
        return f"{value:,.0f} /s"
    for size, name in ((1e6, "s"), (1e3, "ms")):
        if value >= size:
            return f"{value / size:.3g} {name}" if value < 1000 * size else f"{value / size:,.0f} {name}"
    return f"{value:.3g} µs"


def times(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def cell(row, program):
    got = row.get(program)
    return f"{figure(got['min'], got['unit'])} ({figure(got['median'], got['unit'])})" if got else ""


def about(results):
    m = results["machine"]
    return (f"{m['date']}; {m['cores']} cores of {m['processor']}, {m['memory_gib']} GiB, Linux {m['kernel']}, "
            f"load {m['load']} at the start; {m['compiler']}; rounds: {results['rounds']}")


def table(results):
    ours, *peers = results["programs"]
    out = ["| workload | " + " | ".join(results["versions"][p] for p in [ours, *peers]) + " | best rival | ratio |",
           "| --- " * (len(peers) + 4) + "|"]
    known = [name for names in SECTIONS.values() for name in names]
    sections = {**SECTIONS, "Others": [name for name in results["table"] if name not in known]}
    for section, names in sections.items():
        rows = [name for name in names if name in results["table"]]
        if rows:
            out.append(f"| **{section}** |" + " |" * (len(peers) + 3))
        for name in rows:
            row = results["table"][name]
            best = ratio(row, ours)
            out.append(f"| `{name}` | " + " | ".join(cell(row, p) for p in [ours, *peers])
                       + (f" | {best[0]} | {times(best[1])} |" if best else " | | |"))
    return "\n".join(out)


def markdown(results, chart):
    skipped = "".join(f"- {name} was skipped: {why}\n" for name, why in results["skipped"].items())
    failed = "".join(f"- {textwrap.shorten(line, COMPLAINT_MAX, placeholder=' …')}\n" for line in results["complaints"])
    return f"""# Benchmarks

Written by `tools/bench`; [bench/README.md](../bench/README.md) has the rules. {about(results)}.

A cell has the shortest time of all rounds, and in brackets the median. The ratio is the best rival's shortest time
over ours: above 1, troupe is faster, or needs fewer bytes.

![Times as a multiple of troupe's, on a logarithmic scale]({chart})

{table(results)}

Not compared, or not equal:

{NOT_COMPARED}
{skipped}{failed}"""


def readme_lines(results):
    ours, *peers = results["programs"]
    out = [f"Shortest times; {about(results)}. All lines: [docs/benchmarks.md](docs/benchmarks.md).", "",
           "| | " + " | ".join(results["versions"][p] for p in [ours, *peers]) + " | best rival ÷ troupe |",
           "| --- " * (len(peers) + 3) + "|"]
    for name, text in README.items():
        row = results["table"].get(name)
        if row and ours in row:
            cells = [figure(row[p]["min"], row[p]["unit"]) if p in row else "" for p in [ours, *peers]]
            best = ratio(row, ours)
            out.append(f"| {text} | " + " | ".join(cells) + f" | {times(best[1]) if best else ''} |")
    return "\n".join(out)


def with_lines(readme, results):
    """The README with new lines in its marked place. Errors: ValueError when the place is missing."""
    if BEGIN not in readme or END not in readme:
        raise ValueError(f"README.md lacks the lines {BEGIN} and {END}")
    before, after = readme.split(BEGIN)[0], readme.split(END, 1)[1]
    return f"{before}{BEGIN}\n{readme_lines(results)}\n{END}{after}"


# ---- charts ----

FONT = 'font-family="sans-serif" font-size="12"'


def text(x, y, what, anchor="start", colour="#222222"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" {FONT}>{html.escape(what)}</text>'


def document(width, height, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}">\n<rect width="100%" height="100%" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n")


def decades(low, high):
    return range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)


def chart(results):
    """Each rival's shortest time as a multiple of ours, a row a workload."""
    ours, *peers = results["programs"]
    rows = [(name, {p: row[p]["min"] / row[ours]["min"] for p in peers if p in row and row[p]["min"] > 0})
            for name, row in results["table"].items() if ours in row and row[ours]["min"] > 0]
    rows = [(name, multiples) for name, multiples in rows if multiples]
    every = [m for _, multiples in rows for m in multiples.values()] or [1]
    ticks = decades(min([*every, 1]), max([*every, 10]))
    left, top, step, wide = 280, 50, 18, 560
    high = top + step * len(rows)

    def x(multiple):
        return left + wide * (math.log10(multiple) - ticks[0]) / (ticks[-1] - ticks[0])
    parts = []
    for i, peer in enumerate(peers):
        colour = COLOURS.get(peer, "#777777")
        parts += [f'<circle cx="{20 + 150 * i}" cy="16" r="5" fill="{colour}"/>',
                  text(30 + 150 * i, 20, results["versions"][peer])]
    for power in ticks:
        at, colour = x(10.0**power), "#222222" if power == 0 else "#dddddd"
        parts += [f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{top - 8}" y2="{high}" stroke="{colour}"/>',
                  text(at, top - 12, "troupe" if power == 0 else f"{10.0**power:g} ×", "middle")]
    for i, (name, multiples) in enumerate(rows):
        y = top + step * i + step / 2
        parts.append(text(left - 10, y + 4, name, "end"))
        parts += [f'<circle cx="{x(m):.1f}" cy="{y:.1f}" r="5" fill="{COLOURS.get(p, "#777777")}"/>'
                  for p, m in multiples.items()]
    return document(left + wide + 40, high + 20, parts)


def curve_chart(curves):
    """Small charts of count against size, both logarithmic, one a curve."""
    wide, high, columns = 300, 200, 3
    parts = []
    for i, curve in enumerate(curves):
        ox, oy = 20 + (wide + 20) * (i % columns), 30 + (high + 50) * (i // columns)
        sizes, counts = curve["sizes"], [max(c, 1) for c in curve["counts"]]
        ticks_x, ticks_y = decades(sizes[0], sizes[-1]), decades(min(counts), max(counts) * 1.01)

        def place(size, count):
            return (ox + wide * (math.log10(size) - ticks_x[0]) / max(1, ticks_x[-1] - ticks_x[0]),
                    oy + high - high * (math.log10(count) - ticks_y[0]) / max(1, ticks_y[-1] - ticks_y[0]))
        points = [place(s, c) for s, c in zip(sizes, counts)]
        parts.append(f'<rect x="{ox}" y="{oy}" width="{wide}" height="{high}" fill="none" stroke="#dddddd"/>')
        parts.append(text(ox, oy - 8, f"{curve['name']} {curve['what']}: n^{curve['power']:.2f}",
                          colour="#222222" if curve["holds"] else "#c1121f"))
        parts.append('<polyline fill="none" stroke="#3b6fb6" points="'
                     + " ".join(f"{a:.1f},{b:.1f}" for a, b in points) + '"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="#3b6fb6"/>' for a, b in points]
        parts += [text(place(sizes[k], counts[k])[0], oy + high + 14, re.sub(r"\.0$", "", f"{sizes[k]:,}"), anchor)
                  for k, anchor in ((0, "start"), (-1, "end"))]
    rows = (len(curves) + columns - 1) // columns
    return document(20 + (wide + 20) * columns, 40 + (high + 50) * rows, parts)
