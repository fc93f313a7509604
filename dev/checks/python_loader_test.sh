#!/bin/bash
# Loader jobs of the Python libraries, with the versions of the set `paper`: the
# protocol under faults and abrupt ends, and a sample of the recipes; with
# --full, all RGB and nine-channel recipes. Needs torch, which is large: --full
# installs it, otherwise a machine without it skips this test.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

locks="$REPO_ROOT/configs/requirements/paper"
full=""
if [[ "${1:-}" == --full ]]; then full=1; fi
if [[ -n "$full" ]]; then
  torch="$("$REPO_ROOT/dev/python_env.sh" "$locks/torch_stack.lock")"
elif ! torch="$("$REPO_ROOT/dev/python_env.sh" --made \
  "$locks/torch_stack.lock")"; then
  echo 'no environment of torch; make it with: make envs GROUPS=torch_stack'
  exit 77
fi
cd "$REPO_ROOT/lib/adapters/python"

"$torch/bin/python" -B -m unittest loaders.device_test \
  loaders.clip_device_test

cells=(library_tests.loader_cells_test "--configs=$REPO_ROOT/configs")
if [[ -z "$full" ]]; then cells+=(--sample); fi
for group in pillow albumentationsx; do
  python="$("$REPO_ROOT/dev/python_env.sh" "$locks/$group.lock")/bin/python"
  "$python" -B -m "${cells[@]}" --packages="$torch" "$group"
done
"$torch/bin/python" -B -m "${cells[@]}" torchvision kornia

"$torch/bin/python" -B -m library_tests.feed_test torchvision

# The optional groups, where they are made.
if dali="$("$REPO_ROOT/dev/python_env.sh" --made "$locks/dali.lock")"; then
  "$dali/bin/python" -B -m "${cells[@]}" dali
  "$dali/bin/python" -B -m library_tests.loader_dali_test
  "$dali/bin/python" -B -m library_tests.decoder_dali_test
  "$dali/bin/python" -B -m library_tests.feed_test dali
  "$dali/bin/python" -B -m library_tests.loader_audit_test dali
else
  echo 'no environment of DALI; make it with: make envs GROUPS=dali'
fi
for group in spdl webdataset; do
  if env="$("$REPO_ROOT/dev/python_env.sh" --made "$locks/$group.lock")"; then
    "$env/bin/python" -B -m library_tests.loader_extras_test \
      --packages="$torch" "$group"
    "$env/bin/python" -B -m library_tests.loader_audit_test \
      --packages="$torch" "$group"
  else
    echo "no environment of $group; make it with: make envs GROUPS=$group"
  fi
done

# Loaders that the paper does not know.
current="$REPO_ROOT/configs/requirements/current"
if env="$("$REPO_ROOT/dev/python_env.sh" --made "$current/loaders.lock")"; then
  newest="$("$REPO_ROOT/dev/python_env.sh" "$current/torch_stack.lock")"
  for library in torchdata grain litdata datago; do
    if [[ "$library" == datago && "$HOSTTYPE" != x86_64 ]]; then
      echo 'left out datago: it has wheels for x86-64 only'
      continue
    fi
    # The test itself needs numpy, which is in torch's environment.
    PYTHONPATH="$(echo "$newest"/lib/python*/site-packages)" \
      "$env/bin/python" -B -m library_tests.loader_audit_test \
      --packages="$newest" "$library"
  done
  for source in parquet lmdb; do
    PYTHONPATH="$(echo "$newest"/lib/python*/site-packages)" \
      "$env/bin/python" -B -m library_tests.loader_audit_test \
      --packages="$newest" --source="$source" torchdata
  done
else
  echo 'no environment of loaders; make it with:' \
    'make envs ENV_SET=current GROUPS=loaders'
fi

for lock in "$current"/*.lock; do
  library="$(basename "$lock" .lock)"
  if [[ -f "$locks/$library.lock" || ! -f "libraries/$library.py" ]]; then
    continue
  fi
  if env="$("$REPO_ROOT/dev/python_env.sh" --made \
    "$current/$library.lock")"; then
    newest="$("$REPO_ROOT/dev/python_env.sh" "$current/torch_stack.lock")"
    PYTHONPATH="$(echo "$env"/lib/python*/site-packages):$(
      echo "$newest"/lib/python*/site-packages
    )" "$env/bin/python" -B -m library_tests.loader_audit_test \
      --packages="$newest" "$library"
  else
    echo "no environment of $library; make it with:" \
      "make envs ENV_SET=current GROUPS=$library"
  fi
done
for pair in tensorflow:tfdata dali:dali_dynamic; do
  if env="$("$REPO_ROOT/dev/python_env.sh" --made \
    "$current/${pair%:*}.lock")"; then
    "$env/bin/python" -B -m library_tests.loader_audit_test "${pair#*:}"
    if [[ "$pair" == *:tfdata ]]; then
      "$env/bin/python" -B -m library_tests.loader_audit_test \
        --source=tfrecord tfdata
    fi
  else
    echo "no environment of ${pair%:*}; make it with:" \
      "make envs ENV_SET=current GROUPS=${pair%:*}"
  fi
done

# Faults and ends are the loader's own, so one library shows them; with --full
# each does.
"$torch/bin/python" -B -m library_tests.loader_test torchvision
if [[ -n "$full" ]]; then
  "$torch/bin/python" -B -m library_tests.loader_test kornia
  for group in pillow albumentationsx; do
    python="$("$REPO_ROOT/dev/python_env.sh" "$locks/$group.lock")/bin/python"
    "$python" -B -m library_tests.loader_test --packages="$torch" "$group"
  done
fi
