#!/bin/bash
# tf.data's mixtures: what its graph delivers, the worker's protocol under
# damaged shards and abrupt ends, and data sets that tensorflow-datasets writes,
# which the native loader and feedrate.Episodes read as well. Needs TensorFlow,
# which is large: --full installs it, otherwise a machine without it skips that
# part.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

lock="$REPO_ROOT/configs/requirements/current/tensorflow.lock"
made=(--made)
if [[ "${1:-}" == --full ]]; then made=(); fi
if ! env="$("$REPO_ROOT/dev/python_env.sh" "${made[@]}" "$lock")"; then
  echo 'no environment of TensorFlow; make it with:' \
    'make envs ENV_SET=current GROUPS=tensorflow'
  exit 77
fi
"$REPO_ROOT/dev/bazel.sh" build //lib/adapters/native:dump_samples \
  //lib/loader/python:feedrate_loader
export DUMP_SAMPLES="$REPO_ROOT/bazel-bin/lib/adapters/native/dump_samples"
cd "$REPO_ROOT/lib/adapters/python"
# Damaged shards make TensorFlow write a page; what a test says remains.
export TF_CPP_MIN_LOG_LEVEL=3
"$env/bin/python" -B -m unittest loaders.tfdata_test
"$env/bin/python" -B -m library_tests.mixture_test
"$env/bin/python" -B -m library_tests.tfds_test
PYTHONPATH="$REPO_ROOT/python" \
  "$env/bin/python" -B -m library_tests.episodes_tfds_test
