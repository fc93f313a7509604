#!/bin/bash
# Follows docs/subjects.md: runs its commands as printed, in a copy of examples/,
# and looks at their rows. What needs only numpy runs in Pillow's environment;
# loaders and models need torch, which is large: --full installs it, otherwise a
# machine without it leaves that part out and says so.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
cd "$REPO_ROOT"

programs=(plan micro pipeline train video mixture aggregate)
dev/bazel.sh build --show_result=0 "${programs[@]/#///tools/}" \
  //lib/adapters/ffmpeg:worker_ffmpeg //lib/adapters/native:worker_native
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
for program in "${programs[@]}"; do
  ln -s "$REPO_ROOT/bazel-bin/tools/$program/$program" "$work/bin/$program"
done
cp -r examples configs "$work"
export FEEDRATE_WORKERS="$REPO_ROOT:$REPO_ROOT/bazel-bin"

fail() {
  say "subjects_test: $*"
  exit 1
}

# commands FROM TO: the shell blocks of the page between two headings.
commands() {
  awk -v from="$1" -v to="$2" '$0 == from { here = 1 } $0 == to { here = 0 }
    here && /^```/ { inside = !inside; next }
    here && inside' docs/subjects.md
}

# follow PYTHON FROM TO: runs them, with this interpreter as python3.
follow() {
  local lines
  lines="$(commands "$2" "$3")"
  [[ -n "$lines" ]] || fail "docs/subjects.md has no commands below $2"
  (cd "$work/examples" && PATH="$work/bin:$(dirname "$1"):$PATH" \
    bash -euo pipefail -c "$lines") >"$work/log" 2>&1 ||
    fail "$(tail -n 5 "$work/log")"
}

# expect FILE WORDS: the file has a line with all of the words.
expect() {
  local file="$1" word lines
  shift
  lines="$(cat "$file")"
  for word; do lines="$(grep -F -- "$word" <<<"$lines")" || fail "$file: no $*"; done
}

locks=configs/requirements/paper
python="$(dev/python_env.sh "$locks/pillow.lock")/bin/python3"
follow "$python" '# Measure your own code' '## Transforms'
expect "$work/examples/rows.jsonl" '"library":"my_transforms:transforms"' \
  '"transform":"HorizontalFlip"' '"status":"ok"' '"label":"exact"'
expect "$work/examples/rows.jsonl" '"transform":"gray"' '"label":"unchecked"'
follow "$python" '## Transforms' '## Loaders'
expect "$work/log" invert exact
expect "$work/log" gray different
expect "$work/examples/flipped.jsonl" '"library":"my_transforms:clips"' \
  '"transform":"HorizontalFlip"' '"unit":"clip"' '"status":"ok"'

# wrong CODE WORDS FLAGS: micro says the words in one line and exits with CODE.
wrong() {
  local code="$1" words="$2" status=0 out
  shift 2
  out="$(cd "$work/examples" && "$work/bin/micro" --python="$python" "$@" 2>&1 \
    >"$work/out")" || status=$?
  [[ $status -eq $code ]] || fail "$*: exit $status: $out"
  [[ "$out" == *"$words"* ]] || fail "$*: $out"
  [[ $code -ne 1 || "$(wc -l <<<"$out")" -eq 1 ]] || fail "$*: $out"
}
wrong 1 'no module nope; run this in the folder' --subject=nope:x
wrong 1 'did you mean transforms?' --subject=my_transforms:transform
wrong 1 'is a module; micro needs a dict' --subject=my_transforms:np
wrong 1 'write MODULE:NAME' --subject=my_transforms
wrong 1 '(video-16f, micro) is not for micro; run it with video' \
  --subject=my_transforms:clips --config="$work/configs/subjects/clips.textproto"
wrong 1 'name a Python interpreter with --python' --subject=a:b --python=/nope
cat >"$work/examples/faulty.py" <<'PY'
def breaks(image):
    raise ValueError("on purpose")


both = {"breaks": breaks, "same": lambda image: image}
PY
wrong 0 '1 failed' --subject=faulty:both --num_runs=1 --num_items=4
expect "$work/out" '"reason":"ValueError: on purpose (faulty.py:2)"'
expect "$work/out" '"transform":"same"' '"status":"ok"'

# Audits of loaders: one that is right, and one that repeats an item.
cat >"$work/examples/audited.py" <<'PY'
import numpy as np
from PIL import Image


def right(files, workers, batch_size, seed, epoch, rank, world_size):
    order = np.random.default_rng((seed, epoch)).permutation(len(files))
    order = order[rank::world_size]
    for at in range(0, len(order), batch_size):
        names = [files[item] for item in order[at : at + batch_size]]
        yield np.stack([np.asarray(Image.open(name)) for name in names])


def repeats(files, workers, batch_size, seed, epoch):
    files = [*files[:-1], files[0]]
    yield from right(files, workers, batch_size, seed, epoch, 0, 1)
PY
# audited NAME CODE WORDS: the audit of a subject ends with CODE and says WORDS.
audited() {
  local status=0
  (cd "$work/examples" && "$work/bin/pipeline" --subject="audited:$1" --audit \
    --python="$python" --num_items=96 --batch_size=8 --output="$1.jsonl") \
    2>"$work/log" || status=$?
  [[ $status -eq $2 ]] || fail "audit of $1: exit $status: $(cat "$work/log")"
  expect "$work/examples/$1.jsonl" '"record":"audit"' \
    "\"library\":\"audited:$1\"" "$3"
}
audited right 0 '"verdict":"pass"'
# The table breaks long cells.
expect "$work/log" audited:right 'new each' '2: disjoint'
expect "$work/log" repeatable
audited repeats 3 'items never seen'
expect "$work/log" audited:repeats 'no mechanism'

# OpenCV comes with AlbumentationsX.
opencv="$(dev/python_env.sh "$locks/albumentationsx.lock")/bin/python3"
follow "$opencv" '## Decoders and mixtures' '## end'
expect "$work/examples/clips.jsonl" '"library":"my_decoder:decode"' \
  '"status":"ok"' '"label":"equivalent"' '"wrong_frames":0'
expect "$work/examples/clip_audits.jsonl" '"library":"my_decoder:make_loader"' \
  '"verdict":"pass"' '"reason":"no mechanism"'
expect "$work/examples/mixtures.jsonl" '"library":"my_mixture:make_mixture"' \
  '"status":"ok"' '"batches":20'

# docs/adapters_python.md, "Add a library", in the copy.
# block LANGUAGE N: the N-th block in a language below that heading.
block() {
  awk -v fence="\`\`\`$1" -v wanted="$2" '/^## / { here = $0 == "## Add a library" }
    $0 == fence && here { inside = ++seen == wanted; next }
    /^```$/ { inside = 0 }
    inside' docs/adapters_python.md
}
cp -rL lib/adapters/python "$work/python"
block python 1 >"$work/python/libraries/numpy.py"
block textproto 1 >>"$work/configs/matrix.textproto"
block textproto 2 >"$work/entry"
sed -i "/name: \"HorizontalFlip\"/r $work/entry" "$work/configs/transforms/rgb.textproto"
(cd "$work" && FEEDRATE_WORKERS="$work:$FEEDRATE_WORKERS" PATH="$work/bin:$PATH" \
  bash -euo pipefail -c "$(cd "$REPO_ROOT" && block bash 1)") >"$work/log" 2>&1 ||
  fail "$(tail -n 5 "$work/log")"
