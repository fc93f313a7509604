#!/usr/bin/env bash
# The binary is static, and runs in a root with only itself and the tar.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin # For chroot and mount.

tool=tools/stage_dataset/stage_dataset
case ${1:-} in
  sanitized)
    echo "SKIPPED: built with -c dbg, as for the sanitizers: not static"
    exit 0
    ;;
esac

said=$(ldd "$tool" 2>&1 || true)
if [[ $said != *"not a dynamic executable"* ]]; then
  echo "FAIL: ldd $tool: $said" >&2
  exit 1
fi

if [[ $EUID -ne 0 ]]; then
  echo "SKIPPED: chroot needs root; the binary is static all the same"
  exit 0
fi

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir "$root/src"
echo hello >"$root/src/a"
tar -cf "$root/val.tar" -C "$root" src
rm -r "$root/src"
cp "$tool" "$root/stage_dataset"

run() { chroot "$root" /stage_dataset --source=/val.tar --dest=/data "$@"; }
run --sha256=compute
[[ $(cat "$root/data/src/a") == hello ]]
[[ -f $root/data/.stage_dataset.done ]]
again=$(run 2>&1)
if [[ $again != *"already staged"* ]]; then
  echo "FAIL: the second run said: $again" >&2
  exit 1
fi
# If a program is needed, the error names it.
gzip "$root/val.tar"
mv "$root/val.tar.gz" "$root/val.tar"
if missing=$(run --force 2>&1); then
  echo "FAIL: unpacked gzip without gzip" >&2
  exit 1
fi
[[ $missing == *"gzip is needed"* ]]
echo PASS
