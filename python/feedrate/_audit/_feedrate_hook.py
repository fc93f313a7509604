"""Notes which items a training sees, from inside its process.

Writes one JSON line per batch to $FEEDRATE_AUDIT/<pid>.jsonl: the messages of
lib/records/audit_worker.proto. Each line is one write, so that it is there even
if the process is killed right after it.
"""

import atexit
import contextlib
import importlib.util
import json
import os
import sys
import threading
import time
import zlib

import _feedrate_codes as codes

_PAGE = os.sysconf("SC_PAGE_SIZE")
# Parameters that are looked at to recognize the weights, and values of each.
_PARAMETERS = 4
_VALUES = 8
_MODULE_STATE = "_feedrate_seen"


class Recorder:
    def __init__(self):
        self._folder = os.environ.get("FEEDRATE_AUDIT", "")
        rank, _, step = os.environ.get("FEEDRATE_AUDIT_STOP", "").partition(":")
        self._stop = (int(rank), int(step)) if step else None
        self._pid = None
        self._file = None
        self._steps = 0
        self._modules = 0
        self._model = None
        self._passes = 0
        self._epoch = 0
        # Of training and of evaluation: (pass, position) of the last batch.
        self._at = {}
        self._by_iterator = {}
        self._wait_s = 0.0
        self._last = None
        self._pending = None
        self._problems = set()
        self._busy = threading.Lock()

    # Lines.

    def _write(self, kind, **fields):
        if self._pid != os.getpid():
            # A new process, perhaps by fork.
            self._pid = os.getpid()
            path = os.path.join(self._folder, f"{self._pid}.jsonl")
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._file = os.open(path, flags, 0o600)
        line = {"schema": 1, "record": "audit_line", "kind": kind, **fields}
        os.write(self._file, json.dumps(line).encode() + b"\n")

    def problem(self, text):
        """Says what cannot be seen, once."""
        if text not in self._problems:
            self._problems.add(text)
            self._write("problem", text=text)

    # Loaders.

    def note_pass(self, loader, iterator):
        """A loader begins to iterate."""
        self._passes += 1
        sampler = getattr(loader, "sampler", None)
        batches = getattr(loader, "batch_sampler", None)
        drops = [
            part.drop_last
            for part in (loader, sampler, batches)
            if isinstance(getattr(part, "drop_last", None), bool)
        ]
        fields = {"drop_last": any(drops)} if drops else {}
        with contextlib.suppress(
            TypeError, NotImplementedError, AttributeError
        ):
            fields["length"] = len(loader)
        draws_again = type(sampler).__name__ == "WeightedRandomSampler" or (
            getattr(sampler, "replacement", False) is True
        )
        self._write(
            "pass", number=self._passes, replacement=draws_again, **fields
        )
        self._by_iterator[id(iterator)] = [self._passes, 0]

    def note_next(self, iterator, seconds):
        at = self._by_iterator.get(id(iterator))
        if at is None:
            return
        at[1] += 1
        self._wait_s += seconds
        model = self._model() if self._model is not None else None
        self._at[model is None or _is_training(model)] = tuple(at)

    def note_end(self, iterator):
        at = self._by_iterator.pop(id(iterator), None)
        if at is not None:
            self._write("end", number=at[0], length=at[1])

    def begin_epoch(self):
        """A training without torch's loaders begins an epoch."""
        self._end_epoch()
        self._passes += 1
        self._epoch = self._passes
        self._write("pass", number=self._epoch)
        self._at[True] = (self._epoch, 0)

    def _end_epoch(self):
        if self._epoch:
            self._write("end", number=self._epoch)
            self._epoch = 0

    # Batches.

    def note_call(self, module, args, kwargs):
        """The outermost module is called."""
        import torch

        if torch.utils.data.get_worker_info() is not None:
            return
        number = module.__dict__.get(_MODULE_STATE)
        if number is None:
            has_weights = any(True for _ in module.parameters())
            number = self._modules + 1 if has_weights else 0
            self._modules = max(self._modules, number)
            object.__setattr__(module, _MODULE_STATE, number)
        if number == 0:
            return
        training = _is_training(module) and torch.is_grad_enabled()
        batch = _batch_in(args) if args else None
        if batch is None:
            batch = _batch_in(list(kwargs.values()))
        if batch is None:
            batch = _batch_in(list(args), depth=3)
        if batch is None:
            self.problem(
                f"a call of {type(module).__name__} gets no images or tokens"
            )
            return
        if self._model is None:
            import weakref

            self._model = weakref.ref(module)
        self.note_batch(batch, training, module=number, model=module)

    def note_batch(
        self, batch, training, labels=None, module=0, model=None, step=None
    ):
        """A batch of images, clips or tokens."""
        try:
            read = _start_reading(batch)
        except Exception as error:  # noqa: BLE001 - the training goes on.
            self.problem(f"a batch cannot be read: {error}")
            return
        if read is None:
            shape = list(getattr(batch, "shape", []))
            self.problem(f"a batch of shape {shape} shows no images or tokens")
            return
        self._note(read, training, labels, module, model, step)

    def note_ids(self, ids, training, labels, step):
        done = codes.Batch(ids, [-1] * len(ids), [])
        self._note(lambda: done, training, labels, 0, None, step)

    def _note(self, read, training, labels, module, model, step):
        with self._busy:
            self._finish()
            rank, world = _rank()
            at = self._at.get(training) or self._at.get(not training)
            number, position = at or (0, 0)
            line = {
                "rank": rank,
                "world_size": world,
                "module": module,
                "training": training,
                "number": number,
                "position": position,
                "time_s": time.monotonic(),
                "wait_s": round(self._wait_s, 6),
                "rss_bytes": _rss_bytes(),
            }
            self._wait_s = 0.0
            if training and model is not None:
                line["weights"] = _weights(model)
            elif training and step is not None:
                line["weights"] = int(step) + 1
            if labels is not None:
                line["labels"] = [int(label) for label in labels]
            self._pending = (line, read)
            if not _is_late(read):
                self._finish()
            if not training:
                return
            self._steps += 1
            if self._stop == (rank, self._steps):
                self._finish()
                self._write("stop", rank=rank)
                open(os.path.join(self._folder, "stop"), "w").close()
                _wait_for(os.path.join(self._folder, "stopped"))

    def _finish(self):
        """Writes the last batch, once it is read and its labels are known."""
        if self._pending is None:
            return
        line, read = self._pending
        self._pending = None
        try:
            batch = read()
        except Exception as error:  # noqa: BLE001
            self.problem(f"a batch cannot be read: {error}")
            return
        line["ids"] = batch.items
        if any(second >= 0 for second in batch.seconds):
            line["seconds"] = batch.seconds
        if batch.draws:
            line["draws"] = [d[0] << 16 | d[1] << 8 | d[2] for d in batch.draws]
        self._last = (line["training"], len(batch.items))
        self._write("batch", **line)

    def note_labels(self, labels):
        """Labels of the batch that the model just got."""
        if self._last is None or self._pending is not None:
            return
        training, size = self._last
        if labels.dim() == 1 and len(labels) == size:
            self._last = None
            self._write("labels", training=training, labels=labels.tolist())

    def end(self):
        if self._file is None or self._pid != os.getpid():
            return
        with self._busy:
            self._finish()
            # Who is told to end leaves an epoch in its middle.
            if not os.path.exists(os.path.join(self._folder, "stop")):
                self._end_epoch()
            model = self._model() if self._model is not None else None
            if model is not None:
                self._write("end_of_process", weights=_weights(model))


