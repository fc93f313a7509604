#!/usr/bin/env python3
"""Finds ways around the trust rules of docs/security.md.

Text of others becomes a path, a command, an import, markup or a host that gets
a signature through one function per kind only, and JSON of others is read by
readers that refuse what is said twice. Whatever does the same in another place
is reported, with what to use instead. A new place that is right belongs into
the list of its rule, and into the page. Exits 1 with one line per finding.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Tests and benches make up what they read.
LEFT_OUT = re.compile(
    r"_test\.(cc|py)$|_fuzz\.(cc|h)$|/testing/|/bench|^dev/|^docs/"
    r"|^testdata/|_benchmark\.cc$|^examples/|_test\.sh$|/cheats/"
)

# They start programs, from an argument vector.
PROCESSES = [
    "lib/adapters/torch/blas.cc",
    "lib/adapters/torch/test_main.cc",
    "lib/audit/audit_training.cc",
    "lib/audit/run_training.cc",
    "lib/base/confinement.cc",
    "lib/gate/duel/allocations/allocating.cc",
    "lib/gate/duel/allocations/preloaded.cc",
    "lib/gate/duel/timed_command.cc",
    "lib/machine/git_state.cc",
    "lib/staging/subprocess.cc",
    "lib/worker/process.cc",
    "python/feedrate/__main__.py",
    "tools/stage_dataset/tool_testing.cc",
]

# (pattern, ending of files, places where it is right, what to use instead)
LINES = [
    (
        r"curl/curl\.h|CURLOPT_(FOLLOWLOCATION|\w*REDIR\w*|UNRESTRICTED_AUTH)",
        ".cc .h",
        ["lib/storage/http/client.cc"],
        "HttpClient of lib/storage/http/client.h",
    ),
    (
        r"follow_redirects = true",
        ".cc .h",
        ["lib/storage/remote/web_dialect.cc"],
        "a request without credentials; others set HttpRequest::redirected",
    ),
    (
        r"\bredirected =|Get\(\"location\"\)",
        ".cc .h",
        [
            "lib/storage/http/client.cc",
            "lib/storage/remote/gcs_dialect.cc",
            "lib/storage/remote/s3_dialect.cc",
        ],
        "FollowRedirect or CheckUploadAddress of lib/storage/remote/redirect.h",
    ),
    (
        r"SigV4Authorization\(|authorization: Bearer",
        ".cc .h",
        [
            "lib/storage/remote/aws_settings.cc",
            "lib/storage/remote/aws_settings.h",
            "lib/storage/remote/gcs_dialect.cc",
            "lib/storage/remote/s3_dialect.cc",
        ],
        "a Dialect, which knows the host that the user named",
    ),
    (
        r"\"[\w/]*\b(curl|wget|aws|gcloud|gsutil|ssh|scp|rsync)\"",
        ".cc .h .py",
        ["lib/staging/remote.cc"],
        "DescribeRemote and FetchCommand of lib/staging/remote.h",
    ),
    (
        r"simdjson\.h|nlohmann|rapidjson",
        ".cc .h",
        [
            "lib/analysis/rows/fields.cc",
            "lib/analysis/rows/text_scan.cc",
            "lib/analysis/rows/value.cc",
            "lib/gate/baselines.cc",
            # Writes SARIF.
            "lib/gate/verdict/ci_formats.cc",
            "lib/imports/",
            "lib/json/",
            "lib/loader/mixture/lerobot.cc",
            "lib/loader/mixture/dataset_folder.cc",
            "lib/records/",
            "lib/runner/train/train_processes.cc",
            "lib/worker/message.cc",
        ],
        "lib/records for records, lib/imports/json_values.h for results of "
        "other harnesses, lib/json/json.h for the rest",
    ),
    (
        r"\b(system|popen|f?exec[lv]p?e?|execveat|posix_spawnp?)\("
        r"|\"[\w/]*\bsh\", *\"-c\"|\"[\w/]*\b(ba|da|z)sh\", *\"-c\"",
        ".cc .h .py",
        PROCESSES,
        "an argument vector: lib/staging/subprocess.h or lib/worker",
    ),
    (
        r"shell *= *True|\b(os|pty)\.(system|popen|exec\w*|spawn\w*)\("
        r"|\b(eval|exec)\(|\bfrom os import (system|popen)|\brunpy\."
        r"|\b(getoutput|getstatusoutput|create_subprocess_shell)\("
        r"|(?<![\w.])compile\(|\bcode\.(interact|Interactive\w+)\("
        r"|python3?\", *\"-c\"|\bfrom jinja2\b|\bjinja2\.",
        ".py",
        ["python/feedrate/__main__.py"],
        "an argument vector; lib/adapters/python/params.py reads parameters",
    ),
    (
        r"\b(pickle|dill|cloudpickle)\.(loads?|Unpickler)\(|\btorch\.load\(|\bmarshal\.loads?\("
        r"|\byaml\.(unsafe_|full_)?load\(|\bshelve\.open\(|\bread_pickle\("
        r"|\bjoblib\.load\(|allow_pickle *= *True|\.extract(all)?\("
        r"|\bfrom (pickle|dill|cloudpickle|marshal|shelve) import",
        ".py",
        [
            # States of loaders, which the same run has written.
            "lib/adapters/python/loaders/litdata.py",
            "lib/adapters/python/loaders/own_loader.py",
            "lib/adapters/python/loaders/torchdata.py",
            "tools/audit/pairs_training.py",
        ],
        "JSON, or safetensors",
    ),
    (
        r"\bimport_module\(|\b__import__\(|\bspec_from_file_location\("
        r"|\bimp\.load_|\bsys\.path\.(insert|append)\(",
        ".py",
        [
            # Names of ours, and the subject that a flag names.
            "lib/adapters/python/feed.py",
            "lib/adapters/python/loaders/job.py",
            "lib/adapters/python/loaders/mixture.py",
            "lib/adapters/python/server.py",
            "lib/adapters/python/subject.py",
            # The file that it replaced.
            "lib/gate/duel/python_sampler.py",
            "python/feedrate/_audit/sitecustomize.py",
            "python/tests/cases.py",
        ],
        "lib/adapters/python/subject.py, for what --subject names",
    ),
    (
        r"\b(open|Path|environ|CDLL|rmtree|makedirs|mkdir|(os|shutil|path)\.\w+)"
        r"[(\[][^()\n]*\b(row|record|job|run|env|verdict)"
        r"(\[|\.get\()\W*(library|transform|output|dataset|machine_profile|note"
        r"|run_id|env_id|label)\b",
        ".py",
        [],
        "a name that is checked first, such as by a list of those known",
    ),
    (
        r"JsonStringToMessage|google/protobuf/util/json",
        ".cc .h",
        [],
        "lib/records, whose reader refuses what is said twice",
    ),
    (
        r"\bgetaddrinfo\(|(?<!_)\bconnect\(|\burlopen\(|\brequests\.(get|post)\(",
        ".cc .h .py",
        [
            # Shards on a server that the runner has started on this machine.
            "lib/adapters/python/loaders/source.py",
            # Ranks of a training, which prove that they know a secret.
            "lib/model/torch/distributed.cc",
            "lib/runner/train/multi_node.cc",
        ],
        "HttpClient of lib/storage/http/client.h",
    ),
    (
        r"\bdlopen\(",
        ".cc .h",
        [
            "lib/adapters/torch/blas.cc",
            "lib/loader/cuda/chunk_maker.cc",
            # Looks at who can write it.
            "lib/loader/mixture/video_library.cc",
            "lib/machine/gpu.cc",
            "lib/media/video/nvdec/nvdec.cc",
            "lib/model/torch/device.cc",
            "lib/storage/remote/google_token.cc",
        ],
        "a library that is linked, or one whose name is ours",
    ),
    (
        r"TextFormat::(Parse|Merge)",
        ".cc .h",
        [
            "lib/config/places.cc",
            "lib/config/places.h",
            "lib/config/text_proto.cc",
        ],
        "lib/config, for what people type; lib/records for records",
    ),
    (
        r"std::(basic_)?regex\b|re2/re2\.h|\bregcomp\(",
        ".cc .h",
        # Patterns of probes, which are a part of the evaluation.
        ["lib/runner/eval/eval_run.cc"],
        "GlobMatches of lib/gate/paired_rows.h",
    ),
    (
        r"\b(inner|outer)HTML\b|\binsertAdjacentHTML\b|\bdocument\.write\b"
        r"|\beval\(|\bnew Function\b|\bcreateContextualFragment\b|\bsrcdoc\b"
        r"|\bDOMParser\b|\bset(Timeout|Interval)\(\s*[\"'`]"
        r"|\bsetAttribute\(\s*[\"'`](on|href|src)|\.(href|src) *=",
        ".js",
        # An address that a flag names.
        ["lib/draw/page.js"],
        "textContent",
    ),
    (
        # A text of a file in arithmetic, which runs commands that it finds.
        r"(\w+)=\"?\$\((?:cat |<)[^\n]*\n(?:(?!\1\" =~)[\s\S])*?"
        r"(?:\$\(\(|\(\()[^)\n]*\b\1\b",
        ".sh",
        [],
        'a pattern of digits first: [[ "$x" =~ ^[0-9]{1,12}$ ]]',
    ),
    (
        # What a campaign has written itself.
        r"^\s*(source|\.) \"?\S*\$",
        ".sh",
        ["lib/planning/emit/templates/", "tools/eval/train_checkpoint.sh"],
        "a file with a fixed name, or none",
    ),
    (
        r"^\s*eval\b|\b(ba)?sh -c \"[^\"]*\$|\|\s*(ba)?sh\b|\b(ba)?sh <<"
        r"|\b(declare|export|printf|local) \"\$"
        r"|\b(ssh|python3? -c)\b.*\"[^\"]*\$"
        r"|\[\[[^\]\n]*\$\((cat |<)[^\]\n]* -(eq|ne|lt|le|gt|ge) ",
        ".sh",
        [],
        "an array of words",
    ),
]

# Text of a record: a field, or a variable that is named like one.
RECORD = (
    r"(?:\b(?:row|job|run|env|verdict|calibration|record|example|known|one)s?"
    r"(?:\.|->)\w+\(\)|\b(?:machine_|env_|run_|job_)?(?:profile|run_id|job_id)\b)"
)
OF_RECORD = re.compile(RECORD)
# A name for such a text, for as long as the function lasts.
ALIAS = re.compile(
    rf"\b(?:auto|string|string_view)\b[ &*]+(\w+)\s*[=({{]\s*{RECORD}\)?\s*$"
)
TEXT = r"\"(?:[^\"\\\n]|\\.)*\""
# (what a statement does with a record's text, what makes it right, places where
# the text was checked before, what is found and what to use instead)


def path_of(text):
    """A pattern: `text` in the arguments of a function that takes a path, or in
    the first of several; or behind a slash."""
    return (
        rf"\b(?:JoinPath|MakeFolder|open|openat|fopen|rename|unlink|mkdir|symlink"
        rf"|copy_file|exists|is_directory|filesystem::remove|resize_file|chmod|chown"
        rf"|truncate|link|RemoveAll|remove_all|create_director\w+|fs::path|path"
        rf"|ListFiles|ListPlainFiles|NewFile::Create|dlopen|setenv"
        rf"|[io]fstream(?:\s+\w+)?)\(.*?{text}"
        rf"|\b(?:WriteFile|ReadFile)\w*\(\s*[^,]*?{text}"
        rf"|\"/\"(?: \+|,) *{text}|\bpath\(\w+\) */ *{text}"
    )


STATEMENTS = [
    (
        path_of(RECORD),
        r"\b(?:FileNameOf|CheckStaysBelow)\(",
        # A name in SARIF looks like a path.
        ["lib/gate/baselines.cc", "lib/gate/verdict/ci_formats.cc"],
        "a path of a record's text: use FileNameOf or CheckStaysBelow of"
        " lib/base/files.h",
    ),
    (
        rf"\"(?:[^\"\\\n]|\\.)*<(?:/?[a-z][a-z0-9]*|!--)[^\"\n]*\"\s*[,+<]+\s*"
        rf"{RECORD}",
        r"\b(?:XmlText|MarkdownText|MarkdownCode|LatexText|PrintableText)\(",
        [],
        "markup around a record's text: use XmlText of lib/base/text.h",
    ),
    (
        rf"\"(?:[^\"\\\n]|\\.)*(?:^|[ \"])--[a-z_-]+="
        rf"(?:%\w[^\"\n]*|\$\d[^\"\n]*)?"
        rf"\"\s*[,+<]+\s*{RECORD}",
        r"\b(?:ShellWord|CheckedCommand|CommandAgain|FlagOf)\(",
        [],
        "a command of a record's text: use ShellWord of lib/base/text.h and"
        " lib/records/attempts.h",
    ),
    (
        rf"\b(?:std::c(?:err|out)\b|LOG\().*?<<\s*{RECORD}"
        rf"|\b(?:f?printf|F?PrintF|f?puts|perror)\(.*?{RECORD}",
        r"\b(?:PrintableText|PrintableLines)\(",
        [],
        "a record's text on a terminal: use PrintableText of lib/base/text.h",
    ),
]
STATEMENTS = [
    (re.compile(does, re.DOTALL), re.compile(right), *rest)
    for does, right, *rest in STATEMENTS
]


def files():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    for name in listed:
        path = ROOT / name
        if name.endswith((".cc", ".h", ".py", ".js", ".sh")) and path.is_file():
            if not LEFT_OUT.search(name):
                yield name, path.read_text(errors="replace")


# What may hold the start of a comment comes first.
LITERAL = r"""\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"""
COMMENTS = {
    ".py": r"(?P<comment>\"\"\".*?\"\"\")|" + LITERAL + r"|(?P<line>#[^\n]*)",
    ".sh": r"(?P<comment>(?:^|(?<=\s))#[^\n]*)|(?P<line>$.)",
}
OTHERS = LITERAL + r"|(?P<comment>//[^\n]*)|(?P<line>/\*.*?\*/)"


def without_comments(name, text):
    """With as many lines."""

    def kept(one):
        if one["comment"] is None and one["line"] is None:
            return one[0]
        return "\n" * one[0].count("\n")

    comment = COMMENTS.get(name[-3:], OTHERS)
    return re.sub(comment, kept, text, flags=re.DOTALL | re.MULTILINE)


def findings(name, text, used):
    """Adds the places of LINES that are used."""
    text = without_comments(name, text)
    for pattern, endings, places, instead in LINES:
        if not name.endswith(tuple(endings.split())):
            continue
        place = next((one for one in places if name.startswith(one)), None)
        for found in re.finditer(pattern, text, re.MULTILINE):
            if place:
                used.add((pattern, place))
                break
            line = text.count("\n", 0, found.start()) + 1
            yield f"{name}:{line}: {found[0]}: use {instead}"
    if not name.endswith((".cc", ".h")):
        return
    start, aliases = 0, []
    for end in re.finditer(rf"{TEXT}|[;{{}}]", text):
        if end[0][0] == '"':
            continue
        statement, begin = text[start : end.start()], start
        start = end.end()
        if "\n}" in text[begin : end.end()]:
            aliases = []
        rules = STATEMENTS if OF_RECORD.search(statement) else []
        if aliases and any(alias in statement for alias in aliases):
            named = path_of(rf"\b(?:{'|'.join(aliases)})\b(?!\()")
            rules = [*rules, (re.compile(named, re.DOTALL), *STATEMENTS[0][1:])]
        alias = ALIAS.search(statement)
        if alias:
            aliases = [*aliases, alias[1]]
        for does, right, places, what in rules:
            found = does.search(statement)
            if found and not right.search(statement) and name not in places:
                line = text.count("\n", 0, begin + found.start()) + 1
                yield f"{name}:{line}: {what}"


# "`A`, `B` and `C` in lib/x.h"
NAMED = re.compile(
    r"((?:`\w+`(?:, | and | of )?)+) (?:in|of) ([\w/]+\.(?:h|cc|sh))\b"
)


def missing_from(page):
    """What the page says is in a file, and is not."""
    for found in NAMED.finditer(page):
        path = ROOT / found[2]
        text = path.read_text() if path.is_file() else ""
        for name in re.findall(r"`(\w+)`", found[1]):
            if not re.search(rf"\b{name}\b", text):
                yield f"docs/security.md: {found[2]} has no {name}"


def main():
    used = set()
    found = [
        one for name, text in files() for one in findings(name, text, used)
    ]
    found += missing_from((ROOT / "docs/security.md").read_text())
    for pattern, _, places, _ in LINES:
        found += [
            f"dev/check_trust.py: {place} has no {pattern}; take it out"
            for place in places
            if (pattern, place) not in used
        ]
    for one in found:
        print(one, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
