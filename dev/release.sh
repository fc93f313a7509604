#!/bin/bash
# Makes the files of a release in dist/release, for both processors:
#
#   dev/release.sh [ARCH...]     x86_64 and aarch64 if none is named
#
#   feedrate-VERSION-py3-none-manylinux_*_ARCH.whl   for pip (dev/wheel.sh)
#   feedrate-VERSION-linux-ARCH.tar.gz               to unpack (dev/bundle.sh)
#   feedrate_VERSION_ARCH.deb                        for apt
#   NOTES.md                                         from CHANGELOG.md
#   SHA256SUMS                                       of all of them
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$REPO_ROOT"

if [[ $# -eq 0 ]]; then set -- "$(uname -m)" "$CROSS_ARCH"; fi
release="${BUNDLE_DIST:-dist}/release"
rm -rf "$release"
mkdir -p "$release"

# make_deb BUNDLE VERSION ARCH: a package with the bundle in /usr/lib/feedrate.
make_deb() {
  local root="$release/deb" arch="${3/x86_64/amd64}" file name
  arch="${arch/aarch64/arm64}"
  mkdir -p "$root/DEBIAN" "$root/usr/lib" "$root/usr/bin"
  cp -a "$1" "$root/usr/lib/feedrate"
  ln -s ../lib/feedrate/bin/feedrate "$root/usr/bin/feedrate"
  name=bash-completion/completions/feedrate
  install -D -m 644 "$1/completions/bash/feedrate" "$root/usr/share/$name"
  name=zsh/vendor-completions/_feedrate
  install -D -m 644 "$1/completions/zsh/_feedrate" "$root/usr/share/$name"
  name=fish/vendor_completions.d/feedrate.fish
  install -D -m 644 "$1/completions/fish/feedrate.fish" "$root/usr/share/$name"
  install -D -m 644 LICENSE "$root/usr/share/doc/feedrate/copyright"
  cat >"$root/DEBIAN/control" <<END
Package: feedrate
Version: $2
Architecture: $arch
Maintainer: feedrate
Section: devel
Priority: optional
Installed-Size: $(du -sk "$1" | cut -f1)
Depends: bash, libc6 (>= 2.34), libgcc-s1, libstdc++6 (>= 11)
Recommends: python3-venv
Description: measures how fast you can feed an accelerator
 Programs that measure augmentation libraries, data loaders and training steps,
 and say whether a change made any of them slower.
END
  file="$release/feedrate_${2}_$arch.deb"
  # The default level takes two minutes of a processor.
  dpkg-deb --root-owner-group -Zxz -z1 --build "$root" "$file" >/dev/null
  rm -rf "$root"
}

for arch in "$@"; do
  wheel="$(BUNDLE_DIST="$release" dev/wheel.sh "$arch")"
  version="$(basename "$wheel" | cut -d- -f2)"
  bundle="$release/feedrate-$version-linux-$arch"
  make_deb "$bundle" "$version" "$arch"
  rm -rf "$bundle"
done
# The newest section, without its heading.
awk '/^## / { sections++; next } sections == 1' CHANGELOG.md >"$release/NOTES.md"
(cd "$release" && sha256sum -- *.whl *.tar.gz *.deb NOTES.md >SHA256SUMS)
ls -1 "$release"
