"""feedrate.Episodes: rewards, flags and other numbers of steps, frames that are
resized, and statistics that are kept."""

import io
import json
import os
import shutil
import unittest
import zlib

import cases
import episode_cases
import numpy as np
from episode_cases import LENGTHS, NEW, OLD, RLDS


class NumbersTest(episode_cases.Case):
    def sets(self):
        """A reward in one, a wider one of another name in the other."""
        one = {"reward": lambda n: [n / 2], "done": lambda n: [int(n) % 2]}
        two = {"next.reward": lambda n: [n, -n]}
        return [
            episode_cases.write_set(self.folder / "a", [5, 7], more=one),
            episode_cases.write_set(
                self.folder / "b", [3, 4], first=100, more=two
            ),
        ]

    def test_numbers_of_real_data(self):
        for folder in (NEW, OLD):
            data = self.episodes(folder, numbers=["timestamp", "task_index"])
            for batch in data:
                times = batch["step"].astype(np.float32) / 30
                np.testing.assert_allclose(batch["timestamp"], times)
                np.testing.assert_array_equal(
                    batch["task_index"], batch["episode"] % 2
                )
                self.assertTrue(batch["timestamp_mask"].all())
            self.assertIn("timestamp", data.datasets[0]["numbers"])
        data = self.episodes(RLDS, numbers={"end": "is_last"})
        last = data.datasets[0]["steps"] // data.datasets[0]["episodes"] - 1
        for batch in data:
            np.testing.assert_array_equal(batch["end"], batch["step"] == last)

    def test_they_come_at_the_steps_of_actions(self):
        offsets = [-1, 0, 2]
        times = {"numbers": ["timestamp"], "actions": offsets}
        for batch in self.episodes(NEW, **times):
            last = np.take(LENGTHS, batch["episode"])[:, None] - 1
            at = batch["step"][:, None] + offsets
            wanted = np.clip(at, 0, last).astype(np.float32) / 30
            np.testing.assert_allclose(batch["timestamp"], wanted)
            pads = (at < 0) | (at > last)
            np.testing.assert_array_equal(batch["timestamp_is_pad"], pads)
        # A state of other steps has no say, nor have actions that are left out.
        alone = {"actions": False, "state": [-1, 0], "numbers": ["timestamp"]}
        batch = next(iter(self.episodes(NEW, **alone)))
        self.assertEqual(batch["timestamp"].shape, (4,))
        self.assertNotIn("timestamp_is_pad", batch)
        self.assertEqual(batch["state_is_pad"].shape, (4, 2))

    def test_data_sets_that_lack_them_or_have_fewer(self):
        data = self.episodes(self.sets(), numbers=["reward", "done"])
        seen = set()
        for batch in data:
            for i, name in enumerate(batch["dataset"].tolist()):
                number = int(batch["action"][i, 0])
                seen.add(name)
                wide = [[number / 2, 0], [number, -number]][name]
                self.assertEqual(batch["reward"][i].tolist(), wide)
                mask = [[True, False], [True, True]][name]
                self.assertEqual(batch["reward_mask"][i].tolist(), mask)
                self.assertEqual(batch["done"][i], (1 - name) * (number % 2))
                self.assertEqual(batch["done_mask"][i], name == 0)
        self.assertEqual(seen, {0, 1})
        widths = [one["number_widths"] for one in data.datasets]
        self.assertEqual(
            widths, [{"reward": 1, "done": 1}, {"reward": 2, "done": 0}]
        )

    def test_whole_episodes_and_statistics_have_them(self):
        data = self.episodes(self.sets(), numbers={"r": "reward"}, cameras=[])
        first = next(data.episodes())
        self.assertEqual(first["r"][:, 0].tolist(), [0, 0.5, 1, 1.5, 2])
        found = data.statistics()
        self.assertEqual(found["a"]["r"]["max"], [5.5])
        self.assertEqual(found["b"]["r"]["min"], [100, -106])

    def test_names_that_do_not_exist(self):
        a, b = self.sets()
        with self.assertRaisesRegex(
            ValueError, 'numbers: .*"a".* has no "x"; it has .*reward'
        ):
            self.episodes([a], numbers=["x"])
        with self.assertRaisesRegex(ValueError, '"b".* no numbers "done"'):
            self.episodes([a, b], numbers={"d": {"a": "done", "b": "done"}})
        with self.assertRaisesRegex(ValueError, '"reward".* or next.reward'):
            more = {"x/reward": lambda n: [n], "next.reward": lambda n: [n]}
            both = episode_cases.write_set(self.folder / "c", [3], more=more)
            self.episodes([both], numbers=["reward"])
        with self.assertRaisesRegex(ValueError, '"state" is there twice'):
            self.episodes([a], numbers=["state"])
        with self.assertRaisesRegex(TypeError, "numbers='reward' is not"):
            self.episodes([a], numbers="reward")
        wrong = {"reward": lambda n: [n] * (1 + (n == 3))}
        odd = episode_cases.write_set(self.folder / "d", [3, 4], more=wrong)
        with self.assertRaisesRegex(RuntimeError, "reward"):
            for _ in self.episodes([odd], numbers=["reward"], on_error="fail"):
                pass

    def encoded(self, encoding, dtype, pack, text='"dimensions": ["2"]'):
        """RLDS whose reward, of two numbers, is written as bytes. `pack`: of
        an array."""
        folder = self.folder / f"{encoding}_{dtype}" / "1.0.0"
        folder.mkdir(parents=True)
        steps = [np.array([n, 2 * n + 1], dtype) for n in range(6)]
        features = {
            "steps/observation/image": [episode_cases.png(n) for n in range(6)],
            "steps/action": [float(n) for n in range(6)],
            "steps/reward": [pack(step) for step in steps],
        }
        name = "x-train.tfrecord-00000-of-00001"
        record = episode_cases.record(episode_cases.example(features))
        (folder / name).write_bytes(record)
        tensor = {"dtype": dtype, "encoding": encoding}
        tensor["shape"] = json.loads(f"{{{text}}}")
        step = {
            "action": {"tensor": {"dtype": "float32"}},
            "reward": {"tensor": tensor},
            "observation": {"featuresDict": {"features": {"image": {}}}},
        }
        step["observation"]["featuresDict"]["features"]["image"]["image"] = {}
        inner = {"featuresDict": {"features": step}}
        whole = {"steps": {"sequence": {"feature": inner}}}
        (folder / "features.json").write_text(
            json.dumps({"featuresDict": {"features": whole}})
        )
        return folder.parent

    def test_tensors_that_tfds_encodes(self):
        def plain(array):
            return array.tobytes()

        def packed(array):
            return zlib.compress(array.tobytes())

        for dtype in ("float32", "float64", "int64", "int8", "uint16", "bool"):
            for encoding, pack in (("bytes", plain), ("zlib", packed)):
                data = self.encoded(encoding, dtype, pack)
                for batch in self.episodes(data, numbers=["reward"]):
                    n = batch["step"]
                    wanted = np.stack([n, 2 * n + 1], 1).astype(dtype)
                    np.testing.assert_array_equal(
                        batch["reward"], wanted.astype(np.float32)
                    )
        short = {"bytes": lambda a: plain(a)[:-1], "zlib": plain}
        more = {
            "bytes": lambda a: plain(a) * 2,
            "zlib": lambda a: packed(a[:1]),
        }
        for folder, wrong in ((".a", short), (".b", more)):
            self.folder = self.folder / folder
            for encoding, pack in wrong.items():
                data = self.encoded(encoding, "float32", pack)
                with self.assertRaisesRegex(
                    ValueError, "steps/reward.* bytes|unp"
                ):
                    self.episodes(data, numbers=["reward"])
        # Others are as if they were not there.
        self.folder = self.folder / ".c"
        for number, (dtype, text) in enumerate(
            (
                ("float16", '"dimensions": ["2"]'),
                ("float32", '"dimensions": ["-1"]'),
                ("float32", '"dimensions": ["1000000", "1000000"]'),
            )
        ):
            self.folder = self.folder / str(number)
            data = self.encoded("zlib", dtype, packed, text)
            with self.assertRaisesRegex(
                ValueError, 'no "reward"; it has steps'
            ):
                self.episodes(data, numbers=["reward"])


