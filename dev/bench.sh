#!/bin/bash
# The comparisons whose numbers docs/ quotes, each a few commands of our own
# programs. Builds what it needs. Use an idle machine.
#
#   dev/bench.sh NAME [more flags of the program]
#
#   loaders    every loader, from files and from memory, over ours
#   index      our loader with and without an index of JPEG files
#   decode     decoders in the folder PYTHON's packages (whole images, the
#              protocol of arXiv 2605.08731) and libjpeg-turbo 3 over our decoder,
#              on THREADS (1); libjpeg-turbo's source is that of `make foreign`
#   large      a photograph of 12 megapixels on THREADS (2) threads, from an index
#   module     feedrate.Loader in Python beside the C++ loader
#   video      decoders and loaders of clips over ours
#   clips      feedrate.Clips beside torchcodec in a DataLoader
#   episodes   feedrate.Episodes beside tf.data as octo and OpenVLA read RLDS
#   mixture    tf.data over ours, with and without metadata, and the limit;
#              `mixture FOLDER` on files that tensorflow-datasets wrote
#   remote     bundles, connections and the cache, 20 ms added to each request
#   nginx      ranges of one object over `curl --parallel`
#   stage      stage_dataset over GNU tar, on tmpfs ($TMPFS) and disk ($DISK)
#   plan       plan over `python3 -c pass`
#   aggregate  aggregate over DuckDB and polars
#   micro      the harness of micro: its loop, its start, its share of a suite
#   duel       false alarms and power of duel on this machine
#   noise      false alarms and power of a stored baseline on this machine
#   replay     both, and other judges, on PULLS (1000) pull requests with the
#              noise that others have published; duels of up to PAIRS (30)
#   hook       a step of a training under the hook of audit over one without;
#              PYTHON (python3) needs torch; `hook steps=9 device=cuda` and other
#              words of tools/audit/bench_training.py
#   jobs       compare_baseline on JOBS (100000) jobs: processor time and memory
#
# Runs of one program alternate between its libraries; `duel` alternates
# commands. RUNS (20) is how often.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$REPO_ROOT"

