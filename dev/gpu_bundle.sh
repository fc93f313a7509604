#!/bin/bash
# Makes a folder with all GPU tests and benches. It is made on any machine with
# CUDA's nvcc, and runs on an x86-64 machine with a GPU, its driver and a
# python3 with torch:
#
#   dev/gpu_bundle.sh [FOLDER]       default dist/gpu
#   copy it there, then: FOLDER/gpu_check.sh, FOLDER/gpu_train.sh
#
# bin/, libexec/, lib/ and configs/ are those of a bundle (dev/bundle.sh).
# Beside them are cuda_bench, the benches of peers, and gpu_duel_dali.py, which
# needs a python3 with DALI. It has Kornia's wheels if pip can fetch them, and
# with PEERS="dali cvcuda" those of DALI and CV-CUDA (about 260 and 130 MB);
# torchvision is the target's own. BUILT=1 uses what is already built and leaves
# out the rest. FFmpeg is included for clips, with stand-ins (dev/stand_in.py)
# for the codecs and protocols that it is linked to.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$REPO_ROOT"

folder="${1:-dist/gpu}"
# A processor of its own builds with its own tools.
if [[ "$(uname -m)" == x86_64 ]]; then
  bazel=(dev/bazel.sh)
  built="bazel-bin"
  libraries=(/usr/lib/x86_64-linux-gnu /lib/x86_64-linux-gnu)
  strip="strip"
  compiler="g++"
else
  TORCH_ROOT="${TORCH_ROOT:-$(dev/torch.sh x86_64)}"
  export TORCH_ROOT
  bazel=(dev/cross.sh)
  built=dist/x86_64/bin
  sysroot="$(dev/sysroot.sh)"
  libraries=("$sysroot/usr/lib/x86_64-linux-gnu"
    "$sysroot/lib/x86_64-linux-gnu")
  strip=x86_64-linux-gnu-strip
  compiler="$sysroot/cc"
fi

# The libraries of the target, as in dev/bundle.sh, and torch with its own.
of_target='^(ld-linux.*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)\.so.*'
of_target+='|lib(torch|c10|cuda|cublas|nvidia-|cudart|cupti).*)$'

# FFmpeg, and what of its libraries our videos need: zlib, and an encoder.
ffmpeg='^lib(av(codec|format|util)|sw(scale|resample))\.so'
# libgme is asked what every file is, and answers with a text.
of_ffmpeg='^lib(z|x264|gme)\.so'

# needed FILE: names of the libraries it is linked to.
needed() { readelf -d "$1" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p'; }

# find_library NAME: its path.
find_library() {
  local place
  for place in "${libraries[@]}" "${libraries[@]/%//blas}" \
    "${libraries[@]/%//lapack}"; do
    if [[ -e "$place/$1" ]]; then
      echo "$place/$1"
      return
    fi
  done
  die "$1 is not in ${libraries[*]}"
}

# add_ffmpeg NAME: one of FFmpeg's libraries; what it needs and nothing here uses
# is a stand-in.
add_ffmpeg() {
  local path name user users=()
  path="$(find_library "$1")"
  install -m 644 "$path" "$folder/lib/$1"
  # shellcheck disable=SC2016
  patchelf --set-rpath '$ORIGIN' "$folder/lib/$1"
  for user in libavcodec.so.59 libavformat.so.59 libavutil.so.57 \
    libswscale.so.6 libswresample.so.4; do
    users+=("$(find_library "$user")")
  done
  for name in $(needed "$path"); do
    if [[ "$name" =~ $of_target || -e "$folder/lib/$name" ]]; then continue; fi
    if [[ "$name" =~ $ffmpeg ]]; then
      add_ffmpeg "$name"
    elif [[ "$name" =~ $of_ffmpeg ]]; then
      install -m 644 "$(find_library "$name")" "$folder/lib/$name"
    else
      dev/stand_in.py "$compiler" "$folder/lib/$name" \
        "$(find_library "$name")" "${users[@]}"
    fi
  done
}

# add_libraries FILE: those it needs, and theirs. FFmpeg's come when all others
# are there, which then need no stand-in.
ffmpeg_needed=()
add_libraries() {
  local name
  for name in $(needed "$1"); do
    if [[ "$name" =~ $of_target || -e "$folder/lib/$name" ]]; then continue; fi
    if [[ "$name" =~ $ffmpeg ]]; then
      ffmpeg_needed+=("$name")
      continue
    fi
    install -m 644 "$(find_library "$name")" "$folder/lib/$name"
    # shellcheck disable=SC2016  # $ORIGIN is for the dynamic linker.
    patchelf --set-rpath '$ORIGIN' "$folder/lib/$name"
    add_libraries "$folder/lib/$name"
  done
}

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
  "$strip" --strip-unneeded "$target"
  # shellcheck disable=SC2016
  patchelf --set-rpath '$ORIGIN/../lib:$ORIGIN/../lib/torch' "$target"
  add_libraries "$target"
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

if [[ -z "${BUILT:-}" ]]; then
  "${bazel[@]}" build --config=cuda ${JOBS:+"--jobs=$JOBS"} \
    "${programs[@]}" "${workers[@]}" "${loader[@]}" "$bench" "${tests[@]}"
fi
rm -rf "$folder"
mkdir -p "$folder/lib"
for label in "${programs[@]}" "${loader[@]}"; do add "$label" bin; done
for label in "${workers[@]}"; do add "$label" libexec; done
add "$bench" .
for label in "${tests[@]}"; do add "$label" tests; done
for name in "${ffmpeg_needed[@]}"; do
  [[ -e "$folder/lib/$name" ]] || add_ffmpeg "$name"
done
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
