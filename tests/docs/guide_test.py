"""Each page of docs/guide has one program, at most 80 lines, and shows what the program prints.
Skipped where the programs are not built: under sanitizers.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import guide_page

programs = pathlib.Path(sys.argv[1]).parent / "guide"
source = pathlib.Path(sys.argv[2])
lines_max = 80

if not programs.is_dir():
    print("docs/guide: skipped, its programs are built in release only")
    sys.exit(77)

pages = [p for p in sorted((source / "docs/guide").glob("*.md")) if p.name != "README.md"]
index = (source / "docs/guide/README.md").read_text()
for page in pages:
    if (lines := len(page.read_text().splitlines())) > lines_max:
        sys.exit(f"{page.name}: {lines} lines; a page has at most {lines_max}")
    if f"({page.name})" not in index:
        sys.exit(f"docs/guide/README.md does not list {page.name}")
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run([programs / page.stem], capture_output=True, text=True, timeout=60,
                             env={**os.environ, "TMPDIR": folder})
    if ran.returncode != 0:
        sys.exit(f"{page.name}: its program ends with {ran.returncode}\n{ran.stdout}{ran.stderr}")
    if ran.stdout != guide_page.block(page, "text"):
        sys.exit(f"{page.name}: its program prints something else:\n{ran.stdout}")
print(f"docs/guide: {len(pages)} pages ok")
