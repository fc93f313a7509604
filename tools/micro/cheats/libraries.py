"""Every transform of a library as somebody's own code, which is honest.

honest_libraries.py says in the environment which library, and where its adapter
is.
"""

import importlib.util
import os
import pathlib
import sys

_ADAPTERS = pathlib.Path(os.environ["HONEST_ADAPTERS"])
_LIBRARY = os.environ["HONEST_LIBRARY"]
sys.path.insert(0, str(_ADAPTERS))

import params  # noqa: E402
from testing import cells  # noqa: E402


def _adapter():
    path = _ADAPTERS / "libraries" / f"{_LIBRARY}.py"
    spec = importlib.util.spec_from_file_location(f"adapter_{_LIBRARY}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class _Step:
    def __init__(self, adapter, cell):
        self._adapter = adapter
        self._layout = cells.LAYOUTS.get(_LIBRARY, "HWC")
        self._operation = adapter.make(cell.prepare())

    def set_random_seed(self, seed):
        params.generator.seed(seed)
        self._operation.seed(seed)

    def __call__(self, image):
        if self._layout == "CHW":
            image = image.transpose(2, 0, 1).copy()
            if _LIBRARY == "kornia":
                image = image.astype("float32") / 255
        item = self._adapter.input_of(image, self._layout)
        if fresh := self._operation.fresh:
            item = fresh(item)
        array, layout = self._adapter.array_of(self._operation.call(item))
        if layout == "CHW":
            return array.transpose(1, 2, 0)
        return array


def _transforms():
    adapter = _adapter()
    configs = pathlib.Path(os.environ["HONEST_CONFIGS"])
    profile = os.environ["HONEST_PROFILE"]
    for wanted in ("paper", "training"):
        for cell in cells.cells_of(
            configs, "image-rgb", _LIBRARY, profile, wanted=wanted
        ):
            # What mixes a batch has no image to return.
            if not cell.unsupported and not cell.batch_transform:
                yield cell.transform, _Step(adapter, cell)


transforms = dict(_transforms())
