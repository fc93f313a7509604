#!/bin/bash
# The Python worker: its protocol under faults and garbage, parameters, corpora,
# the timed loop, and the parts of the loaders that need no torch. Runs in
# Pillow's environment, which is small and uses the distribution's Python.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

env="$("$REPO_ROOT/dev/python_env.sh" \
  "$REPO_ROOT/configs/requirements/paper/pillow.lock")"
cd "$REPO_ROOT/lib/adapters/python"
"$env/bin/python" -B -m unittest process_setup_test corpus_test item_ids_test \
  devices.driver_device_test devices.nvml_test library_support.cvcuda_steps_test \
  library_support.pillow_crops_test library_support.steps_test params_test \
  server_test timing_test worker_files_test \
  subject_test libraries.pillow_test loaders.dataset_test loaders.epoch_test \
  loaders.job_test loaders.mixture_test \
  loaders.processes_test loaders.spec_test
