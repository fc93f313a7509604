#!/bin/bash
# Makes a folder and a tarball that run on any Linux of this processor with glibc
# 2.34 or newer, unpacked anywhere, without Bazel or other packages:
#
#   dev/bundle.sh [TOOL...]    all programs if none is named
#   ARCH=aarch64 dev/bundle.sh for the other processor (dev/cross.sh)
#   CUDA=1 dev/bundle.sh       for machines with and without a GPU; needs nvcc
#
#   dist/feedrate-VERSION-linux-ARCH/           with -TOOL+TOOL if some are named
#     bin/          the programs, and `feedrate`, which launches them
#     libexec/      what runners start: worker_* and python/; cpu/ and cuda/ with
#                   workers that link torch (dev/torch_worker.sh); scripts behind
#                   feedrate demo, doctor, envs and torch. With all programs: the
#                   executables that hold them (tools/programs), which the files of
#                   their names start
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
limit_bytes="${BUNDLE_LIMIT_BYTES:-65000000}"
# FFmpeg alone takes half of that, and kernels for GPUs take more.
unlimited=video
if [[ -n "${CUDA:-}" ]]; then unlimited=feedrate; fi

all_tools() {
  local folder
  for folder in tools/*/; do
    if [[ -e "${folder}main.cc" ]]; then basename "$folder"; fi
  done
}

# Copies the program $1 into the bundle $2.
add_program() {
  local source="$built/tools/$1/$1"
  [[ -x "$source" ]] || die "//tools/$1 makes no program $1"
  add_binary "$source" "$2/bin/$1" "$2/lib"
}

# is_shared NAME: whether the code of a program or worker is in one of tools/programs.
is_shared() { grep -q "[/:]$1\"" tools/programs/BUILD; }

# add_many EXECUTABLE BUNDLE: one of tools/programs, and files that start its
# programs and workers.
add_many() {
  local name place
  add_binary "$built/tools/programs/$1" "$2/libexec/$1" "$2/lib"
  while IFS= read -r name; do
    place=bin
    if [[ "$name" == worker_* ]]; then place=libexec; fi
    "$compiler" -O2 -ffreestanding -fno-tree-loop-distribute-patterns \
      -fno-stack-protector -static -nostdlib -no-pie -fno-pie -Wl,--build-id=none \
      -s "-DNEXT=\"$1\"" -o "$2/$place/$name" tools/programs/start.c
  done < <(sed -n 's/PROGRAM(\(.*\))/\1/p' "$built/tools/programs/$1_table.inc")
}

# Runners start processes that hold the libraries under test.
runners="micro mixture pipeline video"

# torch_labels TOOL...: of the workers that link torch.
torch_labels() {
  local tool labels=()
  for tool in "$@"; do
    case "$tool" in
      eval | train) labels+=("//lib/model/worker:worker_$tool") ;;
      micro) labels+=(//lib/adapters/torch:worker_torch) ;;
    esac
  done
  if [[ ${#labels[@]} -eq 0 ]]; then return; fi
  if third_party/torch/find_torch.sh >/dev/null 2>&1; then
    printf '%s\n' "${labels[@]}"
  else
    say "without libtorch, the bundle lacks ${labels[*]##*:}; make torch"
  fi
}

# worker_labels TOOL...: of the other workers that these tools need. FFmpeg's is
# large, and `video` alone starts it.
worker_labels() {
  local folder name tool runs=""
  for tool in "$@"; do
    if [[ " $runners " == *" $tool "* ]]; then runs=1; fi
  done
  if [[ -z "$runs" ]]; then return; fi
  for folder in lib/adapters/*/; do
    name="$(basename "$folder")"
    if [[ "$name" =~ ^(faulty|torch|python|worker)$ ]]; then continue; fi
    if [[ "$name" == ffmpeg && " $* " != *" video "* ]]; then continue; fi
    if [[ "$name" == native && ! " $* " =~ \ (pipeline|mixture)\  ]]; then
      continue
    fi
    if [[ "$name" == cuda && ! " $* " =~ \ (micro|pipeline)\  ]]; then continue; fi
    if [[ "$name" == nvdec && " $* " != *" video "* ]]; then continue; fi
    if [[ "$name" =~ ^(cuda|nvdec)$ && -z "${CUDA:-}" ]]; then continue; fi
    if grep -q "name = \"worker_$name\"" "${folder}BUILD"; then
      echo "//lib/adapters/$name:worker_$name"
    fi
  done
}

# add_workers BUNDLE FOLDER LABEL...: copies workers into a folder of libexec/.
add_workers() {
  local label path
  for label in "${@:3}"; do
    path="${label#//}"
    add_binary "$built/${path/:/\/}" "$1/libexec/$2/${label##*:}" "$1/lib"
  done
}

