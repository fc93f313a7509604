"""feedrate.Clips with device="cuda", held against the CPU's clips.

Needs a GPU with video engines, and torch; without a GPU it says so and checks
nothing. Runs in the bundle of dev/gpu_bundle.sh (gpu_check.sh clips) and in a
checkout after

    dev/bazel.sh build --config=cuda //lib/loader/python:feedrate_loader \\
        //lib/loader/mixture:feedrate_frames //lib/media/video:write_videos

`gpu_clips_test.py speed [ROUNDS]` instead compares speeds with torchcodec and
PyNvVideoCodec, where they are installed.
"""

import concurrent.futures
import gc
import sys
import tarfile
import threading
import time
import unittest
import warnings

import clip_cases  # Puts feedrate on the path.
import feedrate
import numpy as np
import torch

# Of feedrate's mean and std: a level is 1 / 255 of the range before that.
STD = torch.tensor((0.229, 0.224, 0.225)).view(3, 1, 1)
MEAN = torch.tensor((0.485, 0.456, 0.406)).view(3, 1, 1)


class GpuCase(clip_cases.Case):
    def both(self, source=None, **arguments):
        """The same clips, made on the GPU and on the CPU."""
        given = {
            "output": "torch",
            "shuffle": True,
            "seed": 3,
            "crop": 112,
            "flip": True,
            **arguments,
        }
        source = clip_cases.videos("mp4") if source is None else source
        return (
            self.clips(source, device="cuda", **given),
            self.clips(source, **given),
        )

    def assert_same(self, gpu, cpu, what, greatest=0, mean=0.0):
        """Two epochs: order, labels, and pixels to so many levels."""
        for _ in range(2):
            batches = list(gpu)
            wanted = list(cpu)
            self.assertEqual(len(batches), len(wanted), what)
            for ours, theirs in zip(batches, wanted, strict=True):
                self.assertEqual(ours[0].device.type, "cuda")
                self.assertTrue(torch.equal(ours[2], theirs[2]), what)
                self.assertTrue(torch.equal(ours[1].cpu(), theirs[1]), what)
                self.assertEqual(ours[0].shape, theirs[0].shape, what)
                self.assertEqual(ours[0].stride(), theirs[0].stride(), what)
                self.assertEqual(ours[0].dtype, theirs[0].dtype, what)
                gap = (ours[0].cpu().float() - theirs[0].float()).abs()
                if theirs[0].dtype == torch.float32:
                    gap *= STD * 255
                self.assertLessEqual(float(gap.max()), greatest, what)
                self.assertLessEqual(float(gap.mean()), mean, what)


