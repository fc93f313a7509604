#!/bin/bash
# Says what works on this machine, and what does not, why, and what to do:
#
#   feedrate doctor          in a checkout, a bundle or a wheel
#
# Exit 2 if something does not work that every measurement needs: a program, or
# the worker of a library that comes with feedrate. Without the rest, some
# libraries or devices cannot be measured.
set -euo pipefail
# In a checkout dev/, in a bundle libexec/.
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=dev/common.sh
source "$here/common.sh"

find_torch="$REPO_ROOT/lib/find_torch.sh"
feedrate="$REPO_ROOT/bin/feedrate"
bundle=1
remedy_build="install feedrate again; it needs glibc 2.34 or newer"
remedy_cuda="get a bundle made with CUDA=1 make bundle"
remedy_torch="get a bundle made after make torch"
if [[ -e "$REPO_ROOT/MODULE.bazel" ]]; then
  bundle=""
  find_torch="$REPO_ROOT/third_party/torch/find_torch.sh"
  feedrate="$REPO_ROOT/feedrate"
  remedy_build="make build"
  remedy_cuda="dev/bazel.sh build --config=cuda, on a machine with nvcc"
  remedy_torch="make torch, then dev/bazel.sh build //lib/model/worker/..."
fi

broken=0
remedies=()

# line NAME STATUS FOUND [REMEDY]
line() {
  printf '%-22s  %-7s  %s\n' "$1" "$2" "$3"
  if [[ -n "${4:-}" ]]; then remedies+=("$1: $4"); fi
}

# essential NAME FOUND PROBLEM: every measurement needs it.
essential() {
  if [[ -z "$3" ]]; then
    line "$1" ok "$2"
  else
    broken=1
    line "$1" broken "$3" "$remedy_build"
  fi
}

programs() {
  local name output problem="" count=0
  for name in $("$feedrate" list); do
    if output="$("$feedrate" "$name" --version 2>&1)"; then
      count=$((count + 1))
    else
      problem="${problem:-$name: ${output%%$'\n'*}}"
    fi
  done
  essential programs "$count start" "$problem"
}

# worker_path NAME: that of a library lies beside its adapter.
worker_path() {
  local folder="adapters/$1"
  if [[ "$1" == train || "$1" == eval ]]; then folder=model/worker; fi
  if [[ -n "$bundle" ]]; then
    echo "$REPO_ROOT/libexec/worker_$1"
  else
    echo "$REPO_ROOT/bazel-bin/lib/$folder/worker_$1"
  fi
}

# has PROGRAM...: one of them is here. A bundle need not have all.
has() {
  local name
  for name in $("$feedrate" list); do
    if [[ " $* " == *" $name "* ]]; then return; fi
  done
  return 1
}

# worker NAME: it says what it measures, or does not start.
worker() {
  local output
  output="$("$(worker_path "$1")" 2>&1 </dev/null)" || true
  if [[ "$output" =~ measures\ (.*)\ for\ micro ]]; then
    essential "worker $1" "${BASH_REMATCH[1]}" ""
  else
    essential "worker $1" "" "${output##*$'\n'}"
  fi
}

# gpu_worker NAME: of a library on GPUs, which few machines need.
gpu_worker() {
  local path output
  path="$(worker_path "$1")"
  output="$("$path" 2>&1 </dev/null)" || true
  if [[ "$output" =~ measures\ (.*)\ for\ micro ]]; then
    line "worker $1" ok "${BASH_REMATCH[1]}"
  elif [[ -e "$path" ]]; then
    line "worker $1" missing "${output##*: }" "$remedy_build"
  else
    line "worker $1" missing "not in this build" "only rows with device cuda$(
    ) need it; $remedy_cuda"
  fi
}

# torch_worker NAME: one that links torch, and whether it uses a GPU.
torch_worker() {
  local path which absent
  path="$(worker_path "$1")"
  if [[ ! -e "$path" ]]; then
    line "worker $1" missing "not in this build" "$remedy_torch"
  elif [[ -z "$bundle" ]]; then
    absent="$(ldd "$path" | awk '/not found/ { print $1; exit }')"
    if [[ -n "$absent" ]]; then
      line "worker $1" missing "$absent is not found" "$remedy_torch"
    else
      line "worker $1" ok "built"
    fi
  elif ! which="$("$path" --which 2>&1)"; then
    line "worker $1" missing "${which#feedrate: }" "feedrate torch fetches one$(
    ) for the CPU; for a GPU, name the torch of a Python with TORCH_ROOT"
  elif [[ "$which" == cuda ]]; then
    line "worker $1" ok "for CPU and GPU"
  elif [[ "$which" == *CUDA=1 ]]; then
    line "worker $1" ok "for the CPU" "for a GPU, $remedy_cuda"
  else
    line "worker $1" ok "for the CPU" "for a GPU, ${which#cpu: }: name a torch$(
    ) with its CUDA libraries, such as that of a Python, with TORCH_ROOT"
  fi
}

