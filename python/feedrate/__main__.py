"""The command `feedrate` of a wheel, and `python -m feedrate`.

Becomes the launcher of the bundle that the package contains.
"""

import importlib.util
import os
import sys


def main():
    # Found without importing the package, which takes longer than to start.
    package = importlib.util.find_spec("feedrate")
    bundle = os.path.join(package.submodule_search_locations[0], "bundle")
    launcher = os.path.join(bundle, "bin", "feedrate")
    # Makes environments (feedrate envs), which outlive a virtual environment.
    base = getattr(sys, "_base_executable", None) or sys.executable
    os.environ.setdefault("FEEDRATE_PYTHON", os.path.realpath(base))
    # Commands that programs print are what people can type.
    folders = os.environ.get("PATH", "").split(os.pathsep)
    if sys.argv[0] in (os.path.join(folder, "feedrate") for folder in folders):
        os.environ["FEEDRATE_COMMAND"] = "feedrate"
    os.execv("/bin/sh", ["/bin/sh", launcher, *sys.argv[1:]])


if __name__ == "__main__":
    main()
