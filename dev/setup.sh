#!/bin/bash
# Installs what feedrate needs and this machine lacks, and nothing else.
#
#   dev/setup.sh [build] [dev] [full] [slurm] [cross-ARCH]
#                                        groups of dev/packages.txt;
#                                        build and dev if none is named
#   dev/setup.sh --versions              compare with the tested versions
#
# If nothing is missing, it needs neither rights nor a network and takes well
# under a second. FEEDRATE_SKIP_SETUP=1 turns it off on machines that are set up
# in some other way.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

packages_file="${FEEDRATE_PACKAGES:-$REPO_ROOT/dev/packages.txt}"

# Lines "package version" of the groups in $@.
packages_of() {
  awk -v groups=" $* " \
    '!/^#/ && NF && index(groups, " " $1 " ") { print $2, $3 }' "$packages_file"
}

# "package version" of everything installed.
installed_packages() {
  dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Version}\n' |
    awk '$1 == "ii" { print $2, $3 }'
}

# Names in the groups $@ that are not installed, a line each.
missing_packages() {
  awk 'NR == FNR { have[$1] = 1; next } !($1 in have) { print $1 }' \
    <(installed_packages) <(packages_of "$@")
}

# Packages whose upstream version is not the tested one, a line each.
untested_versions() {
  awk 'function upstream(v) {
         sub(/^[0-9]+:/, "", v); sub(/[~+]deb[0-9]+u[0-9]+$/, "", v)
         sub(/-[^-]*$/, "", v); return v
       }
       NR == FNR { have[$1] = upstream($2); next }
       ($1 in have) && have[$1] != $2 {
         printf "%s: installed %s, tested %s\n", $1, have[$1], $2
       }' <(installed_packages) <(packages_of build dev full slurm \
    "cross-$HOSTTYPE")
}

# Runs a command as root, or says in one line why it cannot.
as_root() {
  if [[ "$(id -u)" -eq 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "missing packages and neither root nor sudo; as root, run:" \
      "apt-get install --no-install-recommends ${missing[*]}"
  fi
}

install_packages() {
  say "installing: $*"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq ||
    say "apt-get update failed; going on with the lists that are here"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes \
    --no-install-recommends "$@" >&2
}

main() {
  if [[ "${FEEDRATE_SKIP_SETUP:-}" == 1 ]]; then return; fi
  command -v dpkg-query >/dev/null ||
    die "this is neither Debian nor Ubuntu; install the equivalents of" \
      "dev/packages.txt and set FEEDRATE_SKIP_SETUP=1"
  if [[ "${1:-}" == --versions ]]; then
    untested_versions
    return
  fi
  local groups=("$@")
  [[ $# -gt 0 ]] || groups=(build dev)
  mapfile -t missing < <(missing_packages "${groups[@]}")
  if [[ ${#missing[@]} -gt 0 ]]; then
    install_packages "${missing[@]}"
    local differing
    differing="$(untested_versions | wc -l)"
    if [[ "$differing" -gt 0 ]]; then
      say "note: $differing packages differ from the tested versions;" \
        "dev/setup.sh --versions lists them"
    fi
  fi
  if [[ " ${groups[*]} " == *" dev "* ]]; then
    "$REPO_ROOT/dev/python_env.sh" "$REPO_ROOT/dev/locks/requirements.lock" >/dev/null
  fi
}

main "$@"
