#!/bin/bash
# Does what a newcomer does: installs the wheel into a fresh virtual environment
# from a folder of files, and runs feedrate list, doctor, demo and completion, and
# what the first page of the README has: own transforms, and a training loop.
#
#   dev/checks/wheel_test.sh           on this machine, with an empty cache
#   dev/checks/wheel_test.sh --full    and on a bare Debian without a compiler,
#                                      made by debootstrap (needs root)
#
# WHEEL_DIST names a folder with wheels, which are tested instead of new ones.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
# shellcheck source=dev/checks/bare_root.sh
source "$REPO_ROOT/dev/checks/bare_root.sh"
# shellcheck source=tools/testing/checks.sh
source "$REPO_ROOT/tools/testing/checks.sh"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
dist="${WHEEL_DIST:-$work/dist}"
if [[ -z "${WHEEL_DIST:-}" ]]; then
  BUNDLE_DIST="$dist" "$REPO_ROOT/dev/wheel.sh" "$(uname -m)" >/dev/null
fi

# expect_text NAME FILE PATTERN...: lines like these are in the file.
expect_text() {
  local pattern
  for pattern in "${@:3}"; do
    grep -q -e "$pattern" "$2" || fail "$1 printed no $pattern: $(tail -n 5 "$2")"
  done
}

expect_eq "compiled files" "$("$FEEDRATE_PYTHON" -m zipfile -l \
  "$(echo "$dist"/feedrate-*"$(uname -m)".whl)" | grep -c '\.pyc ')" 0

# Nothing but the interpreter's folder in PATH, and no cache, so that nothing of
# this checkout helps.
"$FEEDRATE_PYTHON" -m venv "$work/venv"
here() {
  (cd "$work" && env -i PATH="$work/venv/bin:/usr/bin:/bin" HOME="$work" "$@")
}
here pip install --quiet --no-index "--find-links=$dist" feedrate

expect_eq list "$(here feedrate list)" "$("$REPO_ROOT/feedrate" list)"
expect_eq "python -m" "$(here python -m feedrate plan --version)" \
  "$(here feedrate plan --version)"
# The extras are those of the page.
expect_eq extras "$(here python -c 'import importlib.metadata as metadata
print(*metadata.metadata("feedrate").get_all("Provides-Extra"))')" \
  "$(sed -n "s/^| \`'feedrate\[\(.*\)]'.*/\1/p" "$REPO_ROOT/docs/install.md" |
    paste -sd' ')"
for name in $(here feedrate list); do
  here feedrate "$name" --version >/dev/null || fail "$name does not start"
done
version="$(here python -c 'import feedrate; print(feedrate.__version__)')"
expect_eq version "plan $version" "$(here feedrate plan --version)"
expect_eq version "feedrate $version" "$(here feedrate --version)"

# The shell finds the completion by the command's name.
script="$work/venv/share/bash-completion/completions/feedrate"
# shellcheck disable=SC2016
expect_eq completion "$(here bash -c 'source "$0"
  COMP_WORDS=(feedrate plan --emi) COMP_CWORD=2
  _feedrate
  echo "$COMPREPLY"' "$script")" "--emit="

here feedrate doctor >"$work/doctor" || fail "doctor: exit $?"
expect_text doctor "$work/doctor" '^programs  *ok  *16 start' \
  '^worker opencv  *ok' '^worker ffmpeg  *ok' '^worker native  *ok' \
  '^environments  *missing .*pillow' '^environments: feedrate envs'

# A workflow for CI, and its step that gets feedrate, from the wheel alone.
here feedrate ci-workflow --bundle=any.whl --command=./bench >"$work/workflow"
expect_text ci-workflow "$work/workflow" 'set -- --a='
here env RUNNER_TEMP="$work/runner" GITHUB_PATH="$work/github_path" SHA256="" \
  BUNDLE="$(echo "$dist"/feedrate-*"$(uname -m)".whl)" PIP_NO_INDEX=1 \
  bash -euo pipefail -c "$(cd "$REPO_ROOT/dev" &&
    python3 -c 'import ci_workflow; print(ci_workflow.FETCH)')" ||
  fail "a workflow's step does not install the wheel"
expect_eq "programs of the step" \
  "$(here "$(cat "$work/github_path")/duel" --version)" "duel $version"

here feedrate study --output=study --rounds=1 --steps=4 --warmup=1 \
  --dataset=synthetic:episodes,datasets=2,episodes=2,frames=8 mix_block >"$work/study.txt"
expect_text study "$work/study.txt" '^  mix_block_length 4: .* samples/s'

started="$(date +%s)"
here feedrate demo >"$work/demo" 2>"$work/demo.err" ||
  fail "demo: $(tail -n 5 "$work/demo.err")"
say "feedrate demo took $(($(date +%s) - started)) s"
expect_text demo "$work/demo" '^library opencv' '^GaussianBlur ' \
  '^library native' 'feedrate envs albumentationsx pillow'
page="$work/feedrate_demo/report.html"
expect_text demo "$work/demo" "$page"
expect_text page "$page" '<svg'

