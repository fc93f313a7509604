"""feedrate.Episodes with numpy: what a sample is, order, ranks, states, bad
data, and the end."""

import collections
import itertools
import json
import os
import shutil
import threading
import unittest
import warnings

import episode_cases
import numpy as np
from episode_cases import LENGTHS, NEW, OLD, RLDS


class SampleTest(episode_cases.Case):
    def test_every_step_of_real_data_comes_once_with_its_numbers(self):
        for folder in (NEW, OLD):
            data = self.episodes(folder, shuffle=True, crop=32)
            self.assertEqual(data.size, 30)
            self.assertEqual(len(data), 8)
            orders = []
            for _ in range(3):
                found = []
                for batch in data:
                    self.check_lerobot(batch)
                    found += batch["index"].tolist()
                self.assertEqual(sorted(found), list(range(30)))
                orders.append(tuple(found))
            self.assertEqual(len({*orders, tuple(range(30))}), 4)
            again = self.episodes(folder, shuffle=True, workers=0)
            again.set_epoch(2)
            self.assertEqual(tuple(self.indexes(again)), orders[2])
            self.assertEqual(self.indexes(self.episodes(folder)), [*range(30)])

    def test_offsets_in_steps_and_in_seconds(self):
        offsets = [-2, 0, 1, 9]
        steps = self.episodes(NEW, frames=offsets, actions=offsets, crop=32)
        seconds = [offset / 30 for offset in offsets]
        timed = self.episodes(NEW, frames=seconds, actions=seconds, crop=32)
        for one, other in zip(steps, timed, strict=True):
            self.check_lerobot(one, offsets)
            self.assertEqual(one.keys(), other.keys())
            for key in one:
                np.testing.assert_array_equal(one[key], other[key])
        with self.assertRaisesRegex(ValueError, "multiples of 0.0333"):
            self.episodes(NEW, frames=[0.05])
        with self.assertRaisesRegex(ValueError, '"arm" .* in steps'):
            self.episodes(RLDS, frames=[0.1])

    def test_rlds_has_what_its_writer_gave(self):
        data = self.episodes(RLDS, shuffle=True)
        written = collections.defaultdict(set)
        for batch in data:
            for i, step in enumerate(batch["step"].tolist()):
                number = float(batch["action"][i, 0]) - step
                written[int(batch["episode"][i])].add(number)
                row = np.arange(7, dtype=np.float32) / 3
                row += np.float32(number + step)
                np.testing.assert_allclose(batch["action"][i], row, rtol=1e-6)
                np.testing.assert_array_equal(
                    batch["state"][i], -batch["action"][i, :5]
                )
                text = f"do arm, part {step // 3}"
                self.assertEqual(batch["instruction"][i], text)
        self.assertEqual(sorted(written), [0, 1, 2, 3])
        numbers = [number for (number,) in written.values()]
        self.assertEqual(sorted(numbers), [0, 100, 200, 300])

    def test_cameras_formats_and_sizes(self):
        data = self.episodes(NEW, cameras=["wrist", "top"], crop=(24, 40))
        pixels = [batch for batch in data]
        self.assertEqual(pixels[0]["top"].shape, (4, 3, 24, 40))
        # Another place is another key, whatever it is called.
        whole = self.episodes(
            NEW,
            cameras=["observation.images.top"],
            crop=(24, 40),
            channels_last=True,
            dtype="float32",
            mean=0.5,
            std=0.25,
        )
        for one, other in zip(pixels, whole, strict=True):
            values = other["observation.images.top"]
            self.assertEqual(values.dtype, np.float32)
            wanted = (one["top"].transpose(0, 2, 3, 1) / 255 - 0.5) / 0.25
            np.testing.assert_allclose(values, wanted, atol=1e-5)
        # Frames of 64 x 64, padded to the middle.
        padded = next(iter(self.episodes(NEW, cameras=["wrist"], crop=80)))
        small = next(iter(self.episodes(NEW, cameras=["wrist"], crop=64)))
        np.testing.assert_array_equal(
            padded["wrist"][:, :, 8:72, 8:72], small["wrist"]
        )
        self.assertEqual(padded["wrist"][:, :, :8].max(), 0)

    def test_parts_can_be_left_out(self):
        data = self.episodes(NEW, actions=False, state=False, instruction=False)
        keys = {"dataset", "episode", "step", "index", "image"}
        self.assertEqual(next(iter(data)).keys(), keys)

    def test_batches_stay_as_they_are(self):
        data = self.episodes(NEW, shuffle=True, crop=32, prefetch=1)
        kept = list(data)
        list(data)
        data.close()
        for batch in kept:
            self.check_lerobot(batch)


