#!/bin/bash
# A campaign of docs/scale.md, "Run on Google's cloud", from launch.sh to the last
# row: Google's own client talks to a metadata server, a Compute API and a storage
# emulator (dev/checks/gce_cloud.py), and each machine that it creates is a bare
# Debian, which gets the emitted start-up script as it is. Two tasks need
# different environments; the first machine that has stored rows is taken away.
# Every row arrives once, and each machine deletes itself. Needs root, and
# Google's client.
#
#   dev/checks/gce_machine_test.sh
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
# shellcheck source=dev/checks/bare_root.sh
source "$REPO_ROOT/dev/checks/bare_root.sh"
cd "$REPO_ROOT"

sdk="${GCLOUD_ROOT:-/usr/lib/google-cloud-sdk}"
if [[ "$(id -u)" -ne 0 || -z "$mounts" ]]; then
  echo "needs root and mounts of its own, to start a bare Debian"
  exit 77
fi
if [[ ! -x "$sdk/bin/gcloud" ]]; then
  echo "Google's client is not installed; GCLOUD_ROOT names its folder"
  exit 77
fi
env="$(dev/python_env.sh dev/locks/storage.lock)"
dev/setup.sh build dev full
dev/bazel.sh build --show_result=0 //tools/plan //lib/media:write_synthetic

