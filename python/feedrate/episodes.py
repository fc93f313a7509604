"""feedrate.Episodes: steps of robot episodes as a Python iterable."""

from __future__ import annotations

import collections
import concurrent.futures
import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from feedrate import _arguments, _episode_arguments, _library, _statistics
from feedrate._batches import IMAGENET_MEAN, IMAGENET_STD, Batches

if TYPE_CHECKING:
    # None: the step itself. Offsets from it: whole numbers are steps, others
    # seconds.
    Offsets = None | Sequence[int] | Sequence[float] | np.ndarray

# Bytes and name.
_TYPES = {
    "i8": (8, "int64"),
    "f4": (4, "float32"),
    "u1": (1, "uint8"),
    "b1": (1, "bool"),
}


class _Part(NamedTuple):
    """An array of a batch."""

    key: str
    # In the memory of the batch.
    begin: int
    # Of one sample.
    bytes: int
    type: Any
    shape: list[int]
    moves_channels: bool


class Episodes(Batches):
    """Batches of steps of robot episodes, from LeRobot and RLDS data as it is.

        data = feedrate.Episodes("pusht/", batch_size=64, actions=range(16))
        for batch in data:
            batch["image"], batch["action"], batch["state"]

    A batch is a dict; N samples are N steps, with what is around them:

    ==================  ====================================================
    each camera         frames (N, C, H, W), or (N, T, C, H, W) with `frames`
    ``action``          (N, A), or (N, K, A) with a list of offsets
    ``state``           (N, S), or (N, K, S)
    ``*_is_pad``        (N, K): the offset is beyond an end of the episode,
                        whose first or last step is there instead
    ``*_mask``          of actions (N, A), and the same of others: which numbers
                        the data set has; the rest is 0
    each of `numbers`   (N, W), or (N,) if no data set has more than one; with
                        a list of offsets of actions (N, K, W) or (N, K)
    ``instruction``     a list of texts
    ``dataset``         number of the data set in ``data.datasets``
    ``episode``         number of the episode in its data set, as LeRobot has
                        it, and for RLDS in the order of the files
    ``step``            number of the step in its episode
    ``index``           number of the step among all of all data sets
    ==================  ====================================================

    A part that no data set has is missing. Order, ranks, states, threads,
    memory and errors are those of `feedrate.Loader`.

    Args:
      sources: the folder of a LeRobot data set (v2.0, v2.1, v3.0), of one that
        tensorflow-datasets wrote (RLDS), or of TFRecord files of episodes; a
        folder of several, or a mixture.textproto; a list of such folders; or a
        dict of folders and their weights. Or addresses ``s3://``, ``gs://`` and
        ``http(s)://`` of them.
      batch_size: samples per batch and rank.
      cameras: names of features, or their last parts, such as ``"wrist"`` for
        ``observation.images.wrist``; batches use the same names. Or a dict of
        names of your own: ``{"hand": "wrist"}``, and where data sets differ
        ``{"hand": {"bridge": "image_1", "pusht": "wrist"}}``. Without it: the
        main camera of each data set, called ``image``. ``[]``: no frames.
      numbers: other features of steps, such as ``["reward", "done"]``, named as
        cameras are: rewards, discounts, terminal flags, anything with numbers.
        As float32, of the same steps as actions. A data set may lack them.
      filter: a function that says which episodes to keep. It gets a dict:
        ``dataset`` (a name), ``episode``, ``steps`` and ``instruction`` (that
        of the first step).
      frames, actions, state: which offsets from the step a sample has: whole
        numbers count steps, others seconds, as lerobot's delta_timestamps do.
        None: the step itself, without an axis for time. ``actions=False`` and
        ``state=False`` leave them out; ``True`` is None, but data without them
        is an error.
      instruction: whether batches have the texts.
      order: ``epochs``: each step of each episode comes once per pass;
        ``weights``: data sets are drawn by weight, without end, and each gives
        all its steps before one comes again. Without it: weights, if there are
        any.
      balance_by_size: multiplies the weights by the numbers of steps.
      resize: height and width that frames get before they are cropped, one
        number or ``(height, width)``.
      interpolation: how: ``box``, ``bilinear``, ``hamming``, ``bicubic`` or
        ``lanczos``, each as Pillow's, to the bit.
      crop: height and width of frames, one number or ``(height, width)``:
        larger ones are cropped to the center, smaller ones padded with zeros.
        224 without it, or what `resize` says.
      crop_position, flip, transforms: as `feedrate.Loader` has them: a random
        crop, mirrored frames, and what is done between. All frames that a
        sample has of a camera get the same; `episodes()` leaves them out.
      dtype: ``uint8`` as decoded, or ``float32``, normalized with mean and std.
      channels_last: frames (..., H, W, C); as torch tensors (..., C, H, W).
      output: ``torch`` or ``numpy``; ``dlpack``: arrays of numpy, which other
        libraries take by DLPack.
      device: ``cpu``. Unlike `feedrate.Clips`, this does not decode on a GPU.
      on_error: ``skip``: another step of the data set takes the place of one
        that cannot be used, see ``data.skipped_files``; ``fail``: RuntimeError.
      cache_dir: where data of addresses is copied to, all of it before the
        first batch; what has not changed is not copied again.
      endpoint, redirect_hosts, anonymous, connections: how a store is reached;
        see docs/storage.md.
      workers, num_workers, prefetch, shuffle, seed, rank, world_size, tail,
      drop_last, mean, std, pin_memory: as `feedrate.Loader` has them.

    Raises:
      ValueError, TypeError: name the argument, or the data set and what is
        wrong with it.
      FileNotFoundError: there is no such data.
    """

    _name = "feedrate.Episodes"
    _unit = "step"

    def __init__(
        self,
        sources: Any,
        *,
        batch_size: int = 64,
        cameras: Sequence[str] | Mapping[str, Any] | None = None,
        numbers: Sequence[str] | Mapping[str, Any] = (),
        filter: Callable[[dict[str, Any]], bool] | None = None,
        frames: Offsets = None,
        actions: Offsets | bool = None,
        state: Offsets | bool = None,
        instruction: bool = True,
        order: str | None = None,
        balance_by_size: bool = False,
        resize: int | tuple[int, int] | None = None,
        interpolation: str = "bilinear",
        crop: int | tuple[int, int] | None = None,
        crop_position: str = "center",
        flip: bool = False,
        transforms: str | Sequence[_arguments.Step] | None = None,
        workers: int | None = None,
        num_workers: int | None = None,
        prefetch: int = 2,
        shuffle: bool = False,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
        tail: str = "keep",
        drop_last: bool = False,
        dtype: Any = "uint8",
        mean: float | Sequence[float] = IMAGENET_MEAN,
        std: float | Sequence[float] = IMAGENET_STD,
        channels_last: bool = False,
        output: str = "torch",
        device: str = "cpu",
        pin_memory: bool = False,
        on_error: str = "skip",
        cache_dir: str | os.PathLike[str] | None = None,
        endpoint: str | None = None,
        redirect_hosts: str | None = None,
        anonymous: bool = False,
        connections: int = 8,
    ) -> None:
        if _arguments.device(device, None) >= 0:
            raise _arguments.wrong(
                "device",
                device,
                '"cpu": frames of episodes are decoded there; pass'
                " pin_memory=True and copy batches with"
                ' .to("cuda", non_blocking=True)',
            )
        pin_memory = _arguments.flag("pin_memory", pin_memory)
        _arguments.word("output", output, "torch numpy dlpack")
        resized = (0, 0)
        if resize is not None:
            resized = _arguments.size("resize", resize)
        if crop is None:
            crop = resized if resize is not None else 224
        crop = _arguments.crop(crop)
        steps = _arguments.steps(transforms)
        self._workers = _arguments.workers(workers, num_workers, False)
        self._again = {
            "sources": sources,
            "filter": filter,
            "numbers": numbers,
            "actions": None if actions is not False else False,
            "state": None if state is not False else False,
            "instruction": False,
            "workers": workers,
            "num_workers": num_workers,
            "cache_dir": cache_dir,
            "endpoint": endpoint,
            "redirect_hosts": redirect_hosts,
            "anonymous": anonymous,
            "connections": connections,
        }
        # The parts whose offsets are no list have no axis for time.
        self._single: set[str] = set()
        self._unwanted: set[str] = set()
        settings = [
            "kind=episodes",
            *[
                f"dataset={line}"
                for line in _episode_arguments.sources(
                    sources, cache_dir is not None
                )
            ],
            *[
                f"camera={line}"
                for line in _episode_arguments.features("cameras", cameras)
            ],
            *[
                f"number={line}"
                for line in _episode_arguments.features("numbers", numbers)
            ],
            *self._offsets("frames", "frames", frames),
            *self._offsets("actions", "actions", actions),
            *self._offsets("state", "states", state),
            f"needs_actions={int(_episode_arguments.is_wanted(actions))}",
            f"needs_states={int(_episode_arguments.is_wanted(state))}",
            f"resize={resized[0]}",
            f"resize_width={resized[1]}",
            "interpolation="
            + _arguments.word(
                "interpolation",
                interpolation,
                "box bilinear hamming bicubic lanczos",
            ),
            "crop_position="
            + _arguments.word("crop_position", crop_position, "random center"),
            f"flip={int(_arguments.flag('flip', flip))}",
            *steps,
            f"configs={_library.configs() if steps else ''}",
            f"cache_folder={_arguments.folder('cache_dir', cache_dir)}",
            f"endpoint={endpoint or ''}",
            f"redirect_hosts={redirect_hosts or ''}",
            f"anonymous={int(_arguments.flag('anonymous', anonymous))}",
            f"connections={_arguments.whole('connections', connections, 1)}",
            "order="
            + _arguments.word(
                "order",
                "auto" if order is None else order,
                "auto epochs weights",
            ),
            "balance="
            f"{int(_arguments.flag('balance_by_size', balance_by_size))}",
            *self._share(
                batch_size=batch_size,
                crop=crop,
                workers=self._workers,
                prefetch=prefetch,
                shuffle=shuffle,
                seed=seed,
                rank=rank,
                world_size=world_size,
                tail=tail,
                drop_last=drop_last,
                dtype=dtype,
                mean=mean,
                std=std,
                channels_last=channels_last,
                torch=_arguments.torch() if output == "torch" else None,
                output=output,
                pin_memory=pin_memory,
                on_error=on_error,
            ),
        ]
        if not _arguments.flag("instruction", instruction):
            self._unwanted.add("instruction")
        if filter is not None and not callable(filter):
            raise _arguments.wrong_type("filter", filter, "a function, or None")
        self._open(settings, [], None, waits=True)
        self._texts: list[str] = []
        if filter is not None:
            self._keep(filter)
        about = _library.about(self._handle)
        #: The data sets: name, weight, episodes, steps, cameras and widths.
        self.datasets: list[dict[str, Any]] = about["datasets"]
        self._endless = about["endless"]
        # The argument whose offsets a part has, where its name is another.
        self._offsets_of = dict.fromkeys(
            ["image"] if cameras is None else cameras, "frames"
        )
        self._frames = set(self._offsets_of)
        self._offsets_of.update(dict.fromkeys(numbers, "action"))
        if actions is False:
            self._single.add("action")
        self._parts = list(self._parts_of(about["fields"]))
        # Of whole episodes: the bytes of a step, and its parts.
        self._step_bytes: int = about["step_bytes"]
        self._single |= {"frames", "action", "state"}
        self._step_parts = list(self._parts_of(about["step_fields"], 1))
        self._plan: dict[str, int] = about["memory"]
        self._warn_of_ranks(0)
        left_out = _library.left_out(self._handle)
        if left_out:
            warnings.warn(
                f"{self._name}: {left_out}", RuntimeWarning, stacklevel=2
            )

    def __len__(self) -> int:
        """Batches of this rank in a whole epoch."""
        if self._endless:
            raise TypeError(
                f"{self._name}: a mixture by weight has no end and so no len();"
                ' pass order="epochs" for passes over all steps'
            )
        return super().__len__()

    def memory_plan(self) -> dict[str, int]:
        """Upper bounds of the memory in bytes, known before the first batch:
        of the index of all episodes, of episodes that are open, of batches that
        wait, are made or are yours (one), of decoders, and of all together.
        Batches that you keep come on top."""
        return {**self._plan, "total": sum(self._plan.values())}

    def episodes(
        self, select: Callable[[dict[str, Any]], bool] | None = None
    ) -> Iterator[dict[str, Any]]:
        """Whole episodes, in the order of the data: each a dict like a batch,
        with a row per step, and without what `frames`, `actions` and `state`
        say of other steps. Each frame is decoded once. `select` chooses
        episodes as `filter` does; ranks share them. An episode that cannot be
        read is a RuntimeError.

        `workers` threads read ahead. A loop over batches may go on."""
        self._check_usable()
        chosen = [
            number
            for number, about in enumerate(self._abouts())
            if select is None or select(about)
        ]
        rows = _library.entries(self._handle)
        chosen = chosen[self.rank :: self.world_size]
        ahead = max(1, self._workers)
        with concurrent.futures.ThreadPoolExecutor(ahead) as pool:
            waiting: collections.deque[Any] = collections.deque()
            try:
                for number in [*chosen, *[-1] * ahead]:
                    if number >= 0:
                        steps = int(rows[number, 2])
                        read = pool.submit(self._read, number, steps)
                        waiting.append(read)
                    if number < 0 or len(waiting) > ahead:
                        if waiting:
                            yield waiting.popleft().result()
            finally:
                for read in waiting:
                    read.cancel()

    def statistics(
        self,
        file: str | os.PathLike[str] | None = None,
        *,
        lerobot: bool = False,
    ) -> _statistics.Statistics:
        """What normalization needs, of each data set by its name: of
        ``action``, ``state`` and `numbers` the count, mean, std, min and max of
        each number over all steps of all ranks, and the quantiles q01, q10,
        q50, q90 and q99 of up to 262,144 steps that are as far apart. As lists,
        for json.dump. Reads all numbers, and no frames.

        `file` keeps them: they are computed if it does not exist, and read from
        it otherwise. ValueError if it has those of other data. RuntimeError if
        a step cannot be read: another one would count twice.

        `lerobot`: instead what LeRobot's own files in meta/ say, of all
        episodes, and of cameras too."""
        if _arguments.flag("lerobot", lerobot):
            if file is not None:
                raise _arguments.wrong("file", file, "it without lerobot")
            return _statistics.of_lerobot(self.datasets)
        if file is None:
            return self._computed()
        wanted = {"action", "state", *self._again["numbers"]}
        for part, argument in (("action", "actions"), ("state", "state")):
            if self._again[argument] is False:
                wanted.discard(part)
        return _statistics.kept(
            os.fspath(file), self.datasets, wanted, self._computed
        )

    def _computed(self) -> _statistics.Statistics:
        plain = {**self._again, "cameras": [], "order": "epochs"}
        with Episodes(**plain, batch_size=1024, output="numpy") as data:
            found = _statistics.of(data, data.datasets)
            skipped = data.skipped_files
        if skipped:
            name, reason = next(iter(skipped.items()))
            raise RuntimeError(
                f"{self._name}: statistics: {len(skipped)} steps cannot be"
                " read, and others would count twice; leave their episodes out"
                f" with filter; the first is {name}: {reason}"
            )
        return found

    # Parts.

    def _read(self, number: int, steps: int) -> dict[str, Any]:
        """One episode, in the calling thread."""
        block: Any = np.empty(self._step_bytes * steps, np.uint8)
        code = self._library.feedrate_episode(
            self._handle, number, block.ctypes.data
        )
        if code != 0:
            raise RuntimeError(f"{self._name}: {_library.message()}")
        if self._torch is not None:
            block = self._torch.from_numpy(block)
        return self._cut(block, self._step_parts, steps, steps)

    def _abouts(self) -> Iterator[dict[str, Any]]:
        """What a filter gets of each episode."""
        names = [
            one["name"] for one in _library.about(self._handle)["datasets"]
        ]
        rows = _library.entries(self._handle).tolist()
        texts = _library.texts_from(self._handle, 0)
        for dataset, episode, steps, text in rows:
            yield {
                "dataset": names[dataset],
                "episode": episode,
                "steps": steps,
                "instruction": "" if text < 0 else texts[text],
            }

    def _keep(self, wanted: Callable[[dict[str, Any]], bool]) -> None:
        try:
            kept = bytes(bool(wanted(about)) for about in self._abouts())
            _library.keep(self._handle, kept)
        except BaseException:
            self.close()
            raise
        self._describe()

    def _offsets(self, name: str, setting: str, given: Any) -> list[str]:
        """The settings of a part of a sample."""
        keys = {"actions": "action", "state": "state"}
        numbers: list[float] = [0]
        if given is False and name in keys:
            numbers = []
        elif given is None or given is True and name in keys:
            self._single.add(keys.get(name, name))
        else:
            numbers = _episode_arguments.numbers(name, given)
        seconds = any(not isinstance(number, int) for number in numbers)
        return [
            f"{setting}={','.join(map(repr, numbers))}",
            f"{setting}_unit={'seconds' if seconds else 'steps'}",
        ]

    def _parts_of(
        self, fields: Any, capacity: int | None = None
    ) -> Iterator[_Part]:
        """The arrays of a batch, without those that nobody asked for. They
        begin at their offsets times the capacity of the batch."""
        capacity = capacity or self.batch_size
        for field in fields:
            key, shape = field["key"], field["shape"]
            of = key
            if key not in self._offsets_of:
                of = key.removesuffix("_is_pad").removesuffix("_mask")
            is_single = self._offsets_of.get(of, of) in self._single
            if key in self._unwanted or is_single and key == f"{of}_is_pad":
                continue
            if is_single and key == of:
                shape = shape[1:]
            size, kind = _TYPES[field["type"]]
            yield _Part(
                key,
                field["offset"] * capacity,
                math.prod(shape) * size,
                getattr(self._torch, kind) if self._torch else np.dtype(kind),
                shape,
                bool(
                    self._torch and self._channels_last and key in self._frames
                ),
            )

    def _identity(self) -> dict[str, Any]:
        return {
            **super()._identity(),
            "datasets": [
                [one["name"], one["steps"], one["weight"]]
                for one in self.datasets
            ],
            "endless": self._endless,
        }

    def _deliver(self, batch: _library.Batch) -> dict[str, Any]:
        size = batch.size
        torch = self._torch
        if self._blocks is not None:
            with self._lock:
                block = self._blocks.take(batch)
        else:
            whole = (self._facts.batch_bytes,)
            block = np.asarray(_library.ArrayBatch(batch, whole, "uint8"))
            if torch is not None:
                block = torch.from_numpy(block)
        return self._cut(block, self._parts, size, 1)

    def _cut(
        self, block: Any, parts: list[_Part], size: int, capacity: int
    ) -> dict[str, Any]:
        """The parts of a block of memory."""
        found = {}
        for part in parts:
            begin = part.begin * capacity
            values = block[begin : begin + size * part.bytes].view(part.type)
            found[part.key] = values.reshape(size, *part.shape)
            if part.moves_channels:
                found[part.key] = found[part.key].movedim(-1, -3)
        if "instruction" in found:
            found["instruction"] = self._texts_of(found["instruction"])
        return found

    def _texts_of(self, numbers: Any) -> list[str]:
        found: list[int] = numbers.tolist()
        with self._lock:
            if max(found) >= len(self._texts):
                first = len(self._texts)
                self._texts += _library.texts_from(self._handle, first)
            return [self._texts[number] for number in found]
