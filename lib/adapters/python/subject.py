"""Your own code as a library under test: --subject=MODULE:NAME.

A Subject has the functions of a file in libraries/, as methods. What NAME may
be depends on the mode; docs/subjects.md says it. Nothing here needs more than
numpy: albumentations, torch, torchvision and Kornia are used if the subject has
imported them.
"""

import contextlib
import difflib
import functools
import hashlib
import importlib
import importlib.util
import pathlib
import re
import sys
import traceback
import types

import numpy as np
from loaders import own_loader, own_mixture
from operation import Operation

_FOLDER = pathlib.Path(__file__).resolve().parent
_HASH_DIGITS = 12
# How often a transform is tried before it is believed to leave its input alone.
_TRIES = 8
_CHANNELS = (1, 3, 4, 9)
_NEEDS = {
    "micro": "a dict of callables, a callable or a Compose",
    "pipeline": "a function that makes a loader, or an iterable",
    "decode": "a function of a path and a list of frame numbers",
    "mixture": "a function that makes a mixture",
    "train": "a function that returns (model, loss, (inputs, targets))",
}


class SubjectError(Exception):
    """One line for the user: what is wrong and what would be right."""


def describe(name, mode):
    """What lib/planning/subjects.cc reads: a line per transform, or the
    problem."""
    try:
        subject = Subject(name)
        subject.check(mode)
        if mode == "micro":
            lines = [f"transform={one}" for one in subject.transforms()]
        elif "transform" in own_loader.accepted(subject.value, ["transform"]):
            lines = ["takes_transform"]
        else:
            lines = []
        return [*lines, "done"]
    except SubjectError as error:
        return [f"problem={error}"]


@contextlib.contextmanager
def _their_modules():
    """Lets the subject import modules with names that ours have, too: ours have
    all been imported, and are forgotten under these names from now on."""
    for key, module in list(sys.modules.items()):
        # A folder has no file but a path.
        place = getattr(module, "__file__", None) or next(
            iter(getattr(module, "__path__", ())), ""
        )
        if place and pathlib.Path(place).is_relative_to(_FOLDER):
            del sys.modules[key]
    # A process that the subject starts by "spawn" would run our file again.
    sys.modules["__main__"] = types.ModuleType("__main__")
    ours = {str(_FOLDER), ""}
    sys.path[:] = ["", *(p for p in sys.path if p not in ours)]
    yield


def _load(name):
    """The module and the attribute of MODULE:NAME."""
    module_name, _, path = name.partition(":")
    with _their_modules():
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            raise SubjectError(_why_missing(module_name, error)) from error
        except BaseException as error:
            raise SubjectError(
                f"importing {module_name} fails: {explain(error)}"
            ) from error
    try:
        value = functools.reduce(getattr, path.split("."), module)
    except AttributeError:
        names = [n for n in vars(module) if not n.startswith("_")]
        near = difflib.get_close_matches(path, names, 1)
        raise SubjectError(
            f"{module_name} ({shown_path(module.__file__)}) has no {path}; "
            + (f"did you mean {near[0]}?" if near else "name what it defines")
        ) from None
    return module, value


def _why_missing(module_name, error):
    if error.name and not f"{module_name}.".startswith(f"{error.name}."):
        return (
            f"{module_name} needs {error.name}, which {sys.executable} does not"
            " have; install it, or name another interpreter with --python=PATH"
        )
    return (
        f"no module {error.name or module_name}; run this in the folder that"
        " has it, or add that folder to PYTHONPATH"
    )


def shown_path(path):
    """Relative to the current folder where it is below it."""
    path = pathlib.Path(path or "?")
    with contextlib.suppress(ValueError, OSError):
        return str(path.resolve().relative_to(pathlib.Path.cwd()))
    return str(path)


def explain(error):
    """The last line of the traceback, with the innermost place outside of this
    worker and, where there is one, outside of installed packages."""
    frames = [
        (f.filename, f.lineno)
        for f in traceback.extract_tb(error.__traceback__)
    ]
    words = traceback.format_exception_only(error)[-1].strip()
    # torch's DataLoader hands over the text of its worker's traceback.
    told = str(error)
    if "Original Traceback" in told:
        found = re.findall(r'File "(.+?)", line (\d+)', told)
        frames += [(file, int(line)) for file, line in found]
        words = told.strip().splitlines()[-1]
    if isinstance(error, SyntaxError) and error.filename:
        frames.append((error.filename, error.lineno))
    theirs = [
        (file, line)
        for file, line in frames
        if not file.startswith("<")
        and _FOLDER not in pathlib.Path(file).parents
    ]
    own = [
        (file, line)
        for file, line in theirs
        if "site-packages" not in file
        and not file.startswith(sys.prefix)
        and not file.startswith(sys.base_prefix)
    ]
    place = (own or theirs)[-1:]
    return words + "".join(f" ({shown_path(f)}:{n})" for f, n in place)