# add_scripts BUNDLE: what workers in Python and `feedrate` need.
add_scripts() {
  local name path
  while IFS= read -r path; do
    install -D -m 644 "$path" "$1/libexec/${path#lib/adapters/}"
  done < <(repo_files 'lib/adapters/python/*.py' |
    grep -v -e '_test\.py$' -e '/testing/' -e '/compare_plain\.py$')
  for name in common demo doctor envs python_env torch; do
    install -m 755 "dev/$name.sh" "$1/libexec/$name.sh"
  done
  install -m 755 dev/ci_workflow.py "$1/libexec/ci_workflow.py"
  install -m 755 tools/mixture/study.py "$1/libexec/study.py"
  for name in bench_folder first_commands; do
    install -m 755 "tools/pipeline/$name.py" "$1/libexec/$name.py"
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
  local tools tool version folder file programs=() launcher=./feedrate some=""
  # TOOLS=plan,micro is as good as TOOLS="plan micro".
  mapfile -t tools < <(tr -s ', ' '\n' <<<"$*" | sed '/^$/d')
  # Only the complete bundle has feedrate.Loader's library, for the wheel.
  local objects=() object
  if [[ ${#tools[@]} -eq 0 ]]; then
    mapfile -t tools < <(all_tools)
    objects=(//lib/loader/python:feedrate_loader)
  else
    # Some programs do not take the place of a bundle with all.
    some="-$(IFS=+ && echo "${tools[*]}")"
  fi
  # Frames of videos for mixtures, where FFmpeg is there anyway.
  if [[ " ${tools[*]} " == *" video "* ]]; then
    objects+=(//lib/loader/mixture:feedrate_frames)
  fi
  [[ ${#tools[@]} -gt 0 ]] || die "there is no program in tools/"
  local workers torch_workers torch_files worker cuda=()
  mapfile -t workers < <(worker_labels "${tools[@]}")
  mapfile -t torch_workers < <(torch_labels "${tools[@]}")
  # This machine's own print the version and the completions.
  if [[ "$ARCH" != "$(uname -m)" ]]; then
    dev/bazel.sh build "${tools[@]/#///tools/}"
  fi
  # With CUDA=1 some libraries are larger than the code that programs share.
  local many=() separate=("${tools[@]}") name
  torch_files=("${torch_workers[@]}")
  if [[ -z "$some" && -z "${CUDA:-}" ]]; then
    many=(light_programs loading_programs loading_workers)
    separate=()
    for tool in "${tools[@]}"; do is_shared "$tool" || separate+=("$tool"); done
    mapfile -t workers < <(for worker in "${workers[@]}"; do
      is_shared "${worker##*:}" || echo "$worker"
    done)
    if [[ ${#torch_workers[@]} -gt 0 ]]; then
      torch_files=(//lib/adapters/torch:worker_torch //tools/programs:model_programs)
    fi
  fi

  local dist="${BUNDLE_DIST:-dist}"
  mkdir -p "$dist"
  new="$(mktemp -d "$dist/.new.XXXXXX")"
  trap 'rm -rf "${new:?}"' EXIT
  mkdir -p "$new"/{bin,lib,libexec}
  # Both builds of these workers have the same place.
  if [[ ${#torch_files[@]} -gt 0 ]]; then
    "${bazel[@]}" build "${torch_files[@]}"
    add_workers "$new" cpu "${torch_files[@]}"
  fi
  if [[ -n "${CUDA:-}" ]]; then cuda=(--config=cuda "${torch_workers[@]}"); fi
  "${bazel[@]}" build "${cuda[@]}" "${separate[@]/#///tools/}" "${workers[@]}" \
    "${many[@]/#///tools/programs:}" "${objects[@]}"
  if [[ -n "${CUDA:-}" ]]; then add_workers "$new" cuda "${torch_workers[@]}"; fi
  for worker in "${torch_workers[@]}"; do
    install -m 755 dev/torch_worker.sh "$new/libexec/${worker##*:}"
  done
  for tool in "${separate[@]}"; do add_program "$tool" "$new"; done
  for name in "${many[@]}"; do add_many "$name" "$new"; done
  add_workers "$new" . "${workers[@]}"
  if compgen -G "$new/libexec/*" >/dev/null; then add_scripts "$new"; fi
  # What `audit` puts into a training.
  if [[ " ${tools[*]} " == *" audit "* ]]; then
    while IFS= read -r file; do
      install -D -m 644 "$file" "$new/libexec/$file"
    done < <(repo_files python/feedrate/_audit python/feedrate/audit.py \
      python/feedrate/__init__.py)
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
  if [[ "$ARCH" == "$(uname -m)" ]]; then
    launcher="$new/bin/feedrate"
    programs=("${tools[@]/#/$new/bin/}")
  else
    for tool in "${tools[@]}"; do programs+=("bazel-bin/tools/$tool/$tool"); done
  fi
  dev/completions.sh "$new/completions" "${programs[@]}" "$launcher"
  version="$("${programs[0]}" --version | cut -d' ' -f2)"
  chmod -R u=rwX,go=rX "$new"

  folder="$dist/feedrate-$version-linux-$ARCH$some"
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
