#!/bin/bash
# `train` on two nodes of a real Slurm, which is started and stopped here: srun
# starts both, they find each other by Slurm's variables, one writes the rows;
# the losses are those of two processes on one machine. A node that dies is a
# row. Needs root, Slurm as dev/checks/slurm_test.sh does, and libtorch.
#
#   dev/checks/slurm_train_test.sh
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
# shellcheck source=dev/checks/slurm_cluster.sh
source "$REPO_ROOT/dev/checks/slurm_cluster.sh"
cd "$REPO_ROOT"

if ! third_party/torch/find_torch.sh >/dev/null 2>&1; then
  echo 'no libtorch; fetch it with: make torch'
  exit 77
fi
dev/setup.sh build slurm
dev/bazel.sh build --show_result=0 //tools/train \
  //lib/model/worker:worker_train

work="$(mktemp -d /run/feedrate_slurm.XXXXXX)"
trap 'cluster_stop; rm -rf "$work"' EXIT

fail() {
  say "slurm_train_test: $*"
  tail -n 20 "$work"/*.err >&2 || true
  exit 1
}

export OMP_NUM_THREADS=1
train=(bazel-bin/tools/train/train --model=vit5_tiny --batch-size=4
  --warmup-steps=2 --threads=1)
both=(srun --nodes=2 --ntasks=2 --time=5)

# count STATUS FILE: rows that have it.
count() { grep -c "\"record\":\"row\".*\"status\":\"$1\"" "$2" || true; }
# losses FILE: of the last row.
losses() {
  python3 - "$1" <<'END'
import json, sys
rows = [r for r in map(json.loads, open(sys.argv[1])) if r["record"] == "row"]
print(*(f"{loss:.5f}" for loss in rows[-1]["train"]["losses"]))
END
}

cluster_start "$work/slurm" 2 || fail "Slurm did not start"
say "Slurm $(sinfo --version | cut -d' ' -f2) with 2 nodes is up"

"${both[@]}" "${train[@]}" --measured-steps=4 --world-size=-1 \
  --output="$work/nodes.jsonl" 2>"$work/nodes.err" || fail "srun train failed"
[[ "$(count ok "$work/nodes.jsonl")" == 2 ]] ||
  fail "not a row for one process and one for both"
grep -q '"scaling_efficiency":' "$work/nodes.jsonl" ||
  fail "no scaling efficiency"
"${train[@]}" --measured-steps=4 --world-size=2 --output="$work/here.jsonl" \
  2>"$work/here.err" || fail "train failed"
[[ "$(losses "$work/nodes.jsonl")" == "$(losses "$work/here.jsonl")" ]] ||
  fail "losses differ: $(losses "$work/nodes.jsonl"), alone" \
    "$(losses "$work/here.jsonl")"
say "two nodes have the losses of two processes: $(losses "$work/here.jsonl")"

# Without a word that would be two trainings that write the same rows.
"${both[@]}" "${train[@]}" --output="$work/none.jsonl" 2>"$work/none.err" &&
  fail "srun of two tasks without --world-size went through"
grep -q 'say --world-size=-1' "$work/none.err" || fail "no remedy was named"

# The second rank dies in the middle: before its fifth step, whenever that is.
mkdir "$work/workers"
cat >"$work/workers/worker_train" <<END
#!/bin/bash
worker="$REPO_ROOT/bazel-bin/lib/model/worker/worker_train"
case " \$* " in *" rank=1 "*) ;; *) exec "\$worker" "\$@" ;; esac
"\$worker" "\$@" die_at_step=4
date +%s >"$work/died"
kill -KILL \$\$
END
chmod +x "$work/workers/worker_train"
FEEDRATE_WORKERS="$work/workers" "${both[@]}" "${train[@]}" \
  --measured-steps=8 --world-size=2 --output="$work/dead.jsonl" \
  2>"$work/dead.err" || fail "a dead rank ended the run and not the row"
[[ -s "$work/died" ]] || fail "the second rank did not die"
took=$(($(date +%s) - $(cat "$work/died")))
# As docs/train.md promises.
[[ "$took" -le 10 ]] || fail "the others ended $took s later"
[[ "$(count ok "$work/dead.jsonl")" == 1 ]] || fail "a dead rank is ok"
[[ "$(grep -c '"record":"row"' "$work/dead.jsonl")" == 2 ]] ||
  fail "no row for a dead rank"
say "a dead rank is a row after $took s:" \
  "$(grep -o '"reason":"[^"]*"' "$work/dead.jsonl" | tail -n 1)"
