#!/usr/bin/env python3
"""pipeline --audit from end to end: faults that a loader has on purpose, and
our own loader by what its items show."""

import os
import sys
import unittest

sys.path.insert(0, "tools/micro")
import harness  # noqa: E402

PIPELINE = "tools/pipeline/pipeline"
DECODE = "decode_dataloader_augment"
IDS = "synthetic:ids,n=103"
with open(PIPELINE, "rb") as program:
    SANITIZES_THREADS = b"__tsan_init" in program.read()


def job(fault, library="faulty", **fields):
    made = harness.job(fault, (0,), library, **fields.pop("settings", {}))
    made.update(
        mode="pipeline",
        scope=DECODE,
        workers=2,
        batch_size=8,
        num_items=103,
        dataset=IDS,
        thread_policy="pipeline-default",
    )
    made.update(fields)
    return made


class Run(harness.Run):
    def __init__(self, jobs, *flags):
        super().__init__([PIPELINE, "--audit", *flags], jobs)
        self.audits = [r for r in self.records if r["record"] == "audit"]


class AuditTest(harness.TestCase):
    def audit(self, fault, *flags, code=3, **fields):
        run = Run([job(fault, **fields)], *flags)
        self.assertEqual(run.code, code, run.stderr)
        self.assertEqual([r["record"] for r in run.records[:2]], ["env", "run"])
        self.assertFalse([r for r in run.records if r["record"] == "row"])
        (audit,) = run.audits
        self.assertEqual(audit["status"], "ok", audit)
        return audit, run.stderr

    def test_a_loader_without_fault_passes(self):
        audit, stderr = self.audit("ok", code=0)
        self.assertEqual(audit["verdict"], "pass")
        self.assertEqual(audit["faults"], [])
        self.assertEqual(audit["coverage"]["items"], 103)
        self.assertEqual(len(audit["order"]["schedule_sha256"]), 64)
        self.assertTrue(audit["order"]["same_for_other_workers"])
        self.assertEqual([r["ranks"] for r in audit["ranks"]], [2, 4])
        self.assertEqual(audit["ranks"][1]["batches"], [4, 4, 4, 4])
        (resume,) = audit["resumes"]
        self.assertTrue(resume["same_batches"])
        self.assertEqual(resume["after_batches"], 6)
        self.assertNotIn("growth", audit)
        self.assertIn("1 audit (1 pass, 0 fail, 0 not done)", stderr)

    def test_each_fault_is_found(self):
        for fault, words in (
            ("drop", "epoch 2: 1 of 103 items never seen (synthetic_"),
            ("repeat", "epoch 1: 1 seen twice (synthetic_"),
            ("no_id", "2 items without id"),
            ("same_order", "epoch 2 has the order of epoch 1"),
            ("new_order", "the same seed gives another order"),
            ("every_rank", "103 of them by two ranks"),
            ("forget", "48 seen twice, all from the 48 samples before"),
            ("skip_ahead", "8 of 103 items never seen after the first restart"),
        ):
            with self.subTest(fault):
                audit, stderr = self.audit(fault)
                self.assertIn(words, " | ".join(audit["faults"]))
                self.assertIn(words, stderr)

    def test_what_a_loader_does_not_promise_is_no_fault(self):
        audit, stderr = self.audit("by_workers", code=0)
        self.assertFalse(audit["order"]["same_for_other_workers"])
        self.assertIn("other batches", stderr)
        audit, stderr = self.audit("no_state", code=0)
        (resume,) = audit["resumes"]
        self.assertEqual(resume["reason"], "no mechanism")
        self.assertIn("no mechanism", stderr)

    def test_a_resume_that_is_right_once_and_then_wrong(self):
        self.audit("second_resume", code=0)
        audit, stderr = self.audit("second_resume", "--resumes=3")
        after = [resume["after_batches"] for resume in audit["resumes"]]
        self.assertEqual(after, [3, 6, 9])
        same = [resume["same_batches"] for resume in audit["resumes"]]
        self.assertEqual(same, [True, False, False])
        words = "8 of 103 items never seen after the third restart"
        self.assertIn(words, stderr)
        lost = [resume["lost"] for resume in audit["resumes"]]
        self.assertEqual(lost, [0, 0, 8])
        audit, _ = self.audit(
            "HorizontalFlip",
            "--resumes=3",
            library="native",
            code=0,
            params_profile="paper",
        )
        self.assertEqual(
            [r["same_batches"] for r in audit["resumes"]], 3 * [True]
        )

    def soaked(self, fault, **fields):
        """Until it has epochs enough, however busy the machine is."""
        for seconds in (2, 10, 50, 250):
            run = Run([job(fault, **fields)], f"--soak={seconds}s")
            (audit,) = run.audits
            if audit["verdict"]:
                break
            self.assertEqual(run.code, 4, run.stderr)
        self.assertEqual(run.code, 3 if fault == "leak" else 0, run.stderr)
        return audit

    def test_a_leak_is_found(self):
        # AddressSanitizer would keep freed memory, which looks like a leak.
        options = os.environ.get("ASAN_OPTIONS", "")
        os.environ["ASAN_OPTIONS"] = options + (
            ":quarantine_size_mb=0:thread_local_quarantine_size_kb=0"
        )
        self.addCleanup(os.environ.__setitem__, "ASAN_OPTIONS", options)
        leak = self.soaked("leak", settings={"bytes": 300000})
        growth = leak["growth"]
        self.assertEqual(growth["verdict"], "leak")
        self.assertGreater(growth["slope_bytes"], 250000)
        # ThreadSanitizer keeps four times as much about each byte.
        if not SANITIZES_THREADS:
            self.assertLess(growth["slope_bytes"], 450000)
        self.assertIn("memory grows by", leak["faults"][-1])
        steady = self.soaked("ok")
        self.assertEqual(steady["verdict"], "pass")
        self.assertEqual(steady["growth"]["verdict"], "steady")

    def test_our_own_loader_passes(self):
        audit, _ = self.audit(
            "HorizontalFlip", library="native", code=0, params_profile="paper"
        )
        self.assertEqual(audit["verdict"], "pass", audit["faults"])
        self.assertTrue(audit["resumes"][0]["same_batches"])
        self.assertTrue(audit["order"]["same_for_other_workers"])

    def test_ranks_of_our_own_loader_get_as_many_batches(self):
        """97 items on 2 ranks are 49 and 48: three batches of 16 and one more
        sample, which the other rank makes up for by splitting a batch."""
        audit, _ = self.audit(
            "HorizontalFlip",
            library="native",
            code=0,
            params_profile="paper",
            dataset="synthetic:ids,n=97",
            num_items=97,
            batch_size=16,
        )
        batches = {r["ranks"]: r["batches"] for r in audit["ranks"]}
        self.assertEqual(batches, {2: [4, 4], 4: [2, 2, 2, 2]})
        self.assertEqual(audit["verdict"], "pass", audit["faults"])

    def test_items_must_show_their_ids(self):
        fields = {"library": "native", "params_profile": "paper"}
        run = Run([job("Invert", **fields)])
        self.assertEqual(run.code, 2, run.stderr)
        self.assertEqual(run.audits[0]["status"], "failed")
        self.assertIn("no item of", run.audits[0]["reason"])
        self.assertIn("HorizontalFlip", run.stderr)

    def test_mistakes_are_named(self):
        for flags, words in (
            (["--soak=ten"], '--soak: "ten" is not a duration'),
            (["--soak=-1s"], "--soak"),
            (["--resumes=0"], "--resumes must be 1 to 100"),
        ):
            run = Run([job("ok")], *flags)
            self.assertEqual(run.code, 1)
            self.assertIn(words, run.stderr)
        run = harness.Run([PIPELINE, "--soak=1s"], [job("ok")])
        self.assertEqual(run.code, 1)
        self.assertIn("--soak is a part of --audit", run.stderr)


if __name__ == "__main__":
    unittest.main()
