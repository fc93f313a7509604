"""Finds batches and weights of a training, and what tells their items."""

import sys
import weakref

import _feedrate_codes as codes

# Parameters that are looked at to recognize the weights, and values of each.
_PARAMETERS = 4
_VALUES = 8
# How often, where it has to be quick, Weights looks which of them are trained.
_CALLS = 32
# Blocks of larger batches are copied with half the bits.
_MOST_PIXELS = 1 << 20


def on_device(tensor):
    return tensor.device.type != "cpu"


def as_array(tensor):
    """Waits for its device."""
    return _of_numpy(tensor).cpu().numpy()


def _of_numpy(tensor):
    """NumPy has no bfloat16."""
    import torch

    return tensor.float() if tensor.dtype == torch.bfloat16 else tensor


class Weights:
    """Some values that change when an optimizer changes the weights."""

    def __init__(self):
        self._module = None
        # To find its parameters takes long.
        self._every = []
        self._trained = []
        # Of the parameters that are looked at: each, and where it is.
        self._chosen = []
        self._values = []
        # Whether they are of 32 bits, on one device.
        self._are_words = False
        self._calls = 0

    def of(self, module, is_quick=False):
        """A tensor of 32 bits per value, where the weights are. None if there
        are none. `is_quick`: looks only now and then which are trained."""
        import torch

        try:
            if not self._is_known(module, is_quick):
                self._choose(module)
            if not self._values:
                return None
            if self._are_words:
                return torch.cat(self._values)
            first = self._values[0].device
            values = [value.double().to(first) for value in self._values]
            return torch.cat(values).view(torch.int32)
        except Exception:  # noqa: BLE001 - parameters of other kinds.
            self._chosen = []
            return None

    def _is_known(self, module, is_quick):
        if not self._chosen or self._module() is not module:
            return False
        for part, place in self._chosen:
            one = part()
            if one is None or place is None or one.data_ptr() != place:
                return False
        self._calls += 1
        if is_quick and self._calls % _CALLS:
            return True
        return self._trained == _which_are_trained(self._every)

    def _choose(self, module):
        import torch

        if self._module is None or self._module() is not module:
            self._module = weakref.ref(module)
            self._every = []
        if any(part() is None for part in self._every) or not self._every:
            self._every = [weakref.ref(p) for p in module.parameters()]
        self._trained = _which_are_trained(self._every)
        every = [
            part
            for part, trained in zip(self._every, self._trained, strict=True)
            if trained
        ]
        step = max(1, (len(every) - 1) // (_PARAMETERS - 1))
        parts = {id(p): p for p in [*every[::step], *every[-1:]]}.values()
        self._chosen = []
        self._values = []
        for part in parts:
            whole = part().detach()
            is_spread = hasattr(whole, "to_local")
            # Of parameters that are spread, it is another tensor each time.
            whole = whole.to_local() if is_spread else whole
            self._chosen.append((part, None if is_spread else whole.data_ptr()))
            count = min(_VALUES, whole.numel())
            if count:
                jump = whole.numel() // count
                self._values.append(torch.as_strided(whole, (count,), (jump,)))
        kinds = {(value.dtype, value.device) for value in self._values}
        self._are_words = {kind for kind, _ in kinds} == {torch.float32}
        self._are_words = self._are_words and len(kinds) == 1
        if self._are_words:
            self._values = [value.view(torch.int32) for value in self._values]


def _which_are_trained(parts):
    return [
        one is not None and one.requires_grad for one in (p() for p in parts)
    ]


def batch_in(values, depth=1):
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
            found = batch_in(list(value.values()), depth - 1)
            if found is not None:
                return found
        elif depth and isinstance(value, (list, tuple)):
            found = batch_in(list(value), depth - 1)
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


def start_reading(batch, is_late):
    """What tells the items of a batch: a codes.Batch, or tensors by the names
    that codes.complete_from() knows, if they are on a device or `is_late`. None
    if these are no images and no tokens.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(batch, torch.Tensor):
        batch = batch.detach()
        is_late = is_late or on_device(batch)
    else:
        import numpy as np

        batch = np.asarray(batch)
        is_late = False
    if len(batch.shape) == 2:
        if not is_late:
            return codes.read_tokens(batch)
        # The training may write others where these are.
        return {"tokens": batch.to(sys.modules["torch"].int32, copy=True)}
    images = _middle_frame(batch)
    axes = codes.axes_of(images.shape)
    if axes is None:
        return None
    if is_late:
        return _blocks_of(images, axes)
    if torch is not None and isinstance(images, torch.Tensor):
        images = _of_numpy(images).numpy()
    return codes.read(images)


# Of images of a device, shape and strides: (order of dimensions, shape,
# dimension of pixels, places of blocks).
_WAYS = {}


def _way_of(images, axes):
    import torch

    images = images.permute(axes)
    count, channels, height, width = images.shape
    places = torch.from_numpy(codes.device_places(height, width))
    places = places.to(images.device)
    last = images.permute(0, 2, 3, 1)
    if images.is_contiguous():
        return axes, (count, channels, height * width), 2, places
    if last.is_contiguous():
        order = [axes[i] for i in (0, 2, 3, 1)]
        return order, (count, height * width, channels), 1, places
    return axes, (width, 0, 0), 0, places


def _blocks_of(images, axes):
    """The pixels at codes.device_places(), in as few operations as possible:
    each takes time of the step."""
    import torch

    key = images.device, images.shape, images.stride()
    way = _WAYS.get(key)
    if way is None:
        way = _WAYS[key] = _way_of(images, axes)
    order, shape, dimension, places = way
    images = images if order == (0, 1, 2, 3) else images.permute(order)
    if dimension:
        blocks = images.view(shape).index_select(dimension, places)
    else:
        blocks = images[:, :, places // shape[0], places % shape[0]]
    if dimension == 1:
        blocks = blocks[:, :, :3]
    elif blocks.shape[1] > 3:
        blocks = blocks[:, :3]
    if (
        blocks.dtype == torch.bfloat16
        or blocks.element_size() > 4
        or (blocks.element_size() == 4 and blocks.numel() > _MOST_PIXELS)
    ):
        blocks = blocks.half()
    return {"pixels_last" if dimension == 1 else "pixels": blocks}
