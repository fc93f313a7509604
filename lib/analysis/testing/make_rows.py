#!/usr/bin/env python3
"""Writes records as runners would, from a seed: rows to test reports with.

    make_rows.py [--earlier] > rows.jsonl

A small campaign: pipelines swept over workers, micro on a CPU and on a GPU, a
training run with and without mixed precision. Some cells are early stopped,
unsupported or failed, some runs were tried twice, one cell is unstable, some
rows carry warnings. `--earlier` gives the micro rows of an earlier day, with
one transform faster and one slower, as a baseline.
"""

import argparse
import hashlib
import json
import math
import random
import sys

CPU = "xeon-8481c_16c_x86-64"
GPU = "h200x1_driver580_cuda13.0_torch2.11_sm90"
VERSIONS = {
    "albumentationsx": "2.0.8",
    "kornia": "0.8.2",
    "pillow": "11.3.0",
    "torchvision": "0.26.0",
    "null": "0.1.0",
}
# Images per second of the fastest, and the shares of the others.
MICRO = {
    "Brightness": (
        21400,
        {"torchvision": 0.31, "kornia": 0.11, "pillow": 0.42},
    ),
    "ColorJitter": (
        2310,
        {"torchvision": 0.12, "kornia": 0.09, "pillow": 0.35},
    ),
    "Elastic": (410, {"torchvision": 0.05, "kornia": 0.21}),
    "Equalize": (3120, {"torchvision": 0.34, "kornia": 0.04, "pillow": 1.31}),
    "GaussianBlur": (
        5480,
        {"torchvision": 0.08, "kornia": 0.07, "pillow": 0.22},
    ),
    "HorizontalFlip": (
        34100,
        {"torchvision": 0.98, "kornia": 0.18, "pillow": 0.55},
    ),
    "JpegCompression": (1530, {"torchvision": 0.61, "pillow": 0.83}),
    "MedianBlur": (2650, {"kornia": 0.004}),
    "Resize": (4110, {"torchvision": 0.71, "kornia": 0.13, "pillow": 0.64}),
    "Rotate": (5020, {"torchvision": 0.09, "kornia": 0.08, "pillow": 0.39}),
}


def rounded(value):
    return float(f"{value:.5g}")


class Campaign:
    def __init__(self, rng):
        self.rng = rng
        self.clock = 0

    def now(self):
        self.clock += 7
        minutes, seconds = divmod(self.clock, 60)
        hours, minutes = divmod(minutes, 60)
        return f"2026-11-14T{9 + hours:02}:{minutes:02}:{seconds:02}Z"

    def row(
        self, job, run, run_index, profile, throughput=0.0, status="ok", **more
    ):
        identity = {key: value for key, value in sorted(job.items()) if value}
        text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
        row = {
            "schema": 1,
            "record": "row",
            "job_id": hashlib.sha256(text.encode()).hexdigest()[:16],
            **{key: value for key, value in job.items() if key != "dataset"},
            "dataset": {
                "id": job["dataset"],
                "files": 2000,
                "bytes": 243_000_000,
                "sha256": "5d0c" * 16,
            },
            "params_sha256": hashlib.sha256(
                (job["library"] + job["transform"]).encode()
            ).hexdigest(),
            "env_set": "paper",
            "hardware_class": "gpu" if job["device"] == "cuda" else "cpu",
            "run_index": run_index,
            "attempt": 0,
            "status": status,
            "unit": "image",
            "library_version": VERSIONS[job["library"]],
            "machine_profile": profile,
            "env_id": "6a1f" * 4 if profile == CPU else "93be" * 4,
            "run_id": run,
            "started_at": self.now(),
        }
        if status == "ok":
            items = job["num_items"] or 2000
            row["items"] = items
            row["throughput"] = rounded(throughput)
            row["elapsed_s"] = rounded(items / throughput)
        row.update(more)
        return row

    def noise(self, spread):
        return math.exp(self.rng.gauss(0, spread))


def job(**fields):
    base = {
        "scenario": "image-rgb",
        "mode": "micro",
        "scope": "augmentation_only",
        "library": "",
        "transform": "",
        "device": "cpu",
        "num_items": 2000,
        "batch_size": 0,
        "workers": 0,
        "thread_policy": "micro-single",
        "params_profile": "paper",
        "dataset": "imagenet-val-2k",
        "seed": 137,
    }
    base.update(fields)
    return base


def equivalence(library, transform):
    if transform in ("ColorJitter", "Elastic"):
        return {"label": "unchecked", "reference": "random by nature"}
    if library == "pillow" and transform == "Equalize":
        return {"label": "different", "psnr_db": 31.2, "reference": "double"}
    if library == "albumentationsx":
        return {"label": "exact", "max_abs_diff": 0.0, "reference": "double"}
    return {"label": "equivalent", "max_abs_diff": 1.0, "reference": "double"}


