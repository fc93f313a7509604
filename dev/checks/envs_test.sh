#!/bin/bash
# dev/envs.sh lists the groups if asked for an unknown one, and is quick if all
# environments exist. Makes at most Pillow's environment.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
cd "$REPO_ROOT"

fail() {
  say "envs_test: $*"
  exit 1
}

if out="$(ENV_SET=nosuch dev/envs.sh 2>&1)"; then fail "made a set nosuch"; fi
[[ "$out" == *"no environment set nosuch; there are: current paper"* ]] ||
  fail "$out"
if out="$(GROUPS_WANTED=nosuch dev/envs.sh 2>&1)"; then fail "made nosuch"; fi
[[ "$out" == *"there are: albumentationsx "*" torch_stack"* ]] ||
  fail "$out"

out="$(make --no-print-directory envs GROUPS=pillow 2>/dev/null)"
env="$(dev/python_env.sh --made configs/requirements/paper/pillow.lock)"
[[ "$out" == "pillow"$'\t'"$env" ]] || fail "printed: $out"
version="$("$env/bin/python" -c 'import PIL; print(PIL.__version__)')"
[[ "$version" == 12.2.0 ]] || fail "Pillow $version"
