#!/usr/bin/env python3
"""What a study concludes, from rows made by hand."""

import math
import unittest

import study
import train_best


def setting(name, speeds, labels=(), where="s", settings=None):
    rows = [
        {
            "status": "ok",
            "run_index": number,
            "labels": list(labels),
            "mixture": {
                "samples_per_s": speed,
                "batch_p50_s": 64 / speed,
                "batch_p99_s": 80 / speed,
                "mixture_error": 0.03,
                "dominant_switch_rate": 0.9,
            },
        }
        for number, speed in enumerate(speeds)
    ]
    job = {"library": "native", "settings": settings or {"name": name}}
    return study.Setting(where, name, job, [0], rows)


FIRST = [100, 102, 98, 101, 99, 100]


class FailureTest(unittest.TestCase):
    def test_a_setting_without_rows_has_failed(self):
        none = study.Setting("s", "a", {"library": "native"}, [0], [])
        self.assertEqual(
            study.takeaways([none])[1], "  a: failed: it has no rows"
        )


class IntervalTest(unittest.TestCase):
    def test_known_values(self):
        # With six values, the interval goes from the least to the greatest, and
        # the estimate is the median of all means of two.
        found = study.signed_rank_interval([1, 2, 3, 4, 5, 6.0])
        self.assertEqual(found, (3.5, 1, 6))
        # Wilcoxon's tables: of ten the 9th mean from both ends, at 95%.
        values = [float(2**i) for i in range(10)]
        means = sorted((a + b) / 2 for a in values for b in values if a <= b)
        _, low, high = study.signed_rank_interval(values)
        self.assertEqual((low, high), (means[8], means[-9]))

    def test_five_are_too_few(self):
        self.assertIsNone(study.signed_rank_interval([1.0, 2, 3, 4, 5]))


class ComparisonTest(unittest.TestCase):
    def verdict(self, factors):
        other = [f * s for f, s in zip(factors, FIRST, strict=True)]
        return study.compare_speeds(
            dict(enumerate(FIRST)), dict(enumerate(other))
        ).verdict

    def test_verdicts(self):
        self.assertEqual(
            self.verdict([1.2, 1.21, 1.19, 1.2, 1.22, 1.18]), "faster"
        )
        self.assertEqual(
            self.verdict([0.8, 0.81, 0.79, 0.8, 0.82, 0.78]), "slower"
        )
        self.assertEqual(
            self.verdict([1, 1.01, 0.99, 1, 1.02, 0.98]), "the same"
        )
        self.assertEqual(
            self.verdict([1.3, 0.8, 1.1, 0.9, 1.2, 1]), "cannot tell"
        )

    def test_a_sure_difference_of_no_interest_is_the_same(self):
        self.assertEqual(self.verdict([1.02] * 6), "the same")

    def test_pairs_cancel_what_a_round_shares(self):
        mood = [1, 0.5, 2, 0.7, 1.5, 0.9]
        first = [100 * m for m in mood]
        other = [120 * m for m in mood]
        found = study.compare_speeds(
            dict(enumerate(first)), dict(enumerate(other))
        )
        for value in (found.ratio, found.low, found.high):
            self.assertTrue(math.isclose(value, 1.2))

    def test_rounds_that_only_one_has_are_left_out(self):
        first = setting("a", FIRST)
        other = setting("b", [2 * s for s in FIRST] + [1, 1])
        self.assertIn("2.000x", study.takeaways([first, other])[2])


class TextTest(unittest.TestCase):
    def test_takeaways(self):
        lines = study.takeaways(
            [
                setting("x 1", FIRST),
                setting("x 2", [1.5 * s for s in FIRST], ["indicative"]),
            ]
        )
        self.assertEqual(lines[0], "s: against x 1")
        self.assertNotIn("1.500x", lines[1])
        self.assertIn("150 samples/s", lines[2])
        self.assertIn("1.500x (1.500 to 1.500): faster", lines[2])
        self.assertIn("indicative", lines[3])

    def test_a_study_that_ran_out_of_time_says_so(self):
        half = [setting("x 1", FIRST), setting("x 2", FIRST[:3])]
        self.assertIn("too few rounds", study.takeaways(half, 6)[2])
        self.assertIn("after 3 of 6 rounds", study.takeaways(half, 6)[-1])
        whole = [setting("x 1", FIRST), setting("x 2", FIRST)]
        self.assertNotIn("rounds", study.takeaways(whole, 6)[-1])

    def test_a_setting_that_failed_is_told_and_not_compared(self):
        broken = setting("x 1", [200])
        broken.rows.append(
            {"status": "failed", "reason": "too short", "labels": []}
        )
        lines = study.takeaways(
            [broken, setting("x 2", FIRST), setting("x 3", FIRST)]
        )
        self.assertEqual(lines[0], "s: against x 2")
        self.assertEqual(lines[1], "  x 1: failed: too short")
        self.assertIn("1.000x", lines[3])
        self.assertEqual(len(study.best_of([broken], 3)), 0)

    def test_best(self):
        best = study.best_of(
            [
                setting("slow", [1] * 6),
                setting("fast", [9] * 6),
                setting("again", [8] * 6, settings={"name": "fast"}),
                setting("middle", [5] * 6),
                setting("1 processor", [99] * 6, where="cpus"),
            ],
            2,
        )
        names = [one["settings"]["name"] for one in best]
        self.assertEqual(names, ["fast", "middle"])

    def test_label_and_note_are_those_of_the_config(self):
        text = (study.STUDIES / "cpus.textproto").read_text()
        label, note = study.said_of(text)
        self.assertRegex(label, "^--label=.+")
        self.assertRegex(note, "^--note=.+")

    def test_steps(self):
        text = 'mixture {\n  steps: 160\n  metadata: "full"\n}\n'
        self.assertEqual(
            study.with_steps(text, 40, 2),
            'mixture {\n  steps: 40\n  warmup: 2\n  metadata: "full"\n}\n',
        )

    def test_training(self):
        settings = {"steps": "160", "queue_depth": "8", "metadata": "full"}
        self.assertEqual(
            train_best.settings_text(settings), "metadata=full;queue_depth=8"
        )
        best = [
            {"from": name, "samples_per_s": 900, "settings": {}}
            for name in ("first", "second")
        ]
        rows = [
            [
                {"throughput": speed, "train": {"data_wait_share": 0.25}}
                for _ in range(6)
            ]
            for speed in (100, 80)
        ]
        lines = train_best.lines_of(best, rows)
        self.assertIn("first: 100.0 images/s, waits 25.0% of a step", lines[0])
        self.assertIn("0.800x (0.800 to 0.800): slower", lines[1])

    def test_every_config_has_a_place_for_steps(self):
        for path in study.STUDIES.glob("*.textproto"):
            self.assertIn(
                "steps: 7\n", study.with_steps(path.read_text(), 7, 1)
            )


if __name__ == "__main__":
    unittest.main()
