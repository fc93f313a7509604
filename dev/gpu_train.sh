#!/bin/bash
# The whole measurement of `train` on a machine with one GPU, in one call: our
# trainer (fused, fused as a CUDA graph, eager) and PyTorch's three ways in the same
# minutes, five repeats each, alternating.
#
#   dev/gpu_train.sh [RESULTS [FLAG OF gpu_train.py...]]   gpu_train.jsonl
#   dev/gpu_train.sh results.jsonl --repeats=5 --libraries=feedrate,torch_eager
#   dev/gpu_train.sh check [MODEL [BATCH [STEPS]]]   kernels against the host, the
#                  fused engine against the eager one, and the time of each kernel
#
# Needs g++, nvcc's headers and a python3 with torch 2.11, and nothing else: the
# process that trains is standard C++ and libtorch, and is compiled here without
# Bazel. max-autotune has a time limit of its own (--autotune_limit_s=480), and
# --resume carries on with what RESULTS has.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

results="${1:-gpu_train.jsonl}"
shift || true
# Objects that are newer are not compiled again, so nobody else may write there.
build="${BUILD:-${XDG_CACHE_HOME:-${HOME:?set HOME or BUILD}/.cache}/feedrate/gpu_train}"
python="${PYTHON:-python3}"
cuda="${CUDA_HOME:-/usr/local/cuda}"
torch="$("$python" -c \
  'import os, torch; print(os.path.dirname(torch.__file__))')"
mkdir -p "$build"

flags=(-std=c++17 -O2 -DFEEDRATE_CUDA=1 -I. -I"$cuda/include"
  -isystem "$torch/include" -isystem "$torch/include/torch/csrc/api/include"
  -isystem "$torch/../nvidia/cu13/include")
# Several GPUs talk by NCCL, whose header comes with torch's own wheels.
nccl="$torch/../nvidia/nccl/include"
if [[ -e "$nccl/nccl.h" ]]; then
  flags+=(-DUSE_C10D_NCCL -isystem "$nccl")
fi
sources=(lib/adapters/torch/blas.cc lib/model/flops.cc
  lib/model/worker/answer.cc lib/model/worker/train_run.cc
  lib/model/worker/train_spec.cc lib/model/worker/train_main.cc)
for source in lib/model/torch/*.cc lib/model/fused/*.cc; do
  if [[ "$source" != *_test.cc && "$source" != *test_main.cc ]]; then
    sources+=("$source")
  fi
done
# compile SOURCE: an object that is newer is left alone.
compile() {
  local object
  object="$build/$(tr / _ <<<"$1").o"
  [[ "$object" -nt "$1" ]] || g++ "${flags[@]}" -c "$1" -o "$object"
}
echo "compiling ${#sources[@]} files" >&2
running=0
for source in "${sources[@]}"; do
  compile "$source" &
  running=$((running + 1))
  if ((running >= ${JOBS:-$(nproc)})); then
    wait -n
    running=$((running - 1))
  fi
done
wait
objects=()
for source in "${sources[@]}"; do
  objects+=("$build/$(tr / _ <<<"$source").o")
done
kernels=()
for source in attention kernels; do
  nvcc -std=c++17 -O3 -gencode=arch=compute_90a,code=sm_90a --extended-lambda \
    -I. -c "lib/model/fused/$source.cu" -o "$build/$source.o" &
  kernels+=("$build/$source.o")
done
wait
# link PROGRAM OBJECT...: with the CUDA runtime that torch itself loads; two of
# them would not share streams.
runtime="$torch/../nvidia/cu13/lib"
link() {
  g++ -o "$build/$1" "${@:2}" "${kernels[@]}" -L"$torch/lib" \
    -L"$runtime" -Wl,-rpath,"$runtime" -l:libcudart.so.13 \
    -l:libcublasLt.so.13 -Wl,-rpath,"$torch/lib" -Wl,--no-as-needed \
    -ltorch_cuda -lc10_cuda -ltorch_cpu -lc10 -Wl,--allow-shlib-undefined \
    -ldl -lpthread
}
worker=()
checker=()
for object in "${objects[@]}"; do
  case "$object" in
    *check_main*) checker+=("$object") ;;
    *worker*) worker+=("$object") ;;
    *)
      worker+=("$object")
      checker+=("$object")
      ;;
  esac
done
link worker_train "${worker[@]}"
link fused_check "${checker[@]}"

if [[ "$results" == check ]]; then
  nvcc -std=c++17 -O3 -gencode=arch=compute_90a,code=sm_90a -I. \
    -o "$build/kernels_check" lib/model/fused/kernels_check.cu "${kernels[@]}"
  "$build/kernels_check"
  "$build/fused_check" "$@"
  ncu --profile-from-start off --clock-control none --csv \
    --metrics gpu__time_duration.sum "$build/fused_check" "${1:-vit5_small}" \
    "${2:-256}" 0 >"$build/kernels.csv" 2>/dev/null || true
  exec "$python" dev/gpu_train.py --kernels="$build/kernels.csv"
fi
exec "$python" dev/gpu_train.py --worker="$build/worker_train" \
  --python="$python" --output="$results" "$@"
