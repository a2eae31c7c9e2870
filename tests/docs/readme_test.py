"""The README's first program is the example that is built and run, every further piece of C++ stands
in an example, and every example is listed.
"""
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[2])
readme = (source / "README.md").read_text()
mains = sorted(source.glob("examples/*/main.cpp"))
sources = sorted(source.glob("examples/*/*.cpp"))


def squeezed(text):
    return "".join(text.split())


first, *more = re.findall(r"```cpp\n(.*?)```", readme, re.S)
built = (source / "examples/hello/main.cpp").read_text()
built = built[built.index("#include"):]
if first != built:
    sys.exit("README.md shows another program than examples/hello/main.cpp")

for block in more:
    pieces = [squeezed(piece) for piece in block.split("\n\n")]
    if not any(all(piece in squeezed(code.read_text()) for piece in pieces) for code in sources):
        sys.exit("README.md shows code that is in no example:\n" + block)

for main in mains:
    if f"| [{main.parent.name}](examples/{main.parent.name}" not in readme:
        sys.exit(f"README.md does not list the example {main.parent.name}")
print("README.md: ok")
