#!/usr/bin/env bash
# stage_dataset stages what make_dataset_tar.sh makes, and nothing is lost.
set -euo pipefail

tool=$PWD/tools/stage_dataset/stage_dataset
make=$PWD/tools/stage_dataset/make_dataset_tar.sh
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/make_tar.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

mkdir -p set/b/deep set/a set/__MACOSX "set/with space"
echo one >set/a/1
echo two >set/b/deep/2
echo three >"set/with space/3"
printf 'new\nline' >"set/a/new
line"
long=set/$(printf 'n%.0s' {1..200})
mkdir "$long"
echo long >"$long/$(printf 'f%.0s' {1..200})"
ln -s ../a/1 set/b/link
ln set/a/1 set/a/hard
touch set/.DS_Store set/a/._1 set/__MACOSX/x set/.stage_dataset.done
if ! setfattr -n user.test -v 1 set/a/1 2>/dev/null; then
  echo "NOTE: no setfattr or no extended attributes here: not tried"
fi

check() {  # the archive, and the flags it came with
  local archive=$1
  local dest=$archive.d
  shift
  json=$("$tool" --source="$archive" --dest="$dest" --format=jsonl "$@") ||
    fail "$archive was not staged"
  [[ $json == *'"ds_store":0,"apple_double":0,"macosx":0,"stage_files":0'* ]] ||
    fail "$archive holds litter: $json"
  [[ $json == *'"xattr_headers":0'* ]] || fail "$archive holds attributes"
  rm "$dest/.stage_dataset.done"
  diff -r --no-dereference expected "$dest" || fail "$archive lost something"
}

cp -a set expected
rm -r expected/.DS_Store expected/a/._1 expected/__MACOSX \
  expected/.stage_dataset.done

flags=$("$make" set one.tar)
read -r -a words <<<"$flags"
[[ ${#words[@]} -eq 2 ]] || fail "it said: $flags"
check one.tar "${words[@]}"

# The same folder gives the same bytes.
"$make" set two.tar >/dev/null
cmp one.tar two.tar || fail "not reproducible"

# Sorted: the order does not depend on readdir.
tar -tf one.tar >names
LC_ALL=C sort -c names || fail "names are not sorted"

# macOS has bsdtar.
if command -v bsdtar >/dev/null 2>&1; then
  mkdir bin
  ln -s "$(command -v bsdtar)" bin/tar
  flags=$(PATH=$PWD/bin:$PATH "$make" set bsd.tar)
  read -r -a words <<<"$flags"
  check bsd.tar "${words[@]}"
else
  echo "NOTE: bsdtar is not installed: macOS's tar not tried"
fi

if "$make" set one.tar 2>/dev/null; then fail "overwrote an archive"; fi
if "$make" nowhere x.tar 2>/dev/null; then fail "packed nothing"; fi
[[ "$("$make" --help)" == *OUTPUT* ]] || fail "--help"
echo PASS
