"""Programs that keep state, for tools/testing/faults.py: what they are run on,
and what must be true of their files whatever happens."""

import contextlib
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = ROOT / "bazel-bin/tools"
PHOTOS = ROOT / "testdata/media"


def program(name):
    return str(BIN / name / name)


def digest(path):
    return hashlib.md5(path.read_bytes()).hexdigest()


def tree(folder):
    """{path below the folder: MD5}."""
    return {
        str(path.relative_to(folder)): digest(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


class Wrong(Exception):
    """What is not as it must be."""


class Case:
    """A program that keeps state below `home`."""

    name = ""
    # How many of the scenarios it gets, beside the others.
    share = 1
    # It may lose state on a full disk and still be done, such as a cache.
    may_go_on = False
    # It makes a new folder, and refuses one that is there as a whole.
    only_new = False
    env = {}

    def prepare(self, home):
        """Makes what the program reads, and an older state where it has one."""

    def command(self, home):
        raise NotImplementedError

    def files(self, home):
        """{name: digest} of what the program makes, without temporary files."""
        raise NotImplementedError

    def before_next(self, home):
        """Before the run that repairs."""

    def check(self, home, old, new):
        """After a fault: each file is as before, as it will be, or not there
        if it was not."""
        for name, content in self.files(home).items():
            if content not in (old.get(name), new.get(name)):
                raise Wrong(f"{name} is neither old nor new")
        for name in old:
            if name in new and not (home / name).exists():
                raise Wrong(f"{name} is lost")


class Staging(Case):
    name = "stage_dataset"
    share = 30

    def prepare(self, home):
        (home / "in/a").mkdir(parents=True)
        for i in range(8):
            content = random.Random(i).randbytes(3000 * i)
            (home / f"in/{'a/' if i % 2 else ''}{i}.bin").write_bytes(content)
        with tarfile.open(home / "in.tar", "w") as archive:
            archive.add(home / "in", "in")
        shutil.rmtree(home / "in")

    def command(self, home):
        return [
            program("stage_dataset"),
            f"--source={home}/in.tar",
            f"--dest={home}/out",
            "--threads=2",
        ]

    def files(self, home):
        found = tree(home / "out")
        return {n: d for n, d in found.items() if ".stage_dataset." not in n}

    def check(self, home, old, new):
        # What is there without a sentinel need not be whole.
        if (home / "out/.stage_dataset.done").exists():
            if self.files(home) != new:
                raise Wrong("a sentinel beside files that are not whole")


class Baselines(Case):
    name = "baselines (compare_baseline)"
    share = 20

    def metrics(self, tokens):
        return json.dumps(
            {
                "machine_profile": "m",
                "tokens_per_sec_p50": tokens,
                "memory_peak_bytes": 100,
                "loss_slope": -0.1,
            }
        )

    def prepare(self, home):
        (home / "b").mkdir(parents=True)
        (home / "b/m.metrics.json").write_text(self.metrics(1000))
        (home / "new.json").write_text(self.metrics(1100))

    def command(self, home):
        return [
            program("compare_baseline"),
            f"--current={home}/new.json",
            f"--baselines={home}/b",
            "--update_baseline",
            "--i_am_a_maintainer=test",
        ]

    def files(self, home):
        # The log says when, and history/ which was replaced.
        return {"b/m.metrics.json": digest(home / "b/m.metrics.json")}

    def check(self, home, old, new):
        super().check(home, old, new)
        for line in (home / "b").glob("*.updates.jsonl"):
            for text in line.read_text().splitlines()[:-1]:
                json.loads(text)


class Shards(Case):
    name = "bundles (pipeline --make_shards)"
    share = 15
    only_new = True

    def prepare(self, home):
        (home / "in").mkdir(parents=True)
        for path in sorted(PHOTOS.glob("*.bmp"))[:6]:
            shutil.copy(path, home / "in")

    def command(self, home):
        return [
            program("pipeline"),
            f"--make_shards={home}/out",
            f"--dataset={home}/in",
            "--shard_bytes=4K",
        ]

    def files(self, home):
        found = tree(home / "out")
        return {
            f"out/{n}": d
            for n, d in found.items()
            if re.fullmatch(r"shard-\d+\.tar(\.index)?", n)
        }


class JpegIndex(Case):
    name = "JPEG index (pipeline --make_index)"
    share = 10

    def prepare(self, home):
        (home / "in").mkdir(parents=True)
        for path in sorted(PHOTOS.glob("*.jpg"))[:4]:
            shutil.copy(path, home / "in")

    def command(self, home):
        return [
            program("pipeline"),
            f"--make_index={home}/out.jpegindex",
            f"--dataset={home}/in",
        ]

    def files(self, home):
        path = home / "out.jpegindex"
        return {path.name: digest(path)} if path.exists() else {}


class Page(Case):
    name = "pages (report)"
    share = 10

    def prepare(self, home):
        home.mkdir(parents=True)
        rows = [
            {
                "schema": 1,
                "record": "row",
                "job_id": f"{i:016x}",
                "mode": "micro",
                "library": "l",
                "transform": f"t{i}",
                "status": "ok",
                "throughput": 100 + i,
                "machine_profile": "m",
            }
            for i in range(4)
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (home / "rows.jsonl").write_text(text)
        (home / "page.html").write_text("an older page\n")

    def command(self, home):
        return [
            program("report"),
            f"{home}/rows.jsonl",
            f"--output={home}/page.html",
            f"--svg={home}/figures",
        ]

    def files(self, home):
        found = tree(home)
        return {n: d for n, d in found.items() if n.endswith((".html", ".svg"))}


class Campaign(Case):
    name = "campaigns (plan --emit)"
    share = 10
    only_new = True

    def prepare(self, home):
        home.mkdir(parents=True)

    def command(self, home):
        return [
            program("plan"),
            f"--config={ROOT}/configs/demo.textproto",
            "--libraries=opencv",
            "--emit=shell",
            f"--output={home}/out",
        ]

    def files(self, home):
        found = tree(home / "out")
        return {f"out/{n}": d for n, d in found.items() if "/." not in f"/{n}"}


class Rows(Case):
    name = "rows (micro --resume)"
    share = 4

    def prepare(self, home):
        home.mkdir(parents=True)

    def command(self, home):
        return [
            program("micro"),
            f"--config={ROOT}/configs/demo.textproto",
            "--libraries=opencv",
            "--transforms=HorizontalFlip,Invert",
            "--num_items=2",
            "--num_runs=2",
            "--quiet_wait=0",
            "--stable_within=0",
            "--noequivalence",
            "--resume",
            f"--output={home}/rows.jsonl",
        ]

    def rows(self, home):
        """Whole rows. A line that a kill has torn is none."""
        path = home / "rows.jsonl"
        for line in path.read_text().splitlines() if path.exists() else []:
            with contextlib.suppress(json.JSONDecodeError):
                yield json.loads(line)

    def files(self, home):
        found = {}
        for row in self.rows(home):
            if row["record"] == "row" and row["library"] != "null":
                status = row["status"]
                # A busy machine may be too slow for a whole run.
                if status == "early_stopped":
                    status = "ok"
                found[f"{row['job_id']} {row['run_index']}"] = status
        return found

    def check(self, home, old, new):
        for name, status in self.files(home).items():
            if status != "ok" or name not in new:
                raise Wrong(f"row {name}: {status}")


class Cache(Case):
    name = "cache of a store"
    share = 8
    may_go_on = True
    env = {
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_REGION": "us-east-1",
    }

    def __init__(self, store, url):
        self.store, self.url = store, url

    def prepare(self, home):
        home.mkdir(parents=True)
        self.store.restart()

    def command(self, home):
        return [
            program("pipeline"),
            f"--make_shards={home}/out",
            "--dataset=s3://data/set",
            f"--endpoint={self.url}",
            f"--cache_dir={home}/cache",
        ]

    def files(self, home):
        """By object: its version."""
        found = {}
        for shard in sorted((home / "out").glob("shard-*.tar")):
            with tarfile.open(shard) as archive:
                for member in archive:
                    if not member.isfile():
                        continue
                    content = archive.extractfile(member).read()
                    found[member.name] = hashlib.md5(content).hexdigest()
        return found

    def version(self, number):
        return {
            name: hashlib.md5(of[number]).hexdigest()
            for name, of in self.store.objects.items()
        }

    def before_next(self, home):
        # What is looked at is what the cache gives for it.
        shutil.rmtree(home / "out", ignore_errors=True)

    def check(self, home, old, new):
        for name, content in self.files(home).items():
            if content not in (self.version(0)[name], self.version(1)[name]):
                raise Wrong(f"{name} is not a version of an object")


class Careless(Case):
    """Writes in place, and so shows that this program finds it."""

    name = "careless"
    WRITES = (
        "import sys\nwith open(sys.argv[1], 'w', 1) as file:\n"
        "    for i in range(20):\n        file.write(f'line {i}\\n')"
    )

    def prepare(self, home):
        home.mkdir(parents=True)
        (home / "out").write_text("what was there\n")

    def command(self, home):
        return [sys.executable, "-c", self.WRITES, f"{home}/out"]

    def files(self, home):
        return {"out": digest(home / "out")}


class Checkpoint(Case):
    """Goes on from a checkpoint of two steps and replaces another one twice."""

    name = "checkpoints (train)"
    share = 1
    env = {"OMP_NUM_THREADS": "1"}

    def train(self, home, *flags):
        return [
            program("train"),
            "--model=byte_lm_tiny",
            "--batch_size=2",
            "--warmup_steps=0",
            f"--checkpoint={home}/out.ckpt",
            "--output=/dev/null",
            *flags,
        ]

    def prepare(self, home):
        home.mkdir(parents=True)
        first = self.train(home, "--measured_steps=2")
        subprocess.run(
            first,
            check=True,
            capture_output=True,
            env={**os.environ, **self.env},
        )
        shutil.copy(home / "out.ckpt", home / "first.ckpt")

    def command(self, home):
        return self.train(
            home,
            "--measured_steps=2",
            "--checkpoint_every=1",
            f"--resume_from={home}/first.ckpt",
        )

    def files(self, home):
        """Its step, if the checksum in it is right."""
        data = (home / "out.ckpt").read_bytes()
        _, named, rest = data.split(b"\n", 2)
        if named != b"sha256 " + hashlib.sha256(rest).hexdigest().encode():
            return {"out.ckpt": "broken"}
        return {"out.ckpt": re.search(rb"meta step (\d+)", rest)[1].decode()}

    def check(self, home, old, new):
        step = self.files(home)["out.ckpt"]
        # Or the one between them.
        if step not in ("2", "3", "4"):
            raise Wrong(f"the checkpoint is {step}")
