"""feedrate.Clips with numpy: frames, labels, order, resuming, bad videos."""

import collections
import io
import os
import tarfile
import unittest
import warnings

import clip_cases
import numpy as np

EVERY = list(range(6))


class FramesTest(clip_cases.Case):
    def test_frames_are_those_of_the_rule(self):
        for container in ("avi", "mp4"):
            folder = clip_cases.videos(container)
            lengths = {}
            every = self.clips(folder, sampling="dense", frames=1)
            for video in every.video_of(range(every.size)):
                lengths[int(video)] = lengths.get(int(video), 0) + 1
            self.assertEqual(list(lengths), EVERY)
            self.assertTrue(all(150 <= n <= 200 for n in lengths.values()))
            # All of a video, in clips one after the other.
            first = clip_cases.paths(container)[:1]
            shown = self.shown(self.clips(first, sampling="dense", frames=25))
            flat = [
                frame for _, clip in sorted(shown.items()) for frame in clip
            ]
            self.assertEqual(flat, list(range(lengths[0] // 25 * 25)))

            found = self.shown(self.clips(folder, sampling="uniform"))
            for video, frames in found.items():
                end = lengths[video] - 1
                wanted = [int(i * (end / 3)) for i in range(3)] + [end]
                self.assertEqual(frames, wanted)
            found = self.shown(
                self.clips(folder, sampling="consecutive", stride=7)
            )
            for video, frames in found.items():
                start = (lengths[video] - 22) // 2
                self.assertEqual(frames, list(range(start, start + 22, 7)))
            found = self.shown(
                self.clips(
                    folder, sampling="consecutive", clips_per_video=3, stride=2
                )
            )
            self.assertEqual(len(found), 18)
            for clip, frames in found.items():
                end = lengths[clip // 3] - 7
                start = clip % 3 * end // 2
                self.assertEqual(frames, list(range(start, start + 7, 2)))
            dense = self.clips(folder, sampling="dense", stride=3, step=20)
            found = self.shown(dense)
            for video in EVERY:
                starts = [
                    frames[0]
                    for clip, frames in sorted(found.items())
                    if dense.video_of(clip) == video
                ]
                self.assertEqual(starts, list(range(0, lengths[video] - 9, 20)))

    def test_random_starts_differ_by_epoch_and_seed_alone(self):
        clips = self.clips(clip_cases.videos(), stride=3)
        epochs = [self.shown(clips) for _ in range(3)]
        starts = [tuple(epoch[i][0] for i in EVERY) for epoch in epochs]
        self.assertEqual(len(set(starts)), 3)
        for epoch in epochs:
            for first, *others in epoch.values():
                self.assertEqual(others, [first + 3, first + 6, first + 9])
        for workers in (0, 1, 5):
            again = self.clips(
                clip_cases.videos(), stride=3, workers=workers, batch_size=3
            )
            again.set_epoch(1)
            self.assertEqual(self.shown(again), epochs[1])
        other = self.clips(clip_cases.videos(), stride=3, seed=1)
        self.assertNotEqual(self.shown(other), epochs[0])
        several = self.clips(clip_cases.videos(), clips_per_video=4)
        found = self.shown(several)
        self.assertEqual(len({found[i][0] for i in range(4)}), 4)

    def test_seconds_have_the_frames_of_25_per_second(self):
        for container in ("avi", "mp4"):
            paths = clip_cases.paths(container)[:2]
            for rule in (
                {"sampling": "dense"},
                {"sampling": "consecutive", "clips_per_video": 2},
            ):
                frames = self.clips(paths, stride=5, **rule)
                seconds = self.clips(paths, stride=0.2, **rule)
                self.assertEqual(self.shown(seconds), self.shown(frames))
            half = self.clips(
                paths, sampling="dense", stride=0.02, step=1.0, frames=5
            )
            found = self.shown(half)
            self.assertEqual(found[0], [0, 0, 1, 1, 2])
            self.assertEqual(found[1], [25, 25, 26, 26, 27])
            # Between frames, at a time that is drawn.
            found = self.shown(self.clips(paths, stride=0.1, frames=9))
            for first, *_, last in found.values():
                self.assertEqual(last - first, 20)

    def test_a_clip_longer_than_its_video_repeats_the_last_frame(self):
        clips = self.clips(clip_cases.paths()[:1], stride=100)
        (found,) = self.shown(clips).values()
        self.assertEqual(found[:2], [0, 100])
        self.assertEqual(found[2], found[3])

    def test_layouts_and_types(self):
        paths = clip_cases.paths()[:2]
        arguments = {"sampling": "uniform", "crop": 80, "frames": 3}
        ((bytes_, labels, _),) = self.clips(paths, **arguments)
        self.assertEqual(
            (bytes_.shape, bytes_.dtype), ((2, 3, 3, 80, 80), "u1")
        )
        np.testing.assert_array_equal(labels, [-1, -1])
        ((last, *_),) = self.clips(paths, channels_last=True, **arguments)
        np.testing.assert_array_equal(last, bytes_.transpose(0, 1, 3, 4, 2))
        mean, std = np.array([0.2, 0.4, 0.6]), np.array([0.1, 0.2, 0.3])
        ((floats, *_),) = self.clips(
            paths, dtype="float32", mean=mean, std=std, **arguments
        )
        wanted = bytes_ / 255 - mean[:, None, None]
        wanted /= std[:, None, None]
        np.testing.assert_allclose(floats, wanted, atol=1e-4)

    def test_all_frames_are_cropped_and_changed_alike(self):
        """Where the last frame is repeated, it is the same each time."""
        clips = self.clips(
            clip_cases.paths(),
            sampling="consecutive",
            # 200 frames at most: the last one comes 20 times.
            frames=220,
            resize=60,
            crop=40,
            flip=True,
            transforms=[("ColorJitter", 0.9), ["GaussianBlur", "Posterize"]],
        )
        epochs = [
            [frames[200:] for batch in clips for frames in batch[0]]
            for _ in range(2)
        ]
        for frames, others in zip(*epochs, strict=True):
            self.assertTrue((frames == frames[0]).all())
            self.assertTrue((others == others[0]).all())
            self.assertTrue((frames != others).any())

    def test_resized_as_by_pillow(self):
        """The window of a frame that its crop is made from."""
        from PIL import Image

        given = {"sampling": "uniform", "crop_position": "center"}
        whole = self.clips(clip_cases.paths(), **given)
        for resize, crop, window in (
            (96, (90, 96), (40, 7, 280, 232)),
            (240, (100, 50), (135, 70, 185, 170)),
            (300, (300, 300), (40, 0, 280, 240)),
        ):
            clips = self.clips(
                clip_cases.paths(),
                resize=resize,
                crop=crop,
                channels_last=True,
                **given,
            )
            for batch, wanted in zip(clips, whole, strict=True):
                frames = batch[0].reshape(-1, *crop, 3)
                pixels = wanted[0].transpose(0, 1, 3, 4, 2)
                pixels = pixels.reshape(
                    -1, clip_cases.HEIGHT, clip_cases.WIDTH, 3
                )
                for frame, one in zip(frames, pixels, strict=True):
                    cut = Image.fromarray(one).crop(window)
                    resized = cut.resize(crop[::-1], Image.Resampling.BILINEAR)
                    np.testing.assert_array_equal(frame, resized)

    def test_memory_is_planned(self):
        paths = clip_cases.paths()
        clips = self.clips(paths, workers=2, prefetch=2)
        plan = clips.memory_plan()
        frame = clip_cases.HEIGHT * clip_cases.WIDTH * 3
        self.assertEqual(plan["batches"], 5 * 2 * 4 * frame)
        self.assertEqual(plan["decoders"], 2 * (14 * frame + (4 << 20)))
        self.assertEqual(
            plan["total"],
            sum(bytes_ for part, bytes_ in plan.items() if part != "total"),
        )
        store = self.clips(f"file://{clip_cases.videos()}")
        with self.assertRaisesRegex(RuntimeError, "copy the videos"):
            store.memory_plan()


class SourcesTest(clip_cases.Case):
    def test_classes_are_those_of_folders(self):
        folder = clip_cases.write_classes(self.folder)
        clips = self.clips(folder, clips_per_video=2, crop=16)
        self.assertEqual(clips.classes, ["jump", "run"])
        self.assertEqual(len(clips.names), 6)
        self.assertEqual(clips.labels.tolist(), [0, 0, 0, 1, 1, 1])
        for _, labels, indexes in clips:
            videos = clips.video_of(indexes)
            np.testing.assert_array_equal(labels, clips.labels[videos])
        # They were the last video's.
        for wrong in (-1, clips.size):
            with self.assertRaisesRegex(IndexError, "are clips 0 to 11"):
                clips.video_of([0, wrong])
        self.assertEqual(len(clips.video_of([])), 0)
        by_name = self.clips(folder, crop=16, labels=lambda name: int(name[-5]))
        self.assertEqual(by_name.labels.tolist(), [0, 2, 4, 1, 3, 5])
        other = self.clips(folder, crop=16, labels=["run", "jump"])
        self.assertEqual(other.labels.tolist(), [1, 1, 1, 0, 0, 0])

    def test_shards_and_stores_have_the_same_clips(self):
        paths = clip_cases.paths()
        for shard in range(2):
            with tarfile.open(self.folder / f"{shard}.tar", "w") as tar:
                for i in range(3 * shard, 3 * shard + 3):
                    tar.add(paths[i], f"v{i}.avi")
                    # Not the item, though an image.
                    for name, data in (("jpg", b"no"), ("cls", b"%d" % i)):
                        info = tarfile.TarInfo(f"v{i}.{name}")
                        info.size = len(data)
                        tar.addfile(info, io.BytesIO(data))
        arguments = {"frames": 2, "clips_per_video": 2, "shuffle": True}
        wanted = self.shown(self.clips(paths, **arguments))
        shards = self.clips(self.folder / "{0..1}.tar", **arguments)
        self.assertEqual(shards.labels.tolist(), EVERY)
        self.assertEqual(self.shown(shards), wanted)
        folder = self.clips(self.folder, **arguments)
        self.assertEqual(self.shown(folder), wanted)
        store = self.clips(f"file://{self.folder}/", **arguments)
        self.assertEqual(self.shown(store), wanted)
        self.assertEqual(store.labels.tolist(), EVERY)
        for sampling in ("random", "dense"):
            files = self.clips(
                f"file://{clip_cases.videos()}/", sampling=sampling, crop=16
            )
            local = self.clips(paths, sampling=sampling, crop=16)
            for a, b in zip(files, local, strict=True):
                np.testing.assert_array_equal(a[0], b[0])


class OrderTest(clip_cases.Case):
    def indexes(self, clips):
        return [int(i) for _, _, indexes in clips for i in indexes]

    def test_every_clip_comes_once_over_all_ranks(self):
        warnings.simplefilter("ignore")
        self.addCleanup(warnings.resetwarnings)
        for world in (1, 2, 5):
            ranks = [
                self.clips(
                    clip_cases.videos(),
                    shuffle=True,
                    clips_per_video=3,
                    crop=16,
                    rank=rank,
                    world_size=world,
                )
                for rank in range(world)
            ]
            orders = [
                [i for one in ranks for i in self.indexes(one)]
                for _ in range(2)
            ]
            for order in orders:
                self.assertEqual(sorted(order), list(range(18)))
            self.assertNotEqual(*orders)

    def test_a_state_continues_with_other_ranks_workers_and_batches(self):
        warnings.simplefilter("ignore")
        self.addCleanup(warnings.resetwarnings)

        def make(**arguments):
            return self.clips(
                clip_cases.videos(),
                shuffle=True,
                clips_per_video=4,
                frames=2,
                **arguments,
            )

        whole = {}
        for epoch in range(2):
            for index, frames in self.shown(make_at(make(), epoch)).items():
                whole[epoch, index] = frames
        seen = collections.Counter()
        state = None
        for steps, world, batch_size in ((2, 1, 3), (1, 2, 4), (1, 3, 1)):
            ranks = [
                make(rank=r, world_size=world, batch_size=batch_size, workers=r)
                for r in range(world)
            ]
            states = []
            for clips in ranks:
                if state is not None:
                    clips.load_state_dict(state)
                batches = iter(clips)
                for _ in range(steps):
                    frames, _, indexes = next(batches)
                    for one, index in zip(frames, indexes, strict=True):
                        seen[clips.epoch, int(index)] += 1
                        shown = clip_cases.numbers(one)
                        self.assertEqual(shown, whole[clips.epoch, int(index)])
                states.append(clips.state_dict())
            state = states[0]
            self.assertEqual(states, [state] * world)
        rest = make(workers=5, batch_size=5)
        rest.load_state_dict(state)
        for frames, _, indexes in rest:
            for one, index in zip(frames, indexes, strict=True):
                seen[0, int(index)] += 1
                self.assertEqual(clip_cases.numbers(one), whole[0, int(index)])
        self.assertEqual(seen, {(0, i): 1 for i in range(24)})


def make_at(clips, epoch):
    clips.set_epoch(epoch)
    return clips


class FaultsTest(clip_cases.Case):
    def broken(self):
        """Number 1 is cut off, number 4 is not a video."""
        for i, path in enumerate(clip_cases.paths()):
            data = path.read_bytes()
            if i == 1:
                data = data[: len(data) // 2]
            (self.folder / f"{i}.avi").write_bytes(b"?" if i == 4 else data)
        return self.folder

    def test_bad_videos_are_replaced_and_counted(self):
        for workers in (0, 2):
            clips = self.clips(self.broken(), crop=16, workers=workers)
            for _ in range(2):
                with self.assertWarnsRegex(
                    RuntimeWarning, "2 videos could not"
                ):
                    found = [int(i) for batch in clips for i in batch[2]]
                self.assertEqual(found, [0, 2, 2, 3, 5, 5])
            self.assertEqual(clips.skipped, 2)
            names = sorted(clips.skipped_files)
            self.assertTrue(names[0].endswith("1.avi"))
            self.assertTrue(names[1].endswith("4.avi"))
        strict = self.clips(self.folder, crop=16, on_error="fail")
        with self.assertRaisesRegex(RuntimeError, r"1\.avi: "):
            list(strict)
        with self.assertWarnsRegex(RuntimeWarning, r"2 videos cannot.*1\.avi"):
            dense = self.clips(self.folder, crop=16, sampling="dense")
        self.assertEqual(set(dense.video_of(range(dense.size))), {0, 2, 3, 5})
        with self.assertRaisesRegex(ValueError, r"1\.avi"):
            self.clips(self.folder, sampling="dense", on_error="fail")

    def test_what_is_not_possible_is_said_in_a_line(self):
        paths = clip_cases.paths()
        for word, arguments in (
            ("sampling='every'", {"sampling": "every"}),
            ("frames=0", {"frames": 0}),
            ("stride=2", {"sampling": "uniform", "stride": 2}),
            ("stride=0", {"stride": 0}),
            ("stride=-0.5", {"stride": -0.5}),
            ("step=2", {"sampling": "dense", "stride": 0.5, "step": 2}),
            ("clips_per_video=2", {"sampling": "dense", "clips_per_video": 2}),
            (
                "clips: 2147483647 with 4 frames",
                {
                    "sampling": "uniform",
                    "frames": 4,
                    "clips_per_video": 2**31 - 1,
                },
            ),
            ("step=3", {"step": 3}),
            ("resize=100", {"resize": 100, "crop": 112}),
            (
                "shorter side",
                {"resize": 240, "crop": 112, "transforms": "RandomResizedCrop"},
            ),
            ("clips are not mixed", {"transforms": "Mixup", "crop": 112}),
            ("labels", {"labels": [1, 2]}),
            ("device='gpu' .*cuda", {"device": "gpu"}),
            ("output='numpy' .*dlpack", {"device": "cuda"}),
            (
                "pin_memory=True .*cpu",
                {"device": "cuda", "output": "dlpack", "pin_memory": True},
            ),
        ):
            with self.assertRaisesRegex(ValueError, word) as caught:
                self.clips(paths, **arguments)
            self.assertNotIn("\n", str(caught.exception))
        try:
            self.clips(paths, device="cuda", output="dlpack")
        except RuntimeError as error:
            # Without CUDA, or without a GPU; with both there is no error.
            self.assertRegex(
                str(error), '(built without CUDA|no GPU).* device="cpu"'
            )
        with self.assertRaisesRegex(TypeError, "source=.*a list of files"):
            self.clips(np.zeros((2, 4, 4, 3), np.uint8))
        with self.assertRaisesRegex(FileNotFoundError, "nowhere"):
            self.clips(self.folder / "nowhere")
        (self.folder / "a.txt").write_text("no video")
        with self.assertRaisesRegex(FileNotFoundError, r"has no \.mp4"):
            self.clips(self.folder)
        (self.folder / "a.avi").write_text("no video")
        bad = self.clips([self.folder / "a.avi"])
        with self.assertRaisesRegex(RuntimeError, r"a\.avi: "):
            next(iter(bad))
        with self.assertRaisesRegex(FileNotFoundError, r"a\.avi"):
            self.clips([self.folder / "a.avi"], sampling="dense")
        mixed = [os.path.relpath(paths[0]), paths[1]]
        self.assertEqual(len(self.shown(self.clips(mixed))), 2)


if __name__ == "__main__":
    unittest.main()