class SameAsTheCpuTest(GpuCase):
    def test_samplings(self):
        for arguments in (
            {"sampling": "random", "frames": 6, "stride": 3},
            {"sampling": "uniform", "frames": 5, "clips_per_video": 2},
            {"sampling": "consecutive", "frames": 4, "clips_per_video": 3},
            {"sampling": "dense", "frames": 16, "stride": 4},
            {"sampling": "random", "frames": 4, "stride": 0.1},
            # Longer than its video: the last frame again.
            {"sampling": "consecutive", "frames": 5, "stride": 60},
        ):
            self.assert_same(*self.both(**arguments), arguments)

    def test_frames_are_those_asked_for(self):
        gpu = self.both(
            sampling="dense", frames=16, crop=(240, 320), flip=False
        )[0]
        for frames, _, indexes in gpu:
            for clip, index in zip(frames.cpu(), indexes, strict=True):
                shown = clip_cases.numbers(clip)
                start = 16 * (int(index) - int(gpu._first[gpu.video_of(index)]))
                self.assertEqual(shown[0], start)
                self.assertEqual(shown, sorted(shown))

    def test_recipes(self):
        for arguments, greatest, mean in (
            ({"crop": (75, 130)}, 0, 0.0),
            ({"crop": 300}, 0, 0.0),
            ({"crop": 111, "channels_last": True}, 0, 0.0),
            ({"dtype": "float32"}, 0.02, 0.01),
            ({"dtype": "float32", "channels_last": True}, 0.02, 0.01),
            ({"crop_position": "center", "flip": False}, 0, 0.0),
            ({"transforms": "Solarize"}, 0, 0.0),
            # The CPU rounds between rows and columns too.
            ({"resize": 128}, 1, 0.5),
            ({"resize": 128, "crop": (64, 100)}, 1, 0.5),
            # Antialiased by another filter.
            ({"transforms": "RandomResizedCrop", "crop": 112}, 255, 4.0),
        ):
            self.assert_same(*self.both(**arguments), arguments, greatest, mean)

    def test_other_codecs(self):
        """MPEG-4 in AVI is decoded by the engine too, with another inverse
        transform than FFmpeg's."""
        source = clip_cases.videos("avi")
        self.assert_same(*self.both(source), "avi", 40, 1.0)

    def test_shards(self):
        shard = self.folder / "train-000.tar"
        with tarfile.open(shard, "w") as tar:
            for number, path in enumerate(clip_cases.paths("mp4")):
                tar.add(path, f"{number:03}.mp4")
        labels = range(len(clip_cases.paths("mp4")))
        self.assert_same(*self.both(shard, labels=labels), "shards")

    def test_broken_videos_are_replaced(self):
        clip_cases.write_classes(self.folder / "videos", "mp4")
        broken = self.folder / "videos/jump/2.mp4"
        bytes_ = broken.read_bytes()
        broken.unlink()
        broken.write_bytes(bytes_[: len(bytes_) // 2])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gpu, cpu = self.both(self.folder / "videos")
            self.assert_same(gpu, cpu, "broken")
        self.assertEqual(gpu.skipped, 1)
        self.assertEqual(gpu.skipped_files, cpu.skipped_files)
        fails = self.both(self.folder / "videos", on_error="fail")[0]
        with self.assertRaisesRegex(RuntimeError, broken.name):
            list(fails)


class OrderTest(GpuCase):
    def test_states_go_on_on_either_device(self):
        for first in range(2):
            pair = self.both(clips_per_video=3)
            loader, others = pair[first], pair[1 - first]
            whole = [int(i) for *_, items in others for i in items]
            for step, _ in enumerate(loader):
                if step == 1:
                    break
            state = loader.state_dict()
            for again in self.both(clips_per_video=3, batch_size=3, workers=1):
                again.load_state_dict(state)
                rest = [int(i) for *_, items in again for i in items]
                self.assertEqual(rest, whole[4:])

    def test_ranks_are_disjoint(self):
        seen = []
        for rank in range(2):
            gpu = self.both(rank=rank, world_size=2)[0]
            seen += [int(i) for *_, items in gpu for i in items]
        self.assertEqual(sorted(seen), list(range(6)))


class MemoryTest(GpuCase):
    def test_batches_stay_as_they_are(self):
        gpu, cpu = self.both()
        kept = [batch for _ in range(3) for batch in gpu]
        wanted = [batch for _ in range(3) for batch in cpu]
        self.assertEqual(len({frames.data_ptr() for frames, *_ in kept}), 9)
        gpu.close()
        gc.collect()
        for ours, theirs in zip(kept, wanted, strict=True):
            self.assertTrue(torch.equal(ours[0].cpu(), theirs[0]))

    def test_memory_waits_for_the_stream_and_is_used_again(self):
        gpu, cpu = self.both()
        wanted = [int(frames.sum(dtype=torch.int64)) for frames, *_ in cpu]
        places, found = set(), []
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(8):
                gpu.set_epoch(0)
                for frames, *_ in gpu:
                    torch.cuda._sleep(40_000_000)  # About 20 ms.
                    found.append(frames.sum(dtype=torch.int64))
                    places.add(frames.data_ptr())
                    del frames
            torch.cuda.current_stream().synchronize()
        self.assertEqual([int(one) for one in found], 8 * wanted)
        self.assertLess(len(places), 12)

    def test_dlpack(self):
        frames, *_ = next(iter(self.both(output="dlpack", frames=3)[0]))
        self.assertEqual(frames.shape, (2, 3, 3, 112, 112))
        tensor = torch.from_dlpack(frames)
        self.assertEqual(tensor.shape, frames.shape)
        self.assertEqual(tensor.dtype, torch.uint8)


class ErrorsTest(GpuCase):
    def test_what_is_not_there(self):
        with self.assertRaisesRegex(ValueError, "cuda:99"):
            self.clips(clip_cases.videos(), device="cuda:99", output="torch")
        with self.assertRaisesRegex(ValueError, "Rotate"):
            self.both(transforms="Rotate")
        with self.assertRaisesRegex(RuntimeError, "not known for a GPU"):
            self.both()[0].memory_plan()


# Frames of a clip, and clips of a batch.
FRAMES, BATCH = 16, 8


def wanted(rule, count):
    if rule == "uniform":
        step = (count - 1) / (FRAMES - 1)
        return [int(i * step) for i in range(FRAMES - 1)] + [count - 1]
    first = (count - FRAMES) // 2
    return list(range(first, first + FRAMES))


def finished(frames):
    """What a training gets: (T, 3, 224, 224), normalized."""
    y, x = (frames.shape[2] - 224) // 2, (frames.shape[3] - 224) // 2
    frames = frames[:, :, y : y + 224, x : x + 224].float() / 255
    return (frames - MEAN.cuda()) / STD.cuda()


def by_torchcodec(path, rule, _):
    from torchcodec.decoders import VideoDecoder

    decoder = VideoDecoder(path, device="cuda")
    frames = decoder.get_frames_at(wanted(rule, len(decoder))).data
    return finished(frames)


def by_pynv(path, rule, kept):
    import PyNvVideoCodec

    if not hasattr(kept, "decoder"):
        # One session per thread, used again for each file.
        kept.decoder = PyNvVideoCodec.SimpleDecoder(
            path,
            use_device_memory=True,
            output_color_type=PyNvVideoCodec.OutputColorType.RGB,
        )
    else:
        kept.decoder.reconfigure_decoder(path)
    frames = kept.decoder.get_batch_frames_by_index(
        wanted(rule, len(kept.decoder))
    )
    frames = torch.stack([torch.from_dlpack(one) for one in frames])
    return finished(frames.permute(0, 3, 1, 2))


def others(read, paths, rule, threads):
    """An epoch in batches in order, by threads that stay."""
    pool = concurrent.futures.ThreadPoolExecutor(threads)
    kept = threading.local()

    def epoch():
        made = list(pool.map(lambda path: read(path, rule, kept), paths))
        for i in range(0, len(made), BATCH):
            torch.stack(made[i : i + BATCH])
        torch.cuda.synchronize()

    return epoch


def ours(paths, rule, threads):
    clips = feedrate.Clips(
        paths,
        batch_size=BATCH,
        frames=FRAMES,
        sampling=rule,
        crop=224,
        crop_position="center",
        workers=threads,
        device="cuda",
    )

    def epoch():
        for _ in clips:
            pass
        torch.cuda.synchronize()

    return epoch


def compare(paths, rule, threads, rounds):
    sides = {
        "feedrate": ours(paths, rule, threads),
        "torchcodec": others(by_torchcodec, paths, rule, threads),
        "PyNvVideoCodec": others(by_pynv, paths, rule, threads),
    }
    times = {}
    for name, side in sides.items():
        try:
            side()
            times[name] = []
        except Exception as error:
            text = " ".join(str(error).split())[:300]
            print(f"{name}: {type(error).__name__}: {text}", flush=True)
    for _ in range(rounds):
        for name, found in times.items():
            begin = time.monotonic()
            sides[name]()
            found.append(time.monotonic() - begin)
    for name, found in times.items():
        ratios = [
            theirs / mine
            for mine, theirs in zip(times["feedrate"], found, strict=True)
        ]
        low, high = clip_cases.interval(ratios)
        print(
            f"{rule}, {threads} threads, {name}:"
            f" {len(paths) / np.median(found):.1f} clips/s; feedrate is"
            f" {np.median(ratios):.2f} [{low:.2f}, {high:.2f}] times as fast",
            flush=True,
        )


def tell_speed(rounds):
    """Clips per second in alternating rounds, and ratios to the others."""
    paths = [str(path) for path in clip_cases.paths("mp4", 48)]
    for threads in (8, 14):
        for rule in ("uniform", "consecutive"):
            compare(paths, rule, threads, rounds)


if __name__ == "__main__":
    if not torch.cuda.is_available():
        print("no GPU here: feedrate.Clips on a GPU is not checked")
        sys.exit(0)
    if sys.argv[1:2] == ["speed"]:
        tell_speed(int((sys.argv[2:] or [20])[0]))
        sys.exit(0)
    unittest.main(verbosity=2)
