#!/bin/bash
# Makes a wheel per processor, which `pip install` takes on any Linux with glibc
# 2.34 or newer, and lets auditwheel confirm that:
#
#   dev/wheel.sh [ARCH...]     x86_64 and aarch64 if none is named
#
# dist/feedrate-VERSION-py3-none-manylinux_2_34_ARCH.whl contains the bundle of
# all programs (dev/bundle.sh), which is in dist/ as well. BUNDLE_DIST names
# another folder than dist/. With CUDA=1, which needs nvcc and is for this
# processor alone, workers and feedrate.Loader use GPUs too.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$REPO_ROOT"

dist="${BUNDLE_DIST:-dist}"
glibc=manylinux_2_34
# Kernels for GPUs may take as much as package indexes accept without being asked.
limit_bytes=40000000
if [[ -n "${CUDA:-}" ]]; then limit_bytes=100000000; fi
if [[ $# -eq 0 ]]; then set -- "$(uname -m)" "$CROSS_ARCH"; fi

# audit WHEEL TAG: its symbols are those of the tag, and it contains all libraries
# but torch's and those that come with it (third_party/torch/find_torch.sh).
audit() {
  "$audit/bin/auditwheel" show --json "$1" | "$FEEDRATE_PYTHON" -c '
import json, sys
found = json.load(sys.stdin)
outside = {name for name in found["external_libs"]
           if not name.startswith(("libtorch_", "libc10", "libcublas"))}
if outside or found["sym_tag"] != sys.argv[1]:
    sys.exit("feedrate: auditwheel finds the tag " + found["sym_tag"]
             + " and libraries outside: " + (", ".join(outside) or "none"))
' "$2"
}

audit="$(dev/python_env.sh dev/locks/wheel.lock)"
for arch in "$@"; do
  bundle="$(ARCH="$arch" BUNDLE_DIST="$dist" dev/bundle.sh)"
  wheel="$(dev/wheel.py "${bundle%.tar.gz}" "$dist" "${glibc}_$arch")"
  audit "$wheel" "${glibc}_$arch" || die "$wheel is not what its name says"
  bytes="$(stat -c %s "$wheel")"
  say "$wheel: $((bytes / 1000000)) MB"
  [[ "$bytes" -le "$limit_bytes" ]] || die "over the limit of $limit_bytes bytes"
  echo "$wheel"
done
