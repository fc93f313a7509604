#!/bin/bash
# Runs all GPU tests and benches from the folder that dev/gpu_bundle.sh made:
# checks and times kernels, runs sanitizers, measures rows of micro and pipeline, and
# prints tables. Exit: 0 all passed, 3 a check failed.
#
#   ./gpu_check.sh [PART...]
#
# Parts: tests, bench, sanitizer, micro, torch, oom, loader_test, module,
# loader_sanitizer, pipeline, copy, training, video, nvdec, clips, nvdec_sanitizer;
# all of these if none is named. Eleven more run only if they are named: `clip_loaders`
# (feedrate.Clips beside torchcodec and PyNvVideoCodec, RUNS rounds), `blur`
# (kernels that exist twice), `ways` (trainings), `files` (training from
# files), `codecs` (the files in the folder VIDEOS, by default videos/, by NVDEC,
# PyNvVideoCodec and torchcodec), `paper`, `compiled` (Kornia of env_set current as it is and under
# torch.compile), `cvcuda` and `dali` (rows of CV-CUDA and DALI); the last three
# need wheels in WHEELS, by default wheels/; `dali` runs each loader RUNS times (2),
# alternately, and prints the ratio with its interval; `duels` has known answers; `index` times
# the loader with an index of JPEGs and without, RUNS rounds (26); `train` runs ours and
# PyTorch's ways. `paper` runs each config prod_g2_* with PAPER_ITEMS (256) for at most PAPER_S seconds
# in all (480), carries on with its own rows when it is started again, and
# prints tables for docs/; PAPER names the configs (rgb_micro, ...) and
# PAPER_TRANSFORMS some of their transforms (also for `compiled`). The loader's parts take less than 30 s each with IMAGES=1024. ITEMS, IMAGES, EVERY
# (libraries that run every transform), SOME (transforms in batches), TORCH
# (transforms of ATen), OOM (libraries), L2, DATASET (for pipeline, copy,
# training and dali), CLIPS, CLIP_TRANSFORMS, LIMIT (seconds per command) and
# PYTHON change what runs. Rows are kept in rows/.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 2
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
python="${PYTHON:-python3}"
items="${ITEMS:-128}"
images="${IMAGES:-4096}"
dataset="${DATASET:-synthetic:rgb}"
every="${EVERY:-cuda,torch,torchvision,kornia}"
some="${SOME:-HorizontalFlip,ColorJitter,Rotate,GaussianBlur,Posterize,Equalize}"
clips="${CLIPS:-16}"
clip_transforms="${CLIP_TRANSFORMS:-HorizontalFlip,ColorJitter}"
wheels="${WHEELS:-wheels}"
failed=0

title() { printf '\n== %s\n' "$*"; }
# check NAME COMMAND...: runs it and remembers whether it failed.
check() {
  local name="$1" code
  shift
  "$@"
  code=$?
  if ((code != 0)); then
    echo "FAILED: $name (exit $code)"
    failed=$((failed + 1))
  fi
}

# A torch for workers and tests, and an environment that runners find.
prepare() {
  local torch lock hash env
  mkdir -p rows
  torch="$("$python" -c 'import os, torch
print(os.path.join(os.path.dirname(torch.__file__), "lib"))')" || return 1
  ln -sfn "$torch" lib/torch
  export TORCH_ROOT="${torch%/lib}"
  # The CUDA libraries that torch itself loads lie beside it.
  ln -sfn "$torch/../../nvidia/cu13/lib" lib/cu13
  export LD_LIBRARY_PATH="$PWD/lib/cu13${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  export XDG_CACHE_HOME="$PWD/cache"
  lock=configs/requirements/paper/torch_stack.lock
  hash="$(sha256sum "$lock" | cut -c1-16)"
  env="$XDG_CACHE_HOME/feedrate/venvs/torch_stack-$hash-py3"
  if [[ ! -e "$env/.complete" ]]; then
    mkdir -p "$(dirname "$env")"
    "$python" -m venv --system-site-packages --without-pip "$env"
    # An environment of another one does not see that one's packages.
    "$python" -c 'import site, torch, os
print(os.path.dirname(os.path.dirname(torch.__file__)))' \
      >"$(echo "$env"/lib/python3*/site-packages)/torch.pth"
    touch "$env/.complete"
  fi
  local wheel packages
  packages="$(echo "$env"/lib/python3*/site-packages)"
  # Others are of environments of their own. They may have come after it was made.
  for wheel in wheels/kornia*.whl; do
    [[ ! -e "$wheel" || -e "$packages/$(basename "$wheel")" ]] && continue
    "$python" -m zipfile -e "$wheel" "$packages" &&
      touch "$packages/$(basename "$wheel")"
  done
  # Clips have the same libraries, and decoders besides.
  lock=configs/requirements/paper/torch_video.lock
  hash="$(sha256sum "$lock" | cut -c1-16)"
  ln -sfn "$env" "$XDG_CACHE_HOME/feedrate/venvs/torch_video-$hash-py3"
  # Where containers have the driver, its decoder of video too.
  if [[ -d /usr/local/nvidia/lib64 ]]; then
    export LD_LIBRARY_PATH="$LD_LIBRARY_PATH:/usr/local/nvidia/lib64"
  fi
  python="$env/bin/python"
}

