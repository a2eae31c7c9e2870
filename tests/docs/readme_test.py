"""The README's program is the example that is built and run."""
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[2])
shown = re.search(r"```cpp\n(.*?)```", (source / "README.md").read_text(), re.S).group(1)
built = (source / "examples/hello/main.cpp").read_text()
built = built[built.index("#include"):]
if shown != built:
    sys.exit("README.md shows another program than examples/hello/main.cpp")
print("README.md: ok")
