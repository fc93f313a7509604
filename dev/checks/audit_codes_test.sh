#!/bin/bash
# The images and tokens of `audit` say which item they are, and small trainings
# are judged right: honest ones pass, those with a fault are accused. --full runs
# 400 of them. In the environment of Pillow, which has numpy.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
cd "$REPO_ROOT"

python="$(dev/python_env.sh configs/requirements/current/pillow.lock)/bin/python"
"$python" -B python/tests/audit_codes_test.py
# Each environment that is there has the packages of some layouts.
"$python" -B -W ignore python/tests/audit_layouts_test.py -v
for name in loaders streaming tensorflow webdataset; do
  lock="configs/requirements/current/$name.lock"
  if env="$(dev/python_env.sh --made "$lock")"; then
    "$env/bin/python" -B -W ignore python/tests/audit_layouts_test.py -v
    "$env/bin/python" -B -W ignore python/tests/audit_torch_test.py
  else
    echo "left out: layouts of $lock, which is not installed"
  fi
done

dev/bazel.sh build //tools/audit
trials=(--honest=12 --injected=23)
if [[ "${1:-}" == --full ]]; then trials=(--honest=200 --injected=200); fi
"$python" -B tools/audit/trials.py \
  "$(dev/bazel.sh info bazel-bin)/tools/audit/audit" "${trials[@]}"
