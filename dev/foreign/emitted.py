"""What we write for others, as their programs read it: verdicts as JUnit by
junitparser and as SARIF by sarif-tools, workflows by zizmor, wheels by twine
and check-wheel-contents. dev/checks/gate_schemas_test.sh, two more cases, has
schemas, the W3C's rules and axe-core.
"""

import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import junitparser
import outcome

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPARE = ROOT / "bazel-bin/tools/compare_baseline/compare_baseline"
BIN = pathlib.Path(sys.executable).parent
SCHEMAS = ROOT / "dev/locks/gate_schemas.lock"
PAGE = "docs/foreign.md"
LEVELS = {
    "slower": "error",
    "same": "note",
    "faster": "note",
    "cannot_tell": "warning",
    "invalid": "warning",
}
# Findings of zizmor that the page explains.
EXPLAINED = {"unpinned-uses", "excessive-permissions", "github-env"}
WORKFLOW = ["--bundle=https://example.org/f.tar.gz", "--command=./a"]
FLAGS = ["build", "packages", "environments", "baselines", "tolerances"]


def cases(folder):
    found = ["junit", "sarif", "workflow", "action", "schemas", "pages"]
    for wheel in sorted((ROOT / "dist").glob("feedrate-*.whl")):
        found += [f"twine {wheel.name}", f"contents {wheel.name}"]
    return found


def run(*command, **options):
    """Without the limit of memory, which Java and Chromium reserve."""
    return subprocess.run(
        ["prlimit", "--as=unlimited:", *command],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def schema_python():
    made = run(ROOT / "dev/python_env.sh", SCHEMAS).stdout.strip()
    return f"{made}/bin/python"


def verdicts():
    """Those of dev/checks/gate_schemas_check.py."""
    code = "import gate_schemas_check as g; print(g.verdicts(['a', g.NASTY]))"
    folder = ROOT / "dev/checks"
    return run(schema_python(), "-B", "-c", code, cwd=folder).stdout


def junit():
    text = verdicts()
    rendered = run(COMPARE, "--format=junit", input=text).stdout
    suites = junitparser.JUnitXml.fromstring(rendered.encode())
    if isinstance(suites, junitparser.TestSuite):
        suites = [suites]
    tests = [case for suite in suites for case in suite]
    found = [case.is_passed for case in tests]
    words = [json.loads(line)["verdict"] for line in text.split("\n") if line]
    right = [word in ("same", "faster") for word in words]
    if found != right:
        return outcome.unexplained(f"passed: {found} where {right} is right")
    return outcome.equal()


def sarif():
    text = verdicts()
    words = [json.loads(line)["verdict"] for line in text.split("\n") if line]
    right = collections.Counter(LEVELS[word] for word in words)
    with tempfile.TemporaryDirectory() as work:
        path = pathlib.Path(work, "v.sarif")
        path.write_text(run(COMPARE, "--format=sarif", input=text).stdout)
        said = run(BIN / "sarif", "summary", path).stdout
    wrong = [f"{k}: {n}" for k, n in right.items() if f"{k}: {n}" not in said]
    return outcome.unexplained(f"no {wrong}") if wrong else outcome.equal()


def zizmor(path):
    done = run(BIN / "zizmor", "--offline", "--format=json", path)
    if not done.stdout:
        return outcome.unexplained(done.stderr)
    found = {finding["ident"] for finding in json.loads(done.stdout)}
    if found - EXPLAINED:
        return outcome.unexplained(f"{sorted(found - EXPLAINED)}")
    if found:
        return outcome.explained(", ".join(sorted(found)), PAGE)
    return outcome.equal()


def workflow():
    flags = [*WORKFLOW, *(f"--{name}=x" for name in FLAGS)]
    text = run(sys.executable, "-B", ROOT / "dev/ci_workflow.py", *flags).stdout
    with tempfile.TemporaryDirectory() as work:
        path = pathlib.Path(work, ".github/workflows/performance.yml")
        path.parent.mkdir(parents=True)
        path.write_text(text)
        return zizmor(path)


def succeeds(*command):
    done = run(*command)
    if done.returncode == 0:
        return outcome.equal()
    said = (done.stdout + done.stderr).strip()
    return outcome.unexplained(said.splitlines()[-1] if said else "fails")


def contents(path):
    """Files that are there twice, W002, are what the page explains."""
    program = BIN / "check-wheel-contents"
    found = succeeds(program, path)
    if found.word == "equal":
        return found
    found = succeeds(program, "--ignore=W002", path)
    if found.word == "equal":
        return outcome.explained("files that are there twice", PAGE)
    return found


def compare(folder, case):
    word, _, wheel = case.partition(" ")
    path = ROOT / "dist" / wheel
    checks = {
        "junit": junit,
        "sarif": sarif,
        "workflow": workflow,
        "action": lambda: zizmor(ROOT / "action.yml"),
        "schemas": lambda: check("gate_schemas_check.py"),
        "pages": lambda: check("html_check.py"),
        "twine": lambda: succeeds(BIN / "twine", "check", "--strict", path),
        "contents": lambda: contents(path),
    }
    return checks[word]()


def check(name):
    return succeeds(schema_python(), "-B", ROOT / "dev/checks" / name)