class MixtureTest(episode_cases.Case):
    def sets(self):
        return [
            episode_cases.write_set(self.folder / "a", [5, 7]),
            episode_cases.write_set(
                self.folder / "b", [3, 3, 4], first=100, action=5, state=1
            ),
        ]

    def test_weights_and_passes(self):
        a, b = self.sets()
        data = self.episodes({a: 3, b: 1}, shuffle=True)
        with self.assertRaisesRegex(TypeError, "no end"):
            len(data)
        self.assertEqual([one["name"] for one in data.datasets], ["a", "b"])
        found = {0: [], 1: []}
        for batch in itertools.islice(iter(data), 2048):
            for i, name in enumerate(batch["dataset"].tolist()):
                found[name].append(int(batch["index"][i]))
                wide = (5, 1) if name else (3, 2)
                number = int(batch["action"][i, 0])
                first = 100 - 12 if name else 0
                self.assertEqual(number, batch["index"][i] + first)
                red = batch["image"][i, 0, 8, 8]
                self.assertEqual(red, number)
                for key, width in zip(("action", "state"), wide, strict=True):
                    mask = batch[f"{key}_mask"][i]
                    self.assertEqual(mask.sum(), width)
                    self.assertTrue(mask[:width].all())
                    self.assertFalse(batch[key][i][~mask].any())
        self.assertEqual(len(found[0]), 3 * len(found[1]))
        for items, every in ((found[0], range(12)), (found[1], range(12, 22))):
            size = len(every)
            for begin in range(0, len(items) - size, size):
                one_pass = items[begin : begin + size]
                self.assertEqual(sorted(one_pass), list(every))
            self.assertNotEqual(items[:size], items[size : 2 * size])

    def test_orders(self):
        a, b = self.sets()
        both = self.episodes([a, b], shuffle=True)
        self.assertEqual(sorted(self.indexes(both)), list(range(22)))
        (self.folder / "mixture.textproto").write_text(
            'weights { dataset: "b" weight: 1 }'
            ' weights { dataset: "a" weight: 4 }'
        )
        for source in (self.folder, self.folder / "mixture.textproto"):
            mixed = self.episodes(source)
            self.assertEqual(mixed.datasets[1]["name"], "a")
            self.assertEqual(mixed.datasets[1]["weight"], 4)
            once = self.episodes(source, order="epochs")
            self.assertEqual(self.indexes(once), list(range(22)))
        sized = self.episodes([a, b], balance_by_size=True)
        weights = [one["weight"] for one in sized.datasets]
        self.assertEqual(weights, [12, 10])
        firsts = [next(iter(mixed))["index"].tolist() for _ in range(2)]
        self.assertNotEqual(*firsts)


