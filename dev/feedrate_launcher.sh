#!/bin/sh
# feedrate TOOL [ARGUMENT...]   runs a program of this bundle
# feedrate list                 names them
# feedrate envs [GROUP...]      makes Python environments of libraries under
#                               test, all of the set `paper` or $ENV_SET without
#                               names; needs python3 with venv, and a package
#                               index
#
# Most programs need no launcher: bin/plan starts by itself. This one adds what a
# program may need of the machine it runs on: the NVIDIA driver where it is not
# on the linker's path, and torch (TORCH_ROOT, or the torch of python3) for the
# programs in libexec/, which link it. Their names in bin/ lead here.
set -eu

self="$(readlink -f -- "$0")"
base="$(dirname -- "$(dirname -- "$self")")"

tools() {
  for path in "$base"/bin/*; do
    name="$(basename -- "$path")"
    if [ "$name" != feedrate ]; then echo "$name"; fi
  done
}

# add_library_path FOLDER FILE: where the file is there, the linker looks there.
add_library_path() {
  if [ -e "$1/$2" ]; then
    LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$1"
    export LD_LIBRARY_PATH
  fi
}

tool="$(basename -- "$0")"
if [ "$tool" = feedrate ]; then
  tool="${1:-}"
  case "$tool" in
    "" | -h | --help | help)
      sed -n 's/^# \{0,1\}//; 2,7p' "$self"
      echo
      tools
      if [ -z "$tool" ]; then exit 1; fi
      exit 0
      ;;
    list)
      tools
      exit 0
      ;;
    envs)
      shift
      GROUPS_WANTED="$*" exec bash "$base/libexec/envs.sh"
      ;;
  esac
  shift
fi

# Containers and WSL put the driver here without telling the linker.
add_library_path /usr/local/nvidia/lib64 libcuda.so.1
add_library_path /usr/lib/wsl/lib libcuda.so.1

if [ -x "$base/libexec/$tool" ]; then
  torch="$("$base/lib/find_torch.sh")" || exit 2
  add_library_path "$torch/lib" libtorch_cpu.so
  add_library_path "${CUDA_HOME:-/usr/local/cuda}/lib64" libcudart.so.13
  exec "$base/libexec/$tool" "$@"
fi
if [ ! -x "$base/bin/$tool" ]; then
  echo "feedrate: no program \"$tool\"; feedrate list names them" >&2
  exit 1
fi
exec "$base/bin/$tool" "$@"
