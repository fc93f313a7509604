#!/usr/bin/env python3
"""audit from end to end, with trainings that note their items by numbers.
dev/checks/audit_codes_test.sh reads images."""

import contextlib
import json
import os
import pathlib
import pty
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

AUDIT = "tools/audit/audit"
TRAINING = pathlib.Path("tools/audit/training.py").absolute()


class AuditTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.ids = self.root / "ids"
        self.ids.mkdir()
        manifest = {
            "schema": 1,
            "record": "audit_items",
            "layout": "folder",
            "items": 197,
            "validation_items": 20,
            "classes": 10,
        }
        (self.ids / "feedrate_audit.json").write_text(json.dumps(manifest))

    def audit(self, *flags, **settings):
        """(exit code, records, standard error) of an audit."""
        work = self.root / "work"
        words = [f"{name}={value}" for name, value in settings.items()]
        done = subprocess.run(
            [
                AUDIT,
                f"--dataset={self.ids}",
                f"--prepare=rm -rf {work}; mkdir {work}",
                *flags,
                "--",
                sys.executable,
                str(TRAINING),
                str(work),
                *words,
            ],
            capture_output=True,
            text=True,
            timeout=200,
            env={**os.environ, "TMPDIR": str(self.root)},
        )
        records = [json.loads(line) for line in done.stdout.splitlines()]
        return done.returncode, records, done.stderr

    def accused(self, words, *flags, **settings):
        code, (record, *_), stderr = self.audit(*flags, **settings)
        self.assertEqual(code, 3, stderr)
        self.assertEqual(record["verdict"], "fail")
        self.assertIn(words, "\n".join(record["faults"]), stderr)
        return record

    def test_an_honest_training_passes_kills(self):
        for seed in range(1, 4):
            code, (record,), stderr = self.audit("--kills=3", f"--seed={seed}")
            self.assertEqual(code, 0, stderr)
            self.assertEqual(record["verdict"], "pass")
            self.assertEqual(record["training"]["kills"], 3, stderr)
            self.assertEqual(record["training"]["steps"], 26)

    def test_ranks_share_an_epoch_also_after_a_change_of_their_number(self):
        code, records, stderr = self.audit("--world_sizes=1,2", "--kills=1")
        self.assertEqual(code, 0, stderr)
        sizes = [r["training"]["world_size"] for r in records]
        self.assertEqual(sizes, [1, 2])

    def test_what_every_epoch_does_wrong(self):
        never = "epoch 1: 1 of 197 items never seen"
        self.accused(never, "--kills=0", fault="loses")
        self.accused("epoch 1: 1 seen twice", "--kills=0", fault="repeats")
        self.accused(
            "epoch 2 has the order of epoch 1", "--kills=0", fault="order"
        )
        self.accused("not shuffled", "--kills=0", fault="sorted")
        self.accused(
            "have the label of another item", "--kills=0", fault="labels"
        )
        self.accused("of the validation set", "--kills=0", fault="leak")
        self.accused(
            "validation: 1 of 20 items never seen",
            "--kills=0",
            fault="validation",
        )

    def test_what_ranks_do_wrong(self):
        flags = ("--kills=0", "--world_sizes=2")
        self.accused("the same items as rank 0", *flags, fault="same_ranks")
        self.accused("batches; a step that waits", *flags, fault="unequal")

    def test_what_a_restart_does_wrong(self):
        flags = ("--kills=1", "--seed=3")
        again = self.accused(
            "32 seen twice, all from the 32 samples before the restart",
            *flags,
            fault="skips_less",
        )
        self.assertEqual(again["training"]["restarts"][0]["repeated_items"], 32)
        lost = self.accused(
            "32 of 197 items never seen after the first restart",
            *flags,
            fault="skips_more",
        )
        self.assertEqual(lost["training"]["restarts"][0]["lost"], 32)
        self.accused("seen twice", *flags, fault="begins_again")

    def test_sigterm_and_a_start_from_scratch(self):
        code, (record,), stderr = self.audit(
            "--signal=term", "--kills=2", fault="term"
        )
        self.assertEqual(code, 0, stderr)
        self.assertEqual(record["training"]["kills"], 2)
        code, (record,), stderr = self.audit("--kills=1", fault="scratch")
        self.assertEqual(code, 0, stderr)
        self.assertIn("began from scratch", stderr)

    def test_kills_that_never_came_are_told(self):
        code, (record,), stderr = self.audit("--kills=30", epochs=1, every=1)
        self.assertEqual((code, record["verdict"]), (4, ""), stderr)
        kills = record["training"]["kills"]
        self.assertIn(f"only {kills} of 30 kills", stderr)

    def test_exit_codes(self):
        self.assertEqual(self.audit(fail="9")[0], 2)
        code, (record,), stderr = self.audit(fault="unreadable")
        self.assertEqual((code, record["verdict"]), (4, ""))
        self.assertIn("show no item", stderr)
        for flags in (
            ["--kills=-1", "--", "true"],
            ["--dataset=/nowhere", "--", "true"],
            [f"--dataset={self.ids}"],
            ["--", "true"],
            [f"--dataset={self.ids}", "--reports=a.pdf", "--", "true"],
        ):
            done = subprocess.run([AUDIT, *flags], capture_output=True)
            self.assertEqual(done.returncode, 1, flags)
        # What cannot be read is not left out.
        line = '{"schema":1,"record":"audit_line","rank":0,"rank":1}\\n\\n'
        script = f"printf '{line}' >$FEEDRATE_AUDIT/1.jsonl"
        command = [AUDIT, f"--dataset={self.ids}", "--", "sh", "-c", script]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("1 note of the training cannot be read", done.stderr)
        # Nothing is left of what was recorded.
        self.assertEqual(list(self.root.glob("feedrate-audit*")), [])

    def test_a_time_limit_ends_what_prepares(self):
        prepare = "--prepare=sleep 100"
        command = [AUDIT, f"--dataset={self.ids}", prepare, "--timeout=0.2"]
        done = subprocess.run(
            [*command, "--", "true"], capture_output=True, timeout=50, text=True
        )
        self.assertEqual(done.returncode, 2, done.stderr)
        said = '--prepare: "sleep 100" took longer than 0.2 s'
        self.assertIn(said, done.stderr)

    def test_control_c_ends_what_prepares(self):
        process = subprocess.Popen(
            [
                AUDIT,
                f"--dataset={self.ids}",
                f"--prepare=touch {self.root}/begun; sleep 100",
                "--",
                "true",
            ],
            preexec_fn=lambda: signal.signal(
                signal.SIGINT, signal.default_int_handler
            ),
        )
        while not (self.root / "begun").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(30), 130)

    def test_a_terminal_gets_the_page_and_no_records(self):
        ours, theirs = pty.openpty()
        command = [AUDIT, f"--dataset={self.ids}", "--kills=0", "--"]
        command += [sys.executable, str(TRAINING), str(self.root)]
        process = subprocess.Popen(command, stdout=theirs, stderr=theirs)
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):
            while read := os.read(ours, 4096):
                said += read
        os.close(ours)
        self.assertEqual(process.wait(), 0, said)
        self.assertIn(b"pass: ", said)
        self.assertNotIn(b'"record"', said)

    def test_reports(self):
        names = ["a.html", "a.xml", "a.md", "a.txt", "a.jsonl"]
        paths = [self.root / name for name in names]
        self.accused(
            "never seen",
            "--reports=" + ",".join(map(str, paths)),
            fault="skips_more",
        )
        html, junit, markdown, text, records = (p.read_text() for p in paths)
        self.assertIn("<svg", html)
        self.assertIn("restart 1", html)
        cases = xml.etree.ElementTree.fromstring(junit).findall(".//testcase")
        self.assertEqual(len(cases[0].findall("failure")), 1)
        self.assertTrue(markdown.startswith("**audit: fail**"), markdown)
        self.assertIn("FAULT", text)
        self.assertEqual(json.loads(records)["record"], "audit")

    def test_make_writes_pngs_without_any_package(self):
        folder = self.root / "made"
        command = [AUDIT, f"--make={folder}", "--items=21", "--side=32"]
        made = subprocess.run(
            [*command, f"--python={sys.executable}"],
            check=True,
            capture_output=True,
            text=True,
        )
        self.assertIn("21 items for training, 100 for", made.stderr)
        self.assertEqual(len(list(folder.glob("train/*/*.png"))), 21)
        self.assertEqual(len(list(folder.glob("val/*/*.png"))), 100)
        again = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(again.returncode, 1)
        self.assertIn("is not empty", again.stderr)


if __name__ == "__main__":
    unittest.main()