class ResizeTest(episode_cases.Case):
    FILTERS = ("box", "bilinear", "hamming", "bicubic", "lanczos")

    def picture(self, size, file_format="png"):
        """Of noise, as file and decoded."""
        from PIL import Image

        pixels = np.random.default_rng(size).integers(0, 256, (*size, 3))
        out = io.BytesIO()
        image = Image.fromarray(pixels.astype(np.uint8))
        image.save(out, file_format, quality=90)
        return out.getvalue(), Image.open(io.BytesIO(out.getvalue()))

    def wanted(self, image, resize, name, crop):
        """By Pillow."""
        from PIL import Image

        how = Image.Resampling[name.upper()]
        pixels = np.asarray(image.resize(resize[::-1], how))
        tall, wide = [(r - c) // 2 for r, c in zip(resize, crop, strict=True)]
        kept = pixels[tall : tall + crop[0], wide : wide + crop[1]]
        return kept.transpose(2, 0, 1)

    def test_frames_are_those_of_pillow_to_the_bit(self):
        sizes = [(48, 64), (96, 41), (33, 20), (40, 30)]
        for kind in ("png", "jpeg"):
            files = [self.picture(size, kind) for size in sizes]
            data = episode_cases.write_set(
                self.folder / kind, [4], frame=lambda n, f=files: f[n][0]
            )
            for name in self.FILTERS:
                for resize in ((40, 30), (17, 64), (90, 50)):
                    for crop in (resize, (15, 26)):
                        read = self.episodes(
                            data, resize=resize, interpolation=name, crop=crop
                        )
                        batch = next(iter(read))
                        for i, (_, image) in enumerate(files):
                            np.testing.assert_array_equal(
                                batch["image"][i],
                                self.wanted(image, resize, name, crop),
                                f"{kind} {name} {sizes[i]} {resize} {crop}",
                            )
                        read.close()

    def test_frames_of_videos(self):
        from PIL import Image

        whole = self.episodes(NEW, crop=(96, 128))
        resized = self.episodes(NEW, resize=(40, 50), interpolation="bicubic")
        padded = self.episodes(NEW, resize=40, crop=44)
        for one, other, more in zip(whole, resized, padded, strict=True):
            for frame, small, wide in zip(
                one["image"], other["image"], more["image"], strict=True
            ):
                image = Image.fromarray(frame.transpose(1, 2, 0))
                wanted = self.wanted(image, (40, 50), "bicubic", (40, 50))
                np.testing.assert_array_equal(small, wanted)
                wanted = self.wanted(image, (40, 40), "bilinear", (40, 40))
                np.testing.assert_array_equal(wide[:, 2:42, 2:42], wanted)
                self.assertEqual(wide[:, :2].max(), 0)
        small = next(iter(self.episodes(NEW, resize=40))).get("image")
        self.assertEqual(small.shape[2:], (40, 40))

    def test_what_is_not_possible(self):
        for arguments, words in (
            ({"resize": 0}, "resize=0"),
            ({"resize": (4, 5, 6)}, r"resize=\(4, 5, 6\) .*height, width"),
            (
                {"resize": 8, "interpolation": "nearest"},
                "'nearest'.*or lanczos",
            ),
        ):
            with self.assertRaisesRegex(ValueError, words):
                self.episodes(NEW, **arguments)


def place(number, height=20, width=24):
    """Red is the column, green the row, blue the number."""
    from PIL import Image

    y, x = np.mgrid[:height, :width]
    pixels = np.stack([10 * x, 10 * y, np.full_like(x, number)], -1)
    out = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(out, "png")
    return out.getvalue()


class TransformsTest(episode_cases.Case):
    def test_all_frames_of_a_sample_get_the_same(self):
        data = episode_cases.write_set(self.folder / "a", [9, 30], frame=place)
        how = {
            "frames": [-2, 0, 1],
            "crop": (8, 10),
            "crop_position": "random",
            "flip": True,
            "transforms": [("Invert", 0.5)],
            "shuffle": True,
        }
        batches = list(self.episodes(data, **how))
        seen = set()
        for batch in batches:
            for i, frames in enumerate(batch["image"].astype(int)):
                inverted = frames[0, 2, 0, 0] > 128
                if inverted:
                    frames = 255 - frames
                first, last = [(0, 8), (9, 38)][batch["episode"][i]]
                at = batch["index"][i] + np.array([-2, 0, 1])
                for frame, number in zip(frames, at, strict=True):
                    self.assertEqual(
                        frame[2].tolist(),
                        np.full((8, 10), number.clip(first, last)).tolist(),
                    )
                    np.testing.assert_array_equal(frame[:2], frames[0, :2])
                red, green = frames[0, 0], frames[0, 1]
                step = 1 if red[0, 1] > red[0, 0] else -1
                columns = red[0, 0] // 10 + step * np.arange(10)
                np.testing.assert_array_equal(red, [10 * columns] * 8)
                rows = green[0, 0] // 10 + np.arange(8)
                np.testing.assert_array_equal(green.T, [10 * rows] * 10)
                seen.add((inverted, step, columns.min(), rows[0]))
        self.assertGreater(len(seen), 20)
        self.assertEqual(len({one[:2] for one in seen}), 4)
        again = list(self.episodes(data, workers=0, **how))
        for one, other in zip(batches, again, strict=True):
            np.testing.assert_array_equal(one["image"], other["image"])
        # Another epoch draws anew, and whole episodes are as they are.
        loader = self.episodes(data, **how)
        loader.set_epoch(1)
        self.assertFalse(
            (next(iter(loader))["image"] == batches[0]["image"]).all()
        )
        plain = self.episodes(data, crop=(8, 10))
        for one, other in zip(loader.episodes(), plain.episodes(), strict=True):
            np.testing.assert_array_equal(one["image"], other["image"])

    def test_with_other_crops_sizes_and_types(self):
        how = {"resize": (30, 40), "crop": 24, "dtype": "float32"}
        for transforms in ("RandomResizedCrop", ["RandomResizedCrop", "Blur"]):
            data = self.episodes(NEW, transforms=transforms, **how)
            for batch in data:
                self.assertEqual(batch["image"].shape[1:], (3, 24, 24))
                self.assertEqual(batch["image"].dtype, np.float32)
        # Frames that are not resized, of which one JPEG is smaller.
        files = [
            ResizeTest.picture(None, (40 - 20 * n, 48), "jpeg")[0]
            for n in range(2)
        ]
        odd = episode_cases.write_set(
            self.folder / "b", [2], frame=lambda n: files[n]
        )
        plain = next(iter(self.episodes(odd, crop=32)))
        inverted = self.episodes(odd, crop=32, transforms=["Invert"])
        np.testing.assert_array_equal(
            next(iter(inverted))["image"], 255 - plain["image"]
        )

    def test_what_is_not_possible(self):
        for arguments, words in (
            ({"transforms": ["Mixup"]}, "Mixup and CutMix out"),
            ({"transforms": ["Inverse"]}, '"Inverse" is unknown'),
            ({"crop_position": "left"}, "random or center"),
            ({"transforms": "Transpose", "crop": (8, 9)}, "become 9x8, not"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                self.episodes(NEW, **arguments)


class StoreTest(episode_cases.Case):
    def test_data_of_a_store_is_copied_once(self):
        bucket = self.folder / "bucket"
        shutil.copytree(NEW, bucket / "pusht")
        for path in bucket.rglob("*"):
            path.chmod(0o755)
        episode_cases.write_set(bucket / "b", [5, 7])
        cache = self.folder / "cache"
        python = os.environ["STORAGE_PYTHON"]
        with cases.store(python, bucket) as port:
            endpoint = f"http://127.0.0.1:{port}"

            how = {
                "cache_dir": cache,
                "endpoint": endpoint,
                "anonymous": True,
                "crop": 32,
            }
            both = {"s3://public/pusht/": 1, "s3://public/b": 2}
            data = self.episodes(both, order="epochs", **how)
            names = [one["name"] for one in data.datasets]
            self.assertEqual(names, ["pusht", "b"])
            local = self.episodes(NEW, crop=32)
            for one in local:
                self.check_lerobot(one)
            found = [batch for batch in data]
            self.assertEqual(sum(len(one["step"]) for one in found), 42)
            self.check_lerobot(found[0])
            self.assertEqual(data.statistics()["b"]["action"]["count"], 12)
            # What is whole is not copied again, and what is not is.
            (path,) = cache.rglob("*.tfrecord")
            before = path.stat().st_mtime_ns
            self.episodes("s3://public/b", **how)
            self.assertEqual(path.stat().st_mtime_ns, before)
            whole = path.read_bytes()
            path.unlink()
            path.write_bytes(whole[:-1])
            self.assertEqual(self.episodes("s3://public/b", **how).size, 12)
            self.assertEqual(path.read_bytes(), whole)
            (versions,) = [
                one
                for one in cache.glob("*/copied")
                if "0.tfrecord" in one.read_text()
            ]
            versions.write_text("0.tfrecord\t1\tanother\n")
            path.unlink()
            path.write_bytes(whole[:-1] + b"x")
            self.episodes("s3://public/b", **how)
            self.assertEqual(path.read_bytes(), whole)
            # One that is gone, and one that is new.
            episode_cases.write_set(bucket / "b", [5, 7, 2])
            (bucket / "b" / "0.tfrecord").rename(bucket / "b" / "1.tfrecord")
            self.assertEqual(self.episodes("s3://public/b", **how).size, 14)
            self.assertFalse(path.exists())
            with self.assertRaisesRegex(FileNotFoundError, "c: .*nothing"):
                self.episodes("s3://public/c", **how)
            # A folder becomes an object; names of the copy's own files.
            copied = bucket / "copied"
            episode_cases.write_set(copied / "0.tfrecord", [2])
            self.assertEqual(self.episodes("s3://public/copied", **how).size, 2)
            (copied / "0.tfrecord" / "0.tfrecord").rename(copied / "one")
            (copied / "0.tfrecord").rmdir()
            (copied / "one").rename(copied / "0.tfrecord")
            self.assertEqual(self.episodes("s3://public/copied", **how).size, 2)
        with self.assertRaisesRegex(ValueError, "cache_dir too"):
            self.episodes("s3://public/b")
        self.assertEqual(self.episodes(f"file://{NEW}", crop=32).size, 30)

    def test_a_server_without_versions(self):
        a, b = (
            (episode_cases.write_set(self.folder / name, [5, 7]) / "0.tfrecord")
            for name in ("a", "b")
        )
        changed = bytearray(b.read_bytes())
        cache = self.folder / "cache"
        with cases.plain_server({"/0.tfrecord": a.read_bytes()}) as server:
            url = (
                f"http://127.0.0.1:{server.server_port}/0.tfrecord?Signature=s3"
            )
            data = self.episodes(url, cache_dir=cache)
            self.assertEqual(data.datasets[0]["name"], "0.tfrecord")
            names = "".join(path.name for path in cache.rglob("*"))
            self.assertNotIn("s3", names)
            # As large as before: nothing says that it is another.
            changed[-1] ^= 1
            server.files["/0.tfrecord"] = bytes(changed)
            self.episodes(url, cache_dir=cache)
            (copy,) = cache.rglob("0.tfrecord/0.tfrecord")
            self.assertEqual(copy.read_bytes(), changed)


class StatisticsTest(episode_cases.Case):
    def test_a_file_keeps_them(self):
        a = episode_cases.write_set(self.folder / "a", [5, 7])
        file = a / "statistics.json"
        data = self.episodes(a)
        first = data.statistics(file)
        self.assertEqual(first, data.statistics())
        self.assertEqual(json.loads(file.read_text()), first)
        # What is in the file counts, and nothing else is beside the data.
        first["a"]["action"]["mean"][0] = 123
        file.write_text(json.dumps(first))
        self.assertEqual(self.episodes(a).statistics(str(file)), first)
        self.assertEqual(
            {p.name for p in a.iterdir()}, {"0.tfrecord", file.name}
        )
        other = [
            {"filter": lambda one: one["episode"] == 0},
            {"state": False},
            {"numbers": {"state_again": "state"}},
        ]
        for arguments in other:
            with self.assertRaisesRegex(ValueError, "statistics of other data"):
                self.episodes(a, **arguments).statistics(file)
        for text in ("", "[]", '{"a": {"action": {"count": 12}}}', "{"):
            file.write_text(text)
            with self.assertRaisesRegex(ValueError, "json has no statistics"):
                data.statistics(file)
        with self.assertRaises(FileNotFoundError):
            data.statistics(self.folder / "missing" / "x.json")

    def lerobot(self, name, files, of=NEW):
        folder = self.folder / name
        folder.mkdir()
        for part in ("data", "videos"):
            (folder / part).symlink_to(of / part)
        (folder / "meta").mkdir()
        for path in (of / "meta").iterdir():
            if path.name not in files:
                (folder / "meta" / path.name).symlink_to(path)
        for file, text in files.items():
            (folder / "meta" / file).write_text(text)
        return self.episodes(folder, numbers={"time": "timestamp"})

    def test_v20_is_v21_with_one_file_of_statistics(self):
        """lerobot_test.sh holds it against lerobot."""
        info = (OLD / "meta/info.json").read_text()
        self.assertIn('"v2.1"', info)
        info = info.replace('"v2.1"', '"v2.0"')
        stats = {"timestamp": {"mean": [0.25], "std": [1], "max": [2]}}
        data = self.lerobot(
            "v20", {"info.json": info, "stats.json": json.dumps(stats)}, OLD
        )
        # Neither images nor counts are in all of them.
        self.assertEqual(
            data.statistics(lerobot=True),
            {"v20": {"time": {"mean": [0.25], "std": [1], "max": [2]}}},
        )
        wanted = self.episodes(OLD, numbers={"time": "timestamp"})
        for batch, other in zip(data, wanted, strict=True):
            self.assertEqual(batch.keys(), other.keys())
            for key, values in other.items():
                np.testing.assert_array_equal(batch[key], values, key)

    def test_those_of_lerobot(self):
        def row(count, values):
            keys = ("mean", "std", "min", "max")
            return dict(zip(keys, values, strict=True)) | {"count": [count]}

        image = [[[[v]]] * 3 for v in (0.5, 0.25, 0, 1)]
        action = [[v] * 3 for v in (1, 2, -1, 3)]
        stats = {
            "action": row(30, action),
            "timestamp": row(30, [[1], [2], [0], [4]]),
            "observation.images.top": row(30, image),
        }
        data = self.lerobot("new", {"stats.json": json.dumps(stats)})
        found = data.statistics(lerobot=True)["new"]
        self.assertEqual(
            found["action"],
            {
                "mean": [1, 1, 1],
                "std": [2, 2, 2],
                "min": [-1, -1, -1],
                "max": [3, 3, 3],
                "count": 30,
            },
        )
        self.assertEqual(found["image"]["mean"], [0.5] * 3)
        self.assertEqual(found["time"]["max"], [4])
        self.assertNotIn("state", found)
        # Two episodes of 1, 1 and of 4, 4, 4, 7.
        lines = [
            {"stats": {"timestamp": row(2, [[1], [0], [1], [1]])}},
            {"stats": {"timestamp": row(4, [[4.75], [1.6875**0.5], [4], [7]])}},
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        data = self.lerobot("old", {"episodes_stats.jsonl": text})
        found = data.statistics(lerobot=True)["old"]["time"]
        values = np.array([1, 1, 4, 4, 4, 7])
        self.assertEqual(found["count"], 6)
        np.testing.assert_allclose(found["mean"], [values.mean()])
        np.testing.assert_allclose(found["std"], [values.std()])
        self.assertEqual([found["min"], found["max"]], [[1], [7]])

    def test_lerobot_without_or_with_damaged_ones(self):
        with self.assertRaisesRegex(FileNotFoundError, "no episodes_stats"):
            self.episodes(NEW).statistics(lerobot=True)
        for text in ("", "[]", "{", '{"action": {"mean": "x"}}'):
            name = f"set{len(text)}"
            data = self.lerobot(name, {"stats.json": text})
            with self.assertRaisesRegex(ValueError, "not as lerobot writes"):
                data.statistics(lerobot=True)
        with self.assertRaisesRegex(ValueError, "file="):
            data.statistics("x.json", lerobot=True)


if __name__ == "__main__":
    unittest.main()
