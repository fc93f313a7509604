#!/bin/bash
# Executes the steps of .github/workflows/release.yml in a clone, as GitHub would,
# and looks at the files of the release: checksums, notes, a wheel, a tarball and a
# package per processor. Programs of the other processor run in QEMU, each of the
# four workers with its runner, and the package of this one is installed on a bare
# Debian. Needs root, as the workflow's container has.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
# shellcheck source=dev/checks/bare_root.sh
source "$REPO_ROOT/dev/checks/bare_root.sh"
# shellcheck source=tools/testing/checks.sh
source "$REPO_ROOT/tools/testing/checks.sh"
cd "$REPO_ROOT"

if [[ "$(id -u)" -ne 0 || -z "$mounts" ]]; then
  echo "needs root and mounts of its own, for a bare Debian"
  exit 77
fi
dev/setup.sh full
work="$(mktemp -d)"
# What Bazel has built for the clone is outside of it, and its servers wait for
# hours.
clean_up() {
  if [[ -d "$work/clone" ]]; then
    "$work/clone/dev/bazel.sh" clean --expunge >/dev/null 2>&1 || true
    "$work/clone/dev/cross.sh" clean --expunge >/dev/null 2>&1 || true
  fi
  rm -rf "$work"
}
trap clean_up EXIT
env="$(dev/python_env.sh dev/locks/gate_schemas.lock)"
workflow=.github/workflows/release.yml
"$env/bin/check-jsonschema" --builtin-schema vendor.github-workflows "$workflow" ||
  fail "$workflow is not a workflow"

# The commit, and what is not committed yet.
git clone --quiet . "$work/clone"
repo_files . | tar -cf - -T - | tar -C "$work/clone" -xf -

# A file per step, in their order.
"$env/bin/python" - "$workflow" "$work/steps" <<'END'
import pathlib
import sys

from ruamel.yaml import YAML

workflow = YAML(typ="safe").load(pathlib.Path(sys.argv[1]))
folder = pathlib.Path(sys.argv[2])
folder.mkdir()
for i, step in enumerate(workflow["jobs"]["release"]["steps"]):
    if "run" in step:
        (folder / f"{i:02} {step['name']}").write_text(step["run"])
END

version="$(sed -n 's/^__version__ = "\(.*\)"/\1/p' python/feedrate/__init__.py)"
# step FILE TAG: as GitHub runs it in a container, with its own user's settings.
step() {
  (cd "$work/clone" && GIT_CONFIG_GLOBAL="$work/gitconfig" GITHUB_REF_NAME="$2" \
    sh -e "$1" >"$work/log" 2>&1)
}
for file in "$work"/steps/*; do
  step "$file" "v$version" || fail "$(basename "$file"): $(tail -n 5 "$work/log")"
done
if step "$work"/steps/*" Compare the tag with the version" v9.9.9; then
  fail "the tag v9.9.9 passes for $version"
fi

release="$work/clone/dist/release"
expected="NOTES.md SHA256SUMS"
for arch in aarch64 x86_64; do
  expected+=" feedrate-$version-linux-$arch.tar.gz"
done
for arch in aarch64 x86_64; do
  expected+=" feedrate-$version-py3-none-manylinux_2_34_$arch.whl"
done
expected+=" feedrate_${version}_amd64.deb feedrate_${version}_arm64.deb"
expect_eq files "$(cd "$release" && LC_ALL=C && echo *)" "$expected"
grep -q '^### ' "$release/NOTES.md" || fail "the notes have no headings"
grep -q '^## ' "$release/NOTES.md" && fail "the notes have more than one section"

"$FEEDRATE_PYTHON" -m zipfile -e "$release"/*"_$CROSS_ARCH.whl" "$work/other"
bundle="$work/other/feedrate/bundle"
# As pip leaves them; zipfile does not, and QEMU runs nothing else.
chmod -R u+x "$bundle/bin" "$bundle/libexec"
emulate=("qemu-$CROSS_ARCH-static" -L "$(dev/sysroot.sh)")
# A program in QEMU starts others without it, so files that start one of
# tools/programs become scripts.
path="$bundle/libexec/light_programs"
mv "$path" "$path.real"
printf '#!/bin/sh\necho "%s"\n' "\$0" >"$path"
chmod +x "$path"
expect_eq "bin/plan starts" "$("${emulate[@]}" "$bundle/bin/plan")" \
  "$bundle/bin/../libexec/light_programs"
mv "$path.real" "$path"
for path in "$bundle"/bin/* "$bundle"/libexec/worker_*; do
  if ! head -c 4 "$path" | grep -q ELF; then continue; fi
  # What it starts; others are whole programs.
  next="$(LC_ALL=C sed -n 's/.*\(libexec\/[a-z]*_[a-z]*s\);.*/\1/p; /libexec/q' "$path")"
  if [[ -z "$next" ]]; then
    next="libexec/${path##*/}.real"
    mv "$path" "$bundle/$next"
  fi
  printf '#!/bin/sh\nexec %s "$@"\n' "${emulate[*]} -0 $path $bundle/$next" >"$path"
  chmod +x "$path"
done
for name in $(./feedrate list); do
  expect_eq "$name in QEMU" "$("$bundle/bin/$name" --version 2>&1)" "$name $version"
done
# measured LIBRARY PROGRAM FLAGS: it makes a row. In QEMU, speed may end it early.
measured() {
  local library="$1" program="$2" rows
  shift 2
  rows="$(XDG_CACHE_HOME="$work/cache" "$bundle/bin/$program" \
    "--libraries=$library" --num_runs=1 --format=jsonl "$@" \
    2>"$work/log")" || true
  [[ "$rows" =~ \"library\":\"$library\".*\"status\":\"(ok|early_stopped)\" ]] ||
    fail "$program of $library in QEMU: $rows $(tail -n 3 "$work/log")"
}
measured opencv micro "--config=$bundle/configs/demo.textproto" \
  --transforms=HorizontalFlip --num_items=4
measured native pipeline "--config=$bundle/configs/demo_pipeline.textproto" \
  --transforms=HorizontalFlip --num_items=16 --batch_size=8
measured ffmpeg video --num_items=1 --dataset=synthetic:video,n=1,container=mp4 \
  "--config=$bundle/configs/native/video_decode.textproto"

bare_debian "$work/debian"
cp "$release/feedrate_${version}_$(dpkg --print-architecture).deb" \
  "$work/debian/srv/feedrate.deb"
in_root "$work/debian" sh -c 'dpkg -i /srv/feedrate.deb && feedrate doctor' \
  >"$work/log" 2>&1 || fail "the package: $(tail -n 5 "$work/log")"
grep -q '^worker ffmpeg  *ok' "$work/log" || fail "doctor: $(cat "$work/log")"
finish
