"""Makes the rare kinds of videos that few tests have, with PyAV's encoders."""

import fractions
import struct

import av
import numpy as np

HEIGHT, WIDTH, FRAMES, RATE = 100, 130, 50, 25
X264 = {"preset": "veryfast", "crf": "12", "g": "12"}
# Name: ending, codec, format of pixels, options of the encoder, what else.
MADE = {
    "plain": ("mp4", "libx264", "yuv420p", {}, ""),
    "open_gop": (
        "mp4",
        "libx264",
        "yuv420p",
        {"x264-params": "open-gop=1"},
        "",
    ),
    "open_gop_mkv": (
        "mkv",
        "libx264",
        "yuv420p",
        {"x264-params": "open-gop=1:bframes=3:b-pyramid=normal"},
        "",
    ),
    "intra_refresh": (
        "mp4",
        "libx264",
        "yuv420p",
        {"x264-params": "intra-refresh=1"},
        "",
    ),
    "one_key_frame": ("mp4", "libx264", "yuv420p", {"g": "1000"}, ""),
    "interlaced": (
        "mp4",
        "libx264",
        "yuv420p",
        {"x264-params": "tff=1:interlaced=1"},
        "",
    ),
    "422": ("mp4", "libx264", "yuv422p", {}, ""),
    "444": ("mkv", "libx264", "yuv444p", {}, ""),
    "10_bits": ("mp4", "libx264", "yuv420p10le", {}, ""),
    "422_10_bits": ("mov", "libx264", "yuv422p10le", {}, ""),
    "full_range": ("mp4", "libx264", "yuvj420p", {}, ""),
    "gray": ("mp4", "libx264", "gray", {}, ""),
    "lossless": ("mkv", "libx264", "yuv420p", {"qp": "0", "crf": "0"}, ""),
    "edit_list": ("mp4", "libx264", "yuv420p", {"bf": "2"}, "edit_list"),
    "edit_list_mov": ("mov", "libx264", "yuv420p", {}, "edit_list"),
    "late_start": ("mp4", "libx264", "yuv420p", {}, "late_start"),
    "variable_rate": ("mp4", "libx264", "yuv420p", {"bf": "2"}, "variable"),
    "variable_rate_mkv": ("mkv", "libx264", "yuv420p", {}, "variable"),
    "rotated": ("mp4", "libx264", "yuv420p", {}, "rotated"),
    "wide_pixels": ("mp4", "libx264", "yuv420p", {}, "aspect"),
    "wide_pixels_mkv": ("mkv", "libx264", "yuv420p", {}, "aspect"),
    "display_size": ("mp4", "libx264", "yuv420p", {}, "display"),
    "fragments": (
        "mp4",
        "libx264",
        "yuv420p",
        {"movflags": "frag_keyframe+empty_moov"},
        "",
    ),
    "faststart": ("mp4", "libx264", "yuv420p", {"movflags": "faststart"}, ""),
    "hevc": ("mp4", "libx265", "yuv420p", {"x265-params": "log-level=0"}, ""),
    "hevc_10_bits": (
        "mkv",
        "libx265",
        "yuv420p10le",
        {"x265-params": "log-level=0"},
        "",
    ),
    "hevc_open_gop": (
        "mp4",
        "libx265",
        "yuv420p",
        {"x265-params": "open-gop=1:log-level=0"},
        "",
    ),
    "vp8": ("webm", "libvpx", "yuv420p", {"b": "2M"}, ""),
    "vp9": ("webm", "libvpx-vp9", "yuv420p", {"b": "2M"}, ""),
    "vp9_hidden_frames": (
        "webm",
        "libvpx-vp9",
        "yuv420p",
        {"b": "2M", "auto-alt-ref": "1", "lag-in-frames": "16"},
        "",
    ),
    "av1": ("mp4", "libsvtav1", "yuv420p", {"preset": "10"}, ""),
    "mpeg4": ("avi", "mpeg4", "yuv420p", {"q": "3"}, ""),
    "mpeg4_b": ("avi", "mpeg4", "yuv420p", {"bf": "2"}, ""),
    "mpeg4_b_mp4": ("mp4", "mpeg4", "yuv420p", {"bf": "2"}, ""),
    "mpeg2": ("mkv", "mpeg2video", "yuv420p", {"bf": "2"}, ""),
    "mjpeg": ("avi", "mjpeg", "yuvj420p", {}, ""),
    "mjpeg_422": ("mov", "mjpeg", "yuvj422p", {}, ""),
    "prores": ("mov", "prores_ks", "yuv422p10le", {}, ""),
    "ffv1": ("mkv", "ffv1", "yuv420p", {}, ""),
    "ffv1_rgb": ("mkv", "ffv1", "bgr0", {}, ""),
}
# Files of each ending, cut after a part of their length, or with bytes changed.
DAMAGE = {
    f"{kind}_{part}_{name}": (name, kind, part)
    for name in ("plain", "open_gop_mkv", "mpeg4", "vp9", "fragments", "hevc")
    for kind in ("cut", "bits", "zeros")
    for part in (30, 60, 90, 99)
}
MADE.update(dict.fromkeys(DAMAGE))


