"""What recipes for clips share: decoding, and arrays as tensors."""

import clips
import torch

# As in the public benchmark; --sweep=decoder=torchcodec takes another.
_DECODER = "opencv"
_DECODERS = ("opencv", "torchcodec", "pyav", "decord")


class ClipRecipe:
    """Base of recipes that also take clips: THWC arrays from a decoder."""

    is_clip = False
    decode_clip = None

    def use_clips(self, command, spec):
        self.is_clip = clips.frames_of(command) > 0
        if self.is_clip and spec.source == "files":
            name = spec.settings.get("decoder", _DECODER)
            if name not in _DECODERS:
                raise ValueError(
                    f"setting decoder: {name!r} is none of"
                    f" {', '.join(_DECODERS)}"
                )
            library = _library(name)
            decode = library.make_decoder({"decode": {"threads": 1}}).call
            self.decode_clip = lambda file: library.array_of(decode(file))[0]


def _library(name):
    """The library file of a decoder, as the server loads it."""
    import server

    return server.load_library(name, [server.FOLDER / "libraries"])


def planes_of(clip):
    """uint8 TCHW."""
    return torch.from_numpy(clip).permute(0, 3, 1, 2).contiguous()
