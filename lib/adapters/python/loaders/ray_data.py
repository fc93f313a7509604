"""Ray Data: tasks in the worker processes of a Ray on this machine read, decode
and transform files; batches come in the order in which tasks end. Ray starts
with the first epoch and stays, untimed."""

import functools
import json
import os
import pathlib
import random
import sys
import tempfile
import zlib

import numpy as np
import ray
import server
from loaders import processes, spec
from loaders.collate import seed_all
from loaders.epoch import Batch, Stages
from loaders.recipes import torchvision
from loaders.source import ItemError, decoded

_LIBRARIES = pathlib.Path(__file__).resolve().parent.parent / "libraries"


class Loader:
    forks = False

    def __init__(self, source, recipe, parsed, command):
        spec.refuse_settings(parsed, "Ray Data")
        if parsed.device != "cpu" or parsed.copies_to_device or parsed.ablation:
            raise ValueError("Ray Data is measured whole, on the CPU")
        if not source.decodes or parsed.source != "files":
            raise ValueError("Ray Data reads files")
        if parsed.batch_transform:
            raise ValueError("batches of Ray Data are not mixed")
        self._source = source
        self._recipe = recipe
        self._spec = parsed
        self._command = json.dumps(command)
        self._items = {source.path(i): i for i in range(len(source))}
        self._folder = self._data = None

    def set_epoch(self, seed, first, count, epoch=0):
        parsed = self._spec
        if not ray.is_initialized():
            self._start_ray()
        indexes = [i % len(self._source) for i in range(first, first + count)]
        order = None
        if parsed.shuffle:
            # Ranks agree on what each gets; the order of its files is Ray's.
            random.Random(f"{seed} {epoch}").shuffle(indexes)
            order = ray.data.FileShuffleConfig(seed=(seed + epoch) % 2**32)
        self._data = ray.data.read_binary_files(
            [
                self._source.path(i)
                for i in indexes[parsed.rank :: parsed.ranks]
            ],
            include_paths=True,
            shuffle=order,
        ).map_batches(_Work(self._command, seed), batch_size=parsed.batch_size)

    def start(self):
        return self._batches()

    def stop(self):
        """Nothing: an iterator that is dropped ends its tasks."""

    def cpu_s(self):
        return processes.cpu_s(processes.descendants())

    def stages(self):
        """Nothing: Ray counts tasks, not their parts."""
        return []

    def outputs(self, indexes, seed):
        seed_all(self._recipe, seed)
        for index in indexes:
            yield self._recipe.call(self._source.load(index, Stages(1)))

    def _start_ray(self):
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        # Packages of two environments, and ours.
        os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
        # As high as the workers of other loaders; 15 by default.
        os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112
        # Not the default, /tmp/ray, whose name can be foreseen.
        self._folder = tempfile.TemporaryDirectory(prefix="ray-")
        ray.init(
            num_cpus=max(1, self._spec.workers),
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
            _temp_dir=self._folder.name,
        )
        ray.data.DataContext.get_current().enable_progress_bars = False

    def _batches(self):
        for batch in self._data.iter_batches(
            batch_size=self._spec.batch_size,
            prefetch_batches=self._spec.prefetch,
            drop_last=self._spec.drop_last,
        ):
            images, errors = batch["image"], batch["error"]
            failed = [self._named(error) for error in errors if error]
            if failed:
                if self._spec.on_error == "fail":
                    first = failed[0]
                    raise ItemError(
                        f"item {first['item']}, {first['path']}:"
                        f" {first['reason']}"
                    )
                images = images[[not error for error in errors]]
            yield Batch(len(images), images.nbytes, failed, images)

    def _named(self, error):
        fault = json.loads(error)
        return fault | {"item": self._items[fault["path"]]}


class _Work:
    """What a task does with some files."""

    def __init__(self, command, seed):
        self._command = command
        self._seed = seed

    def __call__(self, files):
        recipe, parsed = _recipe_of(self._command)
        paths = files["path"]
        seed_all(recipe, self._seed ^ zlib.crc32(paths[0].encode()))
        shape = (len(paths), parsed.channels, parsed.crop, parsed.crop)
        images, errors = np.zeros(shape, np.float32), [""] * len(paths)
        for i, (path, data) in enumerate(
            zip(paths, files["bytes"], strict=True)
        ):
            try:
                images[i] = recipe.call(decoded(recipe, data, path))
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
                errors[i] = json.dumps({"path": path, "reason": reason})
        return {"image": images, "error": errors}


@functools.cache
def _recipe_of(text):
    """The recipe and the LoaderSpec of a prepare command, in a task's
    process."""
    command = json.loads(text)
    library = server.load_library(command["library"], [_LIBRARIES])
    parsed = spec.parse(command["loader"], "cpu")
    return torchvision.Recipe(library, command, parsed), parsed
