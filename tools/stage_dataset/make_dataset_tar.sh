#!/usr/bin/env bash
# Makes a tar for stage_dataset, on macOS and on Linux: sorted names, owner 0, no
# access and change times, no extended attributes, and none of the files that
# Finder leaves behind. The same folder gives the same bytes with GNU tar.
set -euo pipefail

usage() {
  cat <<'EOF'
make_dataset_tar.sh packs a folder for stage_dataset.

  make_dataset_tar.sh FOLDER OUTPUT.tar

Names in the archive are relative to FOLDER. OUTPUT.tar must not exist. At the
end it prints the flags that make stage_dataset check the archive.

Exit codes: 0 done, 1 a mistake on the command line, 2 failed.
EOF
}

fail() {
  echo "make_dataset_tar.sh: $2" >&2
  exit "$1"
}

if [[ ${1:-} == --help || ${1:-} == -h ]]; then
  usage
  exit 0
fi
[[ $# -eq 2 ]] || fail 1 "want FOLDER and OUTPUT.tar; see --help"
folder=$1
output=$2
[[ -d $folder ]] || fail 1 "$folder: not a folder"
[[ ! -e $output ]] || fail 1 "$output: is there already; remove it first"

# macOS's tar would add an ._ file for each file with extended attributes.
export COPYFILE_DISABLE=1
# Byte order sorting: the same on every machine.
export LC_ALL=C

# GNU tar and bsdtar have different flags for the same options. Use GNU tar if
# both are installed (Homebrew calls it gtar).
tar=tar
if command -v gtar >/dev/null 2>&1; then tar=gtar; fi
if "$tar" --version 2>/dev/null | grep -q 'GNU tar'; then
  options=(--format=pax --pax-option='delete=atime,delete=ctime' --no-xattrs
    --no-acls --no-selinux --owner=0 --group=0 --numeric-owner --no-recursion)
else
  options=(--format=pax --no-recursion --uid 0 --gid 0 --numeric-owner)
  for option in --no-xattrs --no-mac-metadata --no-acls --no-fflags; do
    if "$tar" "$option" --version >/dev/null 2>&1; then options+=("$option"); fi
  done
fi

temporary=$output.part
trap 'rm -f "$temporary"' EXIT

list() {
  (cd "$folder" && find . -mindepth 1 \
    \( -name .DS_Store -o -name '._*' -o -name __MACOSX -o -name .AppleDouble \
    -o -name '.stage_dataset.*' \) -prune -o -print0) | sort -z
}

list | "$tar" -cf "$temporary" "${options[@]}" -C "$folder" --null -T - ||
  fail 2 "$output: could not be made"
mv "$temporary" "$output"

if command -v sha256sum >/dev/null 2>&1; then
  sum=$(sha256sum <"$output")
else
  sum=$(shasum -a 256 <"$output")
fi
bytes=$(wc -c <"$output")
echo "--expected-bytes=${bytes//[[:space:]]/} --sha256=${sum%% *}"
