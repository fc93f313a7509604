#!/usr/bin/env python3
"""Stands in for the cloud's client: no cloud, but every command is checked.

    GCLOUD_COMMANDS   the list of what is allowed (gcloud_commands.txt)
    GCLOUD_STATE      folder: calls.log gets every call, buckets/NAME/ holds
                      objects, machines/NAME is there while a machine is
    GCLOUD_BOOT=1     a machine that is created runs its start-up script, in the
                      background, with a disk of its own

What is not in the list is exit 97 and a line in mistakes.log.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

STATE = pathlib.Path(os.environ["GCLOUD_STATE"])


def allowed():
    """Commands as (words, argument patterns, {flag: (pattern, must)})."""
    commands = []
    listed = pathlib.Path(os.environ["GCLOUD_COMMANDS"]).read_text()
    for line in listed.splitlines():
        text = line.split("#")[0].rstrip()
        if not text:
            continue
        if not text.startswith(" "):
            words = text.split(" ")
            # Commands are bare words, arguments are patterns.
            count = next(
                (i for i, w in enumerate(words) if not w.isalpha()), len(words)
            )
            commands.append((words[:count], words[count:], {}))
            continue
        must, _, flag = text.strip().rpartition("! ")
        name, _, pattern = flag.partition("=")
        commands[-1][2][name] = (pattern, text.strip().startswith("!"))
    return commands


def mistake(text):
    with open(STATE / "mistakes.log", "a") as log:
        log.write(f"{text}: {sys.argv[1:]}\n")
    sys.exit(97)


def check(arguments):
    """The command's words and its arguments."""
    flags = []
    plain = []
    for at, word in enumerate(arguments):
        if word == "--":
            plain += arguments[at + 1 :]
            break
        (flags if word.startswith("--") else plain).append(word)
    for words, patterns, known in allowed():
        rest = plain[len(words) :]
        if plain[: len(words)] != words or len(rest) != len(patterns):
            continue
        for text, pattern in zip(rest, patterns, strict=False):
            if not re.fullmatch(pattern, text, re.DOTALL):
                mistake(f"argument {text!r} is not {pattern}")
        for flag in flags:
            name, _, value = flag.partition("=")
            if name not in known:
                mistake(f"{name} is not in the list")
            if not re.fullmatch(known[name][0], value, re.DOTALL):
                mistake(f"{name}={value!r} is not {known[name][0]}")
        given = {flag.partition("=")[0] for flag in flags}
        for name, (_, must) in known.items():
            if must and name not in given:
                mistake(f"{name} is missing")
        return " ".join(words), rest, flags
    return mistake("no such command in the list")


def local(path):
    if not path.startswith("gs://"):
        return pathlib.Path(path)
    return STATE / "buckets" / path[len("gs://") :]


def copy(source, target):
    if not local(source).is_file():
        sys.exit(f"gcloud: {source}: not found")
    local(target).parent.mkdir(parents=True, exist_ok=True)
    new = local(target).with_name(f".{local(target).name}.{os.getpid()}")
    shutil.copyfile(local(source), new)
    new.rename(local(target))


def create(name, flags):
    machine = STATE / "machines" / name
    if machine.exists():
        sys.exit(f"gcloud: {name} is there already")
    machine.mkdir(parents=True)
    if not os.environ.get("GCLOUD_BOOT"):
        return
    script = next(f for f in flags if f.startswith("--metadata-from-file"))
    script = pathlib.Path(script.partition("startup-script=")[2]).resolve()
    work = STATE / "disks" / name
    work.mkdir(parents=True)
    subprocess.run(
        ["bash", script],
        env={**os.environ, "FEEDRATE_WORK": str(work)},
        check=True,
    )


def main():
    with open(STATE / "calls.log", "a") as log:
        log.write(" ".join(sys.argv[1:]) + "\n")
    command, rest, flags = check(sys.argv[1:])
    machine = STATE / "machines" / rest[0]
    if command == "storage cp":
        copy(*rest)
    elif command == "storage ls":
        sys.exit(0 if local(rest[0]).exists() else 1)
    elif command == "storage rm":
        local(rest[0]).unlink()
    elif command == "storage cat":
        # NAME#GENERATION, as the description has it.
        sys.stdout.buffer.write(local(rest[0].removesuffix("#1")).read_bytes())
    elif command == "storage objects describe":
        if not local(rest[0]).exists():
            sys.exit("gcloud: not found")
        size = local(rest[0]).stat().st_size
        print(json.dumps({"etag": "x", "generation": "1", "size": size}))
    elif command == "compute instances create":
        create(rest[0], flags)
    elif command == "compute instances describe":
        sys.exit(0 if machine.exists() else "gcloud: no such machine")
    elif command == "compute instances delete":
        machine.rmdir()


main()
