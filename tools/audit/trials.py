#!/usr/bin/env python3
"""Audits many small trainings: honest ones, which must pass, and ones with an
injected fault, which must be accused in the right words.

    trials.py AUDIT [--honest=200] [--injected=200] [--seed=1] [--jobs=2]
        [--log=FILE]

Loaders, world sizes, kills, signals, seeds and checkpoints are random. Prints a
row per kind of fault, and the settings of each trial that went wrong. Exit code
1 if an honest training was accused or fewer than 99% of the faults were. FILE
gets a line per trial; those that are there are not run again.
"""

import argparse
import collections
import concurrent.futures
import importlib.util
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

TRAINING = pathlib.Path(__file__).resolve().parent / "training.py"
NEVER = r"never seen after the \w+ restart"
TWICE = r"\d+ seen (twice|\d+ times)"

# The words that must be there, and what the fault needs to be possible.
FAULTS = {
    "loses": (r"epoch \d: 1 of \d+ items never seen", {}),
    "repeats": (TWICE, {}),
    "order": ("has the order of epoch 1", {}),
    "sorted": ("not shuffled", {"loader": "map"}),
    "same_ranks": ("saw the same items as rank 0", {"world": 2}),
    "overlap": (r"\d+ of them by two ranks", {"world": 2}),
    "unequal": (r"the ranks got .* batches", {"world": 2, "kills": 0}),
    "labels": ("have the label of another item", {}),
    "leak": ("of the validation set", {}),
    "validation": (r"validation: .* never seen", {}),
    "validation_twice": ("validation: .* seen more than once", {}),
    "skips_less": (TWICE, {"kills": 1}),
    "skips_more": (NEVER, {"kills": 1}),
    "second_resume": (NEVER, {"kills": 2}),
    "begins_again": (TWICE, {"kills": 1}),
    "first_epoch_again": (f"{NEVER}.*seen", {"kills": 1}),
    "shuffles_anew": (f"{NEVER}.*seen", {"kills": 1}),
    "loses_buffer": (NEVER, {"kills": 1}),
    "draws_of_items": ("augmented the same way", {"images": 1}),
    "draws_of_workers": ("workers repeat the same", {"images": 1}),
    "draws_of_epochs": ("draws of an epoch repeat", {"images": 1}),
    "weights": ("source 1 of the mixture", {"loader": "mixture"}),
    "unreadable": ("show no item", {}),
}
OF_RESTARTS = {
    name for name, (_, needs) in FAULTS.items() if needs.get("kills")
}


