"""Each link of a document leads to a file of the repository, and to a heading that is there. README.md
has at most 200 lines, ARCHITECTURE.md 250, and the README of a library folder 30.
"""
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[2]).resolve()
skipped = {"build", ".git", "node_modules"}
lines_max = {"README.md": 200, "ARCHITECTURE.md": 250}
for folder in ("graph", "channels", "tasks", "engine", "persistence", "actors", "coordinator", "http", "agents",
               "testing"):
    lines_max[f"{folder}/README.md"] = 30

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?)\s*$", re.M)


def prose(page):
    """The page without code, where brackets mean something else."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.S | re.M)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(page):
    """Anchors of headings, by GitHub's rule."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.S | re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in HEADING.findall(text)}


def complaints(page):
    name = page.relative_to(source).as_posix()
    lines = len(page.read_text().splitlines())
    if lines > lines_max.get(name, lines):
        yield f"{name}: {lines} lines; it has at most {lines_max[name]}"
    for link in LINK.findall(prose(page)):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            yield f"{name}: {link} is missing"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield f"{name}: {link}: there is no such heading"


pages = [p for p in sorted(source.rglob("*.md")) if not skipped & set(p.relative_to(source).parts)]
bad = [complaint for page in pages for complaint in complaints(page)]
for name in lines_max:
    if not (source / name).exists():
        bad.append(f"{name} is missing")
if bad:
    sys.exit("\n".join(bad))
print(f"{len(pages)} documents: ok")
