"""DALI's pipeline, as used in training: one process, with as many threads as
the loader has workers. `dali` is on the CPU; `dali_gpu` decodes on both. The
decoder crops, unless an image is smaller than the crop: it cannot pad."""

import types as python_types

import feed
import numpy as np
from library_support import steps
from loaders import dali as loader
from loaders.recipes import dali as recipes
from nvidia.dali import fn, pipeline_def, types


def batches(paths, options):
    pipeline = _build(paths, options)
    while True:
        images, numbers = pipeline.run()
        images = images.as_tensor()
        yield (
            images if options.gpu_memory else np.asarray(images),
            np.asarray(numbers.as_tensor()).reshape(-1),
        )


def _fuses(paths, options):
    if options.fused_decode:
        return options.fused_decode == "1"
    return all(loader.reaches(path, options.image_size) for path in paths)


def _build(paths, options):
    side = options.image_size
    fused = _fuses(paths, options)
    recipe = None
    if options.recipe:
        recipe = recipes.Recipe(
            None,
            {"native_op": steps.NATIVE_OP, "params": options.recipe},
            python_types.SimpleNamespace(
                batch_transform="", is_crop=False, crop=side
            ),
        )

    @pipeline_def(
        batch_size=options.batch_size,
        num_threads=max(1, options.workers),
        device_id=0 if options.gpu_memory else None,
        # -1 would be drawn; 0 is as good as any other.
        seed=options.seed % 2**31,
        # What is done to an image is drawn: the graph branches.
        enable_conditionals=recipe is not None,
    )
    def graph():
        encoded, numbers = fn.readers.file(
            files=paths,
            labels=list(range(len(paths))),
            random_shuffle=True,
            # The whole order is drawn, as other loaders do it.
            initial_fill=len(paths),
        )
        decoding = {
            "device": "mixed" if options.gpu_memory else "cpu",
            "output_type": types.RGB,
            "adjust_orientation": False,
        }
        crop = {
            "crop": (side, side),
            "crop_pos_x": fn.random.uniform(range=(0, 1)),
            "crop_pos_y": fn.random.uniform(range=(0, 1)),
        }
        if fused:
            images = fn.decoders.image_crop(encoded, **decoding, **crop)
            crop = {}
        else:
            images = fn.decoders.image(encoded, **decoding)
            crop["out_of_bounds_policy"] = "pad"
        if recipe is None:
            crop["mirror"] = fn.random.coin_flip(probability=0.5)
        else:
            if not fused:
                images = fn.crop(images, **crop)
            images = recipe.transformed(images)
            crop = {}
        images = fn.crop_mirror_normalize(
            images,
            mean=[255 * mean for mean in feed.MEAN],
            std=[255 * std for std in feed.STD],
            dtype=types.FLOAT,
            output_layout="CHW",
            **crop,
        )
        return images, fn.cast(numbers, dtype=types.INT64)

    pipeline = graph()
    pipeline.build()
    return pipeline
