#!/bin/bash
# Compares `plan --simulate` with a small real campaign: jobs that wait for a
# fixed time, on a Slurm of four nodes on this machine, the median of five.
# First measures what a task costs besides its jobs, with campaigns of one task.
#
#   dev/studies/slurm_scale.sh    prints both; exit 1 if they differ by more than 15%
#
# Not a test, because it depends on the clock: run it on an idle machine, as
# root.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
# shellcheck source=dev/checks/slurm_cluster.sh
source "$REPO_ROOT/dev/checks/slurm_cluster.sh"
cd "$REPO_ROOT"
dev/setup.sh build slurm
dev/bazel.sh build --show_result=0 //tools/plan //tools/check_coverage

work="$(mktemp -d /run/feedrate_scale.XXXXXX)"
trap 'cluster_stop; rm -rf "$work"' EXIT

# Seconds of waiting for each estimated second of work.
scale=0.2
plan=bazel-bin/tools/plan/plan
flags=(--config=configs/demo.textproto --libraries=opencv --num_items=4
  --task_s=24)

# campaign_s FOLDER FLAG...: seconds from submitting to the last rows.
campaign_s() {
  "$plan" "${flags[@]}" "${@:2}" --emit=slurm --output="$1" 2>/dev/null
  cat >"$1/site.env" <<END
LOCAL="$work/local"
export FEEDRATE_BIN="$work/bin" WAIT_SCALE=$scale
END
  local started tasks
  tasks="$(find "$1/tasks" -name '*.jsonl' | wc -l)"
  started="$(date +%s.%N)"
  make -s -C "$1" submit 2>/dev/null
  until [[ "$(find "$1/rows" -name '*.jsonl' | wc -l)" -eq "$tasks" ]]; do
    sleep 0.05
  done
  echo "$(date +%s.%N) $started" | awk '{ print $1 - $2 }'
  rm -rf "$1"
  # Until the nodes are free again.
  while [[ -n "$(squeue --noheader)" ]]; do sleep 0.1; done
}

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# estimate FLAG...: estimated seconds of all jobs.
estimate() {
  "$plan" "${flags[@]}" "$@" |
    sed -n 's/.*"cost_s":\([0-9.]*\).*/\1/p' | awk '{ s += $1 } END { print s }'
}

mkdir "$work/bin"
cp testdata/campaign/waiting_runner.py "$work/bin/micro"
cluster_start "$work/slurm" 4

one=(--transforms=Rotate)
setup_s="$(for _ in 1 2 3 4 5; do campaign_s "$work/one" "${one[@]}"; done |
  median | awk -v work="$(estimate "${one[@]}")" -v scale="$scale" \
    '{ print $1 - work * scale }')"
say "a task costs $setup_s s besides its jobs"

many=("--sweep=seed=0,1,2,3,4,5,6,7,8,9,10,11")
cat >"$work/quota.textproto" <<END
name: "four nodes"
setup_s: $(awk "BEGIN { print $setup_s / $scale }")
machine_types { name: "node" family: "node" vcpus: 2 price_per_hour: 1 }
limits { resource: "machines" amount: 4 }
END
"$plan" "${flags[@]}" "${many[@]}" --emit=slurm \
  --simulate="$work/quota.textproto" >"$work/simulated"
cat "$work/simulated"
simulated_s="$(sed -n 's/^makespan *//p' "$work/simulated" |
  awk -F'[: ]' -v scale="$scale" \
    '{ s = 0; n = ($2 == "s") ? 1 : NF
       for (i = 1; i <= n; i++) s = s * 60 + $i; print s * scale }')"
runs="$(for _ in 1 2 3 4 5; do campaign_s "$work/many" "${many[@]}"; done)"
real_s="$(median <<<"$runs")"
say "simulated $simulated_s s; really $real_s s, the median of" \
  "$(sort -n <<<"$runs" | paste -sd' ')"
awk -v a="$simulated_s" -v b="$real_s" \
  'BEGIN { r = a / b; printf "simulated over real: %.3f\n", r
           exit !(r > 0.85 && r < 1.15) }'
