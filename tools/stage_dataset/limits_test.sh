#!/usr/bin/env bash
# The machine's limits: a full disk, a read-only folder, and memory below 64 MB
# for any archive.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin # For chroot and mount.

tool=$PWD/tools/stage_dataset/stage_dataset
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/limits.XXXXXX")
mounted=
cleanup() {
  [[ -z $mounted ]] || umount "$mounted" || true
  rm -rf "$work"
}
trap cleanup EXIT
cd "$work"

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

refuses() {  # what, text that the message holds, flags...
  local what=$1 text=$2 code=0 said
  shift 2
  said=$("$tool" "$@" 2>&1 >/dev/null) || code=$?
  [[ $code -eq 2 ]] || fail "$what: exit $code: $said"
  [[ $said == *"$text"* ]] || fail "$what: $said"
}

mkdir set
head -c 3000000 /dev/zero >set/a
head -c 3000000 /dev/zero >set/b
tar --sort=name -cf set.tar set

# A limit on the size of files: a message, and no temporary file. It hits a
# writer (1000 kB), or the journal (0).
for limit in 1000 0; do
  code=0
  (ulimit -f $limit && exec "$tool" --help >/dev/null 2>&1) || code=$?
  if [[ $code -eq 153 ]]; then
    echo "ulimit -f $limit is left out: ThreadSanitizer writes a file at start"
    continue
  fi
  code=0
  said=$( (ulimit -f $limit && "$tool" --source=set.tar --dest=limited) 2>&1) ||
    code=$?
  [[ $code -eq 2 && $said == *"File too large"*"ulimit -f"* ]] ||
    fail "ulimit -f $limit: exit $code: $said"
  [[ $(find limited -name '.stage_dataset.*') == */.stage_dataset.journal ]] ||
    fail "ulimit -f $limit: $(find limited)"
  "$tool" --source=set.tar --dest=limited 2>/dev/null ||
    fail "after ulimit -f $limit"
  rm -r limited
done

# No room for the stack of a thread. Sanitizers need more address space at start.
if (ulimit -v 20000 && "$tool" --version >/dev/null 2>&1); then
  code=0
  said=$( (ulimit -v 20000 && "$tool" --source=set.tar --dest=threads) 2>&1) ||
    code=$?
  [[ $code -eq 2 && $said == *"cannot start a thread"*"run it again"* ]] ||
    fail "no threads: exit $code: $said"
  "$tool" --source=set.tar --dest=threads 2>/dev/null || fail "after no threads"
else
  echo "the test without threads is left out: the program does not start"
fi

# A full disk.
mkdir small
if [[ $EUID -eq 0 ]] && mount -t tmpfs -o size=4m tmpfs small 2>/dev/null; then
  mounted=$work/small
  refuses "full disk" "No space left" --source=set.tar --dest=small/d
  rm -rf small/d
  refuses "full disk" "set/b" --source=set.tar --dest=small/d --threads=1
  rm -rf small/d
  refuses "full disk, stream" "No space left" \
    --source=- --dest=small/d <set.tar
  [[ ! -e small/d/.stage_dataset.done ]] || fail "full disk: a sentinel"
else
  echo "SKIPPED: full disk: it takes root, and leave to mount a tmpfs"
fi

# A read-only folder: by its mode, or for root, who may write anywhere, by its
# file system.
mkdir locked
reason="ermission denied"
if [[ $EUID -ne 0 ]]; then
  chmod 555 locked
elif [[ -n $mounted ]] && mount -o remount,ro small; then
  rmdir locked
  ln -s small locked
  reason="Read-only file system"
else
  reason=
  echo "SKIPPED: unwritable folder: root, and no leave to mount a tmpfs"
fi
if [[ -n $reason ]]; then
  refuses "unwritable" "$reason" --source=set.tar --dest=locked
  refuses "unwritable" "locked/e" --source=set.tar --dest=locked/e
fi

# Peak memory in kB: many threads, large and small files, long names, from a
# file and from a pipe.
if [[ ${1:-} == sanitized ]]; then
  echo "SKIPPED: memory: the sanitizers need their own"
  echo PASS
  exit 0
fi
peak() {
  "$tool" --dest=out --no-sync --force --threads=16 "$@" 2>/dev/null <&0 &
  local pid=$! peak=0 now
  while now=$(awk '/VmHWM/ {print $2}' "/proc/$pid/status" 2>/dev/null); do
    [[ -z $now || $now -le $peak ]] || peak=$now
    sleep 0.002
  done
  wait "$pid" || fail "memory: $* failed"
  rm -rf out
  echo "$peak"
}
mkdir many
head -c 150000000 /dev/zero >many/large
long=$(printf 'x%.0s' {1..200})
for i in {1..4000}; do : >"many/$long$i"; done
tar -cf many.tar many
for source in many.tar -; do
  kilobytes=$(peak --source="$source" <many.tar)
  echo "$source: $kilobytes kB at most"
  [[ $kilobytes -gt 0 && $kilobytes -lt 65536 ]] || fail "memory: $kilobytes kB"
done
echo PASS
