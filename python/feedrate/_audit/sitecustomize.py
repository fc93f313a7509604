"""Python imports this at its start where `feedrate audit` runs a training: this
folder is on its PYTHONPATH. Waits for torch, and runs the sitecustomize that
would have been imported without it."""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _start():
    if os.environ.get("FEEDRATE_AUDIT"):
        # `import feedrate.audit` works without an installed feedrate.
        sys.path.append(os.path.dirname(os.path.dirname(_HERE)))
        import _feedrate_hook

        _feedrate_hook.wait_for_torch()
    others = [p for p in sys.path if os.path.abspath(p or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


_start()