tests() {
  local one
  title "tests that need a GPU"
  tests/list_entries configs torch matched >rows/entries.jsonl
  for one in tests/*_test; do
    check "$one" env FEEDRATE_ENTRIES=rows/entries.jsonl timeout 60 "$one"
  done
}

# Both ways of what has two, and what moves pixels: seconds, where bench takes
# half a minute.
blur() {
  local filter
  title "blurs of bytes by tiles, flips"
  for filter in "blur bytes" "flip bytes" posterize; do
    check "cuda_bench $filter" ./cuda_bench --only=time --filter="$filter"
  done
}

bench() {
  title "kernels: checked against the host, then timed"
  check cuda_bench ./cuda_bench
}

sanitizer() {
  local tool
  if ! command -v compute-sanitizer >/dev/null; then
    title "compute-sanitizer is not here: memcheck and racecheck left out"
    return
  fi
  for tool in memcheck racecheck; do
    title "compute-sanitizer $tool"
    check "$tool" bash -c "compute-sanitizer --tool $tool --error-exitcode 9 \
      ./cuda_bench --only=check | grep -v '^ok' | tail -4; exit \${PIPESTATUS[0]}"
  done
}

# rows NAME COMMAND...: rows of a runner, kept, and a table of them.
rows() {
  local name="$1"
  shift
  rm -f "rows/$name.jsonl"
  check "$name" timeout "${LIMIT:-300}" "$@" --output="rows/$name.jsonl"
  bin/aggregate --by=library,transform,settings "rows/$name.jsonl"
}

micro() {
  local gpu=configs/native/rgb_micro_gpu.textproto
  title "micro --device=cuda: every transform, images of many sizes, one by one"
  rows micro bin/micro --config=$gpu --dataset=synthetic:rgb \
    --num_items="$items" --libraries="$every" --skip_missing
  check "micro: rows" "$python" gpu_check.py rows rows/micro.jsonl cuda
  "$python" gpu_check.py images square 256
  title "micro --device=cuda in batches of 256 images of 256x256"
  rows batch bin/micro --config=$gpu --dataset="$PWD/square" --num_items=256 \
    --sweep="gpu_batch=256;l2=${L2:-cold,hot}" --skip_missing \
    --transforms="$some"
  check "batch: rows" "$python" gpu_check.py rows rows/batch.jsonl cuda
}

# Rows of ATen: batches as one tensor, and images one by one.
torch() {
  local gpu=configs/native/rgb_micro_gpu.textproto
  local few="${TORCH:-HorizontalFlip,Rotate,GaussianBlur,Posterize,Resize}"
  "$python" gpu_check.py images square 256
  title "micro --device=cuda: ATen in batches of 256 images of 256x256"
  rows torch_batch bin/micro --config=$gpu --dataset="$PWD/square" \
    --num_items=256 --libraries=cuda,torch --sweep='gpu_batch=256' \
    --transforms="$few"
  check "torch_batch: rows" "$python" gpu_check.py rows rows/torch_batch.jsonl \
    torch
  title "micro --device=cuda: ATen, images of many sizes, one by one"
  rows torch bin/micro --config=$gpu --dataset=synthetic:rgb \
    --num_items="$items" --libraries=torch --transforms=HorizontalFlip,Rotate
  check "torch: rows" "$python" gpu_check.py rows rows/torch.jsonl torch
}

# environment GROUP: makes its Python; says what is missing.
environment() {
  local said code
  said="$("$python" gpu_check.py environment "$1" "$wheels" 2>&1)"
  code=$?
  echo "$said"
  if ((code == 3)); then
    title "no wheels of $1 here: its rows are left out"
  elif ((code != 0)); then
    check "environment of $1" false
  fi
  return "$code"
}

cvcuda() {
  environment cvcuda || return
  "$python" gpu_check.py images square 256
  title "micro --device=cuda: CV-CUDA in batches of 256 images of 256x256"
  rows cvcuda bin/micro --config=configs/native/rgb_micro_gpu.textproto \
    --dataset="$PWD/square" --num_items=256 --libraries=cuda,cvcuda \
    --sweep='gpu_batch=256' --skip_missing --transforms="$some"
  check "cvcuda: rows" "$python" gpu_check.py rows rows/cvcuda.jsonl cvcuda
}

compiled() {
  environment torch_stack || return
  "$python" gpu_check.py images square 256
  title "micro --device=cuda: Kornia as it is and compiled, batches of 256"
  rows compiled_micro bin/micro --env_set=current --dataset="$PWD/square" \
    --config=configs/paper/prod_g2_rgb_micro_gpu.textproto --num_items=256 \
    --libraries=kornia,kornia_compiled --sweep='gpu_batch=256' \
    --transforms="$some"
  title "pipeline --device=cuda: Kornia as it is and compiled"
  rows compiled bin/pipeline --env_set=current --dataset="$dataset" \
    --config=configs/paper/prod_g2_rgb_dataloader_gpu.textproto \
    --num_items="$images" --libraries=kornia,kornia_compiled \
    --noworker_efficiency \
    ${PAPER_TRANSFORMS:+--transforms="$PAPER_TRANSFORMS"}
  check "compiled: rows" "$python" gpu_check.py rows rows/compiled.jsonl \
    kornia_compiled
}

oom() {
  title "out of memory is a row, and the next one runs"
  "$python" gpu_check.py images square 256
  rows oom bin/micro --config=configs/native/rgb_micro_gpu.textproto \
    --dataset="$PWD/square" --num_items=256 --libraries="${OOM:-cuda,torch,kornia}" \
    --transforms=HorizontalFlip --sweep='gpu_batch=1000000,64' --skip_missing
  check "oom: rows" "$python" gpu_check.py oom rows/oom.jsonl
}

# Batches of the loaders against those of the CPU; a few seconds.
loader_test() {
  title "loaders: batches checked against the CPU's"
  check loader_test timeout 30 bin/gpu_loader_test
  check cuda_loader_test timeout 30 bin/cuda_loader_test
}

# feedrate.Loader in Python against the CPU's, and copies from pinned memory;
# half a minute.
module() {
  title "feedrate.Loader: batches on the GPU, copies that wait"
  check module timeout 200 "$python" python/tests/gpu_test.py
  check "module: speed" timeout 100 "$python" python/tests/gpu_test.py speed
}

# feedrate.Clips in Python against the CPU's; half a minute.
clips() {
  title "feedrate.Clips: batches on the GPU"
  check clips timeout 200 "$python" python/tests/gpu_clips_test.py
}

# The loader in one process, since sanitizers do not follow a fork: engines,
# CPU threads, pairs and every kernel of a recipe on a few images.
loader_sanitizer() {
  local work
  if ! command -v compute-sanitizer >/dev/null; then
    title "compute-sanitizer is not here: memcheck of the loader left out"
    return
  fi
  bin/write_synthetic --folder=jpegs --n=48 >/dev/null || return
  for work in mixup three_augment; do
    title "compute-sanitizer memcheck: the loader, $work"
    check "loader_sanitizer, $work" bash -c "set -o pipefail; echo | \
      timeout 14 compute-sanitizer --tool memcheck --error-exitcode 9 \
      --report-api-errors no bin/bench_cuda --folder=jpegs --work=$work \
      --items=48 --batch_size=24 --workers=2 | tail -4"
  done
}

# Three feed the engines, one is left to the runner.
cores() { echo "$(($(nproc) > 5 ? $(nproc) - 4 : 1))"; }

# loader_rows NAME LIBRARY CONFIG FLAG...: rows of pipeline, all of them good.
loader_rows() {
  local name="$1" library="$2" config="$3"
  shift 3
  rows "$name" bin/pipeline --config="configs/native/$config.textproto" \
    --dataset="$dataset" --num_items="$images" --workers="$(cores)" \
    --num_runs=2 --noworker_efficiency "$@"
  check "$name: rows" "$python" gpu_check.py rows "rows/$name.jsonl" "$library"
}

pipeline() {
  title "pipeline --device=cuda: JPEG files to batches, $(cores) workers"
  loader_rows pipeline cuda rgb_pipeline_gpu \
    --transforms=HorizontalFlip,RandomResizedCrop \
    --sweep='nvjpeg=off,hardware'
}

copy() {
  if [[ ! -e libexec/worker_native ]]; then
    title "no worker_native here: the copy from pinned memory is left out"
    return
  fi
  title "decoded on the CPU, then copied from pinned memory"
  loader_rows copy native rgb_pipeline_gpu --libraries=native \
    --scope=decode_dataloader_augment_batch_copy --transforms=HorizontalFlip
}

training() {
  title "Mixup, CutMix and ThreeAugment in the launch that makes the batch"
  loader_rows training cuda training_pipeline_gpu
}

video() {
  local gpu=configs/native/video_micro_gpu.textproto
  local dataset="synthetic:video,n=$clips,container=mp4"
  title "video --device=cuda: clips of 16 frames on the device, one by one"
  rows video bin/video --config=$gpu --dataset="$dataset" --num_items="$clips" \
    --libraries=torchvision,kornia --transforms="$clip_transforms" \
    --skip_missing
  check "video: rows" "$python" gpu_check.py clips rows/video.jsonl
  gpu=configs/native/video_pipeline_gpu.textproto
  # Python decodes with OpenCV, which not every machine has.
  local scope=memory_dataloader_augment
  if "$python" -c 'import cv2' 2>/dev/null; then
    scope=decode_dataloader_augment
  fi
  title "video --device=cuda: loaders of torch, $scope"
  rows video_pipeline bin/video --config=$gpu --dataset="$dataset" \
    --num_items="$clips" --num_runs=1 --libraries=torchvision,kornia \
    --scope="$scope" --workers=2 --batch_size=4 --skip_missing
  check "video_pipeline: rows" "$python" gpu_check.py clips \
    rows/video_pipeline.jsonl
}

# unpack_wheels FOLDER NAME...: says so and fails where one is not here.
unpack_wheels() {
  local folder="$1" name wheel
  shift
  for name in "$@"; do
    wheel="$(echo "$wheels/$name"-*.whl)"
    if [[ ! -e "$wheel" ]]; then
      echo "left out: no $wheels/$name-*.whl"
      return 1
    fi
    "$python" -m zipfile -e "$wheel" "$folder"
  done
}

# Links of PyAV's FFmpeg by the names that others look for.
name_ffmpeg() {
  local library name
  for library in "$1"/av.libs/lib{av,sw}*-*.so.*; do
    # libavcodec-0123abcd.so.63.1.102 is libavcodec.so.63 to others.
    name="$(basename "$library" | sed -E 's/-[0-9a-f]+(\.so\.[0-9]+).*/\1/')"
    ln -sf "$(basename "$library")" "$1/av.libs/$name"
  done
}

