#!/bin/bash
# Checks of training on a machine with one GPU, from the folder that
# dev/gpu_bundle.sh made; `gpu_check.sh train` has the figures.
#
#   ./gpu_train.sh check [MODEL [BATCH [STEPS [OPTIMIZER [CLIP_NORM]]]]]
#                  the fused engine against the eager one, and, if ncu is there, the
#                  time of each kernel
#   ./gpu_train.sh kernels      kernels against double precision on the host
#   ./gpu_train.sh sanitize     the same under compute-sanitizer
#   ./gpu_train.sh turns [RUNS [MODEL [BATCH]]]
#                  the fused engine's step beside torch.compile's, by turns
#   ./gpu_train.sh parallel     two processes against one with the same batch
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
if [[ ! -e libexec/worker_train ]]; then
  echo "$PWD has no libexec/worker_train. Run dev/gpu_bundle.sh where a compiler" \
    "is, copy the folder that it makes here, and run its gpu_train.sh" >&2
  exit 1
fi

python="${PYTHON:-python3}"
torch="$("$python" -c \
  'import os, torch; print(os.path.dirname(torch.__file__))')"
ln -sfn "$torch/lib" lib/torch
export TORCH_ROOT="$torch"
# The CUDA libraries that torch itself loads lie beside it.
cuda="$torch/../nvidia/cu13/lib"
export LD_LIBRARY_PATH="$cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

# Two processes on one GPU, which average by gloo, and one with the batch of both.
parallel() {
  local rank words=(device=cuda precision=bf16 warmup=0 steps=20 rates=0
    count=0 seed=1 samples=4096 learning_rate=1e-4 "$@")
  for rank in 0 1; do
    libexec/worker_train "${words[@]}" batch_size=16 world_size=2 \
      rank=$rank collectives=gloo "store=$work/$*" >"$work/$rank.jsonl" &
  done
  libexec/worker_train "${words[@]}" batch_size=32 >"$work/one.jsonl"
  wait
  "$python" gpu_train.py parallel "$work/one.jsonl" "$work/0.jsonl" \
    "$work/1.jsonl"
}

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
case "${1:-}" in
  kernels) tests/kernels_check ;;
  sanitize)
    for tool in memcheck racecheck initcheck synccheck; do
      compute-sanitizer --tool "$tool" --error-exitcode 9 tests/kernels_check 2 2 |
        grep -v ' error .* bar ' | tail -4
    done
    ;;
  check)
    shift
    tests/fused_check "$@"
    ncu --profile-from-start off --clock-control none --csv \
      --metrics gpu__time_duration.sum tests/fused_check "${1:-vit5_small}" \
      "${2:-256}" -2 "${@:4}" >kernels.csv 2>/dev/null ||
      { echo "no times of kernels: ncu: $(tail -n 1 kernels.csv)" >&2 && exit 0; }
    "$python" gpu_train.py kernels kernels.csv
    ;;
  turns) "$python" gpu_train.py turns "${2:-5}" "${3:-vit5_small}" "${4:-256}" ;;
  parallel)
    parallel model=vit5_small
    parallel model=vit5_small accumulation=2
    parallel model=byte_lm_small
    ;;
  *)
    echo "which of check, kernels, sanitize, turns, parallel?" >&2
    exit 1
    ;;
esac
