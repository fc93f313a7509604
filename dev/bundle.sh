#!/bin/bash
# Makes a folder and a tarball that run on any Linux of this processor with glibc
# 2.34 or newer, unpacked anywhere, without Bazel or other packages:
#
#   dev/bundle.sh [TOOL...]    all programs if none is named
#   ARCH=aarch64 dev/bundle.sh for the other processor (dev/cross.sh)
#
#   dist/feedrate-VERSION-linux-ARCH/
#     bin/          the programs, and `feedrate`, which launches them
#     libexec/      what runners start: worker_* and python/; scripts behind
#                   feedrate demo, doctor, envs and torch; programs whose worker
#                   needs torch, launched through bin/
#     lib/          the shared libraries they need, and licenses/ of those
#     configs/      what the programs read
#     completions/  for bash, zsh and fish
#
# The target provides libc, libstdc++, torch and the NVIDIA driver. FFmpeg is one of
# our own (dev/ffmpeg.sh). BUNDLE_DIST names another folder than dist/.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$REPO_ROOT"
# shellcheck source=dev/libraries.sh
source dev/libraries.sh

# A bundle is copied to every machine of a run, so it must stay small.
limit_bytes="${BUNDLE_LIMIT_BYTES:-60000000}"
# FFmpeg alone takes half of that.
unlimited=video

all_tools() {
  local folder
  for folder in tools/*/; do
    if [[ -e "${folder}main.cc" ]]; then basename "$folder"; fi
  done
}

# Copies the program $1 into the bundle $2.
add_program() {
  local source="$built/tools/$1/$1" target="$2/bin/$1"
  [[ -x "$source" ]] || die "//tools/$1 makes no program $1"
  if [[ " $torch_tools " == *" $1 "* ]]; then
    target="$2/libexec/$1"
    ln -s feedrate "$2/bin/$1"
  fi
  add_binary "$source" "$target" "$2/lib"
}

# add_binary SOURCE TARGET LIB: with the shared libraries that it needs in LIB.
add_binary() {
  install -m 755 "$1" "$2"
  add_libraries "$2" "$3"
  # shellcheck disable=SC2016  # $ORIGIN is for the dynamic linker.
  set_rpath "$2" '$ORIGIN/../lib'
}

# Runners start processes that hold the libraries under test.
runners="micro mixture pipeline video"
# These start a worker that links torch (worker_eval, worker_train).
torch_tools="eval train"

# worker_labels TOOL...: of the workers that these tools need. FFmpeg's is large,
# and `video` alone starts it.
worker_labels() {
  local folder name tool runs=""
  for tool in $torch_tools; do
    if [[ " $* " != *" $tool "* ]]; then continue; fi
    if third_party/torch/find_torch.sh >/dev/null 2>&1; then
      echo "//lib/model/worker:worker_$tool"
    else
      say "without libtorch, the bundle has no worker for $tool; make torch"
    fi
  done
  for tool in "$@"; do
    if [[ " $runners " == *" $tool "* ]]; then runs=1; fi
  done
  if [[ -z "$runs" ]]; then return; fi
  for folder in lib/adapters/*/; do
    name="$(basename "$folder")"
    if [[ "$name" =~ ^(faulty|torch|python|worker)$ ]]; then continue; fi
    if [[ "$name" == ffmpeg && " $* " != *" video "* ]]; then continue; fi
    if grep -q "name = \"worker_$name\"" "${folder}BUILD"; then
      echo "//lib/adapters/$name:worker_$name"
    fi
  done
  if [[ " $* " == *" pipeline "* || " $* " == *" mixture "* ]]; then
    echo //lib/loader/worker:worker_native
  fi
}

# add_workers BUNDLE LABEL...: copies workers, and the scripts behind `feedrate`.
add_workers() {
  local label name path
  for label in "${@:2}"; do
    name="${label##*:}"
    path="${label#//}"
    add_binary "$built/${path/:/\/}" "$1/libexec/$name" "$1/lib"
  done
  while IFS= read -r path; do
    install -D -m 644 "$path" "$1/libexec/${path#lib/adapters/}"
  done < <(repo_files 'lib/adapters/python/*.py' |
    grep -v -e '_test\.py$' -e '/testing/' -e '/compare_plain\.py$')
  for name in common demo doctor envs python_env torch; do
    install -m 755 "dev/$name.sh" "$1/libexec/$name.sh"
  done
}