def micro_rows(campaign, run, factors):
    for transform, (fastest, shares) in MICRO.items():
        for library in ("albumentationsx", "kornia", "pillow", "torchvision"):
            work = job(library=library, transform=transform)
            share = 1.0 if library == "albumentationsx" else shares.get(library)
            yield from micro_cell(
                campaign, run, work, fastest, share, factors.get(transform, 1.0)
            )
    for run_index in range(3):
        yield campaign.row(
            job(library="null"),
            run,
            run_index,
            CPU,
            1.9e6 * campaign.noise(0.01),
        )


def micro_cell(campaign, run, work, fastest, share, factor):
    library, transform = work["library"], work["transform"]
    for run_index in range(5):
        if share is None:
            yield campaign.row(
                work,
                run,
                run_index,
                CPU,
                status="unsupported",
                reason=f"{library} has no {transform}",
            )
            continue
        throughput = fastest * share * factor
        if throughput < 20:
            yield campaign.row(
                work,
                run,
                run_index,
                CPU,
                status="early_stopped",
                throughput=rounded(throughput),
                preflight_s=1.2,
                reason="preflight: slower than 0.05 s per image",
            ) | {"throughput": rounded(throughput)}
            continue
        unstable = (library, transform) == ("kornia", "Equalize")
        spread = 0.5 if unstable else 0.008 if library != "kornia" else 0.03
        if (library, transform, run_index) == ("pillow", "Rotate", 2):
            yield campaign.row(
                work,
                run,
                run_index,
                CPU,
                status="crashed",
                reason="killed by signal 11 (SIGSEGV)",
            )
        more = {
            "attempt": 1
            if (library, transform, run_index) == ("pillow", "Rotate", 2)
            else 0,
            "rss_peak_bytes": 410_000_000 + 37_000_000 * len(library),
            "equivalence": equivalence(library, transform),
        }
        if unstable:
            more["warnings"] = ["noisy"]
        elif run_index == 4 and library == "torchvision":
            more["warnings"] = ["contended", "migrated"]
        yield campaign.row(
            work,
            run,
            run_index,
            CPU,
            throughput * campaign.noise(spread),
            **more,
        )


def pipeline_rows(campaign, run):
    speeds = {"albumentationsx": 640, "kornia": 150, "torchvision": 390}
    weights = {"GaussianBlur": 0.8, "HorizontalFlip": 1.0}
    for workers in (0, 1, 2, 4, 8):
        scaled = 1.0 if workers == 0 else 0.93 * workers / (1 + 0.045 * workers)
        for transform, weight in weights.items():
            for library, speed in speeds.items():
                work = job(
                    mode="pipeline",
                    scope="decode_dataloader_augment",
                    library=library,
                    transform=transform,
                    batch_size=256,
                    workers=workers,
                    thread_policy="pipeline-default",
                )
                for run_index in range(3):
                    throughput = speed * weight * scaled * campaign.noise(0.015)
                    p50 = 256 / throughput
                    yield campaign.row(
                        work,
                        run,
                        run_index,
                        CPU,
                        throughput,
                        timed_unit="batch",
                        p50_s=rounded(p50),
                        p90_s=rounded(p50 * 1.2),
                        p99_s=rounded(
                            p50 * (4.1 if library == "kornia" else 1.6)
                        ),
                        rss_peak_bytes=900_000_000 + 260_000_000 * workers,
                        equivalence=equivalence(library, transform),
                        limit={
                            "name": "jpeg_decode",
                            "throughput": rounded(880 * max(1, workers)),
                        },
                        of_limit=rounded(throughput / (880 * max(1, workers))),
                    )


def gpu_rows(campaign, run):
    for transform, speed in {
        "GaussianBlur": 41000,
        "HorizontalFlip": 210000,
        "Rotate": 36000,
    }.items():
        for library, share in {"kornia": 1.0, "torchvision": 0.34}.items():
            work = job(
                library=library,
                transform=transform,
                device="cuda",
                batch_size=256,
                thread_policy="default",
            )
            for run_index in range(3):
                throughput = speed * share * campaign.noise(0.01)
                yield campaign.row(
                    work,
                    run,
                    run_index,
                    GPU,
                    throughput,
                    gpu_memory={
                        "peak_allocated_bytes": 2_400_000_000,
                        "peak_reserved_bytes": 3_100_000_000,
                    },
                    equivalence=equivalence(library, transform),
                    labels=["per_sample_loop"]
                    if library == "torchvision"
                    else [],
                    limit={"name": "copy", "throughput": 900000.0},
                    of_limit=rounded(throughput / 900000),
                )
    work = job(
        library="kornia",
        transform="Elastic",
        device="cuda",
        batch_size=256,
        thread_policy="default",
    )
    yield campaign.row(
        work,
        run,
        0,
        GPU,
        status="oom",
        reason="CUDA out of memory: 9.1 GiB asked, 4.0 GiB free",
    )


