#!/bin/bash
# Builds and runs lib/model/fused/check_main.cc on a machine with one GPU: the
# fused engine against the eager model, the time of its step, and the time of
# each of its kernels. Needs g++, nvcc and a python3 with torch 2.11.
#
#   dev/gpu_fused.sh [MODEL [BATCH [STEPS]]]    vit5_small 256 200
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

model="${1:-vit5_small}" batch="${2:-256}" steps="${3:-200}"
build="${BUILD:-/tmp/feedrate_fused}"
python="${PYTHON:-python3}"
cuda="${CUDA_HOME:-/usr/local/cuda}"
torch="$("$python" -c \
  'import os, torch; print(os.path.dirname(torch.__file__))')"
mkdir -p "$build"
flags=(-std=c++17 -O2 -DFEEDRATE_CUDA=1 ${DEFINES:-} -I. -I"$cuda/include"
  -isystem "$torch/include" -isystem "$torch/include/torch/csrc/api/include"
  -isystem "$torch/../nvidia/cu13/include")
sources=(lib/model/flops.cc lib/model/torch/cuda_device.cc)
for source in lib/model/torch/*.cc lib/model/fused/*.cc; do
  if [[ "$source" != *_test.cc && "$source" != *test_main.cc ]]; then
    sources+=("$source")
  fi
done
objects=()
for source in "${sources[@]}"; do
  object="$build/$(tr / _ <<<"$source").o"
  objects+=("$object")
  [[ "$object" -nt "$source" ]] || echo "$source $object"
done | xargs -P "$(nproc)" -L 1 bash -c 'g++ '"${flags[*]}"' -c "$0" -o "$1"'
for source in "${sources[@]}"; do
  objects+=("$build/$(tr / _ <<<"$source").o")
done
nvcc -std=c++17 -O3 -gencode=arch=compute_90a,code=sm_90a --extended-lambda \
  ${DEFINES:-} -I. -c lib/model/fused/kernels.cu -o "$build/kernels.o"
runtime="$torch/../nvidia/cu13/lib"
g++ -o "$build/fused_check" "${objects[@]}" "$build/kernels.o" -L"$torch/lib" \
  -L"$runtime" -Wl,-rpath,"$runtime" -l:libcudart.so.13 -l:libcublasLt.so.13 \
  -Wl,-rpath,"$torch/lib" -Wl,--no-as-needed -ltorch_cuda -lc10_cuda \
  -ltorch_cpu -lc10 -Wl,--allow-shlib-undefined -ldl -lpthread
"$build/fused_check" "$model" "$batch" "$steps"
if command -v ncu >/dev/null; then
  ncu --profile-from-start off --clock-control none \
    --metrics gpu__time_duration.sum --csv "$build/fused_check" "$model" \
    "$batch" 0 >"$build/kernels.csv" 2>/dev/null || true
  "$python" - "$build/kernels.csv" <<'PYTHON'
import collections, csv, sys
rows = [l for l in open(sys.argv[1]) if l.startswith('"')]
total = collections.Counter()
calls = collections.Counter()
for row in csv.DictReader(rows):
    unit = {"nsecond": 1e-3, "ns": 1e-3, "usecond": 1, "us": 1, "msecond": 1e3, "ms": 1e3}[row["Metric Unit"]]
    name = row["Kernel Name"][:70]
    total[name] += float(row["Metric Value"].replace(",", "")) * unit
    calls[name] += 1
print(f"kernels: {sum(total.values()) / 1e3:.2f} ms")
for name, us in total.most_common(30):
    print(f"{us:9.0f} us {calls[name]:4d} x {us / calls[name]:7.1f}  {name}")
PYTHON
fi
