#!/bin/bash
# Makes a folder with all GPU tests and benches. It is made on any machine with
# CUDA's nvcc, and runs on an x86-64 machine with a GPU, its driver and a
# python3 with torch:
#
#   dev/gpu_bundle.sh [FOLDER]       default dist/gpu
#   copy it there, then: FOLDER/gpu_check.sh, FOLDER/gpu_train.sh
#
# bin/, libexec/, lib/ and configs/ are those of a bundle (dev/bundle.sh).
# Beside them are cuda_bench, the benches of peers, feedrate.Loader (python/),
# and gpu_duel_dali.py, which needs a python3 with DALI. It has Kornia's wheels
# if pip can fetch them, and with PEERS="dali cvcuda" those of DALI and CV-CUDA
# (about 260 and 130 MB); torchvision is the target's own. BUILT=1 uses what is
# already built and leaves out the rest. FFmpeg is included for clips
# (dev/ffmpeg.sh).
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$REPO_ROOT"

folder="${1:-dist/gpu}"
# The device machine is x86-64.
ARCH=x86_64
# shellcheck source=dev/libraries.sh
source "$REPO_ROOT/dev/libraries.sh"

# add LABEL FOLDER: the program, which finds its libraries wherever it lies. The
# target's torch is linked to lib/torch by gpu_check.sh.
add() {
  local path="${1#//}"
  local target="$folder/$2/${path##*:}"
  if [[ -n "${BUILT:-}" && ! -e "$built/${path/:/\/}" ]]; then
    say "$1 is not built, and left out"
    return
  fi
  install -D -m 755 "$built/${path/:/\/}" "$target"
  # shellcheck disable=SC2016
  set_rpath "$target" '$ORIGIN/../lib:$ORIGIN/../lib/torch'
  add_libraries "$target" "$folder/lib"
}

programs=(//tools/micro:micro //tools/pipeline:pipeline //tools/plan:plan
  //tools/aggregate:aggregate //tools/collect_env:collect_env
  //tools/video:video //tools/train:train //tools/eval:eval)
workers=(//lib/adapters/null:worker_null //lib/loader/cuda:worker_cuda
  //lib/loader/worker:worker_native //lib/adapters/torch:worker_torch
  //lib/loader/nvdec:worker_nvdec //lib/model/worker:worker_train
  //lib/model/worker:worker_eval)
bench=//lib/adapters/cuda/bench:cuda_bench
tests=(//lib/adapters/cuda/kernels:fused_test //lib/adapters/cuda:cuda_adapter_test
  //lib/adapters/torch:torch_gpu_test
  //lib/adapters/worker/testing:list_entries //lib/model/fused:fused_check
  //lib/model/fused:kernels_check)
# What gpu_check.sh checks and times the loaders with.
loader=(//lib/loader/cuda:bench_cuda //lib/loader/cuda:gpu_loader_test
  //lib/media:write_synthetic //lib/loader/nvdec:nvdec_check)
# feedrate.Loader for batches on the GPU.
module=//lib/loader/python:feedrate_loader

if [[ -z "${BUILT:-}" ]]; then
  "${bazel[@]}" build --config=cuda ${JOBS:+"--jobs=$JOBS"} \
    "${programs[@]}" "${workers[@]}" "${loader[@]}" "$module" "$bench" \
    "${tests[@]}"
fi
rm -rf "$folder"
mkdir -p "$folder/lib"
for label in "${programs[@]}" "${loader[@]}"; do add "$label" bin; done
for label in "${workers[@]}"; do add "$label" libexec; done
add "$bench" .
for label in "${tests[@]}"; do add "$label" tests; done
add "${module/:/:lib}.so" lib
while IFS= read -r path; do
  install -D -m 644 "$path" "$folder/$path"
done < <(repo_files 'python/feedrate/*' python/tests/cases.py \
  python/tests/gpu_test.py)
# Where the package looks for its library and configs.
ln -s ../.. "$folder/python/feedrate/bundle"
while IFS= read -r path; do
  install -D -m 644 "$path" "$folder/libexec/${path#lib/adapters/}"
done < <(repo_files 'lib/adapters/python/*.py' |
  grep -v -e '_test\.py$' -e '/testing/' -e '/compare_plain\.py$')
while IFS= read -r path; do
  install -D -m 644 "$path" "$folder/$path"
done < <(repo_files 'configs/*')
install -m 755 dev/gpu_check.sh "$folder/gpu_check.sh"
install -m 755 dev/gpu_train.sh "$folder/gpu_train.sh"
install -m 644 dev/gpu_train.py "$folder/gpu_train.py"
install -m 644 lib/adapters/cuda/bench/bench_peers.py "$folder/bench_peers.py"
install -m 644 dev/gpu_check.py "$folder/gpu_check.py"
install -m 644 dev/bench_common.py "$folder/bench_common.py"
install -m 755 dev/gpu_duel_dali.py "$folder/gpu_duel_dali.py"
mkdir -p "$folder/wheels"
# add_wheels PIN...: for the target's Python.
add_wheels() {
  "$(dev/python_env.sh dev/locks/requirements.lock)/bin/python" -m pip download \
    --quiet --no-deps --only-binary=:all: --python-version=3.12 \
    --platform=manylinux_2_28_x86_64 --platform=manylinux2014_x86_64 \
    --dest="$folder/wheels" "$@"
}
add_wheels kornia==0.8.2 kornia_rs ||
  say "no wheels of Kornia; its rows will be left out"
for peer in ${PEERS:-}; do
  mapfile -t pins < <(python3 dev/gpu_check.py pins "$peer")
  add_wheels "${pins[@]}" || say "no wheels of $peer; its rows will be left out"
done
du -sh "$folder"
