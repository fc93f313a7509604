#!/usr/bin/env python3
"""Computes what mixture rows say again, from batch_times.jsonl only.

    mixture --config=F --output=DIR
    tools/mixture/recount.py DIR/**/*.jsonl

Shares only the records with the program. Computes from the batches the mixture
error, the rate at which the dominant data set changes, how many data sets
dominate, samples and stalls by data set, and the median and the tails of batch
times, and compares them with the row of the same run. Only the weights are
taken from the row, because batches do not have them.

Prints one line per run, and how many agree; with --quiet only runs that differ
and that number. Exit 0: all agree; 3: a number differs; 5: there is no row with
its batches.
"""

import argparse
import collections
import json
import math
import sys

# Numbers travel as text with all their digits; sums may differ in the last.
RELATIVE = 1e-9
# For differences of times since the start of the run.
ABSOLUTE = 1e-9


def read_records(paths):
    """(rows, batches), each by (job_id, run_index, run_id)."""
    rows, batches = {}, collections.defaultdict(dict)
    for path in paths:
        with sys.stdin if path == "-" else open(path) as file:
            for line in file:
                record = json.loads(line)
                if record["record"] == "row" and "mixture" in record:
                    rows[key_of(record)] = record
                elif record["record"] == "batch":
                    # The last attempt at a run counts.
                    batches[key_of(record)][record["batch_index"]] = record
    ordered = {
        key: [found[index] for index in sorted(found)]
        for key, found in batches.items()
    }
    return rows, ordered


def key_of(record):
    return record["job_id"], record["run_index"], record["run_id"]


def quantile(values, p):
    """With linear interpolation between the two neighbours."""
    ordered = sorted(values)
    place = p * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def samples_by_dataset(batches):
    samples = collections.Counter()
    for batch in batches:
        for count in batch["counts"]:
            samples[count["dataset"]] += count["samples"]
    return samples


def dominant_of(batch, order):
    """The data set with most samples; of equals the earlier in the mixture."""
    counts = {c["dataset"]: c["samples"] for c in batch["counts"]}
    return max(counts, key=lambda name: (counts[name], -order[name]))


def recount(batches, weight_shares):
    """What a row's `mixture` should say. weight_shares: by data set, in the
    order of the mixture."""
    order = {name: i for i, name in enumerate(weight_shares)}
    warmup = [batch for batch in batches if batch["warmup"]]
    measured = [batch for batch in batches if not batch["warmup"]]
    samples = samples_by_dataset(measured)
    total = sum(samples.values())
    dominants = [dominant_of(batch, order) for batch in measured]
    switches = sum(
        a != b for a, b in zip(dominants, dominants[1:], strict=False)
    )
    begin = warmup[-1]["time_s"] if warmup else 0.0
    times = [begin] + [batch["time_s"] for batch in measured]
    between = [b - a for a, b in zip(times, times[1:], strict=False)]
    stalls = collections.Counter()
    for batch, dominant in zip(measured, dominants, strict=True):
        stalls[dominant] += batch["wait_s"]
    return {
        "batches": len(measured),
        "warmup_batches": len(warmup),
        "batches_per_s": len(measured) / (times[-1] - begin),
        "samples_per_s": total / (times[-1] - begin),
        "batch_p50_s": quantile(between, 0.5),
        "batch_p90_s": quantile(between, 0.9),
        "batch_p99_s": quantile(between, 0.99),
        "mixture_error": sum(
            abs(samples[name] / total - share)
            for name, share in weight_shares.items()
        )
        / 2,
        "dominant_switch_rate": switches / max(1, len(measured) - 1),
        "unique_dominant": len(set(dominants)),
        "samples": {name: samples[name] for name in weight_shares},
        "stall_s": {name: stalls[name] for name in weight_shares},
    }


def faults_of_batches(batches, order):
    """Contradictions inside the batches."""
    seen = set()
    for batch in batches:
        place = f"batch {batch['batch_index']}"
        names = {c["dataset"] for c in batch["counts"] if c["samples"] > 0}
        if sum(c["samples"] for c in batch["counts"]) != batch["items"]:
            yield f"{place}: its counts do not add up to its items"
        if names and batch["dominant"] != dominant_of(batch, order):
            yield f"{place}: {batch['dominant']} does not dominate it"
        if set(batch["first_seen"]) != names - seen:
            yield f"{place}: first_seen is not what it has first"
        seen |= names


def differences(row, batches):
    """Lines that say where a row and its batches disagree."""
    mixture = row["mixture"]
    shares = {s["dataset"]: s["weight_share"] for s in mixture["shares"]}
    order = {name: i for i, name in enumerate(shares)}
    unknown = samples_by_dataset(batches).keys() - shares.keys()
    if unknown:
        return [f"batches have {', '.join(sorted(unknown))}, the row has not"]
    found = list(faults_of_batches(batches, order))
    counted = recount(batches, shares)
    for name, value in counted.items():
        if isinstance(value, dict):
            for share in mixture["shares"]:
                where = f"{name} of {share['dataset']}"
                said = share[name]
                found += compare(where, said, value[share["dataset"]])
        else:
            found += compare(name, mixture[name], value)
    return found


def compare(name, said, counted):
    if math.isclose(said, counted, rel_tol=RELATIVE, abs_tol=ABSOLUTE):
        return []
    return [f"{name}: the row says {said}, the batches {counted}"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("files", nargs="+", help="rows and batches; - is stdin")
    flags = parser.parse_args()
    rows, batches = read_records(flags.files)
    both = [key for key in rows if key in batches and rows[key]["items"] > 0]
    if not both:
        print("no row of a mixture has its batches here", file=sys.stderr)
        return 5
    agree = 0
    for key in both:
        found = differences(rows[key], batches[key])
        name = f"job {key[0]} run {key[1]}"
        mixture = rows[key]["mixture"]
        for line in found:
            print(f"{name}: {line}")
        agree += not found
        if not found and not flags.quiet:
            print(
                f"{name}: agrees: {len(batches[key])} batches, mixture error"
                f" {mixture['mixture_error']:.4f}, switch rate"
                f" {mixture['dominant_switch_rate']:.4f}"
            )
    print(f"{agree} of {len(both)} rows agree with their batches")
    return 0 if agree == len(both) else 3


if __name__ == "__main__":
    sys.exit(main())