expect "$work/numpy.jsonl" '"library":"numpy"' '"status":"ok"' '"label":"exact"'

made=(--made)
if [[ "${1:-}" == --full ]]; then made=(); fi
if ! torch="$(dev/python_env.sh "${made[@]}" "$locks/torch_stack.lock")"; then
  echo 'left out loaders and models: no environment of torch; make it with:' \
    'make envs GROUPS=torch_stack'
  exit 0
fi
follow "$torch/bin/python3" '## Loaders' '## Models'
loaders="$work/examples/loaders.jsonl"
expect "$loaders" '"library":"native"' '"status":"ok"'
expect "$loaders" '"library":"my_loader:make_loader"' '"status":"ok"' \
  '"items":256' '"name":"decode"' '"name":"augment"' '"name":"collate"' \
  '"name":"no_augment"' '"name":"no_decode"' '"name":"cached_batch"' \
  '"startup_s"' '"rss_peak_bytes"' '"limit"'
expect "$work/examples/audits.jsonl" '"library":"my_loader:make_loader"' \
  '"verdict":"pass"'
follow "$torch/bin/python3" '## Models' '## TorchScript files'
training="$work/examples/training.jsonl"
expect "$training" '"library":"my_model:build"' '"engine":"eager"' \
  '"status":"ok"' '"flops_per_step":373426176' '"parameters":23882' \
  '"mfu_exact"' '"forward_s"' '"memory_peak_bytes"'
expect "$training" '"library":"my_model:build"' '"engine":"compile"'
status=0
(cd "$work/examples" && "$work/bin/train" --subject=my_model:built \
  --python="$torch/bin/python3") 2>"$work/log" || status=$?
[[ $status -eq 1 ]] || fail "train --subject=my_model:built: exit $status"
expect "$work/log" 'did you mean build?'

# notrain CODE WORDS FILE: train ends with CODE and says the words in one line.
notrain() {
  local status=0
  (cd "$work/examples" && "$work/bin/train" --subject="$3") >/dev/null \
    2>"$work/log" || status=$?
  [[ $status -eq $1 && "$(wc -l <"$work/log")" -eq 1 ]] ||
    fail "train --subject=$3: exit $status: $(cat "$work/log")"
  expect "$work/log" "$2"
}
if [[ "${1:-}" != --full && ! -d "$FEEDRATE_CACHE/libtorch" ]]; then
  echo 'left out TorchScript files: no libtorch; fetch it with: make torch'
  exit 0
fi
dev/torch.sh >/dev/null
dev/bazel.sh build --show_result=0 //lib/model/worker:worker_train
follow "$torch/bin/python3" '## TorchScript files' '## Decoders and mixtures'
# As many operations as Python counted.
expect "$work/examples/scripted.jsonl" '"library":"my_model.pt"' \
  '"engine":"script"' '"status":"ok"' '"flops_per_step":373426176' \
  '"parameters":23882' '"mfu_exact"' '"forward_s"' '"memory_peak_bytes"'
notrain 1 'no such file; write one with torch.jit.save' nope.pt
notrain 1 'torch.export keeps no backward pass' exported.pt2
