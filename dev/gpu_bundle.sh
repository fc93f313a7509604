#!/bin/bash
# Makes a bundle for machines with a GPU (CUDA=1 dev/bundle.sh), with all GPU tests
# and benches besides. It is made on any machine with CUDA's nvcc, and runs on one
# with a GPU, its driver and a python3 with torch:
#
#   dev/gpu_bundle.sh [FOLDER]       default dist/gpu
#   copy it there, then: FOLDER/gpu_check.sh, FOLDER/gpu_train.sh
#
# Beside the bundle are cuda_bench and feedrate.Loader (python/). It has Kornia's wheels
# if pip can fetch them, and with PEERS="dali cvcuda" those of DALI and CV-CUDA
# (about 260 and 130 MB); torchvision is the target's own. TOOLS names
# other programs than all that gpu_check.sh runs.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$REPO_ROOT"

folder="${1:-dist/gpu}"
# The device machine is x86-64.
ARCH=x86_64
# shellcheck source=dev/libraries.sh
source "$REPO_ROOT/dev/libraries.sh"

# add LABEL FOLDER: a program of its own. gpu_check.sh links the target's torch to
# lib/torch.
add() {
  local path="${1#//}"
  add_binary "$built/${path/:/\/}" "$folder/$2/${path##*:}" "$folder/lib" torch
}

# What gpu_check.sh runs of a bundle.
tools="${TOOLS:-micro pipeline plan aggregate check_coverage collect_env video train
  eval duel compare_baseline}"
bench=//lib/ops/cuda/bench:cuda_bench
tests=(//lib/ops/cuda/kernels:fused_test //lib/adapters/cuda:cuda_adapter_test
  //lib/adapters/torch:torch_gpu_test
  //lib/adapters/worker/testing:list_entries //lib/model/fused:fused_check
  //lib/model/fused:kernels_check)
# What gpu_check.sh checks and times the loaders with.
loader=(//lib/adapters/cuda:bench_cuda //lib/loader/cuda:gpu_loader_test
  //lib/adapters/cuda:cuda_loader_test //lib/media:write_synthetic
  //lib/adapters/nvdec:nvdec_check //lib/media/video:write_videos)
# feedrate.Loader and feedrate.Clips for batches on the GPU.
modules=(//lib/loader/python:feedrate_loader //lib/loader/mixture:feedrate_frames)

rm -rf "$folder"
mkdir -p "$folder"
# shellcheck disable=SC2086  # One word per program.
made="$(CUDA=1 ARCH="$ARCH" BUNDLE_DIST="$folder/dist" dev/bundle.sh $tools)"
mv "${made%.tar.gz}"/* "$folder"
rm -r "$folder/dist"
"${bazel[@]}" build --config=cuda "${loader[@]}" "${modules[@]}" "$bench" "${tests[@]}"
for label in "${loader[@]}"; do add "$label" bin; done
add "$bench" .
for label in "${tests[@]}"; do add "$label" tests; done
for label in "${modules[@]}"; do add "${label/:/:lib}.so" lib; done
while IFS= read -r path; do
  install -D -m 644 "$path" "$folder/$path"
done < <(repo_files 'python/feedrate/*' python/tests/cases.py \
  python/tests/clip_cases.py 'python/tests/gpu_*.py')
# Where the package looks for its library and configs.
ln -s ../.. "$folder/python/feedrate/bundle"
install -m 755 dev/gpu_check.sh "$folder/gpu_check.sh"
install -m 755 dev/gpu_train.sh "$folder/gpu_train.sh"
install -m 644 dev/gpu_train.py "$folder/gpu_train.py"
install -m 644 dev/gpu_check.py "$folder/gpu_check.py"
install -m 755 dev/gpu_duels.py "$folder/gpu_duels.py"
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