class ResumeTest(episode_cases.Case):
    def data(self, order, **arguments):
        a = episode_cases.write_set(self.folder / "a", [5, 7])
        b = episode_cases.write_set(self.folder / "b", [3, 3, 4], first=100)
        return self.episodes(
            {a: 3, b: 1}, shuffle=True, order=order, **arguments
        )

    def test_continues_exactly_after_every_resume(self):
        for order, total in (("epochs", 22), ("weights", 200)):
            plain = iter(self.data(order, batch_size=1))
            wanted = [
                int(batch["index"][0])
                for batch in itertools.islice(plain, total)
            ]
            found, state = [], None
            for resume in range(4):
                data = self.data(order, batch_size=1 + resume, workers=resume)
                if state is not None:
                    data.load_state_dict(json.loads(json.dumps(state)))
                for batch in itertools.islice(data, 2):
                    found += batch["index"].tolist()
                state = data.state_dict()
                data.close()
            self.assertEqual(found, wanted[: len(found)])
            self.assertEqual(state["position"], len(found))

    def test_another_number_of_ranks_takes_over(self):
        self.addCleanup(warnings.resetwarnings)
        for order, total in (("epochs", 22), ("weights", 1000)):
            # A mixture has no last batch that ranks could lack.
            warnings.simplefilter("error" if order == "weights" else "ignore")
            plain = iter(self.data(order, batch_size=1))
            wanted = [
                int(batch["index"][0])
                for batch in itertools.islice(plain, total)
            ]
            found, state = [], None
            for world, size, batches in ((2, 2, 2), (3, 1, 2), (1, 3, 1)):
                states = []
                for rank in range(world):
                    data = self.data(
                        order, rank=rank, world_size=world, batch_size=size
                    )
                    if state is not None:
                        data.load_state_dict(state)
                    for batch in itertools.islice(data, batches):
                        found += batch["index"].tolist()
                    states.append(data.state_dict())
                self.assertEqual(states, states[:1] * world)
                state = states[0]
            self.assertEqual(len(found), 8 + 6 + 3)
            self.assertEqual(sorted(found), sorted(wanted[: len(found)]))

    def test_ranks_share_an_epoch_and_have_as_many_batches(self):
        warnings.simplefilter("ignore")
        self.addCleanup(warnings.resetwarnings)
        for world, tail in ((2, "keep"), (3, "keep"), (3, "pad"), (4, "drop")):
            ranks = [
                self.data("epochs", rank=r, world_size=world, tail=tail)
                for r in range(world)
            ]
            batches = [list(rank) for rank in ranks]
            self.assertEqual(len({len(b) for b in batches}), 1, (world, tail))
            found = [i for b in batches for one in b for i in one["index"]]
            if tail == "keep":
                self.assertEqual(sorted(found), list(range(22)))
            if tail == "drop":
                self.assertEqual(len(set(found)), len(found))

    def test_a_state_of_other_data_is_refused(self):
        state = self.data("weights").state_dict()
        a = self.folder / "a"
        for other in (
            self.data("epochs"),
            self.episodes({a: 3, self.folder / "b": 2}, shuffle=True),
            self.episodes({a: 3}, shuffle=True),
        ):
            with self.assertRaisesRegex(ValueError, "make it with the same"):
                other.load_state_dict(state)


class ChoiceTest(episode_cases.Case):
    def test_a_filter_keeps_episodes(self):
        seen = []

        def keep(episode):
            seen.append(episode)
            return episode["episode"] != 1

        data = self.episodes(NEW, shuffle=True, filter=keep, crop=32)
        self.assertEqual([one["steps"] for one in seen], LENGTHS)
        self.assertEqual(seen[1]["instruction"], "do thing 1")
        self.assertEqual(seen[1]["dataset"], "new")
        self.assertEqual(data.size, 20)
        self.assertEqual(data.datasets[0]["episodes"], 2)
        found = [
            (int(episode), int(step))
            for batch in data
            for episode, step in zip(
                batch["episode"], batch["step"], strict=True
            )
        ]
        wanted = [(0, i) for i in range(8)] + [(2, i) for i in range(12)]
        self.assertEqual(sorted(found), wanted)
        with self.assertRaisesRegex(FileNotFoundError, 'no episode of .*"new"'):
            self.episodes(NEW, filter=lambda episode: False)
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            self.episodes(NEW, filter=lambda episode: 1 / 0)

    def test_cameras_have_names_of_the_caller(self):
        plain = next(iter(self.episodes(NEW, cameras=["top", "wrist"])))
        named = next(
            iter(
                self.episodes(
                    NEW, cameras={"a": {"new": "wrist"}, "b": "images.top"}
                )
            )
        )
        np.testing.assert_array_equal(named["a"], plain["wrist"])
        np.testing.assert_array_equal(named["b"], plain["top"])
        mixed = self.episodes(
            {NEW: 1, RLDS: 1}, cameras={"a": {"new": "wrist", "arm": "image"}}
        )
        self.assertEqual(next(iter(mixed))["a"].shape, (4, 3, 16, 16))
        with self.assertRaisesRegex(ValueError, '"a" says nothing about .*arm'):
            self.episodes([NEW, RLDS], cameras={"a": {"new": "wrist"}})
        without = next(iter(self.episodes(NEW, cameras=[])))
        self.assertNotIn("image", without)
        np.testing.assert_array_equal(without["action"], plain["action"])


