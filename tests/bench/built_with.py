"""The compiler and the build type of a build folder, to which counts and names of symbols belong."""
import re
import subprocess


def built_with(programs):
    """As the cache of the folder above `programs` has them."""
    cache = (programs.parent / "CMakeCache.txt").read_text()
    values = dict(re.findall(r"^(CMAKE_\w+):\w+=(.*)$", cache, re.M))
    version = subprocess.run([values["CMAKE_CXX_COMPILER"], "--version"], capture_output=True, text=True).stdout
    return {"compiler": version.splitlines()[0], "build": values.get("CMAKE_BUILD_TYPE", "")}
