#!/usr/bin/env python3
"""Checks that pages name only what exists.

In every page (README.md, docs/): a file or folder of the
repository, a header or script by its name, a link and its heading, a Bazel
target, a target of the Makefile, a flag of a program of ours, and an identifier
in backquotes (`Foo::Bar`, `foo()`, `some_field`, `row.some_field`), which must
occur in a source. Exits 1 with one line per name.
"""

import fnmatch
import itertools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Not pages: what was once true, and what programs write in tests.
NOT_PAGES = ("CHANGELOG.md", "*/testdata/*")
# These name what does not exist.
NOT_SOURCES = re.compile(
    r"dev/(tests/)?check_pages\w*\.py|.*\.(md|jpg|png|jsonl)"
)
# Files that a page invents for its reader, that programs make, or of others.
FOREIGN_FILES = re.compile(
    r"""my_\w+\.py|(train|old|mixes|numpy)\.py|(thing|x|NAME)\w*\.\w+
    |(suite|typo|quota|tolerances|two_nodes|c|\$device|resolved_config)\.textproto
    |(launch|link)\.sh|nccl\.h|Python\.h""",
    re.VERBOSE,
)
# Names of other projects, and endings of names.
FOREIGN_WORDS = {
    *("COND", "MaxJobCount", "__libc_start_main", "_FULL_URI", "_TOKEN_FILE"),
    *("arc4random_buf", "balance_weights", "benchmark_json", "constraint"),
    *("credential_process",),
    *("ddp_drop_last_distributed_round", "exclusive", "gpus_per_task"),
    *("https_proxy", "libsvtav1", "max_resolution", "peakmem_"),
    *("source_profile", "streaming_split", "submit", "thing_fuzz_test"),
}
SOURCE = r"h|cc|cuh|cu|py|sh|proto|bzl|toml|textproto"
PATH = re.compile(r"(?<![\w/])[\w.{}*,+$-]+(?:/[\w.{}*,+$-]+)*/?")
FLAG = re.compile(r"(?<![\w-])--([a-zA-Z][\w-]*)")
DEFINE = re.compile(r"DEFINE_(\w+)\(\s*(\w+),")
# A line of the table in lib/config/overrides.cc.
OVERRIDE = re.compile(r'\{"(\w+)", "[\w.]+", FlagType::')
# A line of the table of train's settings, which is in a library.
SETTINGS = "lib/records/train_settings"
SETTING = re.compile(r'\{"(\w+)", "\w+", Type::')
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
# What gflags, glog and lib/base/tool give to every program.
COMMON_FLAGS = {"help", "version", "completion", "v", "logtostderr"}
IDENTIFIER = re.compile(
    r"(?:[A-Za-z_]\w*(?:::|\.))*~?[A-Za-z_]\w*(?:\(\))?", re.ASCII
)


def files(root):
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    return [
        name for name in listed.stdout.splitlines() if (root / name).is_file()
    ]


