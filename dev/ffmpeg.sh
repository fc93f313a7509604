#!/bin/bash
# Builds the FFmpeg that bundles contain into the user's cache, unless it is
# there, and prints its folder of libraries:
#
#   dev/ffmpeg.sh [ARCH]     /…/feedrate/ffmpeg/x86_64-0123456789abcdef/lib
#
# It is Debian's source of the same version, with decoders and files of video,
# the encoders of synthetic videos, and no network: so it needs only zlib, x264
# and dav1d, where Debian's is linked to 120 libraries. Installs nothing: apt
# fetches with its own state, and packages are only unpacked. Minutes.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

arch="${1:-$(uname -m)}"
# Headers and libraries to link with.
needs=(libdav1d-dev libdav1d6 libx264-dev libx264-164 zlib1g-dev zlib1g)
decoders=h264,hevc,mpeg4,mpeg1video,mpeg2video,h263,h263i,flv,msmpeg4v1,msmpeg4v2
decoders+=,msmpeg4v3,wmv1,wmv2,wmv3,vc1,vp6,vp6f,vp8,vp9,libdav1d,theora,mjpeg,png
decoders+=,rawvideo,ffv1,huffyuv,ffvhuff,utvideo,dvvideo,prores,cinepak,svq1,svq3
demuxers=mov,avi,matroska,mpegts,mpegps,mpegvideo,m4v,h264,hevc,flv,asf,ogg,ivf,dv
options=(--enable-shared --disable-static --disable-programs --disable-doc
  --disable-debug --disable-autodetect --disable-everything --disable-network
  --disable-avdevice --disable-avfilter --disable-swresample --enable-gpl
  --enable-libx264 --enable-libdav1d --enable-zlib --enable-protocol=file
  --enable-parsers --enable-bsfs --enable-decoder="$decoders"
  --enable-demuxer="$demuxers" "--enable-muxer=mov,mp4,avi,matroska,webm"
  "--enable-encoder=mpeg4,libx264,mjpeg,png,ffv1,rawvideo")

# fetch FOLDER: the source of the version that programs are built with, and what
# it needs, of the processor.
fetch() {
  local name=amd64 apt archive version
  if [[ "$arch" == aarch64 ]]; then name=arm64; fi
  mkdir -p "$1"/{lists/partial,cache/archives/partial,parts,needs}
  : >"$1/status"
  # The same places with their sources, whichever way they are written.
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
    sed -n 's/^deb /deb-src /p' >"$1/parts/source.list" || true
  for archive in /etc/apt/sources.list.d/*.sources; do
    if [[ -e "$archive" ]]; then
      sed 's/^Types:.*/Types: deb deb-src/' "$archive" >"$1/parts/${archive##*/}"
    fi
  done
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
    >"$1/parts/binary.list" 2>/dev/null || true
  apt=(apt-get -qq -o "APT::Architecture=$name" -o "APT::Architectures=$name"
    -o "Dir::State::lists=$1/lists" -o "Dir::State::status=$1/status"
    -o "Dir::Cache=$1/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User=root
    -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$1/parts")
  "${apt[@]}" update >&2
  # shellcheck disable=SC2016  # A field of dpkg's.
  version="$(dpkg-query -W -f '${source:Version}' libavcodec-dev)"
  (cd "$1" && "${apt[@]}" download "${needs[@]}" >&2 &&
    "${apt[@]}" source --download-only "ffmpeg=$version" >&2)
  for archive in "$1"/*.deb; do dpkg-deb -x "$archive" "$1/needs"; done
  mkdir "$1/source"
  tar -xf "$1"/ffmpeg_*.orig.tar.xz -C "$1/source" --strip-components=1
}

# build FOLDER: makes FOLDER/made/usr. Libraries hold the words of configure, so
# none of them names a folder of this machine.
build() {
  local place="$1/needs/usr" cross=() libs
  libs="$place/lib/$arch-linux-gnu"
  if [[ "$arch" != "$(uname -m)" ]]; then
    cross=(--enable-cross-compile "--cross-prefix=$arch-linux-gnu-"
      "--arch=$arch" --target-os=linux --pkg-config=pkg-config)
  fi
  # Some are in /lib, which is a link to /usr/lib elsewhere.
  if [[ -d "$1/needs/lib/$arch-linux-gnu" ]]; then
    cp -a "$1/needs/lib/$arch-linux-gnu/." "$libs/"
  fi
  sed -i "s|^prefix=.*|prefix=$place|; s|=/usr|=$place|" "$libs"/pkgconfig/*.pc
  mkdir "$1/build"
  (cd "$1/build" && PKG_CONFIG_LIBDIR="$libs/pkgconfig" ../source/configure \
    --prefix=/usr "${cross[@]}" "${options[@]}" \
    --extra-cflags=-I../needs/usr/include \
    --extra-ldflags="-L../needs/usr/lib/$arch-linux-gnu" &&
    make -j"${JOBS:-$(nproc)}" && make install DESTDIR="$1/made") \
    >"$1/log" 2>&1 ||
    die "FFmpeg is not built: $(tail -n 5 "$1/log")"
}

main() {
  local folder work
  folder="$FEEDRATE_CACHE/ffmpeg/$arch-$({
    dpkg-query -W libavcodec-dev
    cat "${BASH_SOURCE[0]}"
  } | sha256sum | cut -c1-16)"
  if [[ ! -d "$folder" ]]; then
    if [[ "$arch" == x86_64 ]] && ! command -v nasm >/dev/null; then
      die "no nasm, which FFmpeg is assembled with; dev/setup.sh dev installs it"
    fi
    say "building FFmpeg for $arch (minutes, once)"
    mkdir -p "${folder%/*}"
    work="$(mktemp -d "${folder%/*}/.new.XXXXXX")"
    # shellcheck disable=SC2064  # Now, while it is known.
    trap "rm -rf '$work'" EXIT
    fetch "$work"
    build "$work"
    mv -T "$work/made/usr" "$folder" 2>/dev/null || [[ -d "$folder" ]]
  fi
  echo "$folder/lib"
}

main
