#!/bin/bash
# Follows docs/ci.md to the end: writes the workflow of a project and runs every
# step of it, and of action.yml, in a bare Debian, for pull requests that are
# slower, unchanged and broken. Needs root, for chroot.
#
# CI_ROOT names a folder that keeps the bare Debian for the next time.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
# shellcheck source=dev/checks/bare_root.sh
source "$REPO_ROOT/dev/checks/bare_root.sh"
cd "$REPO_ROOT"

if [[ "$(id -u)" -ne 0 || -z "$mounts" ]]; then
  echo "needs root and mounts of its own, for a bare Debian"
  exit 77
fi
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

env="$(dev/python_env.sh dev/locks/gate_schemas.lock)"
torch="$(dev/torch.sh)"
bundle="$(BUNDLE_DIST="$work/dist" dev/bundle.sh duel compare_baseline eval)"
dev/bazel.sh build //tools/train //lib/model/worker:worker_train
# A model that has learned nothing: the regression that the job eval must find.
bazel-bin/tools/train/train --model=byte_lm_tiny --batch-size=1 --threads=1 \
  --warmup-steps=1 --measured-steps=1 --checkpoint="$work/worse.ckpt" \
  --output="$work/rows.jsonl" 2>"$work/log" || { cat "$work/log" && exit 1; }

root="${CI_ROOT:-$work/root}"
# What GitHub's runners have, as far as the steps use it.
if [[ ! -d "$root" ]]; then bare_debian "$root" git,curl,jq,ca-certificates; fi
# Where `feedrate torch` puts it, so that 440 MB are not fetched again.
cache="$root/root/.cache/feedrate/libtorch/$(basename "${torch%/*}")"
mkdir -p "$cache"
# Mounts of a process of its own vanish with it, before anything is removed.
# shellcheck disable=SC2016
unshare --mount sh -ec 'for folder in proc sys dev; do
    mount --rbind "/$folder" "$0/$folder"
  done
  mount --bind "$1" "$2"
  mount -o remount,bind,ro "$2"
  shift 2
  exec "$@"' "$root" "${torch%/*}" "$cache" \
  "$env/bin/python" dev/checks/ci_workflow_check.py --root="$root" \
  --bundle="$bundle" --worse="$work/worse.ckpt"
