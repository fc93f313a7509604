#!/bin/bash
# The bundled probes and shard are what tasks.py writes, and it writes the same
# each time.
set -euo pipefail

python3 tools/eval/tasks.py --data="$TEST_TMPDIR/data" \
  --train="$TEST_TMPDIR/a.txt" --lines=100
python3 tools/eval/tasks.py --train="$TEST_TMPDIR/b.txt" --lines=100
cmp "$TEST_TMPDIR/a.txt" "$TEST_TMPDIR/b.txt"
for file in "$TEST_TMPDIR"/data/*; do
  cmp "$file" "configs/eval/$(basename "$file")"
done
[[ "$(wc -l <configs/eval/basic_reasoning_25.jsonl)" == 25 ]]
[[ "$(wc -l <configs/eval/format_following_30.jsonl)" == 30 ]]
[[ "$(wc -l <configs/eval/code_sanity_20.jsonl)" == 20 ]]