RECORDER = Recorder()


def _wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.005)


def _rank():
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is not None and distributed.is_available():
        if distributed.is_initialized():
            return distributed.get_rank(), distributed.get_world_size()
    return (
        int(os.environ.get("RANK", "0") or 0),
        int(os.environ.get("WORLD_SIZE", "1") or 1),
    )


def _rss_bytes():
    file = os.open("/proc/self/statm", os.O_RDONLY)
    try:
        return int(os.read(file, 100).split()[1]) * _PAGE
    finally:
        os.close(file)


def _is_training(module):
    for name in ("_orig_mod", "module"):
        inner = module._modules.get(name)
        if inner is not None:
            return _is_training(inner)
    return module.training


def _weights(module):
    """A number that changes when an optimizer changes the weights."""
    import torch

    parts = [p for p in module.parameters() if p.requires_grad]
    step = max(1, (len(parts) - 1) // (_PARAMETERS - 1))
    chosen = {id(p): p for p in [*parts[::step], *parts[-1:]]}
    values = []
    try:
        for part in chosen.values():
            part = part.detach()
            if hasattr(part, "to_local"):
                part = part.to_local()
            count = min(_VALUES, part.numel())
            if count:
                jump = part.numel() // count
                values.append(
                    torch.as_strided(part, (count,), (jump,)).double()
                )
        if not values:
            return 0
        text = repr(torch.cat(values).tolist()).encode()
    except Exception:  # noqa: BLE001 - parameters of other kinds.
        return 0
    return zlib.crc32(text) + 1


def _batch_in(values, depth=1):
    """The first tensor that may be images or tokens."""
    import torch

    for value in values:
        if isinstance(value, torch.Tensor):
            if value.dim() in (4, 5) and codes.axes_of(
                _image_shape(value.shape)
            ):
                return value
            if value.dim() == 2 and not value.is_floating_point():
                return value
        elif depth and isinstance(value, dict):
            found = _batch_in(list(value.values()), depth - 1)
            if found is not None:
                return found
        elif depth and isinstance(value, (list, tuple)):
            found = _batch_in(list(value), depth - 1)
            if found is not None:
                return found
    return None


def _image_shape(shape):
    """Of the frames of clips (N,T,C,H,W), (N,C,T,H,W) or (N,T,H,W,C)."""
    if len(shape) != 5:
        return shape
    if shape[2] in (3, 4):
        return shape[0], shape[2], shape[3], shape[4]
    if shape[1] in (3, 4):
        return shape[0], shape[1], shape[3], shape[4]
    return shape[0], shape[2], shape[3], shape[4]


def _middle_frame(batch):
    shape = batch.shape
    if len(shape) != 5:
        return batch
    if shape[1] in (3, 4) and shape[2] not in (3, 4):
        return batch[:, :, shape[2] // 2]
    return batch[:, shape[1] // 2]


def _start_reading(batch):
    """A function that returns a codes.Batch. Copies from a device in the
    background. None if these are no images and no tokens."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(batch, torch.Tensor):
        batch = batch.detach()
    else:
        import numpy as np

        batch = np.asarray(batch)
    if len(batch.shape) == 2:
        rows = batch.tolist()
        return lambda: codes.read_tokens(rows)
    images = _middle_frame(batch)
    if torch is not None and isinstance(images, torch.Tensor):
        if images.device.type != "cpu":
            few, columns = codes.sample(images, codes.DEVICE_POINTS)
            few = few.float().to("cpu", non_blocking=True)
            event = torch.cuda.Event() if images.is_cuda else None
            if event is not None:
                event.record()

            def late():
                if event is not None:
                    event.synchronize()
                return codes.read_images(few.numpy(), columns)

            late.is_late = True
            return late
        images = images.float() if images.dtype == torch.bfloat16 else images
        images = images.numpy()
    if codes.axes_of(images.shape) is None:
        return None
    done = codes.read(images)
    return lambda: done


def _is_late(read):
    return getattr(read, "is_late", False)


# Into torch.


class _Waiter:
    """Finds `torch` as others do, and installs the hook once it is loaded."""

    def find_spec(self, name, path=None, target=None):
        stateful = "torchdata.stateful_dataloader.stateful_dataloader"
        hooks = {"torch": _install, stateful: _install_stateful}
        if name not in hooks:
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        if spec is None or spec.loader is None:
            return spec
        original = spec.loader.exec_module

        def exec_module(module):
            original(module)
            try:
                hooks[name](module)
            except Exception as error:  # noqa: BLE001
                RECORDER.problem(
                    f"{name} of this version is not known: {error}"
                )

        spec.loader.exec_module = exec_module
        return spec


def wait_for_torch():
    sys.meta_path.insert(0, _Waiter())
    atexit.register(RECORDER.end)


def _install(torch):
    inside = [False]
    original = torch.nn.Module.__call__
    is_compiling = torch.compiler.is_compiling

    def __call__(self, *args, **kwargs):
        if inside[0] or is_compiling():
            return original(self, *args, **kwargs)
        RECORDER.note_call(self, args, kwargs)
        inside[0] = True
        try:
            return original(self, *args, **kwargs)
        finally:
            inside[0] = False

    torch.nn.Module.__call__ = __call__

    functional = torch.nn.functional
    cross_entropy = functional.cross_entropy

    def note_labels(input, target, *args, **kwargs):
        if not is_compiling() and not target.is_floating_point():
            if not target.is_cuda:
                RECORDER.note_labels(target)
        return cross_entropy(input, target, *args, **kwargs)

    functional.cross_entropy = note_labels
    data = torch.utils.data
    _wrap_loader(data.DataLoader)
    _wrap_iterator(data.dataloader._BaseDataLoaderIter)


def _install_stateful(module):
    _wrap_loader(module.StatefulDataLoader)
    for name in dir(module):
        if name.endswith("DataLoaderIter"):
            _wrap_iterator(getattr(module, name))


def _wrap_loader(loader_type):
    if "__iter__" not in vars(loader_type):
        return
    original = loader_type.__iter__

    def __iter__(self):
        iterator = original(self)
        RECORDER.note_pass(self, iterator)
        return iterator

    loader_type.__iter__ = __iter__


def _wrap_iterator(iterator_type):
    if "__next__" not in vars(iterator_type):
        return
    original = iterator_type.__next__

    def __next__(self):
        start = time.perf_counter()
        try:
            batch = original(self)
        except StopIteration:
            RECORDER.note_end(self)
            raise
        RECORDER.note_next(self, time.perf_counter() - start)
        return batch

    iterator_type.__next__ = __next__
    if "next" in vars(iterator_type):
        iterator_type.next = __next__
