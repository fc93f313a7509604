#!/bin/bash
# pipeline on data in buckets and behind web servers, from end to end: a moto
# server for S3, a small server for what moto never says, WebDataset for the
# shards. See remote_cases.py. Needs pipeline and worker_native built (make).
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

python="$("$REPO_ROOT/dev/python_env.sh" "$REPO_ROOT/dev/locks/storage.lock")/bin/python"
locks="$REPO_ROOT/configs/requirements/paper"
webdataset=""
if env="$("$REPO_ROOT/dev/python_env.sh" --made "$locks/webdataset.lock")" &&
  torch="$("$REPO_ROOT/dev/python_env.sh" --made "$locks/torch_stack.lock")"
then
  webdataset="$env/bin/python"
  packages="$(echo "$torch"/lib/python*/site-packages)"
else
  say 'no environment of webdataset; make it with: make envs' \
    'GROUPS=torch_stack,webdataset'
fi
cd "$REPO_ROOT"
WEBDATASET_PYTHON="$webdataset" WEBDATASET_PACKAGES="${packages:-}" \
  exec "$python" -B dev/checks/remote_cases.py "$@"
