#!/bin/bash
# Runs the real program on this machine and on recorded ones.
set -uo pipefail
# shellcheck source=tools/testing/checks.sh
source tools/testing/checks.sh

readonly TOOL=tools/collect_env/collect_env
readonly MACHINES=lib/machine/testdata
readonly NVML=lib/machine/testing/libfake_nvml.so

expect_exit() { # code args...
  local expected="$1"
  shift
  "$TOOL" "$@" >"$TEST_TMPDIR/out" 2>"$TEST_TMPDIR/err"
  expect_eq "exit code of collect_env $*" "$?" "$expected"
}

# Value of a key such as cpu.online_cores in the record on standard input.
value_of() {
  python3 -c '
import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1].split("."):
    value = value[int(key) if isinstance(value, list) else key]
print(value)' "$1"
}

unpack() { # machine: its files in a new folder, whose path is printed
  python3 - "$MACHINES/$1.txt" "$(mktemp -d -p "$TEST_TMPDIR")" <<'PY'
import pathlib, re, sys
recording, folder = sys.argv[1:]
for section in re.split("^=== ", open(recording).read(), flags=re.M)[1:]:
    name, _, contents = section.partition("\n")
    path = pathlib.Path(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(contents)
print(folder)
PY
}

test_this_machine_is_the_same_twice() {
  local first second
  for what in profile env_id; do
    first="$("$TOOL" --print="$what")" || fail "--print=$what failed"
    second="$(nice "$TOOL" --print="$what")"
    expect_eq "$what of a second run" "$second" "$first"
    [[ -n "$first" ]] || fail "$what is empty"
    second="$(taskset -c 0 "$TOOL" --print="$what" 2>/dev/null)"
    [[ -z "$second" ]] || expect_eq "$what under taskset" "$second" "$first"
  done
  [[ "$("$TOOL" --print=env_id)" =~ ^[0-9a-f]{16}$ ]] ||
    fail "env_id is not 16 hexadecimal digits"
}

test_record_is_json_and_agrees_with_print() {
  local record
  record="$("$TOOL")" || fail "collect_env failed"
  expect_eq "lines of the record" "$(wc -l <<<"$record")" 1
  python3 -m json.tool <<<"$record" >/dev/null || fail "no JSON: $record"
  expect_eq schema "$(value_of schema <<<"$record")" 1
  expect_eq record "$(value_of record <<<"$record")" env
  expect_eq kernel "$(value_of kernel <<<"$record")" "$(uname -r)"
  expect_eq cores "$(value_of cpu.usable_cores <<<"$record")" "$(nproc)"
  expect_eq profile "$(value_of machine_profile <<<"$record")" \
    "$("$TOOL" --print=profile)"
  expect_eq env_id "$(value_of env_id <<<"$record")" \
    "$("$TOOL" --print=env_id)"
}

test_recorded_machines() {
  local profile
  profile="$("$TOOL" --root="$(unpack xeon_vm_16)" --print=profile)"
  expect_eq xeon "$profile" xeon-8481c_16c_x86-64
  profile="$("$TOOL" --root="$(unpack graviton_vm)" --print=profile)"
  expect_eq graviton "$profile" neoverse-v2_4c_aarch64
}

test_gpu_machine() {
  local root profile record
  root="$(unpack xeon_vm_16)"
  profile="$("$TOOL" --root="$root" --nvml_library="$NVML" --print=profile)"
  expect_eq "GPU without torch" "$profile" h200x1_driver580_cuda13.0_sm90
  mkdir -p "$root/usr/bin" "$root/usr/local/lib/python3.11/dist-packages/torch"
  touch "$root/usr/bin/python3.11"
  ln -s python3.11 "$root/usr/bin/python3"
  echo "__version__ = '2.11.0+cu130'" \
    >"$root/usr/local/lib/python3.11/dist-packages/torch/version.py"
  profile="$("$TOOL" --root="$root" --nvml_library="$NVML" --print=profile)"
  expect_eq "GPU with torch" "$profile" \
    h200x1_driver580_cuda13.0_torch2.11_sm90
  record="$("$TOOL" --root="$root" --nvml_library="$NVML")"
  expect_eq "GPU" "$(value_of gpus.0.name <<<"$record")" "NVIDIA H200"
  expect_eq "torch" "$(value_of libraries.torch <<<"$record")" 2.11.0+cu130

  # GPUs that cannot be described are a warning, not a failed run.
  FEEDRATE_FAKE_NVML=init expect_exit 0 --root="$root" --nvml_library="$NVML"
  grep -q "version mismatch" "$TEST_TMPDIR/err" || fail "no warning on stderr"
  python3 -m json.tool "$TEST_TMPDIR/out" >/dev/null || fail "stdout is not JSON"
}

test_clocks_and_load_change_nothing() {
  local root before after
  root="$(unpack laptop)"
  before="$("$TOOL" --root="$root" --print=env_id)"
  sed -i 's/^cpu MHz.*/cpu MHz\t\t: 4987.001/' "$root/proc/cpuinfo"
  echo 4987001 \
    >"$root/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq"
  echo "99.00 80.00 70.00 99/400 4242" >"$root/proc/loadavg"
  after="$("$TOOL" --root="$root" --print=env_id)"
  expect_eq "env_id at another clock" "$after" "$before"
  sed -i 's/i7-1360P/i7-1370P/' "$root/proc/cpuinfo"
  after="$("$TOOL" --root="$root" --print=env_id)"
  [[ "$after" != "$before" ]] || fail "another processor, the same env_id"
}

test_check() {
  local laptop
  laptop="$(unpack laptop)"
  # AMD's processors do not count how often heat slows them down.
  expect_exit 4 --check --sample_s=0 --root="$(unpack epyc_server)"
  grep -Eq "^throttling +unknown" "$TEST_TMPDIR/out" || fail "not unknown"
  grep -q -- "--ignore=throttling accepts that" "$TEST_TMPDIR/out" ||
    fail "no remedy"
  expect_exit 0 --check --sample_s=0 --ignore=throttling \
    --root="$(unpack epyc_server)"
  grep -q "^Nothing found" "$TEST_TMPDIR/out" || fail "no summary"
  expect_exit 3 --check --sample_s=0 --root="$laptop"
  for finding in governor swap run_queue; do
    grep -q "^warn: $finding: " "$TEST_TMPDIR/out" || fail "no $finding"
  done
  for finding in turbo aslr transparent_huge_pages; do
    grep -q "^usual: $finding: " "$TEST_TMPDIR/out" || fail "no $finding"
  done
  mkdir -p "$TEST_TMPDIR/empty"
  expect_exit 4 --check --sample_s=0 --root="$TEST_TMPDIR/empty"

  expect_exit 3 --check --sample_s=0 --format=jsonl --root="$laptop"
  python3 - "$TEST_TMPDIR/out" <<'PY' || fail "records of --check"
import json, sys
records = [json.loads(line) for line in open(sys.argv[1])]
assert len(records) == 16, len(records)
for r in records:
    assert r["record"] == "env_check" and r["schema"] == 1, r
    assert r["status"] in ("ok", "note", "usual", "warn", "unknown"), r
    assert (r["status"] == "ok") == (r["remedy"] == ""), r
assert [r["observed"] for r in records if r["name"] == "governor"] \
    == ["powersave"]
PY
}

test_check_of_this_machine() {
  "$TOOL" --check --sample_s=0.05 >"$TEST_TMPDIR/out"
  local code=$?
  [[ $code -eq 0 || $code -eq 3 || $code -eq 4 ]] || fail "exit code $code"
  grep -q "^steal " "$TEST_TMPDIR/out" || fail "no line for steal"
}

test_the_remedy_for_aslr_works() {
  if ! setarch -R true 2>/dev/null; then
    echo "not run: setarch -R is not allowed here"
    return
  fi
  setarch -R "$TOOL" --check --sample_s=0 >"$TEST_TMPDIR/out"
  grep -Eq "^aslr +ok" "$TEST_TMPDIR/out" || fail "aslr warns under setarch -R"
}

test_output() {
  local folder="$TEST_TMPDIR/results"
  mkdir -p "$folder"
  expect_exit 0 --output="$folder"
  python3 -m json.tool "$folder/env.jsonl" >/dev/null || fail "env.jsonl"
  expect_exit 0 --output="$folder/x.jsonl" --print=profile
  expect_eq "profile in a file" "$(cat "$folder/x.jsonl")" \
    "$("$TOOL" --print=profile)"
  [[ ! -s "$TEST_TMPDIR/out" ]] || fail "--output=FILE still wrote to stdout"
}

test_callers_mistakes() {
  expect_exit 1 --print=profil
  grep -q 'did you mean "profile"' "$TEST_TMPDIR/err" || fail "no suggestion"
  expect_exit 1 --root=/no/such/folder
  expect_exit 1 --sample_s=-1 --check
  expect_exit 1 --sample_s=nan --check
  expect_exit 1 --check --print=profile
  expect_exit 1 --check --ignore=turob
  grep -q 'did you mean "turbo"' "$TEST_TMPDIR/err" || fail "no suggestion"
  expect_exit 1 --ignore=turbo
  expect_exit 1 --format=table
  expect_exit 1 --format=yaml --check
  expect_exit 1 --no_such_flag
  expect_exit 1 stray
  expect_exit 0 --help
  grep -q -- "--check" "$TEST_TMPDIR/out" || fail "--help names no flags"
}

for name in $(compgen -A function test_); do
  echo "== $name"
  "$name"
done
finish