# The rest of the README's first page. numpy is put into the index from an
# environment that has it, and torch, if there is one, is used where it is.
# block LANGUAGE N: the README's N-th block in a language.
block() {
  awk -v fence="\`\`\`$1" -v wanted="$2" '
    $0 == fence { inside = ++seen == wanted; next }
    /^```$/ { inside = 0 }
    inside' "$REPO_ROOT/README.md"
}
locks="$REPO_ROOT/configs/requirements/paper"
mkdir "$work/index"
"$("$REPO_ROOT/dev/python_env.sh" "$locks/pillow.lock")/bin/python" - \
  "$work/index" <<'END'
import importlib.metadata
import pathlib
import re
import sys
import zipfile

numpy = importlib.metadata.distribution("numpy")
tag = re.search("^Tag: (.*)$", numpy.read_text("WHEEL"), re.M)[1]
path = pathlib.Path(sys.argv[1], f"numpy-{numpy.version}-{tag}.whl")
with zipfile.ZipFile(path, "w") as wheel:
    for file in numpy.files:
        if ".." not in file.parts and file.suffix != ".pyc":
            wheel.write(file.locate(), str(file))
END
block python 1 >"$work/my_transforms.py"
here env PIP_NO_INDEX=1 PIP_FIND_LINKS="$dist $work/index" \
  bash -euo pipefail -c "$(block sh 1)" >"$work/own" 2>"$work/own.err" ||
  fail "your own transforms: $(tail -n 5 "$work/own.err")"
expect_text "your own transforms" "$work/own" \
  '^HorizontalFlip  *my_transforms:transforms' '^HorizontalFlip  *opencv' \
  '^invert  *my_transforms:transforms'
expect_eq loader "$(here python -c 'import feedrate, numpy
images = numpy.zeros((5, 40, 40, 3), numpy.uint8)
with feedrate.Loader(images, batch_size=4, crop=32, output="numpy",
                     transforms="HorizontalFlip", workers=1) as loader:
    print([batch.shape for batch, _ in loader])')" "[(4, 3, 32, 32), (1, 3, 32, 32)]"

made=(--made)
if [[ "${1:-}" == --full ]]; then made=(); fi
if torch="$("$REPO_ROOT/dev/python_env.sh" "${made[@]}" "$locks/torch_stack.lock")"; then
  # Photographs of the demo, in two classes.
  photographs=("$work"/.cache/feedrate/synthetic/*/*.jpg)
  mkdir -p "$work/train/a" "$work/train/b"
  cp "${photographs[@]:0:40}" "$work/train/a"
  cp "${photographs[@]:40:40}" "$work/train/b"
  block python 2 >"$work/train.py"
  # The BLAS in torch's arm64 wheel spins for ever on a CPU that it does not know.
  here env PYTHONPATH="$(echo "$torch"/lib/python3*/site-packages)" \
    NVPL_BLAS_DEBUG_CPU_TYPE=1 \
    timeout 300 python train.py >"$work/own" 2>"$work/own.err" ||
    fail "train.py: $(tail -n 5 "$work/own.err")"
  expect_text train.py "$work/own" '^epoch 1: loss [0-9]'
else
  say "no environment of torch, so train.py was left out; make it with:" \
    "make envs GROUPS=torch_stack"
fi

# What does not work is named, with exit 2. Empty, because this machine may have
# the library too.
bundle="$(echo "$work"/venv/lib/python3*/site-packages/feedrate/bundle)"
: >"$(echo "$bundle"/lib/libopencv_imgproc.so.*)"
code=0
here feedrate doctor >"$work/doctor" || code=$?
expect_eq "doctor without a library" "$code" 2
expect_text doctor "$work/doctor" '^worker opencv  *broken .*libopencv_imgproc' \
  '^worker opencv: install feedrate again' '^worker null  *ok'

if [[ "${1:-}" != --full ]]; then
  :
elif [[ "$(id -u)" -ne 0 || -z "$mounts" ]]; then
  say "no root or no mounts of its own, so no bare Debian was tried"
else
  bare_debian "$work/debian" python3-venv
  mkdir "$work/debian/srv/dist"
  cp "$dist"/*.whl "$work/debian/srv/dist/"
  # bare COMMAND: there, in the virtual environment.
  bare() {
    in_root "$work/debian" env PATH=/root/venv/bin:/usr/bin:/bin \
      sh -c "cd /root && $1" >>"$work/bare" 2>"$work/bare.err" ||
      fail "bare: $(tail -n 5 "$work/bare.err")"
  }
  bare '! command -v gcc && python3 -m venv venv'
  started="$(date +%s)"
  bare 'pip install --quiet --no-index --find-links=/srv/dist feedrate && feedrate demo'
  say "on a bare Debian, pip install and feedrate demo took" \
    "$(($(date +%s) - started)) s"
  bare 'feedrate doctor'
  expect_text "the bare Debian" "$work/bare" '^programs  *ok' \
    '^library opencv' '^library native' '/feedrate_demo/report.html'
fi
finish
