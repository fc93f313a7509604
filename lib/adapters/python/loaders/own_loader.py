"""A loader of the user: any iterable of batches, or a function that makes one.

Of torch's DataLoader, stages are visible: the dataset's transform counts as
`augment`, the rest of its items as `decode`, and the collate function as
`collate`. Parts can be left out where they are visible.
"""

import base64
import contextlib
import copy
import glob
import inspect
import os
import pickle
import random
import sys

import clips
import numpy as np
import worker_files
from loaders import processes
from loaders.epoch import Batch, Stages
from loaders.source import read_list


def accepted(function, names):
    """Those of the names that are parameters of the function."""
    if not callable(function):
        return []
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return []
    return [name for name in names if name in parameters]


def call_with(function, offered):
    """Calls the function with those of the offered arguments that it takes."""
    names = accepted(function, offered)
    with contextlib.suppress(TypeError, ValueError):
        for name, parameter in inspect.signature(function).parameters.items():
            if (
                parameter.default is parameter.empty
                and parameter.kind
                not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
                and name not in names
            ):
                raise LookupError(
                    f"it needs an argument {name!r}; feedrate passes"
                    f" {', '.join(offered)}"
                )
    return function(**{name: offered[name] for name in names})


def leaves(batch):
    """The arrays of a batch, in their order."""
    if hasattr(batch, "shape") and hasattr(batch, "dtype"):
        yield batch
    elif isinstance(batch, dict):
        for one in batch.values():
            yield from leaves(one)
    elif isinstance(batch, (list, tuple)):
        for one in batch:
            yield from leaves(one)


def _has_picture(value):
    """Whether it is an image of another kind, such as PIL's, or holds one."""
    if isinstance(value, (list, tuple)):
        return any(map(_has_picture, value))
    return hasattr(value, "__array_interface__") or hasattr(value, "__array__")


def items_of(batch):
    """How many images or clips are in a batch: of an array with four or five
    dimensions the first; a list of images has one each."""
    arrays = list(leaves(batch))
    if not arrays:
        if isinstance(batch, (list, tuple)) and all(map(_has_picture, batch)):
            return len(batch)
        raise TypeError(f"a batch is a {type(batch).__name__} without arrays")
    if all(len(array.shape) < 2 for array in arrays):
        raise TypeError("a batch has numbers, but no images")
    shape = tuple(arrays[0].shape)
    if len(shape) == 3:
        return sum(len(one.shape) == 3 for one in arrays)
    return int(shape[0]) if shape else len(arrays)


def bytes_of(batch):
    return sum(int(getattr(array, "nbytes", 0)) for array in leaves(batch))


def pictures_of(batch):
    """The images or clips of a batch as one array, for audits."""
    arrays = [np.asarray(one) for one in leaves(batch)]
    many = [one for one in arrays if one.ndim in (4, 5)]
    return many[0] if many else np.stack([a for a in arrays if a.ndim == 3])


def descendants(pid):
    """Processes below this one that still run."""
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        with contextlib.suppress(OSError), open(path) as file:
            for child in map(int, file.read().split()):
                found += [child, *descendants(child)]
    return found


class Loader:
    def __init__(self, factory, spec, command, fd):
        self._factory = factory
        self._spec = spec
        self.forks = spec.workers > 0
        self._stages = Stages(spec.workers)
        frames = clips.frames_of(command) and [
            frames for _, frames in clips.read_list(fd)
        ]
        self._offered = {
            "dataset": spec.settings.get("dataset", ""),
            "files": read_list(fd),
            **({"frames": frames} if frames else {}),
            "workers": spec.workers,
            "num_workers": spec.workers,
            "batch_size": spec.batch_size,
            "seed": 0,
            "transform": command["native_op"],
            "crop": spec.crop,
            "shuffle": spec.shuffle,
            "drop_last": spec.drop_last,
            "prefetch": spec.prefetch,
            "prefetch_factor": spec.prefetch if spec.workers else None,
            "persistent_workers": spec.persistent,
            "rank": spec.rank,
            "world_size": spec.ranks,
            "epoch": 0,
            **{k: v for k, v in spec.settings.items() if k != "dataset"},
        }
        self._loader = None
        self._iterator = None
        self._left = 0
        self._is_audit = False
        self._epochs = 0

    def set_epoch(self, seed, first, count, epoch=None):
        """An audit names the epoch, seeds once, and sees how an epoch ends."""
        self._left = count
        self._is_audit = epoch is not None
        if self._is_audit:
            self._epochs = epoch
        self._stages.clear()
        if self._loader is None or not self._is_audit:
            random.seed(seed)
            np.random.seed(seed % 2**32)
            if torch := sys.modules.get("torch"):
                torch.manual_seed(seed)
        if self._loader is None:
            self._offered.update(seed=seed, epoch=self._epochs)
            self._loader = self._make()
        for one in (self._loader, getattr(self._loader, "sampler", None)):
            if hasattr(one, "set_epoch"):
                one.set_epoch(self._epochs)
        self._epochs += 1

    def state(self):
        """None if the loader cannot save where it is."""
        if not hasattr(self._loader, "state_dict"):
            return None
        return base64.b64encode(
            pickle.dumps(self._loader.state_dict())
        ).decode()

    def resume(self, state):
        self._loader.load_state_dict(pickle.loads(base64.b64decode(state)))

    def start(self):
        self._iterator = iter(self._loader)
        return self._batches()

    def stop(self):
        iterator, self._iterator = self._iterator, None
        if iterator is self._loader:
            # It can be read once; the next epoch gets another.
            self._loader = None
        if getattr(self._loader, "persistent_workers", False):
            return
        for name in ("_shutdown_workers", "close"):
            if hasattr(iterator, name):
                getattr(iterator, name)()
                return

    def outputs(self, indexes, seed):
        raise ValueError("a subject has no outputs for single items")

    def cpu_s(self):
        return processes.cpu_s(descendants(os.getpid()))

    def stages(self):
        return self._stages.report()

    def _make(self):
        if callable(self._factory) and not hasattr(self._factory, "__iter__"):
            loader = call_with(self._factory, self._offered)
        else:
            loader = self._factory
        if not hasattr(loader, "__iter__"):
            raise TypeError(f"a {type(loader).__name__} is not an iterable")
        self._check_workers(loader)
        self._check_settings()
        if self._spec.ranks > 1 and not accepted(self._factory, ["rank"]):
            raise ValueError("it takes no argument `rank`")
        torch = sys.modules.get("torch")
        if torch and isinstance(loader, torch.utils.data.DataLoader):
            Watched(loader, self._stages, self._spec.ablation)
        elif self._spec.ablation:
            raise ValueError("only parts of a DataLoader can be left out")
        return loader

    def _check_workers(self, loader):
        workers = getattr(loader, "num_workers", None)
        wanted = self._spec.workers
        if workers is None:
            taken = accepted(self._factory, ["workers", "num_workers"])
            if not taken and wanted:
                raise ValueError(
                    "it takes no argument `workers`; add it, or use --workers=0"
                )
        elif workers != wanted:
            raise ValueError(
                f"it has {workers} workers; take the argument `workers`, or use"
                f" --workers={workers}"
            )

    def _check_settings(self):
        """A row must not name a setting that nobody has seen."""
        settings = [name for name in self._spec.settings if name != "dataset"]
        taken = accepted(self._factory, settings)
        for name in settings:
            if name not in taken:
                raise ValueError(
                    f"it takes no argument {name!r}; add it, or leave it out of"
                    " --sweep"
                )

    def _batches(self):
        is_first, count = True, self._left
        for batch in self._iterator:
            items = items_of(batch)
            wanted = min(self._spec.batch_size, self._left)
            if is_first and items < wanted or items > self._spec.batch_size:
                raise ValueError(
                    f"a batch has {items} items; take the argument"
                    f" `batch_size`, or use --batch_size={items}"
                )
            is_first = False
            if self._is_audit:
                yield Batch(items, bytes_of(batch), [], pictures_of(batch))
                self._left -= items
                # Twice as many as there are: it has no end.
                if self._left <= -count:
                    return
                continue
            items = min(items, self._left)
            self._left -= items
            yield Batch(items, bytes_of(batch), [])
            if self._left <= 0:
                return


