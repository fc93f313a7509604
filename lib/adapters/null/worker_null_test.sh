#!/bin/bash
# The program as a person or a broken runner would start it.
set -u
worker=$TEST_SRCDIR/$TEST_WORKSPACE/lib/adapters/null/worker_null
failures=0

expect() {  # expect STATUS TEXT WHAT: of the last command
  if [[ $status != "$1" || $output != *"$2"* ]]; then
    echo "FAILED: $3: status $status, output: $output" >&2
    failures=$((failures + 1))
  fi
}

output=$("$worker" 3>&- 2>&1)
status=$?
expect 1 "which starts it with a socket" "without a runner"

output=$("$worker" 3</dev/null 2>&1)
status=$?
expect 1 "which starts it with a socket" "with a file as the runner"

output=$("$worker" --help 2>&1)
status=$?
expect 1 "nothing to run by hand" "with an argument"

exit $((failures > 0))
