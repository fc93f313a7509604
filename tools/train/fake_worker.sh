#!/bin/bash
# Answers like worker_train, without training. The words of its command line say
# what it should simulate.
set -u
batch=1
rates=1
read=
for word in "$@"; do
  case "$word" in
    batch_size=*) batch="${word#*=}" ;;
    rates=0) rates=0 ;;
    seed=13) kill -SEGV $$ ;;
    seed=14) sleep 1 ;;
    seed=15)
      echo '{"event":"error","kind":"diverged","error":"the loss of step 7 is not a number"}' >&3
      exit 1
      ;;
    folder=file://*) ;;
    folder=*) [[ -d "${word#*=}" ]] || exit 9 ;;
    objects.url=file://*)
      read='"storage":"file","objects":{"requests":24,"bytes":4000000,
"retries":1,"checksum_faults":0,"busy_s":2,"cache_hits":3,"cache_misses":1,
"cache_bad_entries":0,"cache_write_failures":0},"files":2,"file_bytes":13,'
      ;;
  esac
done
if ((batch > 64)); then
  echo '{"event":"error","kind":"oom","error":"out of memory"}' >&3
  exit 1
fi
echo '{"event":"ready"}' >&3
# Each batch size measures another rate.
echo '{"event":"result","version":"9","wall_s":0.4,"steps_s":[0.2,0.2],
'"$read"'"losses":[2,1],"grad_norms":[1,1],"phases":{"forward":0.08,"backward":0.12},
"matmul_flops":'$((rates * batch))'e10,"copy_bytes":1e10,
"memory_peak_bytes":1000,"cpu_j":30,"gpu_j":12.5,"matmul_types":{"fp32":3},"blas":"libtorch_cpu.so",
"profiled_steps":3,"kernels":[{"part":"backward","name":"aten::mm",
"shapes":"8x64, 64x8","step_s":0.09,"calls":12,"share":0.75}]}' |
  tr -d '\n' >&3
echo >&3
