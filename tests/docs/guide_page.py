"""A page of docs/guide: its one program, and the output that the page shows.

usage: guide_page.py PAGE PROGRAM      writes the page's program to the file PROGRAM
"""
import pathlib
import re
import sys


def block(page, language):
    """The text of the page's only block of a language, as "cpp" or "text"."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.S | re.M)
    if len(found) != 1:
        sys.exit(f"{page}: {len(found)} blocks of {language}; a page has one")
    return found[0]


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).write_text(block(pathlib.Path(sys.argv[1]), "cpp"))
