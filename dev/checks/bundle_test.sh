#!/bin/bash
# A bundle runs where nothing is installed: unpacked into a root that has only
# libc, libstdc++, a shell and coreutils, every program starts, prints its help
# and does its job. Needs root, for chroot.
#
#   dev/checks/bundle_test.sh           a root made of this machine's own packages
#   dev/checks/bundle_test.sh --full    and a bare Debian, made by debootstrap;
#                                       and a bundle with CUDA=1, where nvcc is
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
# shellcheck source=dev/checks/bare_root.sh
source "$REPO_ROOT/dev/checks/bare_root.sh"

if [[ "$(id -u)" -ne 0 ]]; then
  echo "needs root, to chroot into an empty system"
  exit 77
fi
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

fail() { die "bundle_test: $*"; }

# Packages of a base system, as far as the tests need them.
base_packages=(coreutils dash gzip libacl1 libattr1 libc6 libgcc-s1 libgmp10
  libpcre2-8-0 libselinux1 libstdc++6 libssl3 sed tar)

# Makes a root of the host's packages in $1.
make_base_root() {
  local package
  mkdir -p "$1"/{usr/bin,usr/sbin,usr/lib,usr/lib64,tmp,proc,sys,root,srv,dev}
  # Merged /usr, as in Debian 12 and Ubuntu 24.04.
  for package in bin sbin lib lib64; do ln -s "usr/$package" "$1/$package"; done
  for package in "${base_packages[@]}"; do
    dpkg-query -L "$package" 2>/dev/null || true
  done | grep -v -e '^/\.$' -e '^/usr/share/' -e '^/etc' | sort -u |
    while IFS= read -r path; do
      if [[ -L "$path" || -f "$path" ]]; then echo "${path#/}"; fi
    done | tar -C / -cf - -T - | tar -C "$1" -xf - --keep-directory-symlink
  ln -sf dash "$1/usr/bin/sh"  # What the package's own script would do.
  chroot "$1" /bin/ls / >/dev/null || fail "the base system does not run"
}

# expect PATTERN ROOT COMMAND...: it works, and prints a line like that.
expect() {
  local pattern="$1" output
  shift
  # All of the output first: grep -q would leave, and the program with it.
  output="$(in_root "$@" 2>"$work/stderr")" || fail "${*:2} failed: $(cat "$work/stderr")"
  grep -q -e "$pattern" <<<"$output" || fail "${*:2} printed no $pattern"
}

