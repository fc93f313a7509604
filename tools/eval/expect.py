#!/usr/bin/env python3
"""Writes what eval should find in a checkpoint, from what it found.

    expect.py EVAL.jsonl EXPECTED.json

Exits with 3 and writes nothing if a probe is not between 30% and 90%: one that
is always right cannot get better, one that is always wrong cannot get worse.
"""

import json
import sys

LOW, HIGH = 30, 90


def expectation(record):
    """{"NAME": {"value", "tolerance"}} for `eval --expect`. Another processor
    rounds differently: a byte here or there."""
    expected = {
        "perplexity": {"value": record["perplexity"], "tolerance": 0.02},
        "probe_accuracy": {"value": record["probe_accuracy"], "tolerance": 3},
    }
    for probe in record["probes"]:
        expected["probes." + probe["name"]] = {
            "value": probe["accuracy"],
            "tolerance": 5,
        }
    return expected


def main(source, target):
    with open(source) as file:
        record = json.load(file)
    outside = False
    print(f"perplexity {record['perplexity']:.3f}")
    for probe in record["probes"]:
        inside = LOW <= probe["accuracy"] <= HIGH
        outside = outside or not inside
        print(
            f"{probe['name']} {probe['accuracy']:.1f}%",
            "" if inside else f"is not between {LOW} and {HIGH}",
        )
    if outside:
        return 3
    with open(target, "w") as out:
        json.dump(expectation(record), out, indent=2)
        out.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