python() {
  local version
  if ! version="$("$FEEDRATE_PYTHON" -c \
    'import sys, venv, ensurepip; print(sys.version.split()[0])' 2>&1)"; then
    line python missing "${version##*$'\n'}" "install python3 and python3-venv,$(
    ) or set FEEDRATE_PYTHON; without, no Python library can be measured"
    return
  fi
  # As in dev/lock.py.
  if [[ "$version" =~ ^3\.1[12]\. ]]; then
    line python ok "$version, $FEEDRATE_PYTHON"
  else
    line python untried "$version, $FEEDRATE_PYTHON" "feedrate envs is tried$(
    ) with 3.11 and 3.12; set FEEDRATE_PYTHON if an environment is not made"
  fi
  local lock group made=() missing=()
  for lock in "$REPO_ROOT/configs/requirements/paper"/*.lock; do
    group="$(basename "$lock" .lock)"
    if "$here/python_env.sh" --made "$lock" >/dev/null 2>&1; then
      made+=("$group")
    else
      missing+=("$group")
    fi
  done
  if [[ ${#made[@]} -gt 0 ]]; then line environments ok "${made[*]}"; fi
  if [[ ${#missing[@]} -gt 0 ]]; then
    line environments missing "${missing[*]}" \
      "feedrate envs ${missing[0]} (or others) to measure these libraries"
  fi
}

torch() {
  local folder version
  if folder="$("$find_torch" 2>/dev/null)"; then
    version="$(sed -n "s/^__version__ = '\(.*\)'/\1/p" "$folder/version.py")"
    line torch ok "$version"
  else
    line torch missing "no libtorch" \
      "feedrate torch fetches it (440 MB), for train, eval and the library torch"
  fi
}

# field NAME: the text or the number of a field in the env record.
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p" <<<"$env"; }

machine() {
  local env limit paranoid check status=0
  env="$("$feedrate" collect_env 2>/dev/null)" || return 0
  if [[ "$env" == *'"gpus":[]'* ]]; then
    line gpu missing "no NVIDIA driver, or no GPU" \
      "install the driver; only rows with device cuda need it"
  else
    line gpu ok "driver $(field driver), CUDA $(field cuda)"
  fi
  paranoid="$(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null || true)"
  if [[ -n "$paranoid" && ("$paranoid" -le 2 || "$(id -u)" -eq 0) ]]; then
    line perf ok "perf_event_paranoid is $paranoid"
  else
    line perf missing "perf_event_paranoid is ${paranoid:-not visible}" \
      "sysctl kernel.perf_event_paranoid=2, for duel --profile"
  fi
  limit="$(field memory_limit_bytes)"
  line memory ok "$(($(field total_bytes) / 1000000000)) GB$(
    )${limit:+, limited to $((limit / 1000000000)) GB}"
  check="$("$feedrate" collect_env --check 2>&1)" || status=$?
  if [[ "$status" -eq 0 || "$status" -eq 4 ]]; then
    line quiet ok "${check##*$'\n'}"
  else
    line quiet noisy "${check##*$'\n'}" "feedrate collect_env --check says why"
  fi
}

line check status found
programs
if has micro mixture pipeline video; then
  worker null
  worker opencv
fi
if has video; then worker ffmpeg; fi
if has mixture pipeline; then worker native; fi
if has micro pipeline; then gpu_worker cuda; fi
if has video; then gpu_worker nvdec; fi
python
torch
if has micro; then torch_worker torch; fi
if has train; then torch_worker train; fi
if has eval; then torch_worker eval; fi
machine
if [[ ${#remedies[@]} -gt 0 ]]; then
  echo
  printf '%s\n' "${remedies[@]}"
fi
if [[ "$broken" -ne 0 ]]; then exit 2; fi
