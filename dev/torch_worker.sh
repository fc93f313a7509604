#!/bin/sh
# Becomes the worker of the same name for the torch of this machine. In a bundle
# libexec/worker_train is this file, and two programs stand behind it: one in
# cuda/, which needs all libraries of a torch for GPUs, and one in cpu/, which is
# taken without them. Bundles without CUDA=1 have cpu/ alone; with all programs, one
# executable there holds the workers of train and eval.
#
#   worker_train --which    says which one and why: cpu: libcublas.so.13 is missing
set -eu

here="$(dirname -- "$(readlink -f -- "$0")")"
name="$(basename -- "$0")"
torch="$("$here/../lib/find_torch.sh")"
LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$torch/lib"
# Where torch's own packages have no CUDA runtime.
LD_LIBRARY_PATH="$LD_LIBRARY_PATH:${CUDA_HOME:-/usr/local/cuda}/lib64"
export LD_LIBRARY_PATH

kind=cpu
why="the bundle was made without CUDA=1"
if [ -x "$here/cuda/$name" ]; then
  # Lists the libraries and starts nothing, as ldd does.
  why="$(LD_TRACE_LOADED_OBJECTS=1 "$here/cuda/$name" 2>&1 |
    sed -n 's/^[[:space:]]*\(.*\) => not found.*/\1 is missing/p' | sed 1q)"
  if [ -z "$why" ]; then kind=cuda; fi
fi
if [ "${1:-}" = --which ]; then
  echo "$kind${why:+: $why}"
  exit 0
fi
if [ ! -e "$here/$kind/$name" ]; then
  exec "$here/$kind/model_programs" "$name" "$@"
fi
exec "$here/$kind/$name" "$@"
