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

# One that is always another: its parent ends, faster than a look at all
# processes takes. It ends by itself, or a broken guard would leave it for ever.
cat >hops.c <<'END'
#include <fcntl.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

int main() {
  setsid();
  dup2(open("/dev/null", O_RDWR), 1);
  for (int i = 0; i < 4; ++i) {
    if (fork() == 0) break;
  }
  const time_t end = time(0) + 60;
  while (time(0) < end) {
    if (fork() != 0) _exit(0);
  }
}
END
cc -O2 -o hops hops.c || fail "no compiler"
cat >leaves_hops.sh <<'END'
./hops &
sh honest.sh "$1"
END
timeout 30 "$DUEL" --distrust --pairs=1 --warmup=1 --nocontrols \
  --output=rows.jsonl --a='sh leaves_hops.sh {seed}' \
  --b='sh leaves_hops.sh {seed}' 2>err || fail "a process hops: $(cat err)"

# Output without an end, also from a process beside it.
refused prints_without_end 'printed more than 67108864 bytes' <<<'yes'
refused prints_after_its_end 'distrust: it printed' <<'END'
for i in 1 2 3; do setsid yes & done
END

# A time limit holds for one that leaves its group of processes.
cat >leave_group.py <<'END'
import os, time

child = os.fork()
if child == 0:
    time.sleep(60)
os.setpgid(child, child)
os.setpgid(0, child)
time.sleep(60)
END
leaves='exec python3 leave_group.py {seed}'
timeout 30 "$DUEL" --distrust --pairs=1 --warmup=1 --nocontrols --timeout=2 \
  --output=rows.jsonl --a="$leaves" --b="$leaves" 2>err
[[ $? -eq 2 ]] || fail "it has left its time limit: $(cat err)"
grep -q '"status":"timeout"' rows.jsonl || fail "no timeout: $(cat err)"

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

# The same with a name in the file system, which no network separates.
sed -e 's/create_server.*/socket(1); listener.bind("name"); listener.listen()/' \
  -e '/"port"/d; /port.write/d' server.py >named_server.py
python3 named_server.py &
server=$!
for ((i = 0; i < 100; i++)); do
  if [[ -S name ]]; then break; fi
  sleep 0.1
done
cat >ask_name.py <<'END'
import socket, sys

# socketpair: a way around a filter that looks at socket() only.
kind = socket.SOCK_STREAM
one = socket.socket(1, kind) if len(sys.argv) < 3 else socket.socketpair(1, 2)[0]
one.connect("name")
one.sendall(sys.argv[1].encode())
print(one.recv(100).decode(), end="")
END
[[ "$(python3 ask_name.py 7)" == "$(sh honest.sh 7)" ]] || fail "no answer"
if ((confined)); then
  for more in '' pair; do
    against "named_server$more" <<END
python3 ask_name.py "\$1" $more
END
    [[ $? -eq 2 ]] || fail "it has asked a server by name: $(cat err)"
    grep -q 'not permitted' err || fail "name: $(cat err)"
  done
fi
kill "$server"

# Who changes the processors or the priority of the duel changes those of the
# other side, and its terminal types commands. Says so where it gets through, and
# sets only what is set already.
cat >meddle.py <<'END'
import fcntl, glob, os

def allowed(what, *arguments):
    try:
        what(*arguments)
    except OSError:
        return False
    return True

for path in glob.glob("/proc/[0-9]*/comm"):
    try:
        name, pid = open(path).read(), int(path.split("/")[2])
        cpus = os.sched_getaffinity(pid) if name == "duel\n" else ()
    except OSError:
        continue
    if cpus and allowed(os.sched_setaffinity, pid, cpus):
        print("its processors")
    if name == "duel\n" and allowed(os.setpriority, os.PRIO_PROCESS, pid, 0):
        print("its priority")
if allowed(lambda: fcntl.ioctl(os.open("/dev/tty", os.O_RDONLY), 0x5412, b"x")):
    print("its terminal")
END
if ((confined)); then
  cat >meddles.sh <<'END'
sh honest.sh "$1"
python3 meddle.py
END
  # shellcheck disable=SC2016  # For the shell that script starts.
  PROGRAM="$DUEL" script -qec '"$PROGRAM" --distrust --pairs=1 --warmup=1 --nocontrols \
    --output=rows.jsonl --a="sh honest.sh {seed}" --b="sh meddles.sh {seed}"' \
    /dev/null </dev/null >err || fail "it meddles: $(cat err)"
fi

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
