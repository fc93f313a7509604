# Sourced by checks that run something on a bare machine: a Debian made by
# debootstrap, and a way into it. Needs root.
# shellcheck shell=bash

# bare_debian FOLDER [PACKAGE,PACKAGE...]: the smallest Debian 12 in FOLDER, with
# these packages in addition.
bare_debian() {
  "$REPO_ROOT/dev/setup.sh" full
  debootstrap --variant=minbase ${2:+"--include=$2"} bookworm "$1" \
    >"$1.log" 2>&1 || die "debootstrap: $(tail -n 3 "$1.log")"
  # Names and apt work inside as they do here.
  cp -L /etc/resolv.conf /etc/hosts "$1/etc/"
}

# reach_as_here ROOT: pip and apt in ROOT reach their servers as they do here.
reach_as_here() {
  mkdir -p "$1/etc/ssl/certs"
  cp -L /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/"
  if [[ -e /etc/pip.conf ]]; then cp /etc/pip.conf "$1/etc/"; fi
}

# Inside a chroot there is no way to a mount of one's own.
mounts=1
unshare --mount true 2>/dev/null || mounts=""

# in_root ROOT COMMAND...: with /proc, /sys and /dev, where they can be mounted.
in_root() {
  local root="$1" enter=(sh -c)
  shift
  # shellcheck disable=SC2016
  local script='exec chroot "$0" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/bin \
    HOME=/root "$@"'
  if [[ -n "$mounts" ]]; then
    enter=(unshare --mount sh -c)
    # shellcheck disable=SC2016
    script='for folder in proc sys dev; do
        mount --rbind "/$folder" "$0/$folder" || exit 1
      done
      '"$script"
  fi
  "${enter[@]}" "$script" "$root" "$@"
}
