"""DALI's pipeline, as used in training: one process, with as many threads as
the loader has workers. `dali` is on the CPU; `dali_gpu` decodes on both."""

import feed
import numpy as np
from nvidia.dali import Pipeline, fn, types


def batches(paths, options):
    pipeline = _build(paths, options)
    while True:
        images, numbers = pipeline.run()
        images = images.as_tensor()
        yield (
            images if options.gpu_memory else np.asarray(images),
            np.asarray(numbers.as_tensor()).reshape(-1),
        )


def _build(paths, options):
    pipeline = Pipeline(
        batch_size=options.batch_size,
        num_threads=max(1, options.workers),
        device_id=0 if options.gpu_memory else None,
        # -1 would be drawn; 0 is as good as any other.
        seed=options.seed % 2**31,
    )
    with pipeline:
        encoded, numbers = fn.readers.file(
            files=paths,
            labels=list(range(len(paths))),
            random_shuffle=True,
            # The whole order is drawn, as other loaders do it.
            initial_fill=len(paths),
        )
        images = fn.decoders.image(
            encoded,
            device="mixed" if options.gpu_memory else "cpu",
            output_type=types.RGB,
            adjust_orientation=False,
        )
        side = options.image_size
        images = fn.crop_mirror_normalize(
            images,
            crop=(side, side),
            crop_pos_x=fn.random.uniform(range=(0, 1)),
            crop_pos_y=fn.random.uniform(range=(0, 1)),
            out_of_bounds_policy="pad",
            mirror=fn.random.coin_flip(probability=0.5),
            mean=[255 * mean for mean in feed.MEAN],
            std=[255 * std for std in feed.STD],
            dtype=types.FLOAT,
            output_layout="CHW",
        )
        pipeline.set_outputs(images, fn.cast(numbers, dtype=types.INT64))
    pipeline.build()
    return pipeline
