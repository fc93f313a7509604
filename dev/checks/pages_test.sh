#!/bin/bash
# Runs the commands of all pages as they are printed (dev/run_pages.py): those that
# take seconds; with --full also those that take minutes, and those that need libtorch
# or the paper's environments where these are here. Files that pages speak of
# (rows.jsonl, ./old, /data/images) are made here.
#
#   dev/checks/pages_test.sh docs/micro.md     one page
#   WITH=gpu dev/checks/pages_test.sh          also blocks that need a GPU
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
cd "$REPO_ROOT"

with="${WITH:-}"
path=
if [[ "${1:-}" == --full ]]; then
  with+=,minutes
  if third_party/torch/find_torch.sh >/dev/null 2>&1; then with+=,torch; fi
  if dev/python_env.sh --made configs/requirements/paper/torch_stack.lock \
    >/dev/null; then
    with+=,envs
    # Code of one's own imports numpy, torch and OpenCV.
    path="$(dev/python_env.sh configs/requirements/paper/torch_video.lock)/bin:"
  fi
  shift
fi

targets=(//lib/adapters/opencv:worker_opencv //lib/adapters/null:worker_null
  //lib/adapters/native:worker_native //lib/media:write_synthetic)
for main in tools/*/main.cc; do targets+=("//$(dirname "$main")"); done
dev/bazel.sh build --show_result=0 "${targets[@]}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fixtures="$work/fixtures"
mkdir -p "$work/bin" "$fixtures"/{data,results,output,tmp}
for main in tools/*/main.cc; do
  program="$(basename "$(dirname "$main")")"
  ln -s "$REPO_ROOT/bazel-bin/tools/$program/$program" "$work/bin/$program"
done
ln -s "$REPO_ROOT/feedrate" "$work/bin/feedrate"
# make and bazel work in this checkout, from the folder of any page.
cat >"$work/prelude.sh" <<END
export PATH="$work/bin:$path\$PATH" FEEDRATE_WORKERS="$REPO_ROOT:$REPO_ROOT/bazel-bin"
eval() { "$work/bin/eval" "\$@"; }
bazel() { "$REPO_ROOT/dev/bazel.sh" "\$@"; }
make() {
  if [[ " \$* " == *" -C "* ]]; then command make "\$@"; else
    command make -C "$REPO_ROOT" "\$@"
  fi
}
END
# shellcheck source=/dev/null
source "$work/prelude.sh"

cd "$fixtures"
ln -s "$REPO_ROOT"/{configs,dev,examples,lib,python,testdata} .
cp "$REPO_ROOT"/examples/my_*.py .
# Images: in three classes, as an archive, and in the places that pages name.
"$REPO_ROOT/bazel-bin/lib/media/write_synthetic" --folder="$PWD/data/images" --n=24 \
  >/dev/null 2>&1
mkdir -p data/{train,val}/{a,b,c} data/imagenet nfs mnt/{nvme,nfs}
for class in a b c; do
  cp data/images/*[0-4].jpg "data/train/$class"
  cp data/images/*5.jpg "data/val/$class"
done
"$REPO_ROOT/bazel-bin/lib/media/write_synthetic" --folder="$PWD/data/imagenet/val" \
  --n=64 >/dev/null 2>&1
cp -r data/images nfs/imagenet
cp -r data/train mnt/nvme/a
cp -r data/train mnt/nfs/b
tar -cf val.tar -C data/images .
# Commands: two versions of a program, and benchmarks of two harnesses.
printf '#!/bin/sh\nsleep 0.01\n' | tee old >new
printf '#!/bin/sh\nsort "$@"\n' >mine
imports="$REPO_ROOT/lib/imports/testdata"
printf '#!/bin/sh\ncat %q\n' "$imports/google_benchmark.json" >my_benchmark
chmod +x old new mine my_benchmark
mkdir -p base/bin head/bin target nightly oxe/bridge oxe/droid machine
cp my_benchmark base/bench
ln -s "$REPO_ROOT/bazel-bin/tools/micro/micro" base/bin/micro
ln -s "$REPO_ROOT/bazel-bin/tools/micro/micro" head/bin/micro
for file in old new results; do cp "$imports/google_benchmark.json" "$file.json"; done
cp "$imports/go.txt" .
cp -r "$imports/criterion" target/criterion
for day in 1 2 3 4 5; do cp "$imports/google_benchmark.json" "nightly/$day.json"; done
echo 'OXE_MAGIC_SOUP = [("bridge", 2.5), ("droid", 1.0)]' >mixes.py
cp -r /proc/cpuinfo machine 2>/dev/null || true
# A small suite, its jobs and its rows.
cat >suite.textproto <<'END'
version: 1
selection {
  scenario: "image-rgb" mode: "micro" libraries: "opencv"
  transforms: [ "HorizontalFlip", "Invert" ]
}
data { num_items: 8 }
execution { num_runs: 6 device: "cpu" }
END
micro --config=suite.textproto --quiet_wait=0 --min_time=0.01 --output=rows.jsonl \
  2>micro.log || { cat micro.log && exit 1; }
plan --config=suite.textproto >jobs.jsonl
cp rows.jsonl results
cp rows.jsonl output
sed '$d' rows.jsonl >broken.jsonl
compare_baseline --update-baseline --current=rows.jsonl --baselines=baselines \
  --i-am-a-maintainer=test >/dev/null

cd "$REPO_ROOT"
python3 -B dev/run_pages.py --fixtures="$fixtures" --with="$with" "$@"
