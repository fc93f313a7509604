#!/bin/bash
# The paper's chain on 8 items, from plan to claims: runs the commands of
# docs/paper.md as they are printed there, and looks at what they leave in OUT
# (paper_smoke). What needs a GPU or an environment that is not here is left out,
# and listed at the end.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$REPO_ROOT"

fail() { die "paper_smoke: $*"; }

programs="plan micro pipeline video check_coverage aggregate report"
out="${OUT:-paper_smoke}"
devices=cpu video="" left_out=()
if command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1; then
  devices="cpu gpu"
else
  left_out+=("six configs prod_g2_* and the table of GPU memory: no NVIDIA GPU")
fi
if ! dev/python_env.sh --made configs/requirements/paper/torch_video.lock \
  >/dev/null; then
  video="--libraries=albumentationsx"
  left_out+=("torchvision and kornia on clips: make envs GROUPS=torch_video")
  if [[ "$devices" == *gpu* ]]; then
    fail "configs for clips on a GPU need: make envs GROUPS=torch_video"
  fi
fi
GROUPS_WANTED="pillow albumentationsx albumentationsx_video torch_stack" \
  dev/envs.sh >/dev/null
labels=()
for program in $programs; do
  labels+=("//tools/$program")
  PATH="$REPO_ROOT/bazel-bin/tools/$program:$PATH"
done
dev/bazel.sh build --show_result=0 "${labels[@]}"

rm -rf "$out"
mkdir -p "$out"
commands() { awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' docs/paper.md; }
export PATH out devices video
started=$SECONDS
bash -euo pipefail <(commands)

# The pattern of the page is the set.
plan --config=configs/paper --set=paper 2>/dev/null | grep -c . >"$out/planned"
of_pattern="$(plan configs/paper/prod_*.textproto | grep -c .)"
[[ "$(cat "$out/planned")" == "$of_pattern" ]] ||
  fail "prod_* are not the set: $of_pattern jobs, not $(cat "$out/planned")"
for unit in image clip; do
  grep -q "Median throughput in ${unit}s/s by library" "$out/throughput.tex" ||
    fail "throughput.tex has no table in ${unit}s/s"
done
if [[ "$devices" == *gpu* ]]; then
  grep -q 'in MB by library' "$out/gpu_memory.tex" ||
    fail "gpu_memory.tex has no table in MB"
fi
[[ -s "$out/report.html" && -n "$(ls "$out/figures")" ]] || fail "no report"
# A wrong number must be found, in a copy: $out is what people look at.
wrong="$(mktemp)"
trap 'rm -f "$wrong"' EXIT
sed 's/flips [0-9]*/flips 7/' "$out/paper.md" >"$wrong"
status=0
report "$out/rows" --check-claims="$wrong" >/dev/null || status=$?
[[ $status -eq 3 ]] || fail "a wrong claim is exit $status"

for line in "${left_out[@]}"; do echo "not run: $line"; done
echo "paper-smoke: $(grep -c . "$out/jobs.jsonl") jobs of $(cat "$out/planned")" \
  "in $((SECONDS - started)) s; see $out/report.html"
