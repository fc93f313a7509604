#!/usr/bin/env python3
"""video --audit from end to end: our own loader of clips."""

import sys
import unittest

sys.path.insert(0, "tools/micro")
import harness  # noqa: E402

VIDEO = "tools/video/video"


class AuditTest(harness.TestCase):
    def audit(self, *flags):
        run = harness.Run([VIDEO, "--audit", *flags], (), timeout=1700)
        return run, [r for r in run.records if r["record"] == "audit"]

    def test_our_own_loader_passes(self):
        """21 clips on 2 ranks are 11 and 10: two batches of 5 and one more
        clip, which the other rank makes up for by splitting a batch."""
        run, audits = self.audit(
            "--config=configs/native/video_pipeline_cpu.textproto",
            "--libraries=ffmpeg",
            "--num_items=21",
            "--batch_size=5",
        )
        self.assertEqual(run.code, 0, run.stderr)
        (audit,) = audits
        self.assertEqual(audit["verdict"], "pass", audit)
        self.assertEqual(audit["coverage"]["items"], 21)
        self.assertTrue(audit["order"]["same_for_other_workers"])
        batches = {r["ranks"]: r["batches"] for r in audit["ranks"]}
        self.assertEqual(batches[2], [3, 3])
        self.assertTrue(audit["resumes"][0]["same_batches"])
        self.assertIn("1 audit (1 pass, 0 fail, 0 not done)", run.stderr)

    def test_clips_must_show_their_ids(self):
        run, audits = self.audit(
            "--config=configs/native/video_pipeline_cpu.textproto",
            "--libraries=ffmpeg",
            "--num_items=3",
            "--dataset=synthetic:video,n=3,seed=1",
        )
        self.assertEqual(run.code, 2, run.stderr)
        self.assertIn("shows an id", audits[0]["reason"])

    def test_only_loaders_are_audited(self):
        run, audits = self.audit(
            "--config=configs/native/video_decode.textproto",
            "--libraries=ffmpeg",
            "--num_items=2",
        )
        self.assertEqual((run.code, audits), (1, []))
        self.assertIn("only loaders are audited", run.stderr)


if __name__ == "__main__":
    unittest.main()
