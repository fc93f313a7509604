#!/bin/bash
# A small study of mixtures: what metadata, processors, read parallelism, block
# length, queue depth and samples per episode cost, with intervals. Settings run
# alternately. Takeaways go to standard output; OUT (study_mixture) gets rows,
# batches, figures, mixture_summary.txt and the trainings of the best three
# settings.
#
#   dev/studies/study_mixture.sh                   at most about 30 minutes
#   STEPS=1200 ROUNDS=10 MINUTES=0 dev/studies/study_mixture.sh metadata
#                                                  to decide by, without a limit
#
# tf.data's part needs its environment (make envs GROUPS=tensorflow), training
# needs libtorch (make torch). A part that lacks one is skipped with a warning.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
cd "$REPO_ROOT"

out="${OUT:-study_mixture}"
# Fewer than 160 steps are labeled indicative; six rounds are the fewest that
# have an interval of 95%.
steps="${STEPS:-20}"
rounds="${ROUNDS:-6}"
# For all, after building; 0 is not a limit. Trainings get a third.
minutes="${MINUTES:-30}"
[[ "$minutes" =~ ^[0-9]{1,4}$ ]] || die "MINUTES=$minutes is not a number from 0 to 9999"
# A third of the public study's data sets, so that a small study stays small, and
# the small model that is trained has a class for each; frames enough for ten pairs
# of every episode.
dataset="${DATASET:-synthetic:episodes,datasets=10,episodes=8,frames=60,seed=1}"
model="${MODEL:-vit5_tiny}"
folder="$out/episodes"
studies=("$@")
if [[ ${#studies[@]} -eq 0 ]]; then
  studies=(metadata read_parallelism mix_block queue_depth samples_per_episode
    cpus)
  if dev/python_env.sh --made configs/requirements/paper/tensorflow.lock \
    >/dev/null; then
    studies+=(metadata_tfdata)
  else
    say "no environment of TensorFlow, so tf.data is left out; make it with:" \
      "make envs GROUPS=tensorflow"
  fi
fi

targets=(//tools/mixture //tools/plan //tools/report
  //lib/loader/mixture:write_episodes //lib/adapters/native:worker_native)
trains=""
if third_party/torch/find_torch.sh >/dev/null 2>&1; then
  trains=1
  targets+=(//tools/train //lib/model/worker:worker_train)
else
  say "no libtorch, so nothing is trained; fetch it with: make torch"
fi
dev/setup.sh build
dev/bazel.sh build --ui_event_filters=-info --show_result=0 "${targets[@]}"

for_studies="$minutes"
if [[ -n "$trains" ]]; then for_studies="$(((2 * minutes + 2) / 3))"; fi
limit=""
if ((minutes > 0)); then limit=", in about $minutes minutes at most"; fi
say "${#studies[@]} studies of $rounds rounds, $steps steps each$limit"

mkdir -p "$out"
# One folder for the study and for the training.
if [[ "$dataset" == synthetic:* ]]; then
  bazel-bin/lib/loader/mixture/write_episodes "--folder=$folder" \
    "--dataset=$dataset"
else
  folder="$dataset"
fi
# 3: some settings failed, and were told; the others are worth their figures.
code=0
tools/mixture/study.py "--output=$out" "--steps=$steps" "--rounds=$rounds" \
  "--minutes=$for_studies" "--dataset=$folder" "${studies[@]}" || code=$?
[[ "$code" == 0 || "$code" == 3 ]] || exit "$code"

rows=()
for study in "${studies[@]}"; do
  if [[ -s "$out/$study.jsonl" ]]; then rows+=("$out/$study.jsonl"); fi
done
[[ ${#rows[@]} -gt 0 ]] || die "no study has rows; give it more MINUTES"
bazel-bin/tools/report/report "${rows[@]}" "--svg=$out" \
  "--output=$out/report.html" --title="Study of mixtures"
say "figures and mixture_summary.txt are in $out"

if [[ -n "$trains" && ! -s "$out/best.jsonl" ]]; then
  say "no setting of the native loader on all processors among these studies:" \
    "nothing is trained"
elif [[ -n "$trains" ]]; then
  echo
  echo "the best settings, feeding a training:"
  tools/mixture/train_best.py "--dataset=$folder" "--model=$model" \
    "--output=$out/train.jsonl" "--rounds=$rounds" \
    "--minutes=$((minutes > 0 ? minutes / 3 + 1 : 0))" "$out/best.jsonl"
fi
exit "$code"