class WholeEpisodesTest(episode_cases.Case):
    def test_whole_episodes_have_every_step_in_order(self):
        for folder, workers in ((NEW, 2), (OLD, 0)):
            data = self.episodes(
                folder, crop=32, frames=[-1, 0], actions=[0, 1], workers=workers
            )
            found = list(data.episodes())
            self.assertEqual([len(e["step"]) for e in found], LENGTHS)
            for episode in found:
                self.check_lerobot(episode)
                steps = list(range(len(episode["step"])))
                self.assertEqual(episode["step"].tolist(), steps)
            (second,) = data.episodes(lambda one: one["episode"] == 1)
            self.assertEqual(set(second["episode"].tolist()), {1})
            # Beside a loop, and broken off.
            batches = iter(data)
            next(batches)
            for episode in data.episodes():
                self.check_lerobot(episode)
                break
            next(batches)
            data.close()
            with self.assertRaisesRegex(RuntimeError, "closed"):
                list(data.episodes())

    def test_ranks_share_them(self):
        found = []
        for rank in range(2):
            data = self.episodes(NEW, rank=rank, world_size=2)
            found += [int(one["episode"][0]) for one in data.episodes()]
        self.assertEqual(sorted(found), [0, 1, 2])

    def test_a_damaged_one_is_an_error_with_its_place(self):
        folder = self.folder / "copy"
        shutil.copytree(OLD, folder)
        video = next(folder.rglob("observation.images.top/*_000001.mp4"))
        video.chmod(0o644)
        data = video.read_bytes()
        video.write_bytes(data[:200] + bytes(len(data) - 200))
        episodes = self.episodes(folder).episodes()
        next(episodes)
        with self.assertRaisesRegex(
            RuntimeError, "episode 1, step 0: .*000001.mp4"
        ):
            next(episodes)


class StatisticsTest(episode_cases.Case):
    def test_they_are_those_of_all_rows(self):
        a = episode_cases.write_set(self.folder / "a", [5, 7])
        b = episode_cases.write_set(
            self.folder / "b", [3, 900], action=5, without=["state"]
        )
        data = self.episodes({a: 3, b: 1}, rank=1, world_size=2)
        found = json.loads(json.dumps(data.statistics()))
        for name, steps, width in (("a", 12, 3), ("b", 903, 5)):
            rows = np.arange(steps)[:, None] + np.arange(width) / 4
            action = found[name]["action"]
            self.assertEqual(action["count"], steps)
            for key, wanted in (
                ("mean", rows.mean(0)),
                ("std", rows.std(0)),
                ("min", rows.min(0)),
                ("max", rows.max(0)),
                ("q01", np.percentile(rows, 1, axis=0)),
                ("q99", np.percentile(rows, 99, axis=0)),
            ):
                np.testing.assert_allclose(action[key], wanted, atol=1e-5)
        self.assertIn("state", found["a"])
        self.assertNotIn("state", found["b"])


