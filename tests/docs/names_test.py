"""Each name of the API in a document for users exists: every `a::b`, `troupe::a` and `.b = …` in its code
spans is a word of a public header.
"""
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[2]).resolve()
headers = "".join(p.read_text() for p in (source / "include").rglob("*.hpp"))
words = set(re.findall(r"\w+", headers))
pages = [source / "README.md", *sorted((source / "docs/guide").glob("*.md"))]
pages += [source / f"docs/{name}.md" for name in ("features", "migrating-from-langgraph", "DIFFERENCES", "operations")]
others = {"caf", "std"}

SPAN = re.compile(r"`([^`\n]+)`")
NAME = re.compile(r"(\w+)::(\w+)|[{(, ]\.(\w+) = ")


def spans(page):
    """Code spans of a page, without its programs and without the columns of Python."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.S | re.M)
    return SPAN.findall(text)


bad = []
for page in pages:
    for span in spans(page):
        for scope, name, member in NAME.findall(span):
            if scope in others:
                continue
            for word in filter(None, (scope, name, member)):
                if word != "troupe" and word not in words:
                    bad.append(f"{page.relative_to(source)}: `{span}`: the headers have no `{word}`")
if bad:
    sys.exit("\n".join(bad))
print(f"{len(pages)} documents: ok")
