"""Notes which items a training sees, from inside its process.

Writes one JSON line per batch to $FEEDRATE_AUDIT/<pid>.jsonl: the messages of
lib/records/audit_worker.proto. Each line is one write, so that it is there even
if the process is killed right after it. What is on a device is read by another
process (_feedrate_sender.py), so that the training does not wait for it; only
where `audit` is about to kill the training, each line is written at once.
"""

import atexit
import contextlib
import importlib.util
import json
import os
import sys
import threading
import time
import weakref

import _feedrate_batches as batches
import _feedrate_codes as codes
import _feedrate_sender

_PAGE = os.sysconf("SC_PAGE_SIZE")
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
        self._weights = batches.Weights()
        self._problems = set()
        self._busy = threading.Lock()
        self._sender = None
        self._can_send = not self._stop
        os.register_at_fork(after_in_child=self._after_fork)

    # Lines.

    def _open(self):
        if self._pid != os.getpid():
            # A new process, perhaps by fork.
            self._pid = os.getpid()
            path = os.path.join(self._folder, f"{self._pid}.jsonl")
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._file = os.open(path, flags, 0o600)
            _at_end_of_child(self.end)

    def _write(self, kind, **fields):
        self._open()
        os.write(self._file, json.dumps(_line(kind, fields)).encode() + b"\n")

    def _after_fork(self):
        self._busy = threading.Lock()
        if self._sender is not None:
            self._sender.forget()
            self._sender = None

    def _do(self, kind, fields, tensors=None):
        """Writes a line, after those before it. `tensors` say more, by the
        names of codes.complete_from(). If they are on a device, another process
        does it."""
        tensors = tensors or {}
        try:
            if self._is_sent(kind, fields, tensors):
                return
            arrays = {n: batches.as_array(t) for n, t in tensors.items()}
            codes.complete_from(fields, arrays)
        except Exception as error:  # noqa: BLE001 - the training goes on.
            self.problem(f"a batch cannot be read: {error}")
            if isinstance(error, OSError):
                self._can_send = False
                self._sender = None
            return
        self._write(kind, **fields)

    def _is_sent(self, kind, fields, tensors):
        """Sends a line to the process that reads. Starts it, or one with more
        memory, for tensors on a device."""
        if self._sender is not None:
            if kind == "labels" and self._sender.send_labels(tensors):
                return True
            if self._sender.send(_line(kind, fields), tensors):
                return True
            self._wait()
        every = tensors.values()
        if not self._can_send or not any(map(batches.on_device, every)):
            return False
        self._open()
        self._sender = _feedrate_sender.Sender(self._file, every)
        return self._sender.send(_line(kind, fields), tensors)

    def _wait(self):
        """Until all lines are written."""
        sender, self._sender = self._sender, None
        if sender is not None and not sender.end():
            self.problem("the last batches were not read")

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
        of_batches = getattr(loader, "batch_sampler", None)
        drops = [
            part.drop_last
            for part in (loader, sampler, of_batches)
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
        fields.update(number=self._passes, replacement=draws_again)
        self._do("pass", fields)
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
            self._do("end", {"number": at[0], "length": at[1]})

    def begin_epoch(self):
        """A training without torch's loaders begins an epoch."""
        self._end_epoch()
        self._passes += 1
        self._epoch = self._passes
        self._do("pass", {"number": self._epoch})
        self._at[True] = (self._epoch, 0)

    def _end_epoch(self):
        if self._epoch:
            self._do("end", {"number": self._epoch})
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
        batch = batches.batch_in(args) if args else None
        if batch is None:
            batch = batches.batch_in(list(kwargs.values()))
        if batch is None:
            batch = batches.batch_in(list(args), depth=3)
        if batch is None:
            self.problem(
                f"a call of {type(module).__name__} gets no images or tokens"
            )
            return
        if self._model is None:
            self._model = weakref.ref(module)
        self.note_batch(batch, training, module=number, model=module)

    def note_batch(
        self, batch, training, labels=None, module=0, model=None, step=None
    ):
        """A batch of images, clips or tokens."""
        weights = None
        if training and model is not None:
            weights = self._weights.of(model, self._sender is not None)
        # Beside a GPU, the processor is what a step waits for.
        is_late = self._sender is not None or (
            self._can_send
            and weights is not None
            and batches.on_device(weights)
        )
        try:
            found = batches.start_reading(batch, is_late)
        except Exception as error:  # noqa: BLE001 - the training goes on.
            self.problem(f"a batch cannot be read: {error}")
            return
        if found is None:
            shape = list(getattr(batch, "shape", []))
            self.problem(f"a batch of shape {shape} shows no images or tokens")
            return
        self._last = (training, len(batch))
        self._note(found, training, labels, module, weights, step)

    def note_ids(self, ids, training, labels, step):
        found = codes.Batch(ids, [-1] * len(ids), [])
        self._note(found, training, labels, 0, None, step)

    def _note(self, found, training, labels, module, weights, step):
        with self._busy:
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
            }
            if self._sender is None:
                line["rss_bytes"] = _rss_bytes()
            self._wait_s = 0.0
            if training and step is not None:
                line["weights"] = int(step) + 1
            if labels is not None:
                line["labels"] = [int(label) for label in labels]
            tensors = {} if weights is None else {"weights": weights}
            if isinstance(found, codes.Batch):
                codes.complete(line, found)
            else:
                tensors |= found
            self._do("batch", line, tensors)
            if not training:
                return
            self._steps += 1
            if self._stop == (rank, self._steps):
                self._wait()
                self._write("stop", rank=rank)
                open(os.path.join(self._folder, "stop"), "w").close()
                _wait_for(os.path.join(self._folder, "stopped"))

    def note_labels(self, labels):
        """Labels of the batch that the model just got."""
        import torch

        if self._last is None:
            return
        training, size = self._last
        if labels.dim() != 1 or labels.shape[0] != size:
            return
        self._last = None
        # The training may write others where these are.
        labels = labels.detach().to(torch.int64, copy=True)
        with self._busy:
            self._do("labels", {"training": training}, {"labels": labels})

    def end(self):
        if self._file is None or self._pid != os.getpid():
            return
        with self._busy:
            # Who is told to end leaves an epoch in its middle.
            if not os.path.exists(os.path.join(self._folder, "stop")):
                self._end_epoch()
            self._wait()
            model = self._model() if self._model is not None else None
            self._model = None
            if model is not None:
                weights = self._weights.of(model)
                tensors = {} if weights is None else {"weights": weights}
                self._can_send = False
                self._do("end_of_process", {}, tensors)


