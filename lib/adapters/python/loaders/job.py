"""A child whose prepare has an object `loader`: epochs, and single outputs."""

import contextlib
import importlib
import sys

import numpy as np
from devices import nvml
from loaders import processes, spec
from loaders.epoch import run_epoch
from loaders.source import open_source
from outputs import Writer

# Whether this process has run an operation of a library: its threads would be
# missing in workers that are forked from now on.
_computed = False


def import_modules(library, name):
    """The modules with the classes Loader and Recipe for a library."""
    loader = getattr(library, "LOADER", "torch_dataloader")
    recipe = getattr(library, "RECIPE", name)
    return (
        importlib.import_module(f"loaders.{loader}"),
        importlib.import_module(f"loaders.recipes.{recipe}"),
    )


class _Peaks:
    """Peak memory of torch's allocator since reset(), on a GPU. DALI has
    neither torch nor a way to tell: memory that the driver has given to this
    process."""

    def __init__(self, device):
        self._cuda = self._memory = None
        if device != "cuda":
            return
        # Libraries on top of torch have imported it. That it could be imported
        # says nothing: its allocator knows nothing of what others take.
        torch = sys.modules.get("torch")
        if torch is not None:
            self._cuda = torch.cuda
            return
        # Without NVML rows say nothing of memory.
        with contextlib.suppress(OSError, AttributeError):
            self._memory = nvml.Memory()

    def reset(self):
        if self._cuda is not None:
            self._cuda.reset_peak_memory_stats()

    def read(self):
        if self._cuda is not None:
            return {
                "gpu_allocated_bytes": self._cuda.max_memory_allocated(),
                "gpu_reserved_bytes": self._cuda.max_memory_reserved(),
            }
        if self._memory is None:
            return {}
        # Its pools are not told apart: all of it is both.
        taken = self._memory.taken()
        return {"gpu_allocated_bytes": taken, "gpu_reserved_bytes": taken}


class LoaderJob:
    def __init__(self, library, command, fd):
        self._spec = spec.parse(command["loader"], command.get("device", "cpu"))
        self._peaks = _Peaks(self._spec.device)
        if hasattr(library, "make_loader"):
            self._loader = library.make_loader(self._spec, command, fd)
            return
        loaders, recipes = import_modules(library, command["library"])
        self._recipe = recipes.Recipe(library, command, self._spec)
        self._source = open_source(self._spec.source, fd, self._recipe)
        self._loader = loaders.Loader(
            self._source, self._recipe, self._spec, command
        )

    def epoch(self, command):
        global _computed
        if command["count"] < 1 or command.get("first", 0) < 0:
            raise ValueError(f"count {command['count']}, first below 0")
        if self._loader.forks and _computed:
            raise RuntimeError(
                "this process has computed without workers; workers forked from"
                " it may hang, so ask another child"
            )
        _computed = _computed or not self._loader.forks
        self._peaks.reset()
        reply = run_epoch(self._loader, command) | self._peaks.read()
        # DALI does not report its waits.
        return reply | getattr(self._loader, "sync", dict)()

    def outputs(self, command, fd):
        """Writes outputs to fd and describes them."""
        indexes = [i % len(self._source) for i in command["indexes"]]
        self._source.preload(sorted(set(indexes)))

        def run():
            written = Writer(fd)
            for output in self._loader.outputs(indexes, command.get("seed", 0)):
                array = np.asarray(output)
                written.add(array, "TCHW" if array.ndim == 4 else "CHW")
            return written.described

        # Once threads run here, a fork of them may hang; before, nothing may
        # start them, or the workers hang.
        # A device cannot be used by a fork of a process that uses it.
        here = _computed or self._spec.device != "cpu"
        return run() if here else processes.run_apart(run)
