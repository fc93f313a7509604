"""MODULE.bazel declares what WORKSPACE declares.

No Bazel that reads MODULE.bazel can be installed from Debian or PyPI, so both
files are evaluated by a Starlark interpreter, with stand-ins for Bazel's
functions that record how they were called. What this cannot show: whether a
real Bazel 7 resolves the dependencies and accepts the rules.
"""

import json
import pathlib
import re
import subprocess
import unittest

import starlark

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What Bazel itself provides in every repository.
BUILT_IN = {"bazel_tools", "platforms"}

# Put before each file. Structs cannot cross from Starlark to Python, so calls
# are handed over as JSON. A recorded rule is known by its implementation.
PRELUDE = """
def _record(kind, args, attrs):
    record(json.encode([kind, args, attrs]))

def workspace(**attrs): _record("workspace", [], attrs)
def module(**attrs): _record("module", [], attrs)
def bazel_dep(**attrs): _record("bazel_dep", [], attrs)
def local_repository(**attrs): _record("local_repository", [], attrs)

def repository_rule(implementation, **declaration):
    def rule(**attrs): _record("rule " + str(implementation), [], attrs)
    return rule

def module_extension(implementation):
    return implementation

def use_extension(file, name):
    return file + "%" + name

def use_repo(extension, *names, **renamed):
    _record("use_repo", [extension] + list(names), renamed)

def Label(text): return text
"""


def file_of(label):
    """The file of a label in this workspace: //a/b:c.bzl is a/b/c.bzl."""
    return ROOT / label.removeprefix("//").replace(":", "/")


class Evaluation:
    """Evaluates files of the workspace; `calls` is what they declared."""

    def __init__(self):
        self.calls = []
        self.globals = starlark.Globals.extended_by(
            [starlark.LibraryExtension.Json]
        )

    def run(self, name, text):
        module = starlark.Module()
        module.add_callable(
            "record", lambda c: self.calls.append(json.loads(c))
        )
        dialect = starlark.Dialect.extended()
        ast = starlark.parse(name, PRELUDE + text, dialect=dialect)
        loader = starlark.FileLoader(self.load)
        starlark.eval(module, ast, self.globals, file_loader=loader)
        return module

    def load(self, label):
        path = file_of(label)
        return self.run(str(path), path.read_text()).freeze()

    def named(self, kind):
        return [attrs for k, _, attrs in self.calls if k == kind]


def declared_by_workspace():
    evaluation = Evaluation()
    evaluation.run("WORKSPACE", (ROOT / "WORKSPACE").read_text())
    return evaluation


def evaluate_module():
    evaluation = Evaluation()
    evaluation.run("MODULE.bazel", (ROOT / "MODULE.bazel").read_text())
    return evaluation


def declared_by_extension(used):
    file, name = used.split("%")
    evaluation = Evaluation()
    call = f'load("{file}", "{name}")\n{name}(None)\n'
    evaluation.run("extension", call)
    return evaluation


def repositories(evaluation):
    """Calls of feedrate's own repository rules, comparable."""
    ours = [c for c in evaluation.calls if c[0].startswith("rule ")]
    return sorted(ours, key=json.dumps)


class ModuleTest(unittest.TestCase):
    def setUp(self):
        self.module = evaluate_module()
        [(_, (self.extension, *self.used), self.renamed)] = [
            c for c in self.module.calls if c[0] == "use_repo"
        ]

    def test_same_repositories_with_same_attributes(self):
        from_module = repositories(declared_by_extension(self.extension))
        from_workspace = repositories(declared_by_workspace())
        self.assertTrue(from_module)
        self.assertEqual(from_module, from_workspace)

    def test_every_repository_is_made_visible(self):
        declared = repositories(declared_by_extension(self.extension))
        names = [attrs["name"] for _, _, attrs in declared]
        self.assertEqual(self.used, names)
        self.assertEqual(self.renamed, {})

    def test_every_label_names_a_known_repository(self):
        known = BUILT_IN | set(self.used)
        known |= {d["name"] for d in self.module.named("bazel_dep")}
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"]
            + ["--", "*BUILD", "*.bzl", ":!third_party/bazel_stubs"],
            cwd=ROOT,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout.split()
        for name in listed:
            for repository in re.findall(
                r'"@([\w.-]+)//', (ROOT / name).read_text()
            ):
                self.assertIn(repository, known, name)

    def test_version_is_the_one_that_programs_print(self):
        header = (ROOT / "lib/base/tool/tool_info.h").read_text()
        version = re.search(r'kVersion\[\] = "(.*)"', header)[1]
        [module] = self.module.named("module")
        self.assertEqual(module, {"name": "feedrate", "version": version})

    def test_workspace_has_what_bazel_4_asks_for(self):
        local = declared_by_workspace().named("local_repository")
        self.assertEqual(
            {repository["name"] for repository in local},
            {"rules_cc", "rules_java", "platforms", "remote_coverage_tools"},
        )


if __name__ == "__main__":
    unittest.main()
