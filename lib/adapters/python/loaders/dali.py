"""DALI's pipelines: one process, with as many threads as the loader has
workers.

The graph is built before the clock starts and kept for epochs of the same
items, as its users do: building takes 0.2 s, which would be visible in an epoch
of a thousand images.
"""

import base64

import numpy as np
from loaders import processes
from loaders.epoch import Batch
from loaders.source import ItemError, size_of_file
from nvidia.dali import fn, pipeline_def, types

_FUSED = "fused_decode"
# For clips: which frames, and who decodes elsewhere.
_OF_CLIPS = {"clip_rule", "decoder"}


class Loader:
    forks = False

    def __init__(self, source, recipe, spec, command):
        if spec.ablation:
            raise ValueError(f"DALI's graph cannot leave out {spec.ablation}")
        if spec.shuffle and not source.decodes:
            raise ValueError("DALI shuffles what its readers read: files")
        known = _OF_CLIPS if recipe.is_clip else {_FUSED}
        for name in set(spec.settings) - known:
            raise ValueError(f"DALI has no setting {name}")
        if recipe.is_clip and (spec.source != "files" or spec.device == "cpu"):
            raise ValueError(
                "DALI decodes clips from files, on the GPU; use scope"
                " decode_dataloader_augment and device cuda"
            )
        self._source = source
        self._recipe = recipe
        self._spec = spec
        self._gpu = spec.device != "cpu"
        self._fused = self._fuses(recipe, spec)
        self._pipeline = None
        self._items = None
        self._seed = 0
        self._is_new = True
        self._finished = True

    def set_epoch(self, seed, first, count, epoch=0):
        size = len(self._source)
        items = [i % size for i in range(first, first + count)]
        batch_size = self._spec.batch_size
        self._counts = batch_counts(self._spec, count, epoch)
        if items == self._items:
            return
        self._source.preload(sorted(set(items)))
        self._pipeline = self._build(items, batch_size, seed)
        self._is_new = True
        self._items = items
        self._seed = seed

    def state(self):
        """DALI's checkpoint, and the number of batches before it."""
        checkpoint = base64.b64encode(self._pipeline.checkpoint()).decode()
        return f"{self._taken} {checkpoint}"

    def resume(self, state):
        batches, checkpoint = state.split(" ")
        self._counts = self._counts[int(batches) :]
        self._pipeline = self._build(
            self._items,
            self._spec.batch_size,
            self._seed,
            base64.b64decode(checkpoint),
        )

    def start(self):
        self._finished = False
        return self._batches()

    def stop(self):
        """Keeps the graph and its threads, unless runs of it are pending."""
        if not self._finished:
            self._pipeline = self._items = None

    def outputs(self, indexes, seed):
        pipeline = self._build(indexes, len(indexes), seed)
        (batch,) = pipeline.run()
        yield from np.asarray(batch.as_cpu().as_tensor())

    def cpu_s(self):
        return processes.cpu_s()

    def stages(self):
        return []

    def _fuses(self, recipe, spec):
        """Whether the decoder crops. It cannot pad, so it does so only where
        every image is known to be large enough."""
        if recipe.is_clip:
            return False
        if not self._source.decodes or not recipe.starts_with_crop:
            return False
        if _FUSED in spec.settings:
            return spec.settings[_FUSED] == "true"
        paths = map(self._source.path, range(len(self._source)))
        return all(reaches(path, spec.crop) for path in paths)

    def _batches(self):
        # Exactly as many runs as the epoch has batches: what run() would work
        # ahead belongs to nobody.
        waiting = len(self._counts)
        if self._is_new:
            # The first call fills the queue by itself.
            self._pipeline.schedule_run()
            self._is_new = False
            waiting -= self._spec.prefetch
        else:
            for _ in range(min(self._spec.prefetch, waiting)):
                self._pipeline.schedule_run()
                waiting -= 1
        self._taken = 0
        for number, count in enumerate(self._counts):
            batch = self._take(number)
            tensor = batch.as_tensor()
            nbytes = np.prod(tensor.shape()[1:]) * 4 * count
            self._taken += 1
            yield Batch(count, int(nbytes), [], _First(tensor, count))
            del tensor, batch
            self._pipeline.release_outputs()
            if waiting > 0:
                self._pipeline.schedule_run()
                waiting -= 1
        # Runs that nobody will take would be the first of the next epoch.
        self._finished = waiting == 0

    def _take(self, number):
        try:
            (batch,) = self._pipeline.share_outputs()
        except RuntimeError as error:
            raise self._named(number, error) from error
        return batch

    def _named(self, number, error):
        """DALI does not say which file it was: tries them one by one."""
        size = self._spec.batch_size
        for item in self._items[number * size : (number + 1) * size]:
            try:
                self._build([item], 1, 0).run()
            except RuntimeError as again:
                reason = str(again).replace("\n", " ")
                return ItemError(
                    f"item {item}, {self._source.path(item)}: {reason}"
                )
        return error

    def _build(self, items, batch_size, seed, checkpoint=None):
        # Only audits shuffle, and continue.
        more = {"enable_checkpointing": True} if self._spec.shuffle else {}

        @pipeline_def(
            batch_size=batch_size,
            num_threads=max(1, self._spec.workers),
            device_id=0 if self._gpu else None,
            # -1 would be drawn; 0 is as good as any other.
            seed=seed % 2**31,
            prefetch_queue_depth=self._spec.prefetch,
            checkpoint=checkpoint,
            enable_conditionals=self._recipe.branches,
            **more,
        )
        def graph():
            return self._recipe.call(*self._images(items, batch_size))

        pipeline = graph()
        pipeline.build()
        return pipeline

    def _images(self, items, batch_size):
        """Nodes of the items' pixels, and whether they are cropped already."""
        if self._recipe.is_clip:
            return self._clips(items, batch_size), False
        if not self._source.decodes:
            return self._from_memory(items, batch_size), False
        paths = [self._source.path(i) for i in items]
        # Shuffles within a buffer of a thousand, its default, as NVIDIA's
        # training scripts do.
        reading = {"pad_last_batch": True}
        if self._spec.shuffle:
            reading |= {
                "random_shuffle": True,
                "shard_id": self._spec.rank,
                "num_shards": self._spec.ranks,
            }
        if all(path.endswith(".npy") for path in paths):
            images = fn.readers.numpy(files=paths, **reading)
            images = fn.reinterpret(images, layout="HWC")
            return (images.gpu() if self._gpu else images), False
        encoded, _ = fn.readers.file(
            files=paths, labels=[0] * len(paths), **reading
        )
        decoding = {
            "device": "mixed" if self._gpu else "cpu",
            "output_type": types.RGB,
            "adjust_orientation": False,
        }
        if self._fused:
            arguments = self._recipe.crop_arguments()
            return fn.decoders.image_crop(
                encoded, **decoding, **arguments
            ), True
        return fn.decoders.image(encoded, **decoding), False

    def _clips(self, items, batch_size):
        """The frames of each clip by their numbers, decoded on the GPU."""
        paths = [self._source.path(i) for i in items]
        encoded, _ = fn.readers.file(
            files=paths, labels=[0] * len(paths), pad_last_batch=True
        )
        numbers = [np.array(self._source.frames(i), np.int32) for i in items]
        frames = fn.external_source(
            source=_in_batches(numbers, batch_size), cycle=True, batch=True
        )
        return fn.decoders.video(encoded, device="mixed", frames=frames)

    def _from_memory(self, items, batch_size):
        arrays = [self._source.load(i, None) for i in items]
        images = fn.external_source(
            source=_in_batches(arrays, batch_size),
            cycle=True,
            batch=True,
            layout="HWC",
            no_copy=True,
        )
        return images.gpu() if self._gpu else images