class BadDataTest(episode_cases.Case):
    def copy(self, folder):
        target = self.folder / "copy"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(folder, target)
        for path in [target, *target.rglob("*")]:
            path.chmod(0o755)
        return target

    def fails(self, kind, words, sources, **arguments):
        with self.assertRaisesRegex(kind, words) as caught:
            list(self.episodes(sources, **arguments))
        self.assertNotIn("\n", str(caught.exception))

    def test_one_line_names_the_place(self):
        empty = self.folder / "empty"
        empty.mkdir()
        self.fails(FileNotFoundError, "nowhere: there is no", "nowhere")
        self.fails(FileNotFoundError, "empty: is not a data set; .*RLDS", empty)
        wrong = 'cameras: .*"new".*no camera "side"; it has .*top, .*wrist'
        self.fails(ValueError, wrong, NEW, cameras=["side"])
        self.fails(
            ValueError, '"top" is there twice', NEW, cameras=["top", "top"]
        )
        bare = episode_cases.write_set(
            self.folder / "bare", [3], state=0, without=["state"]
        )
        self.assertNotIn("state", next(iter(self.episodes(bare))))
        self.fails(
            ValueError, 'state: data set "bare" has none', bare, state=True
        )
        info = self.copy(NEW)
        text = (info / "meta/info.json").read_text()
        (info / "meta/info.json").write_text(text.replace("v3.0", "v1.6"))
        self.fails(ValueError, "v1.6.*convert it to v2.1 or v3.0", info)

    def test_arguments_are_named(self):
        for arguments, words in (
            ({"cameras": "top"}, "cameras='top' .* a list of names"),
            ({"frames": 3}, r"frames=3 .* \[-1, 0\]"),
            ({"frames": ["a"]}, "frames="),
            ({"actions": []}, "actions="),
            ({"actions": [0, float("nan")]}, "actions="),
            ({"order": "mixed"}, "order='mixed'"),
            ({"output": "jax"}, "output='jax'"),
            ({"filter": 3}, "filter=3 .* a function"),
            ({"order": ""}, "order='' .* epochs"),
            ({"cache_dir": 3}, "cache_dir=3 .* a path"),
            ({"batch_size": 0}, "batch_size=0"),
            ({"rank": 1}, "rank=1 .* 0 to 0"),
            ({"device": "gpu"}, "device='gpu' .* \"cuda\""),
            ({"device": "cuda"}, 'use "cpu": .* decoded there; .*pin_memory'),
        ):
            with self.assertRaisesRegex((ValueError, TypeError), words):
                self.episodes(NEW, **arguments)
        for sources, words in (
            ({NEW: 0}, "weight above 0"),
            ({NEW: "much"}, "weight above 0"),
            ([], "sources="),
            (3, "sources=3"),
            ("s3://bucket/set", "cache_dir too"),
        ):
            with self.assertRaisesRegex((ValueError, TypeError), words):
                self.episodes(sources)

    def test_a_damaged_video_is_replaced_and_counted(self):
        folder = self.copy(OLD)
        video = next(folder.rglob("observation.images.top/*_000001.mp4"))
        data = video.read_bytes()
        video.write_bytes(data[:200] + bytes(len(data) - 200))
        self.fails(
            RuntimeError,
            'data set "copy": episode 1, step [0-9]+: .*mp4',
            folder,
            on_error="fail",
        )
        data = self.episodes(folder)
        with self.assertWarnsRegex(
            RuntimeWarning, "10 steps could not be used"
        ):
            batches = list(data)
        self.assertEqual(data.skipped, 10)
        found = [i for batch in batches for i in batch["index"].tolist()]
        self.assertEqual(len(found), 30)
        good = {*range(8), *range(18, 30)}
        self.assertEqual(set(found), good)
        for batch in batches:
            self.check_lerobot(batch)
        # The same replacements for any number of workers.
        with self.assertWarns(RuntimeWarning):
            again = self.indexes(self.episodes(folder, workers=1))
        self.assertEqual(found, again)

    def test_a_missing_video_is_told_at_once(self):
        folder = self.copy(OLD)
        next(folder.rglob("observation.images.top/*_000001.mp4")).unlink()
        with self.assertWarnsRegex(RuntimeWarning, "1 .*left out.*000001.mp4"):
            data = self.episodes(folder)
        self.assertEqual(data.size, 20)
        self.fails(OSError, "000001.mp4: there is no", folder, on_error="fail")

    def test_another_width_is_no_sample(self):
        folder = episode_cases.write_set(self.folder / "a", [4, 5])
        more = episode_cases.write_set(
            self.folder / "b", [3], first=50, action=4
        )
        (more / "0.tfrecord").rename(folder / "1.tfrecord")
        self.fails(
            RuntimeError,
            "1.tfrecord: record 0: has 4 numbers per action.* with 3",
            folder,
            on_error="fail",
        )
        with self.assertWarnsRegex(RuntimeWarning, "3 steps"):
            found = self.indexes(self.episodes(folder))
        self.assertLess(max(found), 9)
        # The steps that took their place were counted twice.
        kept = self.folder / "statistics.json"
        with (
            self.assertWarnsRegex(RuntimeWarning, "3 steps"),
            self.assertRaisesRegex(RuntimeError, "3 steps.*episode 2, st"),
        ):
            self.episodes(folder).statistics(kept)
        self.assertFalse(kept.exists())
        whole = self.episodes(folder, filter=lambda one: one["episode"] < 2)
        self.assertEqual(whole.statistics()["a"]["action"]["count"], 9)

    def test_a_mixture_warns_without_an_end_of_an_epoch(self):
        folder = episode_cases.write_set(self.folder / "a", [4, 5])
        data = (folder / "0.tfrecord").read_bytes()
        # The checksum of the first record's frames.
        (folder / "0.tfrecord").write_bytes(
            data[:200] + bytes([data[200] ^ 1]) + data[201:]
        )
        mixed = self.episodes({folder: 1})
        with self.assertWarnsRegex(RuntimeWarning, "checksum"):
            for batch in itertools.islice(iter(mixed), 20):
                self.assertGreater(min(batch["index"]), 3)


