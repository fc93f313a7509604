#!/bin/bash
# Duels with commands that nobody trusts: what they do to look fast is refused,
# or does not help, and honest ones get a verdict.
set -uo pipefail
# shellcheck source=tools/testing/checks.sh
source tools/testing/checks.sh

readonly DUEL="$PWD/tools/duel/duel"
work="${TEST_TMPDIR:-$(mktemp -d)}"
cd "$work" || exit 1

# The work: a number that takes some thousand steps.
cat >work.sh <<'END'
n=$(($1 % 65536)) i=0
while [ $i -lt 3000 ]; do n=$(((n * 75 + 74) % 65537)) i=$((i + 1)); done
END
cat work.sh - >honest.sh <<'END'
echo $n
END

# against NAME: a duel of the honest program and NAME.sh, whose text is read.
against() {
  cat >"$1.sh"
  "$DUEL" --distrust --pairs=3 --warmup=1 --nocontrols --timeout=20 \
    --output=rows.jsonl --a='sh honest.sh {seed}' --b="sh $1.sh {seed}" \
    2>err
}
# refused NAME WORDS: the duel ends, and the row of B says why.
refused() {
  against "$1"
  [[ $? -eq 2 ]] || fail "$1: not refused: $(cat err)"
  grep '"status":"failed"' rows.jsonl | grep -q "$2" || fail "$1: $(cat err)"
}
# harmless NAME: a duel like any other, so that its outputs were right.
harmless() {
  against "$1" || fail "$1: $(cat err)"
  [[ "$(grep -c '"status":"ok"' rows.jsonl)" -eq 6 ]] || fail "$1: rows"
}

harmless honest_too <honest.sh
grep -q '"labels":\["distrust"' rows.jsonl || fail "no label: $(head -3 rows.jsonl)"
grep -q '"distrust":"true"' rows.jsonl || fail "it is another job"
confined=1
if grep -q not_confined rows.jsonl; then confined=""; fi

# Answers that it knows from before, or has guessed.
refused says_nothing 'printed nothing' <<<'true'
refused constant_output 'something else' <<<'echo 12345'
refused output_comes_later 'distrust: it printed' <<END
(sh $work/honest.sh "\$1") &
END
refused daemon_answers 'distrust: it printed' <<END
setsid sh $work/honest.sh "\$1" &
END

# A cache in files: no seed comes twice. It says so when one does.
harmless cached_in_file <<END
mkdir -p \$TMPDIR/cache $work/cache 2>/dev/null
for folder in $work/cache \$TMPDIR/cache \$TMPDIR/../cache; do
  if [ -e "\$folder/\$1" ]; then echo from the cache; exit; fi
done
. $work/work.sh
echo \$n
for folder in $work/cache \$TMPDIR/cache \$TMPDIR/../cache; do
  { echo \$n >"\$folder/\$1"; } 2>/dev/null || true
done
END
if ((confined)) && [[ -d "$work/cache" ]]; then fail "it wrote a file"; fi

# Processes that it leaves behind, in a session of their own, are ended.
harmless process_left_running <<'END'
setsid sleep 98765.4321 >/dev/null 2>&1 &
. ./work.sh
echo $n
END
if pgrep -f 'sleep 98765[.]4321' >/dev/null; then fail "a process is left"; fi

# A server beside the duel that knows every answer.
cat >server.py <<'END'
import socket, subprocess

listener = socket.create_server(("127.0.0.1", 0))
with open("port", "w") as port:
    port.write(str(listener.getsockname()[1]))
while True:
    client, _ = listener.accept()
    seed = client.recv(100).decode()
    client.sendall(subprocess.run(["sh", "honest.sh", seed], stdout=-1).stdout)
    client.close()
END
cat >ask.py <<'END'
import socket, sys

with socket.create_connection(("127.0.0.1", int(open("port").read()))) as s:
    s.sendall(sys.argv[1].encode())
    print(s.recv(100).decode(), end="")
END
python3 server.py &
server=$!
for ((i = 0; i < 100; i++)); do
  if [[ -s port ]]; then break; fi
  sleep 0.1
done
[[ "$(python3 ask.py 7)" == "$(sh honest.sh 7)" ]] || fail "the server answers"
if ((confined)); then
  against network <<'END'
python3 ask.py "$1"
END
  [[ $? -eq 2 ]] || fail "it has asked a server: $(cat err)"
  grep -q 'unreachable\|refused\|denied' err || fail "network: $(cat err)"
fi
kill "$server"

# Numbers are new in each pair, and the same on both sides.
cat >seeds.sh <<'END'
echo "$1"
END
"$DUEL" --distrust --pairs=2 --nocontrols --output=rows.jsonl \
  --a='sh seeds.sh {seed}' --b='sh seeds.sh {seed}' 2>err || fail "$(cat err)"

# wrong WORDS FLAG...: duel says the words and exits with 1.
wrong() {
  local words="$1"
  shift
  "$DUEL" --distrust "$@" >/dev/null 2>err
  [[ $? -eq 1 ]] || fail "$*: not exit 1"
  grep -q -e "$words" err || fail "$*: $(cat err)"
}
wrong 'no {seed} in "./new"' --a='./old {seed}' --b='./new'
wrong 'leave out --bisect' --a='a {seed}' --b='b {seed}' --rows
wrong 'counted inside' --a='a {seed}' --b='b {seed}' --metrics=time,allocations

finish