def batch_counts(spec, count, epoch):
    """How many items each batch of an epoch has: those of a rank's shard. The
    reader goes on to the next shard after each epoch."""
    shard = (spec.rank + epoch) % spec.ranks
    count = _end_of(shard, spec.ranks, count) - _end_of(
        shard - 1, spec.ranks, count
    )
    batches, rest = divmod(count, spec.batch_size)
    counts = [spec.batch_size] * batches
    return counts + [rest] if rest and not spec.drop_last else counts


def _end_of(shard, shards, count):
    """Where a shard of DALI's readers ends."""
    return count * (shard + 1) // shards


class _First:
    """The first items of a batch on the CPU, for numpy: the rest fills it."""

    def __init__(self, tensor, count):
        self._tensor = tensor
        self._count = count

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self._tensor)[: self._count]


def _in_batches(arrays, batch_size):
    """Fills up the last batch, as the readers do."""
    arrays = [*arrays, *[arrays[-1]] * (-len(arrays) % batch_size)]
    return [
        arrays[i : i + batch_size] for i in range(0, len(arrays), batch_size)
    ]


def reaches(path, crop):
    """Whether an image is large enough for the decoder to crop."""
    try:
        size = size_of_file(path)
    except OSError:  # The epoch will name it.
        return True
    return size is not None and min(size) >= crop
