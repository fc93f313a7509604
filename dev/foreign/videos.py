"""Videos of any package, and those that encoders make here: feedrate.Clips
against FFmpeg (PyAV).

The number of frames must be the same, and each frame that is asked for by its
number must be FFmpeg's: nearer to it than to its neighbors, with differences of
the conversion to RGB alone.
"""

import pathlib
import sys
import tempfile
import warnings

import av
import numpy as np
import outcome
import video_maker

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import feedrate  # noqa: E402

warnings.simplefilter("ignore")
av.logging.set_level(av.logging.PANIC)

ENDINGS = (".mp4", ".avi", ".mkv", ".mov", ".webm")
PAGE = "docs/foreign.md"
# AVColorSpace as swscale has it; what a file does not state is BT.601.
MATRICES = {1: 1, 4: 4, 5: 5, 6: 5, 7: 7, 9: 9}
# Frames of a file that are compared, spread over it.
FRAMES = 48
# Levels by which a frame may differ on average, where FFmpeg takes colors field
# by field, too; and by which another frame may be nearer.
MEAN, MEAN_INTERLACED, NEARER = 2.5, 5, 0.5


def cases(folder):
    if folder.name.startswith("made"):
        return sorted(video_maker.MADE)
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.suffix.lower() in ENDINGS and path.is_file()
    )


def decoded(path):
    with av.open(str(path)) as container:
        stream = container.streams.best("video")
        if stream is None:
            raise ValueError("no video")
        yield from container.decode(stream)


def reference(path):
    """The size of each frame."""
    sizes = [(frame.height, frame.width) for frame in decoded(path)]
    if not sizes:
        raise ValueError("no frames")
    return sizes


def places(path):
    """Where each frame that FFmpeg hands out is by its time. Of files that say
    that fewer frames are reordered than are, it hands them out as stored."""
    times = [frame.pts for frame in decoded(path)]
    if None in times:
        return list(range(len(times)))
    order = sorted(range(len(times)), key=lambda number: times[number])
    return sorted(range(len(times)), key=lambda place: order[place])


def pixels(path, numbers):
    """Frames by their numbers, with their neighbors."""
    wanted = {n + near for n in numbers for near in range(-2, 3)}
    found = {}
    for number, frame in zip(places(path), decoded(path), strict=True):
        if number in wanted:
            matrix = MATRICES.get(int(frame.colorspace), 5)
            rgb = frame.reformat(
                format="rgb24", src_colorspace=matrix, interpolation="POINT"
            )
            found[number] = rgb.to_ndarray()
    return found


def is_interlaced(path):
    return next(decoded(path)).interlaced_frame


def clips(path, size, step):
    return feedrate.Clips(
        [path],
        batch_size=1,
        frames=1,
        step=step,
        sampling="dense",
        crop=size,
        dtype="uint8",
        channels_last=True,
        output="numpy",
        workers=1,
        on_error="fail",
    )


def ours(path, size):
    """(number of frames, numbers of some, these frames)"""
    with clips(path, size, 1) as loader:
        count = loader.size
    step = max(1, count // FRAMES)
    with clips(path, size, step) as loader:
        frames = [batch[0][0, 0].copy() for batch in loader]
    return count, range(0, count, step), frames


def far(a, b):
    return np.abs(a.astype(np.int16) - b.astype(np.int16)).mean()


def difference(path, count, numbers, frames, mean=MEAN):
    """Between frames and those that FFmpeg reads from the file, in words."""
    right = len(reference(path))
    if count != right:
        return f"{count} frames where {right} are right"
    expected = pixels(path, numbers)
    for number, frame in zip(numbers, frames, strict=True):
        own = far(frame, expected[number])
        if own > mean:
            return f"frame {number}: {own:.2f} levels from the right one"
        for other in set(expected) & set(range(number - 2, number + 3)):
            if own > NEARER + far(frame, expected[other]):
                return f"frame {number} looks like {other}"
    return ""


def compare(folder, case):
    if case not in video_maker.MADE:
        return compare_file(folder / case)
    with tempfile.TemporaryDirectory() as work:
        return compare_made(pathlib.Path(work), case)


def compare_file(path):
    try:
        expected = reference(path)
    except (av.FFmpegError, ValueError) as error:
        expected, said = None, str(error)
    size = (16, 16) if expected is None else expected[0]
    try:
        found = ours(path, size)
    except (RuntimeError, ValueError, OSError) as error:
        why = str(error).replace(str(path), "FILE")
        if expected is None or len(set(expected)) > 1:
            return outcome.refused(why)
        return outcome.unexplained(
            f"FFmpeg reads {len(expected)} frames, we: {why}"
        )
    if expected is None:
        return outcome.unexplained(f"FFmpeg reads no frame ({said}), we do")
    wrong = difference(path, *found)
    if not wrong and places(path) != sorted(places(path)):
        return outcome.explained("FFmpeg's frames go back in time", PAGE)
    if not wrong:
        return outcome.equal()
    if is_interlaced(path) and not difference(path, *found, MEAN_INTERLACED):
        return outcome.explained("colors are those of whole frames", PAGE)
    return outcome.unexplained(wrong)


def compare_made(work, case):
    """A damaged file may be refused. What is read of one is right, or what
    FFmpeg reads too, where nothing in the file tells that it is damaged."""
    whole, path = video_maker.make(case, work)
    if whole == path:
        return compare_file(path)
    try:
        found = ours(path, reference(whole)[0])
    except (RuntimeError, ValueError, OSError) as error:
        return outcome.refused(str(error).replace(str(path), "FILE"))
    wrong = difference(whole, *found)
    if not wrong:
        return outcome.equal()
    if not difference(path, *found):
        return outcome.explained(
            f"damage that nothing tells (docs/video.md): {wrong}", PAGE
        )
    return outcome.unexplained(wrong)