# run_all ROOT FOLDER: every program of the bundle at FOLDER inside ROOT.
run_all() {
  local root="$1" folder="$2" path tool container
  for path in "$root$folder"/bin/*; do
    tool="$(basename "$path")"
    if [[ "$tool" == feedrate ]]; then continue; fi
    expect "^$tool [0-9]" "$root" "$folder/bin/$tool" --version
    expect "$tool" "$root" "$folder/bin/$tool" --help
    expect "^$tool [0-9]" "$root" "$folder/bin/feedrate" "$tool" --version
    expect "^$tool\$" "$root" "$folder/bin/feedrate" list
  done
  if [[ -e "$root$folder/bin/plan" ]]; then
    expect '"record": *"job"' "$root" "$folder/bin/plan" \
      "--config=$folder/configs/demo.textproto"
  fi
  if [[ -n "$mounts" && -e "$root$folder/bin/micro" ]]; then
    # With a worker of the bundle, and jobs of its own plan.
    expect '"library":"opencv".*"status":"ok"' "$root" "$folder/bin/micro" \
      "--config=$folder/configs/demo.textproto" --libraries=opencv \
      --transforms=HorizontalFlip --num_items=4
    # Encodes and decodes with the bundle's FFmpeg.
    for container in avi mp4; do
      expect '"library":"ffmpeg".*"status":"ok"' "$root" "$folder/bin/video" \
        "--config=$folder/configs/native/video_decode.textproto" --num_runs=1 \
        --libraries=ffmpeg --num_items=1 \
        --dataset="synthetic:video,n=1,container=$container"
    done
    [[ -e "$root$folder/libexec/python/server.py" ]] ||
      fail "the bundle has no Python worker"
  fi
  # Without torch, its workers say what to do.
  if in_root "$root" "$folder/libexec/worker_train" 2>"$work/stderr"; then
    fail "worker_train starts without torch"
  fi
  grep -q 'torch not found.*feedrate torch' "$work/stderr" ||
    fail "worker_train: $(cat "$work/stderr")"
  if [[ -z "$mounts" ]]; then
    say "no /proc in the root, so collect_env was only started"
  elif [[ -e "$root$folder/bin/collect_env" ]]; then
    expect '"record": *"env"' "$root" "$folder/bin/collect_env"
  fi
}

# try_in ROOT: unpacked at one place, then moved to another.
try_in() {
  local root="$1" name
  name="$(basename "$bundle" .tar.gz)"
  cp "$bundle" "$root/srv/bundle.tar.gz"
  in_root "$root" tar -C /srv -xzf /srv/bundle.tar.gz 2>"$work/stderr" ||
    fail "does not unpack: $(cat "$work/stderr")"
  run_all "$root" "/srv/$name"
  mv "$root/srv/$name" "$root/root/elsewhere"
  run_all "$root" /root/elsewhere
}

# expect_relocatable BUNDLE
expect_relocatable() {
  if grep -rlF -e "$REPO_ROOT" -e "$FEEDRATE_CACHE" "$1"; then
    fail "the files above name folders of this machine"
  fi
}

# expect_torch WHICH TORCH BUNDLE SAYS: with this torch, its workers are those and
# work, and so says `feedrate doctor`.
expect_torch() {
  local worker found
  export TORCH_ROOT="$2"
  for worker in torch train eval; do
    found="$("$3/libexec/worker_$worker" --which)" || fail "$worker: $found"
    # shellcheck disable=SC2053  # A pattern.
    [[ "$found" == $1 ]] || fail "worker_$worker is $found, not $1"
  done
  "$3/bin/micro" "--config=$3/configs/native/rgb_micro_cpu.textproto" \
    --libraries=torch --transforms=HorizontalFlip --num_items=4 --num_runs=1 \
    --dataset=synthetic:rgb >"$work/rows" 2>"$work/stderr" ||
    fail "micro with torch: $(cat "$work/stderr")"
  grep -q '"library":"torch".*"status":"ok"' "$work/rows" || fail "no row of torch"
  "$3/bin/train" --model=byte_lm_tiny --batch-size=2 --warmup-steps=1 \
    --measured-steps=2 >"$work/rows" 2>"$work/stderr" ||
    fail "train: $(cat "$work/stderr")"
  grep -q '"mode":"train".*"status":"ok"' "$work/rows" || fail "no row of train"
  "$3/bin/feedrate" doctor >"$work/doctor" || fail "doctor: $(cat "$work/doctor")"
  grep -q "^worker train  *ok  *$4" "$work/doctor" ||
    fail "doctor: $(cat "$work/doctor")"
  unset TORCH_ROOT
}

torch="$("$REPO_ROOT/dev/torch.sh")"
bundle="$(BUNDLE_DIST="$work/dist" "$REPO_ROOT/dev/bundle.sh")"
expect_relocatable "${bundle%.tar.gz}"
expect_torch 'cpu: *without CUDA=1' "$torch" "${bundle%.tar.gz}" 'for the CPU'

make_base_root "$work/root"
try_in "$work/root"

# Too big is an error, not a bundle; only one with `video` has no limit.
if BUNDLE_LIMIT_BYTES=1000 BUNDLE_DIST="$work/big" \
  "$REPO_ROOT/dev/bundle.sh" plan >/dev/null 2>"$work/stderr"; then
  fail "a bundle over the limit was made"
fi
grep -q 'over the limit' "$work/stderr" || fail "the limit is not named"

# A bundle of some programs has no worker of the others, and misses none.
whole="$(cksum <"$bundle")"
some="$(BUNDLE_DIST="$work/dist" "$REPO_ROOT/dev/bundle.sh" micro)"
[[ "$(cksum <"$bundle")" == "$whole" ]] ||
  fail "a bundle of some programs took the place of the whole one"
[[ "$some" == *-micro.tar.gz ]] || fail "the name of a part: $some"
bundle="$some"
"${bundle%.tar.gz}/bin/feedrate" doctor >"$work/doctor" ||
  fail "doctor of some programs: $(cat "$work/doctor")"
grep -q '^worker opencv  *ok' "$work/doctor" || fail "doctor: no worker opencv"
if grep '^worker \(native\|ffmpeg\|train\)' "$work/doctor"; then
  fail "doctor looks for workers of other programs"
fi

if [[ "${1:-}" == --full ]]; then
  bare_debian "$work/debian"
  rm -r "${some%.tar.gz}" "$some"
  bundle="$(echo "$work"/dist/*.tar.gz)"
  try_in "$work/debian"
  if ! PATH="$PATH:${CUDA_HOME:-/usr/local/cuda}/bin" command -v nvcc >/dev/null
  then
    say "no nvcc here, so no bundle with CUDA=1 was made"
    exit
  fi
  bundle="$(CUDA=1 BUNDLE_DIST="$work/cuda" "$REPO_ROOT/dev/bundle.sh")"
  bundle="${bundle%.tar.gz}"
  expect_relocatable "$bundle"
  # The libtorch of `make torch` has no CUDA libraries, that of a Python has.
  expect_torch 'cpu: lib*.so* is missing' "$torch" "$bundle" 'for the CPU'
  env="$("$REPO_ROOT/dev/python_env.sh" \
    "$REPO_ROOT/configs/requirements/paper/torch_stack.lock")"
  expect_torch cuda "$(echo "$env"/lib/python3*/site-packages/torch)" "$bundle" \
    'for CPU and GPU'
fi
