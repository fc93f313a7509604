#!/bin/bash
# A folder that runs everything about GPUs on an x86-64 machine with one, a driver
# and a python3 with torch, made on any machine with CUDA's nvcc:
#
#   dev/gpu_bundle.sh [FOLDER]       default dist/gpu
#   copy it there, then: FOLDER/gpu_check.sh
#
# bin/, libexec/, lib/ and configs/ are those of a bundle (dev/bundle.sh);
# cuda_bench and the benches of peers are beside them, and gpu_duel_dali.py, which
# is for a python3 with DALI. Kornia's wheels are there
# where pip can fetch them; torchvision is the target's own. BUILT=1 takes what is
# built already and leaves out the rest.
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
else
  TORCH_ROOT="${TORCH_ROOT:-$(dev/torch.sh x86_64)}"
  export TORCH_ROOT
  bazel=(dev/cross.sh)
  built=dist/x86_64/bin
  sysroot="$(dev/sysroot.sh)"
  libraries=("$sysroot/usr/lib/x86_64-linux-gnu"
    "$sysroot/lib/x86_64-linux-gnu")
  strip=x86_64-linux-gnu-strip
fi

# Of the target, as in dev/bundle.sh, and torch with all that it brings.
of_target='^(ld-linux.*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)\.so.*'
of_target+='|lib(torch|c10|cuda|nvidia-|cudart|cupti).*)$'

# add_libraries FILE: those it needs, and theirs.
add_libraries() {
  local name place
  for name in $(readelf -d "$1" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p'); do
    if [[ "$name" =~ $of_target || -e "$folder/lib/$name" ]]; then continue; fi
    for place in "${libraries[@]}" "${libraries[@]/%//blas}" \
      "${libraries[@]/%//lapack}"; do
      [[ -e "$place/$name" ]] && break
    done
    [[ -e "$place/$name" ]] || die "$1 needs $name, which is not in ${libraries[*]}"
    install -m 644 "$place/$name" "$folder/lib/$name"
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
  //tools/aggregate:aggregate //tools/collect_env:collect_env)
workers=(//lib/adapters/null:worker_null //lib/loader/cuda:worker_cuda
  //lib/loader/worker:worker_native //lib/adapters/torch:worker_torch)
bench=//lib/adapters/cuda/bench:cuda_bench
tests=(//lib/adapters/cuda:fused_test //lib/adapters/cuda:cuda_adapter_test
  //lib/adapters/torch:torch_gpu_test
  //lib/adapters/worker/testing:list_entries)
# What gpu_check.sh checks and times the loader with.
loader=(//lib/loader/cuda:bench_cuda //lib/loader/cuda:gpu_loader_test
  //lib/media:write_synthetic)

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
while IFS= read -r path; do
  install -D -m 644 "$path" "$folder/libexec/${path#lib/adapters/}"
done < <(repo_files 'lib/adapters/python/*.py' |
  grep -v -e '_test\.py$' -e '/testing/' -e '/compare_plain\.py$')
while IFS= read -r path; do
  install -D -m 644 "$path" "$folder/$path"
done < <(repo_files 'configs/*')
install -m 755 dev/gpu_check.sh "$folder/gpu_check.sh"
install -m 644 lib/adapters/cuda/bench/bench_peers.py "$folder/bench_peers.py"
install -m 644 dev/gpu_check.py "$folder/gpu_check.py"
install -m 755 dev/gpu_duel_dali.py "$folder/gpu_duel_dali.py"
mkdir -p "$folder/wheels"
"$(dev/python_env.sh dev/requirements.lock)/bin/python" -m pip download --quiet --no-deps \
  --only-binary=:all: --python-version=3.12 --platform=manylinux_2_28_x86_64 \
  --platform=manylinux2014_x86_64 --dest="$folder/wheels" kornia==0.8.2 \
  kornia_rs || say "no wheels of Kornia; its rows will be left out"
du -sh "$folder"
