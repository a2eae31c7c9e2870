"""Each link of a document leads to a file of the repository, and to a heading that is there. Each file that
a document names in backquotes is there, too. README.md has at most 200 lines, ARCHITECTURE.md 250, and the
README of a library folder 30.
"""
import fnmatch
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[2]).resolve()
skipped = {"build", ".git", "node_modules"}
lines_max = {"README.md": 200, "ARCHITECTURE.md": 250}
for folder in ("graph", "channels", "tasks", "engine", "persistence", "actors", "coordinator", "http", "agents",
               "cluster", "testing"):
    lines_max[f"{folder}/README.md"] = 30

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?)\s*$", re.M)
SPAN = re.compile(r"`([^`\s]+)`")
LIBRARIES = [name.partition("/")[0] for name in lines_max if "/" in name]

# All paths of the repository, with and without their endings, and their last parts.
paths = set()
for path in source.rglob("*"):
    parts = path.relative_to(source).parts
    if not skipped & set(parts):
        whole = "/".join(parts)
        paths |= {whole, whole.rpartition(".")[0] or whole, parts[-1], path.stem}


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


def missing_files(page):
    """Files and folders of the repository that the page names and that are not there: names with the ending
    of a source, paths below a library folder, and the first column of a README's table of files."""
    name = page.relative_to(source).as_posix()
    library = name.partition("/")[0] if name in lines_max and "/" in name else None
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.S | re.M)
    in_table = False
    for line in text.splitlines():
        in_table = line.startswith("|") and (in_table or line.startswith("| file"))
        first = line.split("|")[1] if in_table else ""
        for span in SPAN.findall(line):
            named = re.fullmatch(r"[\w./-]+\.(?:hpp|cpp|py|md)", span)
            below = re.fullmatch(rf"(?:{'|'.join(LIBRARIES)})/[\w./*-]+", span)
            listed = library and f"`{span}`" in first
            if (named or below or listed) and not re.search("NAME|FOLDER", span):
                wanted = f"{library}/*{span}" if listed else span.rstrip("/")
                if not any(fnmatch.fnmatchcase(p, wanted) or fnmatch.fnmatchcase(p, "*/" + wanted) for p in paths):
                    if not (page.parent / span).exists():
                        yield f"{name}: there is no {span}"


pages = [p for p in sorted(source.rglob("*.md")) if not skipped & set(p.relative_to(source).parts)]
bad = [complaint for page in pages for complaint in complaints(page)]
bad += [complaint for page in pages if page.name != "CHANGELOG.md" for complaint in missing_files(page)]
for name in lines_max:
    if not (source / name).exists():
        bad.append(f"{name} is missing")
if bad:
    sys.exit("\n".join(bad))
print(f"{len(pages)} documents: ok")
