#!/bin/bash
# LeRobot data sets that lerobot itself writes, in both formats: the native
# loader of mixtures and feedrate.Episodes give the samples that lerobot's own
# loader gives; the script of docs/python_episodes.md trains in lerobot as lerobot
# does; and feedrate.Clips gives the frames of PyAV and torchcodec, which are in the
# same environment. Needs torch and lerobot, which are large: --full installs them,
# otherwise a machine without them skips all. --bench compares their speeds instead.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

lock="$REPO_ROOT/dev/locks/lerobot.lock"
torch_lock="$REPO_ROOT/configs/requirements/paper/torch_stack.lock"
made=(--made)
if [[ "${1:-}" == --full ]]; then made=(); fi
if ! env="$("$REPO_ROOT/dev/python_env.sh" "${made[@]}" "$lock")" ||
  ! torch="$("$REPO_ROOT/dev/python_env.sh" "${made[@]}" "$torch_lock")"; then
  echo 'no environment of lerobot; make it with:' \
    'dev/python_env.sh dev/locks/lerobot.lock'
  exit 77
fi

# add_lerobot VERSION HASH: prints where it is. The last version of each format.
add_lerobot() {
  local folder="$FEEDRATE_CACHE/lerobot-$1" new
  if [[ ! -d "$folder" ]]; then
    new="$(mktemp -d "$FEEDRATE_CACHE/lerobot.XXXXXX")"
    "$env/bin/python" -m pip install --quiet --disable-pip-version-check \
      --no-deps --no-compile --target "$new" \
      --requirement <(echo "lerobot==$1 --hash=sha256:$2") >&2
    mv -T "$new" "$folder" 2>/dev/null || rm -rf "$new"
  fi
  echo "$folder"
}
old="$(add_lerobot 0.3.3 ae8354b516f5c8cfaa059d5ac926b4d03e96ca73350b971f8c7d75b905ba953d)"
new="$(add_lerobot 0.4.4 e53800ead8216861540ad3aebaf12e3cf87a399b3c1f234eeead33716c9c24fd)"

packages() { echo "$1"/lib/python3.*/site-packages; }
below="$(packages "$env"):$(packages "$torch")"
npp="$(packages "$env")/nvidia/cu13/lib"

bench=""
if [[ "${1:-}" == --bench ]]; then bench=--bench; fi
"$REPO_ROOT/dev/bazel.sh" build //lib/adapters/native:dump_samples \
  //lib/loader/python:feedrate_loader //lib/loader/mixture:feedrate_frames \
  //lib/media/video:write_videos \
  ${bench:+//tools/mixture //lib/adapters/native:worker_native}
export MIXTURE="$REPO_ROOT/bazel-bin/tools/mixture/mixture"
export DUMP_SAMPLES="$REPO_ROOT/bazel-bin/lib/adapters/native/dump_samples"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
# Nothing is looked up, and nothing stays in the user's cache.
export HF_HUB_OFFLINE=1 HF_HOME="$work" TMPDIR="$work"
export HF_DATASETS_DISABLE_PROGRESS_BARS=1 SVT_LOG=0
export LD_LIBRARY_PATH="$npp${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
below+=":$REPO_ROOT/python"
export OLD_PYTHONPATH="$old:$below" PYTHONPATH="$new:$below"
cd "$REPO_ROOT/lib/adapters/python"
"$env/bin/python" -B -W ignore -m library_tests.lerobot_test ${bench:+"$bench"}
if [[ -n "$bench" ]]; then exit; fi
for path in "$OLD_PYTHONPATH" "$PYTHONPATH"; do
  PYTHONPATH="$path" "$env/bin/python" -B -W ignore \
    -m library_tests.episodes_lerobot_test
done
PYTHONPATH+=":$REPO_ROOT/python/tests"
"$env/bin/python" -B -W ignore -m library_tests.clips_readers_test
"$env/bin/python" -B -W ignore -m library_tests.lerobot_training_test
