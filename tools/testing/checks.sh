# shellcheck shell=bash
# Sourced by shell tests, which go on after a failure and end with `finish`.

failures=0

fail() {
  echo "FAIL: $*" >&2
  failures=$((failures + 1))
}

expect_eq() { # what actual expected
  [[ "$2" == "$3" ]] || fail "$1: got '$2', expected '$3'"
}

finish() {
  ((failures == 0)) || {
    echo "$failures failures" >&2
    exit 1
  }
}