class Subject:
    explain = staticmethod(explain)

    def __init__(self, name):
        self._name = name
        self._module, self.value = _load(name)

    def check(self, mode):
        """SubjectError when the attribute cannot be measured in this mode."""
        if mode == "micro":
            fits = self.transforms() is not None
        elif mode == "pipeline":
            fits = callable(self.value) or hasattr(self.value, "__iter__")
        else:
            fits = callable(self.value)
        if not fits or isinstance(self.value, types.ModuleType):
            raise SubjectError(
                f"{self._name} is a {type(self.value).__name__}; {mode} needs"
                f" {_NEEDS.get(mode, 'a function')}"
            )

    def transforms(self):
        """Its callables by name, or None."""
        value = self.value
        if not isinstance(value, dict):
            return (
                {self._name.rpartition(":")[2]: value}
                if callable(value)
                else None
            )
        whole = value and all(
            isinstance(name, str) and callable(one)
            for name, one in value.items()
        )
        return value if whole else None

    def version(self):
        """Changes with the files of the subject's package, so that --resume
        measures again what was edited."""
        top = self._module.__name__.partition(".")[0]
        files = sorted(
            module.__file__
            for name, module in list(sys.modules.items())
            if name.partition(".")[0] == top
            and (getattr(module, "__file__", None) or "").endswith(".py")
        )
        digest = hashlib.sha256()
        for file in files:
            digest.update(pathlib.Path(file).read_bytes())
        code = digest.hexdigest()[:_HASH_DIGITS]
        version = getattr(sys.modules[top], "__version__", "")
        return f"{version}+{code}" if version else code

    def use_threads(self, policy):
        cv2, torch = sys.modules.get("cv2"), sys.modules.get("torch")
        if cv2 and policy.get("opencv_threads") is not None:
            cv2.setNumThreads(policy["opencv_threads"])
        if cv2 and not policy.get("opencv_opencl", False):
            cv2.ocl.setUseOpenCL(False)
        if torch and policy.get("torch_intra_op"):
            torch.set_num_threads(policy["torch_intra_op"])
        if torch and policy.get("torch_inter_op"):
            # Only the first call counts, and a second prepare repeats it.
            with contextlib.suppress(RuntimeError):
                torch.set_num_interop_threads(policy["torch_inter_op"])

    def threads(self):
        cv2, torch = sys.modules.get("cv2"), sys.modules.get("torch")
        return max(
            1,
            cv2.getNumThreads() if cv2 else 1,
            torch.get_num_threads() if torch else 1,
        )

    def input_of(self, array, layout):
        """The array itself; an Own operation makes its input of it."""
        if layout != "HWC":
            raise ValueError(f"needs HWC, not {layout}")
        return array

    def make(self, spec):
        # What is not a dict is one transform, under any name that a reference
        # is asked for.
        transform = self.value
        if isinstance(transform, dict):
            if spec["native_op"] not in transform:
                raise LookupError(f"{self._name} has no {spec['native_op']}")
            transform = transform[spec["native_op"]]
        return OwnOperation(transform)

    def array_of(self, output):
        return array_of(output)

    def make_decoder(self, command):
        return Operation(
            lambda item: np.ascontiguousarray(array_of(self.value(*item))[0])
        )

    def build(self, offered):
        """The model, the loss and the batch of a training."""
        made = own_loader.call_with(self.value, offered)
        fits = (
            isinstance(made, (list, tuple))
            and len(made) == 3
            and hasattr(made[0], "parameters")
            and callable(made[1])
            and isinstance(made[2], (list, tuple))
            and len(made[2]) == 2
        )
        if not fits:
            raise TypeError(
                f"{self._name} returns no (model, loss, (inputs, targets))"
            )
        samples = len(next(own_loader.leaves(made[2])))
        if samples != offered["batch_size"]:
            raise ValueError(
                f"the batch has {samples} samples; take the argument"
                f" `batch_size`, or use --batch_size={samples}"
            )
        return made

    def make_loader(self, spec, command, fd):
        return own_loader.Loader(self.value, spec, command, fd)

    def make_mixture(self, sets, spec):
        return own_mixture.Mixture(self.value, sets, spec)


