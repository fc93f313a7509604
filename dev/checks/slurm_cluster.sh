# Sourced by tests: runs a separate Slurm with a controller and several nodes on
# this machine, in one folder that cluster_stop removes. Needs root, the
# packages of the group `slurm`, and a machine without a Slurm of its own.
#
#   cluster_start FOLDER NODES [CPUS]  waits until all nodes are idle; each has
#                                 2 CPUs unless CPUS says otherwise
#   kill_node NAME                as if its power went: daemon, steps and jobs
#   start_node NAME
#   kill_controller, start_controller
#   cluster_stop
# shellcheck shell=bash

if [[ "$(id -u)" -ne 0 ]]; then
  echo "needs root, to start the daemons of Slurm"
  exit 77
fi

# find_ports COUNT: as many that nobody listens on.
find_ports() {
  python3 - "$1" <<'END'
import socket, sys
sockets = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in sockets:
    s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in sockets))
END
}

cluster_start() {
  cluster="$1"
  local count="$2" cpus="${3:-2}" number ports
  mkdir -p "$cluster"/{state,spool,munge}
  chmod 755 "$cluster" "$cluster/munge"
  # Slurm's own way for a start to fail: fail_start makes it.
  cat >"$cluster/prolog" <<END
#!/bin/bash
! rm "$cluster/fails_on.\$SLURMD_NODENAME" 2>/dev/null
END
  chmod 755 "$cluster/prolog"
  read -ra ports <<<"$(find_ports $((count + 1)))"
  {
    cat <<END
ClusterName=feedrate
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmUser=root
SlurmctldPort=${ports[0]}
AuthType=auth/munge
AuthInfo=socket=$cluster/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool/%n
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/%n.pid
SlurmctldLogFile=$cluster/slurmctld.log
SlurmdLogFile=$cluster/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=6
SlurmctldTimeout=30
MessageTimeout=5
KillWait=3
CompleteWait=0
MaxArraySize=41
MinJobAge=300
JobRequeue=1
Prolog=$cluster/prolog
END
    for number in $(seq "$count"); do
      echo "NodeName=n$number NodeHostname=$(hostname) NodeAddr=127.0.0.1" \
        "Port=${ports[number]} CPUs=$cpus RealMemory=64000 State=UNKNOWN"
    done
    echo "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
  } >"$cluster/slurm.conf"
  export SLURM_CONF="$cluster/slurm.conf"

  head -c 1024 /dev/urandom >"$cluster/munge/key"
  chmod 400 "$cluster/munge/key"
  munged --force --key-file="$cluster/munge/key" \
    --socket="$cluster/munge/socket" --pid-file="$cluster/munge/pid" \
    --log-file="$cluster/munge/log" --seed-file="$cluster/munge/seed" \
    2>/dev/null || return 1
  start_controller
  for number in $(seq "$count"); do start_node "n$number"; done
  # Only what hangs takes five minutes.
  for number in $(seq 600); do
    if [[ "$(sinfo --noheader --Node --format=%T 2>/dev/null |
      grep -c '^idle$')" -eq "$count" ]]; then
      return 0
    fi
    sleep 0.5
  done
  tail -n 5 "$cluster"/*.log >&2
  return 1
}

# fail_start NODE: the next task there is not started. Slurm holds it, and takes no
# more on the node until it is resumed.
fail_start() { touch "$cluster/fails_on.$1"; }
resume_node() { scontrol update "nodename=$1" state=resume; }
start_controller() { slurmctld; }
start_node() { slurmd -N "$1"; }

# pid_in FILE: of the process that wrote it, where it is still there.
pid_in() {
  local pid
  pid="$(cat "$1" 2>/dev/null)" || return 1
  [[ -n "$pid" && -d "/proc/$pid" ]] && echo "$pid"
}

kill_controller() {
  local pid
  pid="$(pid_in "$cluster/slurmctld.pid")" || return 0
  kill -9 "$pid"
  while [[ -d "/proc/$pid" ]]; do sleep 0.05; done
}

# jobs_on NODE: processes whose environment names the node and this cluster.
jobs_on() {
  { grep -lzxF "SLURMD_NODENAME=$1" /proc/[0-9]*/environ |
    xargs --no-run-if-empty grep -lzxF "SLURM_CONF=$SLURM_CONF" |
    sed 's|/proc/||; s|/environ||'; } 2>/dev/null
}

# steps_of PID...: the step daemons above these jobs.
steps_of() {
  local pid parent
  for pid in "$@"; do
    parent="$(awk '/^PPid:/ { print $2 }' "/proc/$pid/status" 2>/dev/null)"
    if [[ "$(cat "/proc/$parent/comm" 2>/dev/null)" == slurmstepd ]]; then
      echo "$parent"
    fi
  done
}

kill_node() {
  local daemon pids steps
  daemon="$(pid_in "$cluster/$1.pid")" || daemon=""
  # Twice, for what was being forked.
  for _ in 1 2; do
    mapfile -t pids < <(jobs_on "$1")
    mapfile -t steps < <(steps_of "${pids[@]}")
    kill -9 ${daemon:+"$daemon"} "${steps[@]}" "${pids[@]}" 2>/dev/null || true
  done
}

cluster_stop() {
  local file pid
  if [[ -z "${cluster:-}" ]]; then return 0; fi
  for file in "$cluster"/n*.pid; do
    [[ -e "$file" ]] && kill_node "$(basename "$file" .pid)"
  done
  kill_controller
  if pid="$(pid_in "$cluster/munge/pid")"; then kill "$pid"; fi
  return 0
}
