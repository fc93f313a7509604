"""Campaigns of real jobs while everything is killed, pulled away, filled up.

Again and again something of a running campaign gets SIGKILL: make, a task's
script, micro, a server, a measured process, a copy. Files of tasks that are not
done are deleted, and the disks of the campaign run full. Whenever a campaign
ends it must be whole: every row that was ever reported is there as it was, none
is there twice, and `aggregate` reads every file at any time, torn or not.

CHAOS_KILLS is the number of kills; 25, or 500 with FEEDRATE_FULL=1. CHAOS_SEED
repeats the same choices, though not the same moments.
"""

import contextlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path.cwd()
FULL = os.environ.get("FEEDRATE_FULL") == "1"
KILLS = int(os.environ.get("CHAOS_KILLS", "500" if FULL else "25"))
SEED = int(os.environ.get("CHAOS_SEED", "0")) or random.randrange(1, 10**6)
TRANSFORMS = "Rotate,GaussianBlur,Equalize,Brightness,Invert,Grayscale"
# A campaign that makes no progress for so long hangs.
PATIENCE_S = 300


def run(*command, code=0, **settings):
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        check=False,
        **settings,
    )
    if code is not None and done.returncode != code:
        sys.exit(
            f"{command}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        )
    return done


class Campaign:
    """A plan for make, with disks of its own."""

    def __init__(self, folder, disk, number):
        self.folder = folder / f"campaign{number}"
        self.disk = disk
        self.mark = f"CHAOS_MARK={os.getpid()}.{number}"
        # Rows that were reported, by file.
        self.reported = {}
        run(
            ROOT / "tools/plan/plan",
            f"--config={ROOT}/configs/demo.textproto",
            f"--configs={ROOT}/configs",
            "--libraries=opencv",
            f"--transforms={TRANSFORMS}",
            "--num_items=2",
            "--num_runs=1",
            f"--sweep=seed={number * 10 + 1},{number * 10 + 2}",
            "--emit=make",
            "--task_s=18",
            f"--output={self.folder}",
        )
        (self.folder / "site.env").write_text(
            f"LOCAL='{disk}'\nCHECKPOINT_S=0.3\n"
            "RUNNER_FLAGS=(--noequivalence --retries=9)\n"
            f"export FEEDRATE_WORKERS='{ROOT}'\n"
        )
        self.make = None
        self.bin = folder / "bin"
        self.bin.mkdir(exist_ok=True)
        if not (self.bin / "micro").exists():
            (self.bin / "micro").symlink_to(ROOT / "tools/micro/micro")

    def start(self):
        name, _, value = self.mark.partition("=")
        self.make = subprocess.Popen(
            ["make", "-s", "-j2", "-C", str(self.folder)],
            env={
                **os.environ,
                name: value,
                "FEEDRATE_BIN": str(self.bin),
                "FEEDRATE_CONFIGS": str(ROOT / "configs"),
                "MAKEFLAGS": "",
                "HOME": str(self.folder),
                "XDG_CACHE_HOME": str(self.folder / "cache"),
            },
            stdout=subprocess.DEVNULL,
            stderr=(self.folder / "log").open("a"),
            start_new_session=True,
        )

    def processes(self):
        """Everything that belongs to it."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                environ = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if self.mark.encode() in environ:
                found.append(int(entry.name))
        return found

    def kill_one(self):
        processes = self.processes()
        if processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(random.choice(processes), signal.SIGKILL)
        return bool(processes)

    def pull_one(self):
        """Deletes a file that no row was reported from."""
        files = [p for p in self.disk.rglob("*") if p.is_file()]
        files += list((self.folder / "partial").glob("*"))
        if files:
            random.choice(files).unlink(missing_ok=True)

    def look(self):
        """What was reported stays as it is."""
        for file in sorted((self.folder / "rows").glob("*.jsonl")):
            content = file.read_bytes()
            if not content.endswith(b"\n"):
                sys.exit(f"{file}: torn")
            before = self.reported.setdefault(file.name, content)
            if before != content:
                sys.exit(f"{file}: what was reported has changed")
        missing = [
            name
            for name in self.reported
            if not (self.folder / "rows" / name).exists()
        ]
        if missing:
            sys.exit(f"lost after they were reported: {missing}")

    def read_all(self):
        """`aggregate` reads what lies around, torn or not."""
        files = [p for p in self.disk.rglob("*.jsonl") if p.stat().st_size]
        files += list((self.folder / "partial").glob("*.jsonl"))
        copies = self.folder / "seen"
        shutil.rmtree(copies, ignore_errors=True)
        copies.mkdir()
        for number, file in enumerate(files):
            try:
                shutil.copy(file, copies / f"{number}.jsonl")
            except FileNotFoundError:
                continue
        rows = b"".join(p.read_bytes() for p in copies.iterdir())
        if b'"record":"row"' in rows and rows.endswith(b"\n"):
            run(ROOT / "tools/aggregate/aggregate", copies)

    def done(self):
        tasks = list((self.folder / "tasks").glob("*.jsonl"))
        rows = list((self.folder / "rows").glob("*.jsonl"))
        return len(tasks) == len(rows)

    def finish(self):
        """Compares all rows with the plan."""
        self.look()
        once = ROOT / "testdata/campaign/exactly_once.py"
        run(once, self.folder / "jobs.jsonl", self.folder / "rows")
        run(ROOT / "tools/aggregate/aggregate", self.folder / "rows")


class Chaos:
    def __init__(self, folder):
        self.folder = folder
        self.disk = folder / "disk"
        self.disk.mkdir()
        # Its own file system, where one may be mounted, so that it can be full.
        self.small = not subprocess.call(
            ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", self.disk],
            stderr=subprocess.DEVNULL,
        )
        if not self.small:
            print("no mounts here: disks do not run full in this run")
        self.kills = self.pulls = self.fills = 0

    def fill(self):
        filler = self.disk / "filler"
        try:
            with filler.open("wb", buffering=0) as file:
                while file.write(b"\0" * 4096) == 4096:
                    pass
        except OSError:
            pass
        time.sleep(random.uniform(0.2, 1))
        filler.unlink(missing_ok=True)
        self.fills += 1

    def disturb(self, campaign):
        time.sleep(random.uniform(0, 0.6))
        choice = random.random()
        if choice < 0.08:
            campaign.pull_one()
            self.pulls += 1
        elif choice < 0.14 and self.small:
            self.fill()
        elif campaign.kill_one():
            self.kills += 1

    def run_campaign(self, number):
        campaign = Campaign(self.folder, self.disk, number)
        deadline = time.monotonic() + PATIENCE_S
        reported = 0
        while not campaign.done():
            if campaign.make is None or campaign.make.poll() is not None:
                campaign.start()
            if self.kills < KILLS:
                self.disturb(campaign)
            else:
                time.sleep(0.2)
            campaign.look()
            if random.random() < 0.1:
                campaign.read_all()
            if len(campaign.reported) > reported:
                reported = len(campaign.reported)
                deadline = time.monotonic() + PATIENCE_S
            if time.monotonic() > deadline:
                log = (campaign.folder / "log").read_text()[-3000:]
                sys.exit(f"no progress for {PATIENCE_S} s\n{log}")
        campaign.make.wait()
        campaign.finish()

    def run(self):
        number = 0
        while self.kills < KILLS:
            self.run_campaign(number)
            number += 1
        print(
            f"{self.kills} kills, {self.pulls} files pulled, {self.fills} full "
            f"disks, {number} campaigns whole (seed {SEED})"
        )


def main():
    print(f"seed {SEED}")
    random.seed(SEED)
    base = os.environ.get("TEST_TMPDIR", tempfile.gettempdir())
    folder = pathlib.Path(tempfile.mkdtemp(dir=base))
    try:
        Chaos(folder).run()
    finally:
        subprocess.call(
            ["umount", "-l", folder / "disk"], stderr=subprocess.DEVNULL
        )
        shutil.rmtree(folder, ignore_errors=True)


main()