[[ $# -gt 0 ]] || die "which bench? $(sed -n 's/^#   \([a-z]*\)  .*/\1/p' "$0" | paste -sd' ')"
what="$1"
shift
runs="${RUNS:-20}"
bin="$REPO_ROOT/bazel-bin"
work="$(mktemp -d "${TMPFS:-${TMPDIR:-/tmp}}/feedrate_bench.XXXXXX")"
trap 'rm -rf "$work"' EXIT

build() { dev/bazel.sh build --ui_event_filters=-info --show_result=0 "$@"; }
tool() { "$bin/tools/$1/$1" "${@:2}"; }
# speed_ups OWN FIELD...: a table of the rows on standard input.
speed_ups() {
  local own="$1" IFS=,
  shift
  tool aggregate --by="$*" --relative-to="$own" --any-work
}
# duels FLAG...: pairs of commands, as a Markdown table.
duels() {
  tool duel --pairs="$runs" --export="$work/table.md" --output="$work/rows.jsonl" "$@"
  cat "$work/table.md"
}
python_of() { echo "$(dev/python_env.sh "$1")/bin/python"; }

case "$what" in
  loaders)
    build //tools/pipeline //tools/aggregate //lib/adapters/native:worker_native
    for scope in decode_dataloader_augment memory_dataloader_augment; do
      tool pipeline --config=configs/loaders.textproto --skip_missing \
        --num_runs="$runs" --scope="$scope" \
        --sweep=persistent_workers=true "$@" | speed_ups native library
    done
    ;;
  index)
    build //tools/pipeline //tools/aggregate //lib/adapters/native:worker_native
    tool pipeline --config=configs/loaders.textproto --libraries=native \
      --num_runs="$runs" --scope=decode_dataloader_augment \
      --sweep="persistent_workers=true;jpeg_index=false,true" "$@" |
      tool aggregate --by=library,settings
    ;;
  decode)
    build //lib/media/jpeg:bench_decoders //lib/media:write_synthetic //tools/duel
    "$bin/lib/media/write_synthetic" --folder="$work/images" --n=200
    newest="$(compgen -G "$HOME/.cache/feedrate/foreign/pypi-simplejpeg-*/source/*/lib/libjpeg-turbo-*" | sort -V | tail -1)" ||
      die "no source of libjpeg-turbo; call make foreign first"
    cmake -G Ninja -S "$newest" -B "$work/turbo" -DCMAKE_BUILD_TYPE=Release \
      -DENABLE_STATIC=0 >/dev/null
    ninja -C "$work/turbo" turbojpeg >/dev/null
    how=(--time=rows --rerun=all "--metrics=time,cpu" --warmup=0)
    ways="$bin/lib/media/jpeg/bench_decoders --threads=${THREADS:-1}"
    duels "${how[@]}" --parameter=kind=whole,region \
      --a="$ways own {kind} $work/images" \
      --b="$ways $work/turbo/libturbojpeg.so {kind} $work/images" \
      --b="$ways turbo {kind} $work/images" \
      --b="$ways index {kind} $work/images" "$@"
    peers="${PYTHON:-python3} -B lib/media/jpeg/bench_peers.py"
    others=()
    for name in $($peers list); do
      others+=(--b="$peers $name $work/images --threads=${THREADS:-1}")
    done
    duels "${how[@]}" --a="$ways own whole $work/images" "${others[@]}" "$@"
    ;;
  large)
    build //lib/media/jpeg:bench_decoders //tools/duel
    ways="$bin/lib/media/jpeg/bench_decoders"
    duels --time=rows --rerun=all --metrics=time,cpu --warmup=0 \
      --a="$ways turbo whole 4000x3000" --b="$ways own whole 4000x3000" \
      --b="$ways index whole 4000x3000 --threads=${THREADS:-2}" "$@"
    ;;
  module)
    build //tools/pipeline //tools/aggregate //lib/adapters/native:worker_native
    PYTHONPATH="python:examples" tool pipeline \
      --subject=image_loaders:feedrate_subject --num_runs="$runs" \
      --sweep=persistent_workers=true "$@" | speed_ups native library
    ;;
  video)
    build //tools/video //tools/aggregate
    for container in avi mp4; do
      data="--dataset=synthetic:video,n=50,seed=1,container=$container"
      tool video --config=configs/native/video_decode.textproto "$data" \
        --num_runs="$runs" --sweep=clip_rule=uniform,consecutive \
        --skip_missing "$@" | speed_ups ffmpeg library settings
      tool video --config=configs/native/video_pipeline_cpu.textproto "$data" \
        --num_runs="$runs" --libraries=ffmpeg,torchvision --skip_missing |
        speed_ups ffmpeg library settings
    done
    ;;
  clips)
    build //lib/loader/python:feedrate_loader \
      //lib/loader/mixture:feedrate_frames //lib/media/video:write_videos
    "$(python_of configs/requirements/current/torch_video.lock)" -B \
      python/tests/clips_bench.py --rounds="$runs" "$@"
    ;;
  episodes)
    build //lib/loader/python:feedrate_loader \
      //lib/loader/mixture:feedrate_frames
    "$(python_of configs/requirements/current/tensorflow.lock)" -B \
      python/tests/episodes_bench.py --rounds="$runs" "$@"
    ;;
  mixture)
    build //tools/mixture //tools/aggregate //lib/adapters/native:worker_native
    data=()
    if [[ -d "${1:-}" ]]; then data=("--dataset=$1") && shift; fi
    tool mixture --config=configs/mixture/bench.textproto "${data[@]}" \
      --libraries=native,tfdata --num_runs="$runs" --batches=/dev/null \
      --sweep='metadata=none,full;steps=40;warmup=8' --quiet_wait=0 \
      --stable_within=0 --on_error=fail "$@" >"$work/rows.jsonl"
    speed_ups native library settings <"$work/rows.jsonl"
    for metric in of_limit rss_peak_bytes mixture.memory_bound_bytes; do
      tool aggregate --metric="$metric" --by=library,settings "$work/rows.jsonl"
    done
    ;;
  remote)
    build //tools/pipeline //tools/aggregate //lib/adapters/native:worker_native
    rows() {
      tool pipeline --config=configs/native/rgb_pipeline_cpu.textproto \
        --num_items=256 --batch_size=32 --num_runs="$runs" \
        --transforms=HorizontalFlip --noequivalence --noworker_efficiency \
        --noconnection_efficiency "$@" >>"$work/rows.jsonl"
    }
    if [[ -z "${ENDPOINT:-}" ]]; then
      mkdir "$work/far"
      build //lib/media:write_synthetic
      "$bin/lib/media/write_synthetic" --folder="$work/far/items" --n=256
      tool pipeline --make_shards="$work/far/shards" --dataset="$work/far/items"
      "$(python_of dev/locks/storage.lock)" -B lib/storage/testing/serve.py \
        faulty "$work/far" --delay_ms="${DELAY_MS:-20}" -- \
        env FAR="$work/far" "$0" remote "$@"
      exit
    fi
    store=(--anonymous "--endpoint=$ENDPOINT" "$@")
    rows --dataset=s3://public/items "${store[@]}" --sweep=connections=1,8,16
    rows --dataset=s3://public/shards "${store[@]}" --connections=8
    rows --dataset=s3://public/items "${store[@]}" --cache_dir="$work/cache"
    rows --dataset="$FAR/items"
    tool aggregate --by=dataset,storage.connections,storage.cache_hit_rate \
      "$work/rows.jsonl"
    ;;
  nginx)
    if [[ -z "${ENDPOINT:-}" ]]; then
      build //lib/storage:store_cat //tools/duel
      mkdir "$work/root"
      head -c 1G /dev/urandom >"$work/root/big.bin"
      "$(python_of dev/locks/storage.lock)" -B lib/storage/testing/serve.py \
        nginx "$work/root" -- "$0" nginx "$@"
      exit
    fi
    seq 0 8388608 1073741823 | awk -v url="$ENDPOINT/big.bin" '
      { printf "%surl = \"%s\"\nrange = \"%d-%d\"\noutput = \"/dev/null\"\nfail\n",
          NR > 1 ? "next\n" : "", url, $1, $1 + 8388607 }' >"$work/curl.config"
    duels --a="curl --parallel --parallel-immediate --parallel-max 8 \
      --no-progress-meter --config $work/curl.config" \
      --b="$bin/lib/storage/store_cat --stream --connections=8 \
      --range_bytes=8388608 $ENDPOINT/big.bin" "$@"
    ;;
  stage)
    build //tools/stage_dataset //tools/duel
    mkdir "$work/photos" "$work/empty"
    head -c 2000000000 /dev/urandom | split -a 5 -b 110K - "$work/photos/"
    tar -cf "$work/photos.tar" -C "$work" photos
    seq -f "$work/empty/%06.0f" 1000000 | xargs touch
    tar -cf "$work/empty.tar" -C "$work" empty
    rm -r "$work/photos" "$work/empty"
    stage="$bin/tools/stage_dataset/stage_dataset --source={tar} --dest={dest}"
    disk="$(mktemp -d "${DISK:-/tmp}/feedrate_bench.XXXXXX")"
    trap 'rm -rf "$work" "$disk"' EXIT
    for dest in "$work/out" "$disk/out"; do
      duels --parameter=tar="$work/photos.tar,$work/empty.tar" \
        --parameter=dest="$dest" --prepare="rm -rf $dest; mkdir $dest" \
        --a="tar -xf {tar} -C {dest}" --b="$stage --no-sync" \
        --b="$stage --no-sync --sha256=compute" "$@"
    done
    duels --prepare="rm -rf $disk/out; mkdir $disk/out" \
      --parameter=tar="$work/photos.tar" --parameter=dest="$disk/out" \
      --a="tar -xf {tar} -C {dest} && sync -f {dest}" --b="$stage" "$@"
    ;;
  plan)
    build //tools/plan //tools/duel
    configs="$(printf '%s,' configs/paper/*.textproto configs/native/*.textproto)"
    duels --parameter=config="${configs%,}" --a='/usr/bin/python3 -c pass' \
      --b="$bin/tools/plan/plan --config={config}" "$@"
    ;;
  aggregate)
    build //tools/aggregate //tools/duel
    python3 tools/aggregate/bench_peers.py rows "$work/rows.jsonl"
    peers="$(python_of dev/locks/bench_aggregate.lock) tools/aggregate/bench_peers.py"
    duels --time=rows --a="$peers aggregate $work/rows.jsonl" \
      --b="$peers duckdb $work/rows.jsonl" --b="$peers polars $work/rows.jsonl" "$@"
    ;;
  micro)
    build //tools/micro //tools/micro:loop_benchmark \
      //lib/adapters/opencv:worker_opencv
    "$bin/tools/micro/loop_benchmark"
    time tool micro --config=configs/demo.textproto --libraries=opencv \
      --transforms=Invert --num_items=20 --output="$work/first.jsonl"
    tool micro --config=configs/paper/gcp_c4_rgb_micro_cpu.textproto \
      --dataset=synthetic:rgb --num_items=20 --num_runs=1 --profile_harness \
      --output="$work/rows.jsonl" "$@"
    ;;
  duel)
    build //tools/duel //tools/compare_baseline //tools/duel/testing:row_program
    for command in "$bin/tools/duel/testing/row_program --work_us=2000 --names=one" \
      "sh -c 'i=0; while [ \$i -lt 60000 ]; do i=\$((i+1)); done'"; do
      tool compare_baseline --calibrate --command="$command" --duels="$runs" \
        --slowdowns=3,5 --baselines="$work" "$@"
    done
    ;;
  noise)
    build //tools/micro //tools/compare_baseline //lib/adapters/opencv:worker_opencv
    cd "$bin"
    TEST_TMPDIR="$work" REPEATS="${REPEATS:-200}" SLOW="${SLOW:-50}" JOBS=5 \
      RUNS=5 EXECUTIONS=7 "$REPO_ROOT/tools/compare_baseline/noise_test.sh"
    ;;
  replay)
    build //lib/gate/simulation:replay_pulls
    "$bin/lib/gate/simulation/replay_pulls" "${PULLS:-1000}" "${SEED:-1}" \
      "${PAIRS:-30}" "$work/series.jsonl" || [[ $? -eq 3 ]] || die "replay_pulls has failed"
    "$(python_of lib/gate/simulation/replay_peers.lock)" -B \
      lib/gate/simulation/replay_peers.py "$work/series.jsonl"
    ;;
  hook)
    build //tools/duel
    training="${PYTHON:-python3} -B tools/audit/bench_training.py $*"
    mkdir "$work/notes"
    export PYTHONPATH=python/feedrate/_audit
    duels --time=rows --rerun=all --metrics=time,cpu --warmup=0 \
      --a="$training" --b="env FEEDRATE_AUDIT=$work/notes $training"
    ;;
  jobs)
    build //tools/compare_baseline
    # A row per job; a tenth of each side is not on the other.
    rows_of() {
      seq "$2" "$(($2 + jobs - 1))" | awk -v side="$1" '{
        printf "{\"schema\":1,\"record\":\"row\",\"job_id\":\"%016x\",", $1
        printf "\"run_id\":\"%s\",\"mode\":\"micro\",\"library\":\"opencv\",", side
        printf "\"transform\":\"T%d\",\"num_items\":%d,", $1 % 50, $1
        printf "\"status\":\"ok\",\"throughput\":%d,", 1000 + $1 % 7
        printf "\"p50_s\":0.001,\"samples_s\":[0.001,0.0011,0.0009],"
        printf "\"machine_profile\":\"m\"}\n"
      }'
    }
    jobs="${JOBS:-100000}"
    rows_of old "$((jobs / 10))" >"$work/m.rows.jsonl"
    rows_of new 0 >"$work/rows.jsonl"
    python3 -c 'import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"exit {code}, {used.ru_utime + used.ru_stime:.2f} s,",
      f"{used.ru_maxrss / 1e6:.2f} GB")' \
      "$bin/tools/compare_baseline/compare_baseline" \
      --current="$work/rows.jsonl" --baselines="$work" \
      --output="$work/verdicts.jsonl" "$@" 2>/dev/null
    ;;
  *) die "no bench $what; call dev/bench.sh for the list" ;;
esac
