#!/bin/bash
# Runs Bazel so that it builds for the other processor: for x86-64 on arm64, for
# arm64 on x86-64. For wheels, and for a GPU machine that has no compiler, or no
# network to fetch one:
#
#   dev/cross.sh build //tools/plan
#   dev/cross.sh build --config=cuda //lib/adapters/torch:worker_torch
#
# Results are under dist/x86_64/bin or dist/aarch64/bin. Tests, and tools that the
# build itself runs, would also be for that processor, so targets that need them
# do not build here. TORCH_ROOT is the folder of an unpacked torch for that
# processor (dev/torch.sh x86_64).
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

prefix="$CROSS_ARCH-linux-gnu"
command -v "$prefix-g++" >/dev/null ||
  die "no $prefix-g++. Run: apt-get install g++-${prefix//_/-}"
sysroot="$("$REPO_ROOT/dev/sysroot.sh")"

# Bazel takes one compiler by its path, and calls it for C++ and for linking. The
# sysroot's libraries come first: a text for the linker among the compiler's own
# (libm.a for x86-64) names files of a machine of that processor.
compiler="$sysroot/cc"
script="#!/bin/sh
exec $prefix-g++ --sysroot='$sysroot' -L'$sysroot/usr/lib/$prefix' \"\$@\""
if [[ "$(cat "$compiler" 2>/dev/null)" != "$script" ]]; then
  echo "$script" >"$compiler.$$"
  chmod +x "$compiler.$$"
  mv "$compiler.$$" "$compiler"
fi

# Of cuBLAS, which has hundreds of MB, linking needs only the names: those of this
# machine's. The target has its own.
names="$sysroot/usr/local/cuda/lib/libcublasLt.so.13"
own="${CUDA_HOME:-/usr/local/cuda}/lib64/${names##*/}"
if [[ -e "$own" && ! -e "$names" ]]; then
  nm -D --defined-only "$own" |
    sed -n 's/.* T \([a-zA-Z0-9_]*\).*/.globl \1\n.type \1, %function\n\1:/p' |
    "$prefix-gcc" -x assembler -shared -nostdlib "-Wl,-soname,${names##*/}" \
      -o "$names.$$" -
  mv "$names.$$" "$names"
fi

libraries="$sysroot/usr/lib/$prefix/pkgconfig:$sysroot/usr/share/pkgconfig"
command="${1:?usage: cross.sh COMMAND [ARGUMENT...]}"
shift
cd "$REPO_ROOT"
mkdir -p "dist/$CROSS_ARCH"
# Has its own server: one server would look for the toolchain again at each
# change between the two.
exec "${BAZEL:-bazel}" "--output_base=$FEEDRATE_CACHE/cross/$(pwd | sha256sum |
  cut -c1-16)" "$command" "--disk_cache=$FEEDRATE_CACHE/bazel" \
  "--symlink_prefix=dist/$CROSS_ARCH/" ${JOBS:+"--jobs=$JOBS"} \
  "--repo_env=CC=$compiler" "--repo_env=PKG_CONFIG_LIBDIR=$libraries" \
  "--repo_env=PKG_CONFIG_SYSROOT_DIR=$sysroot" \
  "--repo_env=FEEDRATE_SYSROOT=$sysroot" --define=cross=1 \
  ${TORCH_ROOT:+"--repo_env=TORCH_ROOT=$TORCH_ROOT"} "$@"
