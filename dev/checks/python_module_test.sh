#!/bin/bash
# feedrate.Loader, Episodes and Clips: sources, labels, order over ranks, resuming after
# kill -9, memory, errors. With torch, also tensors, the training loop of examples/, and
# those of Lightning and accelerate; --full installs torch, otherwise a machine
# without it leaves these out.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
cd "$REPO_ROOT"

locks=configs/requirements/paper
dev/bazel.sh build --show_result=0 //lib/loader/python:feedrate_loader \
  //lib/loader/mixture:feedrate_frames //lib/media/video:write_videos
STORAGE_PYTHON="$(dev/python_env.sh dev/locks/storage.lock)/bin/python"
export STORAGE_PYTHON
pillow="$(dev/python_env.sh "$locks/pillow.lock")"
for test in arguments clips episode_values episodes folders loader states; do
  "$pillow/bin/python" -B "python/tests/${test}_test.py"
done

if [[ "${1:-}" == --full ]]; then
  torch="$(dev/python_env.sh "$locks/torch_stack.lock")"
elif ! torch="$(dev/python_env.sh --made "$locks/torch_stack.lock")"; then
  echo 'no environment of torch; make it with: make envs GROUPS=torch_stack'
  exit 0
fi
# What examples/train_vit.py --loader=dali needs, where it is made.
DALI_PACKAGES="$(dev/python_env.sh --made "$locks/dali.lock" || true)"
export DALI_PACKAGES
export OMP_NUM_THREADS=1
"$torch/bin/python" -B python/tests/torch_test.py
"$torch/bin/python" -B python/tests/episodes_torch_test.py
"$torch/bin/python" -B python/tests/clips_torch_test.py
loops="$(dev/python_env.sh dev/locks/training.lock)"
PYTHONPATH="$(echo "$loops"/lib/python3*/site-packages)" \
  "$torch/bin/python" -B python/tests/loops_test.py