class Tree:
    """What exists in a checkout."""

    def __init__(self, root):
        self.root = root
        self.files = files(root)
        known = {
            str(p) for f in self.files for p in pathlib.PurePath(f).parents
        }
        self.paths = (known | set(self.files)) - {"."}
        self.top = {name.split("/")[0] for name in self.paths}
        self.names = {name.rsplit("/", 1)[-1] for name in self.files}
        self.pages = [
            name
            for name in self.files
            if name.endswith(".md")
            and not any(fnmatch.fnmatch(name, n) for n in NOT_PAGES)
        ]
        self.text = {}
        for name in self.files:
            if NOT_SOURCES.fullmatch(name):
                continue
            try:
                self.text[name] = (root / name).read_text()
            except UnicodeDecodeError:
                continue
        everything = "\n".join(
            re.sub(r"^\s*reserved .*$", "", text, flags=re.MULTILINE)
            for text in self.text.values()
        )
        self.words = set(re.findall(r"[A-Za-z_]\w*", everything)) | {
            word for name in self.names for word in (name, name.split(".")[0])
        }
        self.make = set(
            re.findall(
                r"^([a-z-]+):", self.text.get("Makefile", ""), re.MULTILINE
            )
        )
        self.all_flags = (
            {plain(f) for f in FLAG.findall(everything)}
            | {flag for text in self.text.values() for flag in flags_of(text)}
            | settings_of(self.text.get(f"{SETTINGS}.cc", ""))
        )

        self.program_flags = {
            name.split("/")[1]: self.flags_of_program(name.split("/")[1])
            for name in self.text
            if re.fullmatch(r"tools/\w+/main\.cc", name)
        }

    def flags_of_program(self, program):
        """Flags of a program: those of every file that its main.cc includes."""
        todo, seen, flags = (
            [f"tools/{program}/main.cc"],
            set(),
            set(COMMON_FLAGS),
        )
        while todo:
            name = todo.pop()
            if name in seen or name not in self.text:
                continue
            seen.add(name)
            text = self.text[name]
            flags |= flags_of(text)
            if name.startswith("tools/"):
                todo += [
                    f
                    for f in self.text
                    if f.startswith(f"tools/{program}/")
                    and f.endswith((".cc", ".h"))
                ]
                # A program without gflags names them as texts.
                flags |= {plain(f) for f in FLAG.findall(text)}
                if f"{SETTINGS}.h" in text:
                    flags |= settings_of(self.text[f"{SETTINGS}.cc"])
            for include in INCLUDE.findall(text):
                todo += [include, re.sub(r"\.h$", ".cc", include)]
        return flags

    def has_path(self, path):
        if "*" in path:
            return any(fnmatch.fnmatch(p, path) for p in self.paths)
        # A pair of files is named without its ending.
        return path in self.paths or f"{path}.h" in self.paths

    def has_target(self, package, name):
        text = self.text.get(f"{package}/BUILD" if package else "BUILD")
        if text is None:
            return False
        names = set(re.findall(r'name = "([^"]+)"', text))
        made = {n + "_test" for n in names}
        if "feedrate_tests(" in text:
            made.add("tests")
        return name in names | made or f"{package}/{name}" in self.paths


def plain(flag):
    return flag.replace("-", "_")


def flags_of(text):
    flags = set(OVERRIDE.findall(text))
    for kind, name in DEFINE.findall(text):
        flags.add(name)
        if kind == "bool":
            flags |= {"no" + name, "no_" + name}
    return flags


def settings_of(text):
    flags = set(SETTING.findall(text))
    return flags | {f"{no}{name}" for name in flags for no in ("no", "no_")}


def expand(path):
    """a/{b,c}.h: a/b.h and a/c.h."""
    match = re.search(r"\{([^{}]*)\}", path)
    if not match:
        return [path]
    return list(
        itertools.chain.from_iterable(
            expand(path[: match.start()] + part + path[match.end() :])
            for part in match[1].split(",")
        )
    )


def headings(text):
    """Anchors as GitHub makes them."""
    for line in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        line = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line.strip().lower())
        yield re.sub(r"[^\w\- ]", "", line).replace(" ", "-")


def wrong_links(tree, page, text):
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        target, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = (
            (tree.root / page).parent / target if target else tree.root / page
        )
        if not file.exists():
            yield f"there is no {target}"
        elif anchor and file.suffix == ".md":
            if anchor not in headings(file.read_text()):
                yield f"{target or page} has no heading #{anchor}"


def wrong_paths(tree, page, text):
    folder = page.rpartition("/")[0]
    for word in PATH.findall(text):
        for path in expand(word):
            path = path.strip(".,").rstrip("/")
            name = path.rsplit("/", 1)[-1]
            if re.search(r"[{}$]|[A-Z]{3}", path) or FOREIGN_FILES.fullmatch(
                name
            ):
                continue
            if "/" in path and path.split("/")[0] in tree.top:
                if not (
                    tree.has_path(path) or tree.has_path(f"{folder}/{path}")
                ):
                    yield f"there is no {path}"
            elif re.fullmatch(rf"[\w-]+\.({SOURCE})", name) and (
                name not in tree.names
            ):
                yield f"there is no {path}"