def train_rows(campaign, run):
    for precision, speed, memory in (("fp32", 410, 61e9), ("amp", 735, 27e9)):
        work = job(
            mode="train",
            scope="step",
            library="torchvision",
            device="cuda",
            batch_size=128,
            thread_policy="default",
            settings={"model": "vit5-s", "precision": precision},
        )
        for run_index in range(3):
            throughput = speed * campaign.noise(0.006)
            yield campaign.row(
                work,
                run,
                run_index,
                GPU,
                throughput,
                unit="sample",
                timed_unit="step",
                p50_s=rounded(128 / throughput),
                p99_s=rounded(140 / throughput),
                gpu_memory={
                    "peak_allocated_bytes": int(memory),
                    "peak_reserved_bytes": int(memory * 1.1),
                },
            )


def env(profile):
    gpu = profile == GPU
    return {
        "schema": 1,
        "record": "env",
        "env_id": "93be" * 4 if gpu else "6a1f" * 4,
        "machine_profile": profile,
        "host": "bench-1",
        "cpu": {
            "model": "INTEL(R) XEON(R) PLATINUM 8481C",
            "architecture": "x86-64",
            "x86_64_level": 4,
            "usable_cores": 16,
            "online_cores": 16,
            "sockets": 1,
            "threads_per_core": 2,
            "hypervisor": "kvm",
        },
        "memory": {"total_bytes": 64 << 30, "swap_bytes": 0},
        "cgroup": {"version": 2},
        "gpus": [
            {
                "name": "NVIDIA H200",
                "memory_bytes": 141 << 30,
                "compute_capability": "9.0",
            }
        ]
        if gpu
        else [],
        "driver": "580.65.06" if gpu else "",
        "cuda": "13.0" if gpu else "",
        "kernel": "6.1.0-18-amd64",
        "os": "Debian GNU/Linux 12",
        "libraries": {"torch": "2.11.0", "numpy": "2.3.1"},
        "git": {
            "revision": "0123456789abcdef0123456789abcdef01234567",
            "dirty": False,
        },
        "feedrate_version": "0.1.0",
        "collected_at": "2026-11-14T09:00:00Z",
    }


def run_record(run_id, tool, config, env_id, label):
    return {
        "schema": 1,
        "record": "run",
        "run_id": run_id,
        "config": f'version: 1\nselection {{\n  scenario: "image-rgb"\n'
        f'  mode: "{tool}"\n}}\n',
        "command": [
            tool,
            f"--config={config}",
            "--num_runs=5",
            "--note=second try, after reboot",
        ],
        "label": label,
        "copy_bytes_per_s": 1.1e10,
        "env_id": env_id,
        "started_at": "2026-11-14T09:00:00Z",
    }


def records(earlier):
    campaign = Campaign(random.Random(2 if earlier else 1))
    ids = {
        name: letter * 32
        for name, letter in (
            ("pipeline", "a"),
            ("micro", "b"),
            ("gpu", "c"),
            ("earlier", "d"),
        )
    }
    yield env(CPU)
    if earlier:
        yield run_record(
            ids["earlier"],
            "micro",
            "configs/paper/prod_c4_rgb_micro_cpu.textproto",
            "6a1f" * 4,
            "before",
        )
        yield from micro_rows(
            campaign, ids["earlier"], {"GaussianBlur": 1.2, "Rotate": 0.8}
        )
        return
    yield run_record(
        ids["pipeline"],
        "pipeline",
        "configs/paper/prod_c4_rgb_dataloader_cpu.textproto",
        "6a1f" * 4,
        "sweep",
    )
    yield from pipeline_rows(campaign, ids["pipeline"])
    yield run_record(
        ids["micro"],
        "micro",
        "configs/paper/prod_c4_rgb_micro_cpu.textproto",
        "6a1f" * 4,
        "paper",
    )
    yield from micro_rows(campaign, ids["micro"], {})
    yield env(GPU)
    yield run_record(
        ids["gpu"],
        "micro",
        "configs/paper/prod_g2_rgb_micro_gpu.textproto",
        "93be" * 4,
        "paper",
    )
    yield from gpu_rows(campaign, ids["gpu"])
    yield from train_rows(campaign, ids["gpu"])
    yield {"schema": 1, "record": "future", "what": "nobody knows yet"}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--earlier", action="store_true")
    for record in records(parser.parse_args().earlier):
        json.dump(record, sys.stdout, separators=(",", ":"))
        print()


if __name__ == "__main__":
    main()