class EndTest(episode_cases.Case):
    def test_threads_take_each_batch_once(self):
        data = self.episodes(NEW, shuffle=True, batch_size=1)
        for _ in range(5):
            batches, found = iter(data), []

            def take(batches=batches, found=found):
                for batch in batches:
                    self.check_lerobot(batch)
                    found += batch["index"].tolist()

            threads = [threading.Thread(target=take) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(sorted(found), list(range(30)))

    def test_closed_and_forked(self):
        data = self.episodes(NEW)
        batches = iter(data)
        batch = next(batches)
        child = os.fork()
        if child == 0:
            try:
                next(batches)
            except RuntimeError as error:
                os._exit(0 if "survive the fork" in str(error) else 1)
            os._exit(2)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        data.close()
        data.close()
        self.check_lerobot(batch)
        with self.assertRaisesRegex(RuntimeError, "Episodes: it is closed"):
            next(batches)
        with self.assertRaisesRegex(TypeError, "Episodes .* pickled"):
            __import__("pickle").dumps(data)

    def test_memory_is_planned_and_stays(self):
        data = self.episodes({NEW: 1}, crop=64, batch_size=8)
        plan = data.memory_plan()
        parts = [v for k, v in plan.items() if k != "total"]
        self.assertEqual(plan["total"], sum(parts))

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

        batches = iter(data)
        for _ in range(100):
            next(batches)
        before = resident()
        for _ in range(int(os.environ.get("SOAK_BATCHES", 300))):
            next(batches)
        self.assertLess(resident() - before, 8 << 20)


if __name__ == "__main__":
    unittest.main()