def _line(kind, fields):
    return {"schema": 1, "record": "audit_line", "kind": kind, **fields}


def _at_end_of_child(end):
    """Processes of multiprocessing end without atexit."""
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        from multiprocessing import util

        util.Finalize(None, end, exitpriority=0)


def _wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.005)


# Of processes, and of their groups once they are there: rank and size.
_RANKS = {}


def _rank():
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is not None and not distributed.is_available():
        distributed = None
    is_group = distributed is not None and distributed.is_initialized()
    key = os.getpid(), is_group
    found = _RANKS.get(key)
    if found is None:
        found = _RANKS[key] = (
            (distributed.get_rank(), distributed.get_world_size())
            if is_group
            else (
                int(os.environ.get("RANK", "0") or 0),
                int(os.environ.get("WORLD_SIZE", "1") or 1),
            )
        )
    return found


_STATM = {}


def _rss_bytes():
    pid = os.getpid()
    if pid not in _STATM:
        _STATM.clear()
        _STATM[pid] = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
    return int(os.pread(_STATM[pid], 100, 0).split()[1]) * _PAGE


def _is_training(module):
    for name in ("_orig_mod", "module"):
        inner = module._modules.get(name)
        if inner is not None:
            return _is_training(inner)
    return module.training


RECORDER = Recorder()

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


# Modules name types of others, too.
_WRAPPED = set()


def _wrap_loader(loader_type):
    if "__iter__" not in vars(loader_type) or loader_type in _WRAPPED:
        return
    _WRAPPED.add(loader_type)
    original = loader_type.__iter__

    def __iter__(self):
        iterator = original(self)
        RECORDER.note_pass(self, iterator)
        return iterator

    loader_type.__iter__ = __iter__


def _wrap_iterator(iterator_type):
    if "__next__" not in vars(iterator_type) or iterator_type in _WRAPPED:
        return
    _WRAPPED.add(iterator_type)
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
