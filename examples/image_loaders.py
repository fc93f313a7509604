"""Three loaders of the same batches, for train_vit.py: random crops, half of
them flipped, normalized, as float32 tensors with labels, only full batches.
"""

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
WORKERS = 2


def feedrate_loader(folder, batch_size, crop):
    import feedrate

    return feedrate.Loader(
        folder,
        batch_size=batch_size,
        crop=crop,
        flip=True,
        workers=WORKERS,
        shuffle=True,
        drop_last=True,
        pin_memory=True,
    )


def feedrate_subject(dataset, workers, batch_size, crop):
    """For `pipeline --subject`, as `dev/bench.sh module` runs it."""
    import feedrate

    return feedrate.Loader(
        dataset,
        batch_size=batch_size,
        crop=crop,
        flip=True,
        workers=workers,
        output="numpy",
    )


def torch_dataloader(folder, batch_size, crop):
    import torch
    from torchvision import datasets
    from torchvision.transforms import v2

    steps = [v2.RandomCrop(crop, pad_if_needed=True)]
    steps += [v2.RandomHorizontalFlip(), v2.PILToTensor()]
    steps += [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    return torch.utils.data.DataLoader(
        datasets.ImageFolder(folder, v2.Compose(steps)),
        batch_size=batch_size,
        shuffle=True,
        num_workers=WORKERS,
        persistent_workers=True,
        drop_last=True,
        pin_memory=torch.cuda.is_available(),
    )


def dali_loader(folder, batch_size, crop):
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy

    @pipeline_def(batch_size=batch_size, num_threads=WORKERS, device_id=None)
    def graph():
        place = {f"crop_pos_{a}": fn.random.uniform(range=(0, 1)) for a in "xy"}
        files, labels = fn.readers.file(
            file_root=folder, random_shuffle=True, name="files"
        )
        # decoders.image_crop is faster, and ends the process at an image that
        # is smaller than the crop.
        images = fn.crop_mirror_normalize(
            fn.decoders.image(files),
            crop=(crop, crop),
            out_of_bounds_policy="pad",
            **place,
            dtype=types.FLOAT,
            mean=[255 * value for value in MEAN],
            std=[255 * value for value in STD],
            mirror=fn.random.coin_flip(),
        )
        return images, labels

    class Pairs(DALIGenericIterator):
        def __next__(self):
            (batch,) = super().__next__()
            return batch["images"], batch["labels"].squeeze(1).long()

    return Pairs(
        graph(),
        ["images", "labels"],
        reader_name="files",
        last_batch_policy=LastBatchPolicy.DROP,
        auto_reset=True,
    )


LOADERS = {
    "feedrate": feedrate_loader,
    "dataloader": torch_dataloader,
    "dali": dali_loader,
}