class Watched:
    """Times the visible parts of a DataLoader, or leaves one out."""

    def __init__(self, loader, stages, ablation):
        self._stages = stages
        self._ablation = ablation
        self._parent = os.getpid()
        self._kept = {}
        self._depth = 0
        context = getattr(loader, "multiprocessing_context", None)
        if context and context.get_start_method() != "fork":
            if ablation:
                raise ValueError("only forked workers leave a part out")
            return
        if loader.num_workers:
            self._init = loader.worker_init_fn
            loader.worker_init_fn = self._start_worker
            processes.leave_no_files()
        collate, loader.collate_fn = loader.collate_fn, None
        loader.collate_fn = lambda items: self._collated(collate, items)
        self._watch_items(loader.dataset)
        self._watch_steps(loader.dataset)

    def _start_worker(self, worker):
        if worker_files.current:
            worker_files.current.note(worker, os.getpid())
        processes.die_with(self._parent)
        self._stages.use_row(worker)
        if self._init:
            self._init(worker)

    def _watch_items(self, dataset):
        methods = {
            name: self._item(getattr(type(dataset), name))
            for name in ("__getitem__", "__getitems__")
            if hasattr(type(dataset), name) and not hasattr(dataset, "__iter__")
        }
        if self._ablation == "cached_batch" and not methods:
            raise ValueError("this dataset makes its items itself")
        # Objects of some classes cannot change theirs; then stages are unseen.
        with contextlib.suppress(TypeError):
            kind = type(dataset)
            dataset.__class__ = type(kind.__name__, (kind,), methods)

    def _watch_steps(self, dataset):
        while not callable(getattr(dataset, "transform", None)) and hasattr(
            dataset, "dataset"
        ):
            dataset = dataset.dataset
        for name, ablation, stage in (
            ("transform", "no_augment", "augment"),
            ("loader", "no_decode", None),
        ):
            step = getattr(dataset, name, None)
            if callable(step):
                setattr(dataset, name, self._step(step, ablation, stage))
            elif self._ablation == ablation:
                raise ValueError(f"the dataset has no attribute {name!r}")

    def _step(self, step, ablation, stage):
        def call(*arguments):
            with (
                self._stages.busy(stage)
                if stage
                else (contextlib.nullcontext())
            ):
                if self._ablation != ablation:
                    return step(*arguments)
                return self._first(ablation, step, *arguments)

        return call

    def _item(self, get):
        def timed(dataset, index):
            if self._depth:
                return get(dataset, index)
            self._stages.resume()
            self._depth += 1
            try:
                with self._stages.busy("decode", without="augment"):
                    if self._ablation != "cached_batch":
                        return get(dataset, index)
                    return self._first("item", get, dataset, index)
            finally:
                self._depth -= 1

        return timed

    def _collated(self, collate, items):
        with self._stages.busy("collate"):
            if self._ablation == "cached_batch":
                batch = self._first(len(items), collate, items)
                # A new one each time: what is sent moves to shared memory.
                batch = copy.deepcopy(batch)
            else:
                batch = collate(items)
        self._stages.hand_over()
        return batch

    def _first(self, key, function, *arguments):
        """What the function returned the first time."""
        if key not in self._kept:
            self._kept[key] = function(*arguments)
        return self._kept[key]
