#!/bin/bash
# Runs the commands of docs/scale.md, "Three campaigns on Slurm", as they are
# printed: from a bundle, on a real Slurm of four nodes that is started and
# stopped here. A training takes two nodes, a mixture 2, 3 and 5 CPUs, and a node
# dies in the middle of a table of the paper: every row arrives, and once. Needs
# root, Slurm as dev/checks/slurm_test.sh does, and libtorch.
#
#   dev/checks/slurm_page_test.sh
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
dev/setup.sh build dev slurm
GROUPS_WANTED="pillow albumentationsx" dev/envs.sh >/dev/null

work="$(mktemp -d /run/feedrate_slurm.XXXXXX)"
# Large files are not for /run, which is in memory.
out="$(mktemp -d)"
trap 'cluster_stop; rm -rf "$work" "$out"' EXIT

fail() {
  say "slurm_page_test: $*"
  tail -n 5 "$out"/*/logs/*.log >&2 || true
  exit 1
}

# block NUMBER: a fenced block of the section.
block() {
  awk -v wanted="$1" '/^## / { here = /^## Three campaigns on Slurm/ }
    here && /^```sh$/ { inside = 1; count++; next }
    /^```$/ { inside = 0 }
    inside && count == wanted' docs/scale.md
}
# run_block NUMBER: in the bundle, as the first block leaves it.
run_block() {
  {
    block 1 | sed 1d
    block "$1"
  } >"$work/commands"
  [[ "$(wc -l <"$work/commands")" -gt 2 ]] || fail "docs/scale.md has no block $1"
  say "block $1 of docs/scale.md"
  timeout 1200 bash -euo pipefail "$work/commands" || fail "block $1 failed"
}
# expect_once CAMPAIGN COUNT
expect_once() {
  local count
  count="$(testdata/campaign/exactly_once.py "$out/$1/jobs.jsonl" \
    "$out/$1/rows")" || fail "$1: rows are wrong"
  [[ "$count" == "$2" ]] || fail "$1: $count runs, not $2"
}
# of_rows CAMPAIGN PYTHON: an expression over `rows`.
of_rows() {
  python3 - "$out/$1/rows.jsonl" "$2" <<'END'
import json, sys
rows = [r for r in map(json.loads, open(sys.argv[1])) if r["record"] == "row"]
rows = [r for r in rows if r["library"] != "null"]
print(eval(sys.argv[2]))
END
}
# of_job CAMPAIGN FIELD: what Slurm gave to the first row's job.
of_job() {
  scontrol show job "$(of_rows "$1" 'rows[0]["slurm_job_id"]')" |
    sed -n "s/.*\b$2=\([0-9]*\).*/\1/p"
}

bundle="$(BUNDLE_LIMIT_BYTES=200000000 BUNDLE_DIST="$out/dist" dev/bundle.sh \
  plan micro mixture train check_coverage aggregate)"
mkdir -p "$work"/local/n{1..4} "$out/here"
cluster_start "$work/slurm" 4 5 || fail "Slurm did not start"
say "Slurm $(sinfo --version | cut -d' ' -f2) with 4 nodes of 5 CPUs is up"
export bundle out OMP_NUM_THREADS=1
# What an administrator knows of this site is in site.env before `make submit`.
mkdir "$work/bin"
cat >"$work/bin/make" <<END
#!/bin/bash
if [[ "\$4" == submit ]]; then cat "$work/site.env" >>"\$3/site.env"; fi
exec "$(command -v make)" "\$@"
END
chmod +x "$work/bin/make"
export PATH="$work/bin:$PATH"
printf '%s\n' "LOCAL=\"$work/local/\${SLURMD_NODENAME:-}\"" POLL_S=1 \
  CHECKPOINT_S=1 >"$work/site.env"
bash -euo pipefail <(block 1) || fail "the bundle does not unpack"

run_block 2
expect_once two_nodes 2
[[ "$(of_job two_nodes NumNodes)" == 2 ]] ||
  fail "the training had $(of_job two_nodes NumNodes) nodes"
"$(echo "$out"/feedrate-*/bin/train)" --jobs="$out/two_nodes/jobs.jsonl" \
  --output="$out/here/rows.jsonl" 2>"$work/here.err" ||
  fail "train: $(tail -n 3 "$work/here.err")"
losses='[["%.5f" % one for one in r["train"]["losses"]] for r in rows]'
[[ "$(of_rows two_nodes "$losses")" == "$(of_rows here "$losses")" ]] ||
  fail "losses are $(of_rows two_nodes "$losses"), not $(of_rows here "$losses")"
[[ "$(of_rows two_nodes \
  'sum("scaling_efficiency" in r["train"] for r in rows)')" == 1 ]] ||
  fail "no scaling efficiency"
say "two nodes have the losses of one: $(of_rows two_nodes "$losses")"

run_block 3
for cpus in 1 2 4; do
  expect_once "cpus_$cpus" 2
  had="$(of_job "cpus_$cpus" NumCPUs)"
  [[ "$had" == "$((cpus + 1))" ]] || fail "$cpus threads had $had CPUs"
  say "$cpus decoding threads in $had CPUs, samples/s:" \
    "$(of_rows "cpus_$cpus" '[round(r["mixture"]["samples_per_s"]) for r in rows]')"
done

# Tasks on n1 do not end before it has lost its power, however fast the machine.
cat >"$work/container" <<END
#!/bin/bash
status=0
"\$@" || status=\$?
while [[ -e "$work/hold.\$SLURMD_NODENAME" ]]; do sleep 0.1; done
exit "\$status"
END
chmod +x "$work/container"
touch "$work/hold.n1"
echo "CONTAINER=(\"$work/container\")" >>"$work/site.env"
run_block 4
deadline=$((SECONDS + 600))
until grep -rqs '"record":"row"' "$work/local/n1"; do
  [[ "$SECONDS" -lt "$deadline" ]] || fail "no row on n1 in ten minutes"
  sleep 0.2
done
say "n1 loses its power in the middle of a task"
kill_node n1
rm "$work/hold.n1"
start_node n1
run_block 5
expect_once paper 16
restarts="$(scontrol show jobs | grep -c 'Restarts=[1-9]' || true)"
[[ "$restarts" -gt 0 ]] || fail "Slurm never queued a task again"
say "16 runs of the paper's table, each once; $restarts task queued again"