# Everything else that belongs into the bundle $1.
add_files() {
  install -m 755 feedrate "$1/bin/feedrate"
  install -m 755 third_party/torch/find_torch.sh "$1/lib/find_torch.sh"
  install -m 644 third_party/torch/torch.lock "$1/lib/torch.lock"
  install -m 644 LICENSE "$1/LICENSE"
  local file
  while IFS= read -r file; do
    install -D -m 644 "$file" "$1/$file"
  done < <(repo_files configs | grep -v '/BUILD$')
}

check_size() {
  local bytes
  bytes="$(du -sb "$1" | cut -f1)"
  say "$1: $((bytes / 1000000)) MB"
  if [[ "$bytes" -gt "$limit_bytes" && ! -e "$1/bin/$unlimited" ]]; then
    find "$1" -type f -printf '%s %P\n' | sort -rn | sed 10q >&2 || true
    die "over the limit of $limit_bytes bytes; the largest are above"
  fi
}

main() {
  local tools tool version folder file programs=() launcher=./feedrate
  # TOOLS=plan,micro is as good as TOOLS="plan micro".
  mapfile -t tools < <(tr -s ', ' '\n' <<<"$*" | sed '/^$/d')
  # Only the complete bundle has feedrate.Loader's library, for the wheel.
  local objects=() object
  if [[ ${#tools[@]} -eq 0 ]]; then
    mapfile -t tools < <(all_tools)
    objects=(//lib/loader/python:feedrate_loader)
  fi
  # Frames of videos for mixtures, where FFmpeg is there anyway.
  if [[ " ${tools[*]} " == *" video "* ]]; then
    objects+=(//lib/loader/mixture:feedrate_frames)
  fi
  [[ ${#tools[@]} -gt 0 ]] || die "there is no program in tools/"
  local workers
  mapfile -t workers < <(worker_labels "${tools[@]}")
  "${bazel[@]}" build "${tools[@]/#///tools/}" "${workers[@]}" "${objects[@]}"
  # This machine's own print the version and the completions.
  if [[ "$ARCH" != "$(uname -m)" ]]; then
    dev/bazel.sh build "${tools[@]/#///tools/}"
  fi

  local dist="${BUNDLE_DIST:-dist}"
  mkdir -p "$dist"
  new="$(mktemp -d "$dist/.new.XXXXXX")"
  trap 'rm -rf "${new:?}"' EXIT
  mkdir -p "$new"/{bin,lib,libexec}
  for tool in "${tools[@]}"; do
    add_program "$tool" "$new"
    programs+=("bazel-bin/tools/$tool/$tool")
  done
  if [[ ${#workers[@]} -gt 0 ]]; then add_workers "$new" "${workers[@]}"; fi
  # For batches on GPUs as well. Needs nvcc, and 4 MB more.
  if [[ -n "${CUDA:-}" && ${#objects[@]} -gt 0 ]]; then
    "${bazel[@]}" build --config=cuda //lib/loader/python:feedrate_loader
  fi
  for object in "${objects[@]}"; do
    file="lib${object##*:}.so"
    object="${object#//}"
    add_binary "$built/${object%:*}/$file" "$new/lib/$file" "$new/lib"
  done
  find "$new" -type f \( -perm -u+x -o -name '*.so*' \) \
    -exec dev/older_symbols.py {} +
  rmdir --ignore-fail-on-non-empty "$new/libexec"
  add_files "$new"
  if [[ "$ARCH" == "$(uname -m)" ]]; then launcher="$new/bin/feedrate"; fi
  dev/completions.sh "$new/completions" "${programs[@]}" "$launcher"
  chmod -R u=rwX,go=rX "$new"

  version="$("${programs[0]}" --version | cut -d' ' -f2)"
  folder="$dist/feedrate-$version-linux-$ARCH"
  rm -rf "$folder" "$folder.tar.gz"
  mv -T "$new" "$folder"
  check_size "$folder"
  # gzip, because a bare machine has it; the same input gives the same bytes.
  tar --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime="@$(git log -1 --format=%ct)" -C "$dist" \
    -cf - "$(basename "$folder")" | gzip -n >"$folder.tar.gz"
  echo "$folder.tar.gz"
}

new=""
main "$@"
