#!/bin/bash
# The program of load_batches.cc, as its reader would run it.
set -u
root="$TEST_SRCDIR/$TEST_WORKSPACE"
images="$TEST_TMPDIR/images"
"$root/lib/media/write_synthetic" --folder="$images" --n=10 >/dev/null || exit 1

output="$("$root/examples/load_batches" "$images")"
sizes="$(cut -d, -f1 <<<"$output" | tr '\n' ' ')"
if [[ "$sizes" != "4 images 4 images 2 images " ]]; then
  echo "FAILED: ten images came as: $output" >&2
  exit 1
fi

output="$("$root/examples/load_batches" "$images/none" 2>&1)"
status=$?
if [[ $status != 2 || $output != *"$images/none"* ]]; then
  echo "FAILED: no folder gave status $status and: $output" >&2
  exit 1
fi
