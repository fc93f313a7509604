"""feedrate.Clips: clips of videos as a Python iterable."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from feedrate import _arguments, _library
from feedrate._batches import IMAGENET_MEAN, IMAGENET_STD
from feedrate._labeled import Labeled

if TYPE_CHECKING:
    from feedrate._arguments import Labels, Step


class Clips(Labeled):
    """Batches of clips of videos and their labels, decoded and augmented by C++
    threads.

        clips = feedrate.Clips("videos/", batch_size=8, frames=16, stride=4,
                               crop=112, flip=True, shuffle=True)
        for frames, labels in clips:
            ...

    Frames are (N, T, C, H, W). Crop, flip and transforms are the same for all
    frames of a clip. Order, ranks, states, threads, memory and errors are those
    of `feedrate.Loader`.

    Args:
      source: a folder of videos (.mp4, .avi, .mov, .mkv, .webm; with subfolders
        and links) or of tar shards; the path of a shard; a list of video files
        or of shards; or an address ``s3://``, ``gs://``, ``http(s)://``,
        ``file://``.
      batch_size: clips per batch and rank.
      frames: frames of a clip.
      stride: from one frame to the next: a whole number counts frames, another
        one seconds. A time has the frame that is shown then.
      sampling: where clips are in their video. ``random``: at a start that is
        drawn anew in each epoch. ``consecutive``: in the middle; several at
        even distances from the beginning to the end. ``uniform``: spread evenly
        from the first to the last frame. ``dense``: all clips, one after the
        other. A clip that is longer than its video repeats the last frame.
      clips_per_video: how many come in an epoch; not with ``dense``.
      step: with ``dense``: from the start of a clip to that of the next, like
        stride. Without it: ``frames * stride``.
      resize: the shorter side of frames is resized to it before the crop.
      crop: height and width of the crop, one number or ``(height, width)``.
        Smaller frames are padded with zeros.
      crop_position: ``random`` or ``center``.
      labels: as `feedrate.Loader` has them, one per video, in the order of
        ``clips.names``.
      dtype: ``float32``, normalized with mean and std, or ``uint8`` as decoded.
      channels_last: False is (N, T, C, H, W). True is (N, T, H, W, C); torch
        tensors then have the shape (N, T, C, H, W) over the same memory.
      output: ``torch`` or ``numpy``; ``dlpack``: arrays of numpy, which other
        libraries take by DLPack, and on a GPU an object for such libraries.
      device: ``cpu``; or ``cuda``, ``cuda:1``: the GPU's video engines decode,
        and batches are made and handed out there. Each worker has a session of
        an engine. What the engines cannot decode, the workers do.
      return_index: batches are (frames, labels, indexes of clips);
        ``clips.video_of(indexes)`` are the numbers of their videos.
      on_error: ``skip``: the next usable video takes the place of one that
        cannot be decoded, see ``clips.skipped``. ``fail``: RuntimeError.
      flip, transforms, workers, num_workers, prefetch, shuffle, seed, rank,
      world_size, tail, drop_last, mean, std, pin_memory, cache_dir,
      cache_bytes, endpoint, redirect_hosts, anonymous, connections: as
        `feedrate.Loader` has them, without mixing.

    Raises:
      ValueError, TypeError: name the argument that is not possible.
      FileNotFoundError: there are no such videos.
    """

    _name = "feedrate.Clips"
    _unit = "video"

    def __init__(
        self,
        source: Any,
        *,
        batch_size: int = 8,
        frames: int = 16,
        stride: float = 1,
        sampling: str = "random",
        clips_per_video: int = 1,
        step: float | None = None,
        resize: int | None = None,
        crop: int | tuple[int, int] = 224,
        crop_position: str = "random",
        flip: bool = False,
        transforms: str | Sequence[Step] | None = None,
        labels: Labels = None,
        workers: int | None = None,
        num_workers: int | None = None,
        prefetch: int = 2,
        shuffle: bool = False,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
        tail: str = "keep",
        drop_last: bool = False,
        dtype: Any = "float32",
        mean: float | Sequence[float] = IMAGENET_MEAN,
        std: float | Sequence[float] = IMAGENET_STD,
        channels_last: bool = False,
        output: str = "torch",
        device: str = "cpu",
        pin_memory: bool = False,
        return_index: bool = False,
        on_error: str = "skip",
        cache_dir: str | os.PathLike[str] | None = None,
        cache_bytes: int | None = None,
        endpoint: str | None = None,
        redirect_hosts: str | None = None,
        anonymous: bool = False,
        connections: int | None = None,
    ) -> None:
        pin_memory = _arguments.flag("pin_memory", pin_memory)
        crop = _arguments.crop(crop)
        _arguments.word("output", output, "torch numpy dlpack")
        torch = _arguments.torch() if output == "torch" else None
        self._gpu = _arguments.device(device, torch)
        if self._gpu >= 0:
            _arguments.for_gpu(output, pin_memory)
        given = _arguments.source(source, has_arrays=False)
        _arguments.word(
            "sampling", sampling, "random uniform consecutive dense"
        )
        frames = _arguments.whole("frames", frames, 1)
        if sampling == "uniform" and stride != 1:
            raise _arguments.wrong("stride", stride, "another sampling")
        per_video = _arguments.whole("clips_per_video", clips_per_video, 1)
        if sampling == "dense" and per_video != 1:
            raise _arguments.wrong(
                "clips_per_video", per_video, "step with dense sampling"
            )
        if step is not None and sampling != "dense":
            raise _arguments.wrong("step", step, 'it with sampling="dense"')
        least = max(crop)
        if resize is not None and (
            _arguments.whole("resize", resize, 1) < least
        ):
            raise _arguments.wrong(
                "resize", resize, f"{least} or more, or None"
            )
        settings = [
            "kind=clips",
            *self._share(
                batch_size=batch_size,
                crop=crop,
                workers=_arguments.workers(workers, num_workers, False),
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
                torch=torch,
                output=output,
                pin_memory=pin_memory,
                on_error=on_error,
            ),
            *self._items(
                given,
                labels,
                transforms,
                crop_position,
                flip,
                return_index,
                cache_folder=cache_dir,
                cache_bytes=cache_bytes,
                endpoint=endpoint,
                redirect_hosts=redirect_hosts,
                anonymous=anonymous,
                connections=connections,
            ),
            "jpeg_index=",
            f"gpu={self._gpu}",
            f"sampling={sampling}",
            f"frames={frames}",
            f"clips={per_video}",
            *_distances(stride, step),
            f"resize={resize or 0}",
        ]
        # Dense sampling opens all videos.
        self._open(settings, given[2], None, waits=True)
        # The number of each video's first clip.
        self._first = _library.entries(self._handle)[:, 0]
        self._label(len(self._first))
        self._shape = (frames, *self._shape)
        self._warn_of_ranks(0)
        self._warn_of_items()

    def memory_plan(self) -> dict[str, int]:
        """Upper bounds of the memory in bytes, before the first batch: of the
        index of all videos, of batches that wait, are made or are yours (one),
        of decoders, and of all together. Batches that you keep come on top.

        Opens every video, because the largest frame counts; not for videos in
        a store, and not for a GPU (RuntimeError)."""
        self._check_usable()
        if self._gpu >= 0:
            raise RuntimeError(
                f"{self._name}: memory_plan: not known for a GPU, whose driver"
                " chooses what decoders take; ask a Clips of the CPU"
            )
        plan: dict[str, int] = _library.about(self._handle)["memory"]
        return {**plan, "total": sum(plan.values())}

    def video_of(self, indexes: Any) -> np.ndarray:
        """The numbers of the videos of these clips, as `clips.names` and
        `clips.labels` count them."""
        clips = np.asarray(indexes)
        if clips.size > 0 and not 0 <= clips.min() <= clips.max() < self.size:
            raise IndexError(
                f"{self._name}: video_of: there are clips 0 to {self.size - 1}"
            )
        videos = np.searchsorted(self._first, clips, "right") - 1
        return videos

    # Parts.

    def _labeled(self, items: np.ndarray) -> np.ndarray:
        return self.video_of(items)


def _distances(stride: Any, step: Any) -> list[str]:
    """Between frames, and between clips."""
    in_seconds = isinstance(stride, (float, np.floating))
    settings = [f"unit={'seconds' if in_seconds else 'frames'}"]
    for name, value in (("stride", stride), ("step", step)):
        # For transforms, the library says `step` too.
        setting = "clip_step" if name == "step" else name
        if name == "step" and value is None:
            settings.append(f"{setting}=0")
            continue
        if not in_seconds:
            _arguments.whole(name, value, 1)
        elif not isinstance(value, (float, np.floating)) or not (
            0 < value < math.inf
        ):
            raise _arguments.wrong(name, value, "seconds above 0, as 0.5")
        settings.append(f"{setting}={float(value)!r}")
    return settings
