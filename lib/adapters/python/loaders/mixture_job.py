"""A child whose prepare has an object `mixture`: batches, and the end."""

import importlib

from loaders import mixture_epoch, mixture_spec


def import_module(library):
    """The module with the class Mixture for a library."""
    return importlib.import_module(f"loaders.{library.MIXTURE}")


class MixtureJob:
    def __init__(self, library, command, fd):
        if command.get("device", "cpu") != "cpu":
            raise ValueError(f"no device {command['device']!r} in this worker")
        if not hasattr(library, "MIXTURE"):
            raise ValueError(f"{command.get('library')} mixes no data sets")
        self._spec = mixture_spec.parse(command["mixture"])
        sets = mixture_spec.read_sets(fd)
        self._mixture = import_module(library).Mixture(sets, self._spec)

    def epoch(self, command):
        if command["count"] < 1:
            raise ValueError(f"count {command['count']}")
        # What an epoch before left open is not part of this one.
        self._mixture.stop()
        return mixture_epoch.run_batches(
            self._mixture, command, self._spec.batch_size
        )

    def stop(self):
        return mixture_epoch.stop(self._mixture)
