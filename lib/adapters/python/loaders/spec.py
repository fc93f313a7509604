"""The object `loader` of a prepare command, checked."""

import dataclasses

SCOPES = (
    "memory_dataloader_augment",
    "decode_dataloader_augment",
    "decode_dataloader_augment_batch_copy",
)
_CHOICES = {
    "scope": SCOPES,
    "source": ("corpus", "files", "shards", "tfrecord", "parquet", "lmdb"),
    "crop_position": ("random", "center"),
    "batch_transform": ("", "mixup", "cutmix"),
    "on_error": ("skip", "fail"),
    "ablation": ("", "no_augment", "no_decode", "cached_batch"),
}
_AT_LEAST = {"batch_size": 1, "workers": 0, "prefetch": 1, "crop": 1}


@dataclasses.dataclass(frozen=True)
class LoaderSpec:
    scope: str
    source: str
    mean: list
    std: list
    batch_size: int = 32
    workers: int = 0
    prefetch: int = 2
    persistent: bool = False
    pin_memory: bool = False
    drop_last: bool = False
    shuffle: bool = False
    # Which of how many processes that share an epoch.
    rank: int = 0
    ranks: int = 1
    channels: int = 3
    crop: int = 224
    is_crop: bool = False
    crop_position: str = "random"
    input_scale: float = 255
    batch_transform: str = ""
    on_error: str = "skip"
    ablation: str = ""
    # Settings of a sweep that only some loaders have.
    settings: dict = dataclasses.field(default_factory=dict)
    # Not of the object: the device of the prepare command.
    device: str = "cpu"

    @property
    def finishes_on_gpu(self):
        """Workers only crop; the rest runs on the device."""
        return self.device != "cpu" and not self.copies_to_device

    @property
    def copies_to_device(self):
        return self.scope == "decode_dataloader_augment_batch_copy"

    @property
    def groups(self):
        """How often RGB is concatenated to have all channels."""
        return self.channels // 3


def parse(message, device="cpu"):
    """The object as a LoaderSpec; ValueError names what cannot be."""
    known = {field.name for field in dataclasses.fields(LoaderSpec)}
    unknown = sorted(set(message) - (known - {"device"}))
    if unknown:
        raise ValueError(f"loader: no field {', '.join(unknown)} is known")
    if device not in ("cpu", "cuda"):
        raise ValueError(f"no device {device!r} in this worker")
    spec = LoaderSpec(**message, device=device)
    for name, allowed in _CHOICES.items():
        if getattr(spec, name) not in allowed:
            raise ValueError(
                f"loader: {name} is {getattr(spec, name)!r}, not one of"
                f" {', '.join(map(repr, allowed))}"
            )
    for name, least in _AT_LEAST.items():
        if getattr(spec, name) < least:
            raise ValueError(f"loader: {name} is below {least}")
    return _checked_channels(spec)


def refuse_settings(spec, loader):
    """For a loader that has no settings of its own. Those of clips are not the
    loader's: which frames, and who decodes them."""
    unknown = sorted(set(spec.settings) - {"clip_rule", "decoder"})
    if unknown:
        raise ValueError(f"{loader} has no setting {', '.join(unknown)}")


def _checked_channels(spec):
    if spec.channels < 3 or spec.channels % 3:
        raise ValueError(f"loader: {spec.channels} channels; RGB times what?")
    repeated = {
        name: _repeat(name, getattr(spec, name), spec.channels)
        for name in ("mean", "std")
    }
    if spec.persistent and spec.workers == 0:
        raise ValueError("loader: persistent workers need at least one worker")
    if spec.source == "corpus" and spec.scope != SCOPES[0]:
        raise ValueError(f"loader: {spec.scope} needs files, not a corpus")
    return dataclasses.replace(spec, **repeated)


def _repeat(name, values, channels):
    if not values or channels % len(values):
        raise ValueError(
            f"loader: {name} has {len(values)} values for {channels} channels"
        )
    return list(values) * (channels // len(values))