def picture(number):
    """Every frame moves by some pixels, and shows a square of its own."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    frame = np.stack(
        [
            128 + 100 * np.sin((x + 3 * number) / 13),
            128 + 100 * np.cos((y - 2 * number) / 11),
            128 + 100 * np.sin((x + y + 5 * number) / 17),
        ],
        -1,
    ).astype(np.uint8)
    left, top = 7 * number % (WIDTH - 20), 5 * number % (HEIGHT - 20)
    frame[top : top + 20, left : left + 20] = 255 - 5 * number
    return frame


def encode(path, codec, pixels, options, what):
    muxer = {k: v for k, v in options.items() if k == "movflags"}
    coder = {k: v for k, v in options.items() if k != "movflags"}
    if codec == "libx264":
        coder = {**X264, **coder}
    with av.open(str(path), "w", options=muxer) as container:
        stream = container.add_stream(codec, rate=RATE, options=coder)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, pixels
        stream.codec_context.gop_size = int(coder.get("g", 12))
        if "b" in coder:
            stream.bit_rate = 2_000_000
        if "bf" in coder:
            stream.codec_context.max_b_frames = int(coder["bf"])
        if codec not in ("mpeg2video", "mpeg4"):
            stream.codec_context.time_base = fractions.Fraction(1, 1000)
        if what == "aspect":
            stream.codec_context.sample_aspect_ratio = fractions.Fraction(2, 1)
        packets = []
        for i in range(FRAMES):
            frame = av.VideoFrame.from_ndarray(picture(i), format="rgb24")
            frame = frame.reformat(format=pixels)
            frame.pts = 40 * i + (37 * i % 23 if what == "variable" else 0)
            frame.time_base = fractions.Fraction(1, 1000)
            packets += stream.encode(frame)
        packets += stream.encode()
        shift = {"edit_list": -480, "late_start": 700}.get(what, 0)
        for packet in packets:
            if packet.dts is not None:
                packet.pts += shift
                packet.dts += shift
            container.mux(packet)


def change_header(path, what):
    """The matrix or the size in the header of an MP4 file's track."""
    data = bytearray(path.read_bytes())
    at = data.index(b"tkhd") + 4
    if what == "rotated":
        matrix = (0, 1 << 16, 0, -(1 << 16), 0, 0, 0, 0, 1 << 30)
        struct.pack_into(">9i", data, at + 40, *matrix)
    else:
        struct.pack_into(">2I", data, at + 76, 333 << 16, 77 << 16)
    path.write_bytes(data)


def make(name, folder):
    """(the whole file, the one to read)"""
    if name not in DAMAGE:
        ending, codec, pixels, options, what = MADE[name]
        path = folder / f"{name}.{ending}"
        encode(path, codec, pixels, options, what)
        if what in ("rotated", "display"):
            change_header(path, what)
        return path, path
    of, kind, part = DAMAGE[name]
    whole, _ = make(of, folder)
    data = bytearray(whole.read_bytes())
    at = len(data) * part // 100
    if kind == "cut":
        del data[at:]
    elif kind == "bits":
        for i in range(at, min(at + 200, len(data)), 10):
            data[i] ^= 0x55
    else:
        data[at : at + 300] = bytes(len(data[at : at + 300]))
    path = whole.with_name(f"{name}{whole.suffix}")
    path.write_bytes(data)
    return whole, path