def array_of(output):
    """The output as an array, and its layout."""
    if isinstance(output, dict):
        output = output["image"]
    is_tensor = hasattr(output, "detach")
    array = output.detach().cpu().numpy() if is_tensor else np.asarray(output)
    if array.dtype.kind == "f" and array.dtype != np.float32:
        array = array.astype(np.float32)
    if array.ndim == 4 and is_tensor and len(array) == 1:
        array = array[0]
    if array.ndim == 4:
        planes = array.shape[1] in _CHANNELS and array.shape[3] not in _CHANNELS
        return array, "TCHW" if planes else "THWC"
    planes = is_tensor or (
        array.ndim == 3
        and array.shape[0] in _CHANNELS
        and array.shape[2] not in _CHANNELS
    )
    return array, "CHW" if planes and array.ndim == 3 else "HWC"


def check_image(output):
    """TypeError if the output of a transform is not an image and no clip: what
    returns nothing is fast, but does no work."""
    array, _ = array_of(output)
    if array.dtype == object:
        kind = type(array.flat[0]).__name__ if array.size else "nothing"
    elif array.ndim < 2 or array.ndim > 4 or not array.size:
        kind = f"{array.dtype} of shape {tuple(array.shape)}"
    elif array.dtype.kind not in "buif":
        kind = str(array.dtype)
    else:
        return
    raise TypeError(
        f"the transform returns no image but {kind}; return an array of"
        " height, width and channels"
    )


class OwnOperation(Operation):
    """A callable of the user. Each gets what it takes in training: arrays, PIL
    images, uint8 planes, or float batches of one image or of a clip's frames.
    Making that is untimed."""

    def __init__(self, transform):
        self.place, call = _adapt(transform)
        super().__init__(
            lambda image: _contiguous(call(image)),
            functools.partial(_seed, transform),
        )

    def settle(self, item):
        """Gives each call a copy of its input if the transform writes to it:
        inputs are used again. TypeError if an output is not an image."""
        for _ in range(_TRIES):
            if isinstance(item, np.ndarray):
                try:
                    output = self.call(item)
                except Exception:
                    # It fails on a copy too if not for writing.
                    check_image(self.call(item.copy()))
                    self.fresh = np.copy
                    return
                check_image(output)
                continue
            copy = item.clone() if hasattr(item, "clone") else item.copy()
            before = np.array(copy)
            check_image(self.call(copy))
            if not np.array_equal(before, np.asarray(copy)):
                self.fresh = lambda one: (
                    one.clone() if hasattr(one, "clone") else one.copy()
                )
                return


def _contiguous(output):
    if isinstance(output, np.ndarray):
        return np.ascontiguousarray(output)
    if hasattr(output, "contiguous"):
        return output.contiguous()
    if isinstance(output, dict):
        return _contiguous(output["image"])
    return np.ascontiguousarray(output)


def _seed(transform, value):
    if torch := sys.modules.get("torch"):
        torch.manual_seed(value)
    if hasattr(transform, "set_random_seed"):
        transform.set_random_seed(value % 2**32)


def _roots(value):
    """The packages that an object's classes come from."""
    return {
        ".".join(one.__module__.split(".")[:3]) for one in type(value).__mro__
    }


def _comes_from(value, package):
    return any(f"{root}.".startswith(f"{package}.") for root in _roots(value))


def _adapt(transform):
    """(what makes its input of an array, the call) for a user's transform."""
    if _comes_from(transform, "albumentations"):
        return np.asarray, functools.partial(_albumented, transform)
    if _comes_from(transform, "torchvision.transforms.v2"):
        return _torchvision_input(transform), transform
    if _comes_from(transform, "torchvision.transforms"):
        return _pil, transform
    if _comes_from(transform, "torch.nn"):
        return _float_batch, transform
    return np.asarray, transform


def _albumented(transform, array):
    if array.ndim == 4:
        return transform(images=array)["images"]
    return transform(image=array)["image"]


def _torchvision_input(transform):
    """Planes of bytes, unless its first step takes something else."""
    first = transform
    while hasattr(first, "transforms") and first.transforms:
        first = first.transforms[0]
    kind = type(first).__name__
    if kind in ("ToImage", "ToTensor", "ToPILImage"):
        return np.asarray
    return _pil if kind == "PILToTensor" else _planes


def _pil(array):
    from PIL import Image

    if array.ndim == 4:
        raise ValueError("takes PIL images, so no clips; use torchvision v2")
    return Image.fromarray(array[:, :, 0] if array.shape[2] == 1 else array)


def _planes(array):
    import torch

    return torch.from_numpy(np.ascontiguousarray(np.moveaxis(array, -1, -3)))


def _float_batch(array):
    planes = _planes(array).float().div_(255)
    return planes if planes.ndim == 4 else planes.unsqueeze_(0)