clip_loaders() {
  local packages=cache/clips
  title "feedrate.Clips beside other loaders"
  unpack_wheels "$packages" pynvvideocodec
  unpack_wheels "$packages" torchcodec av && name_ffmpeg "$packages"
  check clip_loaders env PYTHONPATH="$packages" \
    LD_LIBRARY_PATH="$PWD/$packages/av.libs:${LD_LIBRARY_PATH:-}" \
    "$python" python/tests/gpu_clips_test.py speed "${RUNS:-20}"
}

# Videos that our FFmpeg cannot encode, such as HEVC, VP9 and AV1.
codecs() {
  local videos=("${VIDEOS:-videos}"/*) packages=cache/clips
  title "videos of ${VIDEOS:-videos}: frames of NVDEC against those of the CPU"
  check "nvdec_check of files" bin/nvdec_check "${videos[@]}"
  title "the same by PyNvVideoCodec"
  if unpack_wheels "$packages" pynvvideocodec; then
    check pynv env PYTHONPATH="$packages" "$python" gpu_check.py clips_of pynv \
      "${videos[@]}"
  fi
  title "the same by torchcodec on the GPU, with the FFmpeg of PyAV's wheel"
  if unpack_wheels "$packages" torchcodec av; then
    name_ffmpeg "$packages"
    check torchcodec env PYTHONPATH="$packages" \
      LD_LIBRARY_PATH="$PWD/$packages/av.libs:${LD_LIBRARY_PATH:-}" \
      "$python" gpu_check.py clips_of torchcodec "${videos[@]}"
  fi
}

nvdec_sanitizer() {
  local tool
  if ! command -v compute-sanitizer >/dev/null || [[ ! -x bin/nvdec_check ]]; then
    title "no compute-sanitizer or no nvdec_check here: left out"
    return
  fi
  for tool in memcheck racecheck; do
    title "compute-sanitizer $tool, NVDEC"
    # 4: it has said that there is no engine.
    check "$tool nvdec" bash -c "compute-sanitizer --tool $tool \
      --error-exitcode 9 bin/nvdec_check --videos=1 --timed=1 | tail -24
      code=\${PIPESTATUS[0]}; exit \$((code == 4 ? 0 : code))"
  done
}

nvdec() {
  local container code cores
  if [[ ! -x bin/nvdec_check ]]; then
    title "no nvdec_check here: NVDEC is left out"
    return
  fi
  title "frames of NVDEC against those of the CPU"
  bin/nvdec_check --videos=2
  code=$?
  # It has said what is missing.
  if ((code == 4)); then return; fi
  check nvdec_check test "$code" = 0
  for container in mp4 avi; do
    title "video --device=cuda: decoding clips, $container"
    rows "nvdec_$container" bin/video --num_runs=1 --num_items="$clips" \
      --config=configs/native/video_decode_gpu.textproto --libraries=nvdec \
      --dataset="synthetic:video,n=$clips,container=$container" \
      --sweep=clip_rule=uniform,consecutive
    check "nvdec_$container: rows" "$python" gpu_check.py clips \
      "rows/nvdec_$container.jsonl"
  done
  cores="$(($(nproc) < 8 ? $(nproc) : 8))"
  title "video --device=cuda: files to batches by NVDEC, $cores workers"
  rows nvdec_pipeline bin/video --num_runs=2 --num_items="$((4 * clips))" \
    --config=configs/native/video_pipeline_gpu.textproto --libraries=nvdec \
    --dataset="synthetic:video,n=$((4 * clips)),container=mp4" \
    --workers="$cores" --transforms=HorizontalFlip
  check "nvdec_pipeline: rows" "$python" gpu_check.py clips \
    rows/nvdec_pipeline.jsonl
}

# DALI beside ours, in the same run: decoders of clips, loaders of clips and of
# images. Nothing takes longer than LIMIT, or a minute.
dali() {
  local LIMIT="${LIMIT:-60}"
  title "the environment of DALI"
  environment dali || return
  dali_clips
  title "pipeline --device=cuda: JPEG files to batches beside DALI, $(cores) workers"
  loader_rows dali cuda rgb_pipeline_gpu --libraries=cuda,dali \
    --transforms=HorizontalFlip,RandomResizedCrop --skip_missing \
    --num_runs="${RUNS:-2}"
  check "dali: rows of DALI" "$python" gpu_check.py rows rows/dali.jsonl dali
  bin/aggregate --by=transform,library --relative-to=cuda --any-work rows/dali.jsonl
}

# With an index CUDA threads decode, without one engines and cores: by turns.
index() {
  title "the loader: JPEG files to batches, with an index and without"
  bin/write_synthetic --folder=indexed --n=4096 >/dev/null || return
  check index timeout 120 "$python" gpu_check.py index indexed "${RUNS:-26}"
}

dali_clips() {
  local video="synthetic:video,n=$clips,container=mp4" workers
  timeout 30 bin/nvdec_check --videos=1 >rows/dali_nvdec.txt 2>&1
  if (($? == 4)); then
    title "no engine here: clips are left out"
    tail -1 rows/dali_nvdec.txt
    return
  fi
  title "video --device=cuda: decoding clips beside DALI"
  rows dali_decode bin/video --num_runs=2 --num_items="$clips" \
    --config=configs/native/video_decode_gpu.textproto --dataset="$video" \
    --sweep=clip_rule=uniform,consecutive --skip_missing
  check "dali_decode: rows" "$python" gpu_check.py clips \
    rows/dali_decode.jsonl nvdec dali
  workers="$(($(nproc) < 8 ? $(nproc) : 8))"
  video="synthetic:video,n=$((4 * clips)),container=mp4"
  title "video --device=cuda: files to batches beside DALI, $workers workers"
  rows dali_video bin/video --num_runs=2 --num_items="$((4 * clips))" \
    --config=configs/native/video_pipeline_gpu.textproto \
    --libraries=nvdec,dali --dataset="$video" --workers="$workers" \
    --transforms=HorizontalFlip --skip_missing
  check "dali_video: rows" "$python" gpu_check.py clips \
    rows/dali_video.jsonl nvdec dali
}

# Ours and PyTorch's ways, alternating; RUNS (5), MODEL, BATCH, STEPS. What fails
# or takes longer than LIMIT_S (180; max-autotune needs 480) is a row too.
train() {
  local run=(bin/train --device=cuda --model="${MODEL:-vit5_small}"
    --batch-size="${BATCH:-256}" --warmup-steps=50
    --measured-steps="${STEPS:-100}" --timeout="${LIMIT_S:-180}"
    --num-runs="${RUNS:-5}" --resume)
  title "train: our engine and PyTorch's ways"
  "${run[@]}" --output=rows/train.jsonl --libraries="${LIBRARIES:-feedrate,\
torch_eager,torch_compile,torch_reduce_overhead,torch_compile_bf16}"
  title "train: our engine as a CUDA graph, and eager"
  check "train: graphs" "${run[@]}" --graphs --output=rows/train_graphs.jsonl
  check "train: eager" "${run[@]}" --engine=eager --output=rows/train_eager.jsonl
  bin/aggregate --by=library,settings --relative-to=feedrate --any-work \
    rows/train.jsonl rows/train_graphs.jsonl rows/train_eager.jsonl
}

# Trainings of every kind; `train` has the figures.
ways() {
  local train=(bin/train --device=cuda --warmup-steps=5 --measured-steps=20)
  rm -rf rows/ways*
  title "train: every precision beside PyTorch; LAMB; profiles of PyTorch's ways"
  check precisions "${train[@]}" --model=vit5_small --batch-size=64 \
    --libraries=feedrate,torch_eager --output=rows/ways_precisions.jsonl \
    --sweep='precision=bf16,fp16,tf32,fp32'
  check lamb "${train[@]}" --model=vit5_small --batch-size=64 \
    --optimizer=lamb --clip-norm=1 --output=rows/ways_lamb.jsonl
  check profiles "${train[@]}" --model=vit5_small --batch-size=64 \
    --libraries=feedrate,torch_eager,torch_compile --profile=trace \
    --profile-active=1 --profile-output=rows/ways_trace \
    --output=rows/ways_profiles.jsonl
  title "train --deterministic: text twice; fp32 on the GPU and on the CPU"
  local name
  for name in same_1 same_2; do
    check deterministic "${train[@]}" --model=byte_lm_small --batch-size=8 \
      --deterministic --output="rows/ways_$name.jsonl"
  done
  for name in cuda cpu; do
    check "200 steps of fp32" bin/train --model=vit5_tiny --batch-size=8 \
      --precision=fp32 --engine=eager --warmup-steps=0 --measured-steps=200 \
      --device="$name" --output="rows/ways_fp32_$name.jsonl"
  done
  title "train --validate-every, with the fused engine"
  for name in one two; do
    bin/write_synthetic --folder="classes/$name" --n=24 >/dev/null
  done
  check validation "${train[@]}" --model=vit5_small --batch-size=16 \
    --scope=e2e --dataset=classes --loader=cuda --validate-every=10 \
    --validation-dataset=classes --output=rows/ways_validation.jsonl
  check "rows of ways" "$python" gpu_check.py ways rows
}

# Training from files, by loader and by where the files are, beside training on
# batches that are on the GPU already.
files() {
  local loaders=native,cuda,torchvision memory
  environment dali && loaders+=,dali,dali_gpu
  local train=(bin/train --device=cuda --model=vit5_small --batch-size=256
    --warmup-steps=10 --measured-steps=60)
  rm -f rows/files*.jsonl
  bin/write_synthetic --folder=files --n="$images" >/dev/null || return
  memory="$(mktemp -d /dev/shm/feedrate.XXXXXX)" || return
  cp -r files "$memory/tmpfs"
  title "train: synthetic batches, then $images files on disk and in memory"
  check synthetic "${train[@]}" --output=rows/files_synthetic.jsonl
  check files timeout "${LIMIT:-300}" "${train[@]}" --scope=e2e \
    --workers="$(($(nproc) - 1))" --dataset="$PWD/files,$memory/tmpfs" \
    --sweep="loader=$loaders" --output=rows/files.jsonl
  rm -rf "$memory"
}

# paper_rows NAME SECONDS: rows of configs/paper/prod_g2_NAME_gpu.textproto, as
# many as there is time for.
paper_rows() {
  local name="$1" items="${PAPER_ITEMS:-256}" dataset=synthetic:rgb
  local file="rows/paper_$1" program=micro code=0
  if [[ "$name" == *_dataloader ]]; then program=pipeline; fi
  if [[ "$name" == video_* ]]; then
    program=video dataset="synthetic:video,n=$items,container=mp4"
  fi
  bin/plan --config="configs/paper/prod_g2_${name}_gpu.textproto" \
    --num_items="$items" --num_runs=1 --dataset="$dataset" \
    ${PAPER_TRANSFORMS:+--transforms="$PAPER_TRANSFORMS"} \
    >"$file.plan" || return
  timeout --signal=INT "$2" "bin/$program" --jobs="$file.plan" --resume \
    --quiet_wait=0 --stable_within=0 --noequivalence --skip_missing \
    --output="$file.jsonl" >"$file.log" 2>&1 || code=$?
  # 124: out of time; the next start carries on.
  if ((code != 0 && code != 124)); then tail -n 3 "$file.log"; fi
  return "$((code == 124 ? 0 : code))"
}

# The paper's configs for GPUs, one after the other until the time is up.
paper() {
  local end=$((SECONDS + ${PAPER_S:-480})) names name started
  read -ra names <<<"${PAPER:-rgb_micro 9ch_micro rgb_dataloader \
    9ch_dataloader video_micro video_dataloader}"
  for name in "${names[@]}"; do
    started=$SECONDS
    if ((started >= end)); then break; fi
    title "prod_g2_${name}_gpu, for at most $((end - started)) s"
    check "$name" paper_rows "$name" "$((end - started))"
    echo "$((SECONDS - started)) s"
  done
  title "tables for docs/"
  for name in "${names[@]}"; do
    [[ -e "rows/paper_$name.plan" ]] || continue
    bin/aggregate --by=transform,library --pivot=library --format=markdown \
      "rows/paper_$name.jsonl"
    check "$name: rows" bin/check_coverage --plan="rows/paper_$name.plan" \
      "rows/paper_$name.jsonl"
  done
}

# What is the same and what is 2% slower, alone and beside a neighbor; two minutes.
duels() {
  title "duels whose answer is known: both sides in one process"
  check duels "$python" gpu_duels.py run --bin=bin --rows=rows/duels \
    --part="${DUELS:-kernels,mixed,slow,neighbor}"
}

prepare || { echo "no python3 with torch; name one with PYTHON"; exit 2; }
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm --format=csv
for part in "${@:-tests bench sanitizer micro torch oom loader_test module \
  loader_sanitizer pipeline copy training video nvdec clips nvdec_sanitizer}"; do
  for one in $part; do "$one"; done
done
title "$failed checks failed"
((failed == 0)) || exit 3
