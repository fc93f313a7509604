#!/bin/bash
# Unpacks Debian's libraries for the other processor (CROSS_ARCH) into a folder of
# the user's cache, so that dev/cross.sh can compile for it, and prints the
# folder. Installs nothing: apt resolves and fetches with its own state, and
# packages are only unpacked.
#
#   dev/sysroot.sh          /…/feedrate/sysroot/x86_64-0123456789abcdef
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# The compiler's own, and every library of dev/packages.txt that has headers.
packages() {
  echo libc6-dev
  echo libstdc++-12-dev
  awk '$1 != "full" && $2 ~ /-dev$/ {print $2}' "$REPO_ROOT/dev/packages.txt"
}

# The CUDA runtime to link with, of the same version as third_party/torch has.
fetch_cudart() {
  local version
  version="$(sed -n 's/^nvidia-cuda-runtime==\([0-9.]*\).*/\1/p' \
    "$REPO_ROOT/third_party/torch/torch.lock")"
  "$FEEDRATE_PYTHON" -m venv "$1/venv"
  "$1/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps \
    --only-binary=:all: "--platform=manylinux_2_28_$CROSS_ARCH" \
    "--platform=manylinux2014_$CROSS_ARCH" --dest="$1/wheels" \
    "nvidia-cuda-runtime==$version"
  "$FEEDRATE_PYTHON" -m zipfile -e "$1"/wheels/*.whl "$1/cuda"
  mkdir -p "$2/usr/local/cuda"
  mv "$1/cuda/nvidia/cu13/lib" "$2/usr/local/cuda/lib"
}

fetch() {
  local name=amd64
  if [[ "$CROSS_ARCH" == aarch64 ]]; then name=arm64; fi
  local options=(
    -o "APT::Architecture=$name" -o "APT::Architectures=$name"
    -o "Dir::State::lists=$1/lists" -o "Dir::State::status=$1/status"
    -o "Dir::Cache=$1/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User=root
  )
  mkdir -p "$1/lists/partial" "$1/cache/archives/partial" "$1/root"
  : >"$1/status"
  apt-get -qq "${options[@]}" update >&2
  # shellcheck disable=SC2046  # One word a package.
  apt-get -qq -y "${options[@]}" install --download-only \
    --no-install-recommends $(packages) >&2
  local archive
  for archive in "$1"/cache/archives/*.deb; do
    dpkg-deb -x "$archive" "$1/root"
  done
  # Links from the root of the file system would lead out of the folder.
  local link
  while IFS= read -r link; do
    ln -sfnr "$1/root$(readlink "$link")" "$link"
  done < <(find "$1/root" -type l -lname '/*')
}

main() {
  local folder work
  folder="$FEEDRATE_CACHE/sysroot/$CROSS_ARCH-$({
    packages
    cat "${BASH_SOURCE[0]}"
  } | sha256sum | cut -c1-16)"
  if [[ ! -d "$folder" ]]; then
    say "fetching Debian's libraries for $CROSS_ARCH (about 100 MB)"
    mkdir -p "${folder%/*}"
    work="$(mktemp -d "${folder%/*}/.new.XXXXXX")"
    # shellcheck disable=SC2064  # Now, while it is known.
    trap "rm -rf '$work'" EXIT
    fetch "$work"
    fetch_cudart "$work" "$work/root"
    mv -T "$work/root" "$folder" 2>/dev/null || [[ -d "$folder" ]]
  fi
  echo "$folder"
}

main
