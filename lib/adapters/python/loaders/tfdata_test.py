"""What tf.data's graph delivers: the right frames, names and shares.

Needs TensorFlow; dev/checks/python_mixture_test.sh runs it.
"""

import dataclasses
import pathlib
import tempfile
import unittest

import numpy as np
import tensorflow as tf
from loaders import mixture, tfdata
from loaders.tfdata_episodes import faults_of, widths_of
from testing import episodes

STEPS = 8
SPEC = mixture.MixtureSpec(
    batch_size=4,
    samples_per_episode=3,
    pair_offset=2,
    mix_block_length=2,
    decode_parallelism=2,
    frame_height=32,
    frame_width=48,
)


class EpisodesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def sets(self, *names, **changes):
        changes = {"steps": STEPS} | changes
        return [
            mixture.EpisodeSet(
                **episodes.write_set(self.folder, name, **changes)
            )
            for name in names
        ]


class GraphTest(EpisodesTest):
    def batches(self, sets, count, seed=7, **changes):
        spec = dataclasses.replace(SPEC, **changes)
        widths = widths_of(sets, spec)
        graph = tfdata.build(sets, spec, widths, seed)
        return list(graph.take(count).as_numpy_iterator())

    def test_a_chunk_of_actions_repeats_the_last(self):
        sets = self.sets("a")
        every = {}
        for batch in self.batches(sets, 9, metadata="full", action_chunk=3):
            self.assertEqual(batch["action"].shape[:2], (4, 3))
            for episode, step, action in zip(
                batch["episode_id"], batch["step"], batch["action"], strict=True
            ):
                for later, row in enumerate(action):
                    at = (episode, min(step + later, STEPS - 1))
                    np.testing.assert_array_equal(
                        every.setdefault(at, row), row
                    )
        self.assertIn(STEPS - 1, {step for _, step in every})

    def test_lerobot_is_refused(self):
        one = mixture.EpisodeSet("a", 1.0, ["/d/a/meta/info.json"])
        with self.assertRaisesRegex(ValueError, "a is a LeRobot data set"):
            tfdata.Mixture([one], SPEC)

    def test_pairs_are_of_one_episode_and_an_offset_apart(self):
        for batch in self.batches(self.sets("a", "b"), 6, metadata="full"):
            self.assertEqual(batch["frames"].shape, (4, 2, 32, 48, 3))
            for i in range(4):
                first, second = batch["frames"][i].astype(int)
                step = batch["step"][i]
                name = batch["dataset_name"][i].decode()
                episode = int(batch["episode_id"][i].decode().split("-")[1])
                size = (32, 48)
                wanted = [
                    episodes.frame(t, episode, size).numpy().astype(int)
                    for t in (step, step + 2)
                ]
                self.assertLess(np.abs(first - wanted[0]).max(), 4)
                self.assertLess(np.abs(second - wanted[1]).max(), 4)
                self.assertEqual(batch["instruction"][i], f"do {name}".encode())
                self.assertEqual("ab"[batch["dataset"][i]], name)
                np.testing.assert_array_equal(
                    batch["action"][i], [100 * step, 100 * step + 1]
                )
                np.testing.assert_array_equal(
                    batch["state"][i], -batch["action"][i]
                )

    def test_integers_are_numbers_and_ids(self):
        sets = self.sets("a", integers=True) + self.sets("b")
        kinds = set()
        for batch in self.batches(sets, 6, metadata="full"):
            for i, step in enumerate(batch["step"]):
                np.testing.assert_array_equal(
                    batch["action"][i], [100 * step, 100 * step + 1]
                )
                kinds.add(batch["episode_id"][i].decode().isdigit())
        self.assertEqual(kinds, {True, False})

    def test_metadata_modes(self):
        sets = self.sets("a")
        fields = {
            mode: set(self.batches(sets, 1, metadata=mode)[0])
            for mode in mixture.METADATA
        }
        self.assertEqual(fields["none"], {"frames", "dataset"})
        self.assertEqual(
            fields["dataset_only"], {"frames", "dataset", "dataset_name"}
        )
        more = {"episode_id", "step", "instruction", "action", "state"}
        self.assertEqual(fields["full"], fields["dataset_only"] | more)

    def test_narrower_actions_get_zeros(self):
        sets = self.sets("a", wide=2) + self.sets("b", wide=3)
        widths = []
        for batch in self.batches(sets, 20, metadata="full"):
            self.assertEqual(batch["action"].shape, (4, 3))
            of_a = batch["action"][batch["dataset"] == 0]
            widths += list(of_a[:, 2])
        self.assertEqual(set(widths), {0.0})

    def test_pairs_are_distinct_or_all_in_order(self):
        sets = self.sets("a", shards=1, episodes=1)
        drawn = self.batches(sets, 1, batch_size=3, metadata="full")[0]
        self.assertEqual(len(set(drawn["step"])), 3)
        every = self.batches(
            sets, 2, batch_size=6, samples_per_episode=0, metadata="full"
        )
        for batch in every:
            self.assertEqual(list(batch["step"]), [0, 1, 2, 3, 4, 5])

    def test_each_pass_has_every_episode_once_in_another_order(self):
        sets = self.sets("a", shards=2, episodes=4)
        batches = self.batches(
            sets, 4, batch_size=8, samples_per_episode=1, metadata="full"
        )
        orders = [tuple(batch["episode_id"]) for batch in batches]
        for order in orders:
            self.assertEqual(len(set(order)), 8)
        self.assertGreater(len(set(orders)), 1)

    def test_larger_and_smaller_frames_are_centered(self):
        rows = np.arange(40)[:, None, None] * 5
        picture = np.broadcast_to(rows, (40, 20, 3)).astype(np.uint8)
        data = tf.io.encode_jpeg(picture, quality=100)
        frame = tfdata._frame(data, (32, 33)).numpy().astype(int)
        self.assertEqual(frame.shape, (32, 33, 3))
        # 8 rows less, 4 above; 13 columns more, 6 before.
        self.assertEqual(frame[:, :6].max(), 0)
        self.assertEqual(frame[:, 26:].max(), 0)
        wanted = tf.image.resize_with_crop_or_pad(
            tf.io.decode_jpeg(data), 32, 33
        ).numpy()
        self.assertLess(np.abs(frame - wanted.astype(int)).max(), 4)

    def test_the_seed_alone_decides(self):
        sets = self.sets("a", "b", "c", shards=4)

        def order(seed, **changes):
            batches = self.batches(sets, 5, seed, metadata="full", **changes)
            ids = [batch["episode_id"] for batch in batches]
            steps = [batch["step"] for batch in batches]
            return np.concatenate(ids + steps).tolist()

        wanted = order(7)
        self.assertEqual(order(7), wanted)
        self.assertEqual(order(7, decode_parallelism=1), wanted)
        self.assertEqual(order(7, queue_depth=1, pipeline_interleave=4), wanted)
        self.assertNotEqual(order(8), wanted)

    def test_blocks_come_from_one_data_set(self):
        sets = self.sets("a", "b")
        for batch in self.batches(sets, 10, mix_block_length=4):
            self.assertEqual(len(set(batch["dataset"])), 1)

    def test_weights_are_kept(self):
        sets = self.sets("a", "b")
        sets[1] = dataclasses.replace(sets[1], weight=3.0)
        counts = np.zeros(2)
        for batch in self.batches(sets, 200, batch_size=16):
            counts += np.bincount(batch["dataset"], minlength=2)
        # 1600 blocks: a standard deviation of 1.1%.
        self.assertAlmostEqual(counts[1] / counts.sum(), 0.75, delta=0.04)

    def test_primed(self):
        sets = self.sets("a", "b", "c")
        sets[0] = dataclasses.replace(sets[0], weight=1000.0)
        first = self.batches(
            sets, 1, batch_size=6, prime_each_dataset_samples=2
        )[0]
        self.assertEqual(list(first["dataset"]), [0, 0, 1, 1, 2, 2])


class FaultsTest(EpisodesTest):
    def test_what_is_wrong_is_named(self):
        (good,) = self.sets("good", episodes=2, shards=1)
        records = [
            episodes.example("bad", 0, 2),
            episodes.example("bad", 1, STEPS),
            episodes.example("bad", 2, STEPS, without=["frames"]),
            b"no example",
        ]
        path = episodes.write_shard(self.folder / "bad.tfrecord", records)
        bad = mixture.EpisodeSet("bad", 1.0, [path])
        faults, usable = faults_of([good, bad], SPEC)
        self.assertEqual(usable, [2, 1])
        self.assertEqual([fault["item"] for fault in faults], [0, 2, 3])
        self.assertEqual({fault["path"] for fault in faults}, {path})
        self.assertIn("too few for 3 pairs", faults[0]["reason"])
        self.assertIn("frames is missing", faults[1]["reason"])
        self.assertNotIn("function_node", faults[2]["reason"])
        self.assertEqual(len(faults_of([good, bad], SPEC, most=1)[0]), 1)


if __name__ == "__main__":
    unittest.main()
