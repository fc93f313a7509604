"""TorchCodec: decodes frames by number."""

import ctypes
import pathlib
import sysconfig

import torch
from library_support import torch_support
from operation import Operation


def _preload_image_library():
    """TorchCodec is built for CUDA and does not look for NPP among the packages
    of its environment, where it is installed."""
    folder = pathlib.Path(sysconfig.get_paths()["purelib"], "nvidia")
    for name in ("libnppc.so.*", "libnppicc.so.*"):
        for path in folder.glob(f"*/lib/{name}"):
            ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)


_preload_image_library()
import torchcodec  # noqa: E402
from torchcodec.decoders import VideoDecoder  # noqa: E402

use_threads = torch_support.use_threads
threads = torch_support.threads


def version():
    return torchcodec.__version__.partition("+")[0]


def make_decoder(command):
    # 0 lets FFmpeg decide, here as there.
    threads = command["decode"]["threads"]

    def call(item):
        path, numbers = item
        decoder = VideoDecoder(
            path,
            dimension_order="NHWC",
            num_ffmpeg_threads=threads,
            seek_mode="exact",
        )
        return decoder.get_frames_at(numbers).data.contiguous()

    return Operation(call, lambda value: torch.manual_seed(value))


def array_of(output):
    return output.numpy(), "THWC"