def wrong_targets(tree, text):
    for package, name in re.findall(
        r"(?<![\w:@/])//([\w/.-]*)(?::([\w.-]+))?", text
    ):
        package = package.rstrip("./")
        if package.split("/")[0] not in tree.top or re.search(
            "[A-Z]{3}", package
        ):
            continue
        folder = package.rsplit("/", 1)[-1]
        if (
            not tree.has_path(package)
            or (
                name
                or f"{package}/BUILD" in tree.paths
                and f"//{package}/..." not in text
            )
            and not tree.has_target(package, name or folder)
        ):
            yield f"there is no target //{package}:{name or folder}"
    for line in re.findall(
        r"^ {4}make\b[^#\n]*|`make [^`]*`", text, re.MULTILINE
    ):
        words = re.sub(r'"[^"]*"', "", line.split("&&")[0].strip("` ")).split()[
            1:
        ]
        for word in words if "-C" not in words else ():
            if re.fullmatch(r"[a-z][a-z-]*", word) and (
                word not in tree.make | FOREIGN_WORDS
            ):
                yield f"there is no `make {word}`"


def wrong_flags(tree, text):
    spans = re.findall(
        r"`([^`]+)`", re.sub(r"^```.*$", "", text, flags=re.MULTILINE)
    )
    blocks = re.findall(
        r"(?:^ {4}.*\n)+|^```(?:sh|bash)\n(?:.*\n)*?```$", text, re.MULTILINE
    )
    commands = [
        part
        for span in spans + blocks
        for part in re.split(
            r"\||;|&&|\n(?!\s+-)|\$\(", span.replace("\\\n", " ")
        )
    ]
    for command in commands:
        words = command.replace("$ ", "", 1).split()
        if words and words[0].endswith("feedrate"):
            words = words[1:]
        quoted = re.sub(r"""(?<=[=\s])(['"]).*?\1""", "", command)
        if words and words[0] in tree.program_flags:
            known, whose = tree.program_flags[words[0]], words[0]
        elif words and (words[0].startswith("-") or words[0].startswith("[")):
            known, whose = tree.all_flags, ""
        else:
            continue
        for flag in FLAG.findall(quoted.split(" -- ")[0]):
            if plain(flag) not in known | FOREIGN_WORDS:
                yield (
                    f"{whose} has no" if whose else "no program has"
                ) + f" --{flag}"


def wrong_words(tree, text):
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for span in re.findall(r"`([^`\n]+)`", text):
        if (
            not IDENTIFIER.fullmatch(span)
            or span in FOREIGN_WORDS
            or FOREIGN_FILES.fullmatch(span)
            or span.endswith((".json", ".jsonl", ".html"))
        ):
            continue
        words = re.findall(r"[A-Za-z_]\w*", span)
        if not tree.words.issuperset(words):
            yield f"no source has `{span}`"
        elif "::" in span and not any(
            re.search(rf"\b{words[-2]}\b(?s:.)*?\b{words[-1]}\b", text)
            for name, text in tree.text.items()
            if not name.endswith(("_test.cc", ".py"))
        ):
            yield f"no source has the words of `{span}` together"


def wrong(tree, page, text):
    found = itertools.chain(
        wrong_links(tree, page, text),
        wrong_paths(tree, page, text),
        wrong_targets(tree, text),
        wrong_flags(tree, text),
        wrong_words(tree, text),
    )
    return [f"{page}: {what}" for what in dict.fromkeys(found)]


def main():
    tree = Tree(ROOT)
    # A pattern that finds no page would find no fault either.
    assert len(tree.pages) > 40, f"only {len(tree.pages)} pages"
    status = 0
    for page in tree.pages:
        for line in wrong(tree, page, (ROOT / page).read_text()):
            print(line, file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