class Trial:
    """A training with random settings, and the flags of its audit."""

    def __init__(self, fault, number, seed):
        chance = random.Random(f"{seed} {fault} {number}")
        needs = FAULTS[fault][1] if fault else {}
        loaders = ["map", "map", "stream"]
        if not fault:
            loaders += ["endless", "mixture"]
        loader = needs.get("loader", chance.choice(loaders))
        images = needs.get("images", 0 if fault else chance.random() < 0.1)
        if loader == "mixture":
            images = 0
        world = max(needs.get("world", 1), chance.choice([1, 1, 1, 2, 2, 3]))
        if images:
            world = 1
        kills = max(needs.get("kills", 0), chance.choice([0, 1, 1, 2, 3]))
        if needs.get("kills") == 0:
            kills = 0
        batch = chance.choice([4, 8, 8, 10, 16])
        least = 4 * batch * world
        settings = {
            "loader": loader,
            "batch": batch,
            "items": chance.randrange(max(60, least), max(60, least) + 120),
            "validation": chance.choice([0, 7, 20, 33]),
            "classes": chance.randrange(2, 12),
            "epochs": chance.choice([2, 2, 3]),
            "every": chance.choice([1, 2, 3, 5]),
            "seed": chance.randrange(1 << 30),
            "drop_last": int(chance.random() < 0.3),
        }
        if fault == "leak" or fault.startswith("validation"):
            settings["validation"] = 20
        if fault == "loses":
            settings["drop_last"] = 0
            # Full batches look like a loader that leaves out the last one.
            settings["items"] += (settings["items"] - 1) % (batch * world) == 0
        if loader == "mixture":
            settings["items"] += 600
        if images:
            settings.update(images=1, batch=8, items=72 + 8 * (world - 1))
        if fault:
            settings["fault"] = fault
        signal = chance.choice(["kill", "kill", "term", "both"])
        if signal != "kill":
            settings["term"] = 1
        self.flags = [
            f"--kills={kills}",
            f"--seed={chance.randrange(1000)}",
            f"--world_sizes={world}",
            f"--signal={signal}",
            "--timeout=600",
        ]
        if chance.random() < 0.3 and loader != "stream":
            self.flags.append(f"--restart_world_size={chance.randrange(1, 4)}")
            if loader == "endless":
                # Other ranks would drop other items.
                settings["drop_last"] = 0
        if loader == "mixture":
            self.flags.append("--weights=0.6,0.4")
        self.fault = fault
        self.settings = settings

    def run(self, audit):
        """(exit code, faults and reason, whether the fault did any harm)."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            ids = root / "ids"
            ids.mkdir()
            items = self.settings["items"]
            manifest = {
                "schema": 1,
                "record": "audit_items",
                "layout": "folder",
                "items": items,
                "validation_items": self.settings["validation"],
                "classes": self.settings["classes"],
            }
            if self.settings["loader"] == "mixture":
                manifest["sources"] = [items // 3, items - items // 3]
            (ids / "feedrate_audit.json").write_text(json.dumps(manifest))
            work = root / "work"
            done = subprocess.run(
                [
                    audit,
                    f"--dataset={ids}",
                    f"--prepare=rm -rf {work}; mkdir {work}",
                    *self.flags,
                    "--",
                    sys.executable,
                    str(TRAINING),
                    str(work),
                    *[f"{k}={v}" for k, v in self.settings.items()],
                ],
                capture_output=True,
                text=True,
                env={**os.environ, "TMPDIR": folder},
            )
            record = json.loads(done.stdout or "{}")
            said = [*record.get("faults", []), record.get("reason", "")]
            if not record:
                said = [done.stderr[-500:]]
            spoiled = work / "spoiled"
            harm = self.fault not in OF_RESTARTS or (
                spoiled.exists() and spoiled.read_text() == "1"
            )
            return done.returncode, "; ".join(filter(None, said)), harm

    def is_right(self, code, said):
        if not self.fault:
            # A short training may end before its last kill, and audit says so.
            late = re.search(r"^only \d+ of \d+ kills? came", said)
            return code == 0 or (code == 4 and late is not None)
        expected = 4 if self.fault == "unreadable" else 3
        words = FAULTS[self.fault][0]
        return code == expected and re.search(words, said) is not None

    def words(self):
        settings = [f"{k}={v}" for k, v in self.settings.items()]
        return " ".join([*self.flags, "--", *settings])


def run_one(audit, fault, number, seed):
    """(whether it was judged right, exit code, what was said, settings). Tries
    other seeds until the fault does harm: a restart at the start of an epoch
    has nothing to lose."""
    for again in range(20):
        trial = Trial(fault, f"{number}.{again}", seed)
        code, said, harm = trial.run(audit)
        if harm:
            break
    return trial.is_right(code, said) and harm, code, said, trial.words()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("audit")
    parser.add_argument("--honest", type=int, default=200)
    parser.add_argument("--injected", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--log", type=pathlib.Path)
    options = parser.parse_args()
    if importlib.util.find_spec("numpy") is None:
        sys.exit("trials.py: needs a Python that has numpy")
    names = list(FAULTS)
    work = [("", number) for number in range(options.honest)]
    work += [(names[n % len(names)], n) for n in range(options.injected)]
    results = {}
    if options.log and options.log.exists():
        for line in options.log.read_text().splitlines():
            *one, result = json.loads(line)
            results[tuple(one)] = result
    left = [one for one in work if (options.seed, *one) not in results]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for one, result in pool.map(
            lambda one: (one, run_one(options.audit, *one, options.seed)), left
        ):
            results[(options.seed, *one)] = result
            if options.log:
                with options.log.open("a") as log:
                    log.write(json.dumps([options.seed, *one, result]) + "\n")
    counts = collections.Counter()
    right = collections.Counter()
    for one in work:
        is_right, code, said, words = results[(options.seed, *one)]
        kind = one[0] or "honest"
        counts[kind] += 1
        right[kind] += is_right
        if not is_right:
            print(f"WRONG {kind}: exit code {code}: {said}\n      {words}")
    print("| training | trials | right |\n|---|---|---|")
    for kind, count in counts.items():
        print(f"| {kind} | {count} | {right[kind]} |")
    accused = sum(right[name] for name in names)
    print(
        f"{counts['honest'] - right['honest']} of {options.honest} honest"
        f" trainings accused or not judged; {accused} of {options.injected}"
        " faults accused in the right words"
    )
    honest = right["honest"] == options.honest
    sys.exit(0 if honest and accused >= 0.99 * options.injected else 1)


if __name__ == "__main__":
    main()