work="$(mktemp -d)"
started=()
finish() {
  local pid
  for pid in "${started[@]}" $(cat "$work"/machines/*.pid 2>/dev/null); do
    kill -9 "$pid" 2>/dev/null || true
  done
  wait
  rm -rf --one-file-system "$work"
}
trap finish EXIT

fail() {
  say "gce_machine_test: $*"
  tail -n 20 "$work/events.log" "$work"/machines/*.log >&2 || true
  exit 1
}

# A machine is a copy of it.
bare_debian "$work/debian" ca-certificates,python3
address=127.0.24.1
echo "$address metadata.google.internal" >>"$work/debian/etc/hosts"
ln -s ../lib/google-cloud-sdk/bin/gcloud "$work/debian/usr/bin/gcloud"
mkdir "$work/debian/usr/lib/google-cloud-sdk" "$work/machines"
reach_as_here "$work/debian"
# configure HOME: the client's requests go to the servers of this check.
configure() {
  mkdir -p "$1/.config/gcloud/configurations"
  printf default >"$1/.config/gcloud/active_config"
  cat >"$1/.config/gcloud/configurations/config_default" <<END
[api_endpoint_overrides]
compute = http://$address/compute/v1/
storage = http://$address/
[storage]
# The emulator takes no other uploads of this client.
resumable_threshold = 1B
parallel_composite_upload_enabled = False
END
}
configure "$work/debian/root"
configure "$work/home"

# boot NAME SCRIPT: a machine, until it is killed: all of its processes are in a
# namespace of their own, whose first one this starts. It is up since now.
cat >"$work/boot" <<END
#!/bin/bash
root="$work/machines/\$1"
# The disk of one that was taken away is gone.
rm -rf --one-file-system "\$root"
cp -a "$work/debian" "\$root"
cp "\$2" "\$root/startup.sh"
echo \$\$ >"\$root.pid"
exec unshare --mount --pid --fork --kill-child --time \\
  --boottime "-\$(cut -d . -f 1 /proc/uptime)" sh -c '
  mount -t proc proc "\$0/proc" && mount --rbind /dev "\$0/dev" &&
    mount --bind "$sdk" "\$0/usr/lib/google-cloud-sdk" || exit 1
  exec chroot "\$0" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \\
    sh -c "bash /startup.sh; while :; do sleep 60; done"' \\
  "\$root" >"\$root.log" 2>&1
END
chmod +x "$work/boot"

# Data sets in the bucket, and what is planned with them.
mkdir -p "$work"/{images,clips,bucket/imagenet,bucket/ucf101}
bazel-bin/lib/media/write_synthetic --folder="$work/images" --n=4 >/dev/null
tar -C "$work/images" -cf "$work/bucket/imagenet/val.tar" .
cp testdata/media/{plain,packed_1,packed_2,b_frames_1}.avi "$work/clips"
tar -C "$work/clips" -cf "$work/bucket/ucf101/ucf101.tar" .
small="--num_items=4 --num_runs=2 --transforms=HorizontalFlip,Invert,Grayscale"
for config in rgb:pillow video:albumentationsx; do
  sed -e "s/libraries: .*/libraries: [ \"${config#*:}\" ]/" -e /archive_bytes/d \
    "configs/paper/prod_c4_${config%:*}_micro_cpu.textproto" \
    >"$work/${config%:*}.textproto"
done
bundle="$(BUNDLE_DIST="$work/dist" dev/bundle.sh micro video stage_dataset \
  check_coverage)"

port="$(python3 -c 'import socket; s = socket.socket()
s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')"
"$env/bin/python" -m gcp_storage_emulator start --in-memory --host=127.0.0.1 \
  --port="$port" --default-bucket=bucket >"$work/storage.log" 2>&1 &
started+=($!)
python3 dev/checks/gce_cloud.py "$address" "127.0.0.1:$port" "$work" \
  "$work/boot" >"$work/cloud.log" 2>&1 &
started+=($!)
# As a user's machine, whose client has the account of the metadata server.
export HOME="$work/home" GCE_METADATA_ROOT="$address" PATH="$sdk/bin:$PATH"
export FEEDRATE_BIN="${bundle%.tar.gz}/bin"
for file in imagenet/val.tar ucf101/ucf101.tar; do
  gcloud storage cp --no-user-output-enabled -- "$work/bucket/$file" \
    "gs://bucket/$file" || fail "the client does not reach the emulator"
done

campaign="$work/campaign"
# shellcheck disable=SC2086
bazel-bin/tools/plan/plan --config="$work/rgb.textproto" "$work/video.textproto" \
  --configs=configs $small --emit=gce --output="$campaign" --bucket=gs://bucket \
  --project=some-project --bundle="$bundle" \
  --quota=testdata/campaign/small_quota.textproto || fail "plan"
"$campaign/launch.sh" 1 --run || fail "launch"

# Minutes: each machine installs packages and makes its environment.
deadline=$((SECONDS + 2400)) again=0
while :; do
  [[ "$SECONDS" -lt "$deadline" ]] || fail "not complete after 40 minutes"
  status=0
  "$campaign/collect.sh" --run >"$work/collect" 2>&1 || status=$?
  case "$status" in
    0) break ;;
    4) sleep 5 ;;
    3)
      lost="$(sed -n 's/^collect: \(.*\): lost$/\1/p' "$work/collect")"
      [[ "$again" == 0 && -n "$lost" ]] || fail "$(cat "$work/collect")"
      say "$lost was taken away, and is started again"
      again=1
      "$campaign/launch.sh" 1 --run "$lost" || fail "launch again"
      ;;
    *) fail "collect: $status: $(cat "$work/collect")" ;;
  esac
done
hours="$(sed -n 's/.* \(.*\) machine hours, which cost .*/\1/p' "$work/collect")"
python3 -c "assert 0 < $hours < 3 * $SECONDS / 3600" ||
  fail "$hours machine hours on 3 machines in $SECONDS s"
[[ "$again" == 1 ]] || fail "no machine was taken away"
count="$(testdata/campaign/exactly_once.py "$campaign/jobs.jsonl" \
  "$campaign/rows")" || fail "rows are wrong"
[[ "$count" == 12 ]] || fail "$count runs, not 12"
count="$(grep -c '^deleted ' "$work/events.log")"
[[ "$count" == 2 ]] || fail "$count machines deleted themselves, not 2"
# Tasks with other environments have caches of their own.
count="$(sed -n '/^stored augmentation-cache.venvs-/p' "$work/events.log" |
  sort -u | wc -l)"
[[ "$count" == 2 ]] || fail "$count caches of environments, not 2"
sed 's/^/  /' "$work/events.log" >&2
say "12 runs on 3 machines in $hours hours, each once; both machines deleted themselves"
