# Sourced by the scripts that make folders of programs (dev/bundle.sh,
# dev/gpu_bundle.sh): builds for the processor ARCH (this one unless it is set),
# and copies the shared libraries that programs need.
# shellcheck shell=bash disable=SC2034  # Some variables are for those scripts.

ARCH="${ARCH:-$(uname -m)}"
libraries=("/usr/lib/$ARCH-linux-gnu" "/lib/$ARCH-linux-gnu")
# A processor of its own builds with its own tools.
if [[ "$ARCH" == "$(uname -m)" ]]; then
  bazel=("$REPO_ROOT/dev/bazel.sh")
  built="bazel-bin"
  compiler="gcc"
  strip="strip"
else
  [[ "$ARCH" == "$CROSS_ARCH" ]] ||
    die "ARCH=$ARCH: want $(uname -m) or $CROSS_ARCH"
  bazel=("$REPO_ROOT/dev/cross.sh")
  built="dist/$ARCH/bin"
  compiler="$ARCH-linux-gnu-gcc"
  strip="$ARCH-linux-gnu-strip"
  sysroot="$("$REPO_ROOT/dev/sysroot.sh")"
  libraries=("${libraries[@]/#/$sysroot}")
  TORCH_ROOT="${TORCH_ROOT:-$("$REPO_ROOT/dev/torch.sh" "$ARCH")}"
  export TORCH_ROOT
fi

# Libraries of the target: the libc family, the compiler's, the driver's, and
# torch with its own.
of_target='^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|mvec|anl|nsl)\.so.*'
of_target+='|lib(stdc\+\+|gcc_s)\.so.*|lib(torch|c10|cuda|cublas|nvidia-|cudart'
of_target+='|cupti).*)$'

# Those of FFmpeg are built for bundles (dev/ffmpeg.sh).
ffmpeg='^lib(av(codec|format|util)|swscale)\.so'

# OpenCV asks LAPACK and BLAS for products and decompositions of matrices with more
# than 25 rows, and GLX for windows; our operations have matrices of 8 by 8. curl asks
# the others for protocols besides HTTP, cookies, Kerberos and names that are not
# ASCII. With all that these need in turn, they take 30 MB (stand_in).
matrices='^lib(lapack|blas|GLX)\.so'
uncalled="$matrices|^lib(gssapi_krb5|idn2|lber-.*|ldap-.*|psl|rtmp|ssh2)\.so"

# needed FILE: names of the shared libraries that it asks for. Read to the end: a
# grep that stops at the first match ends readelf, and with it the pipe, by chance.
needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }

# set_rpath FILE PATH: strip first, because strip may undo what patchelf did. A
# static program looks for no library, so it has no path to set.
set_rpath() {
  "$strip" --strip-unneeded "$1"
  if [[ -n "$(needed "$1")" ]]; then patchelf --set-rpath "$2" "$1"; fi
}

# find_library NAME: its path.
find_library() {
  local place
  for place in "${libraries[@]}" "${libraries[@]/%//blas}" \
    "${libraries[@]/%//lapack}"; do
    if [[ -e "$place/$1" ]]; then
      echo "$place/$1"
      return
    fi
  done
  die "$1 is not in ${libraries[*]}"
}

# stand_in NAME USER LIB: in place of a library that is never called, one that has
# the functions which USER takes from it, in the same versions.
stand_in() {
  local body='return 0;' functions version script=()
  if [[ "$1" =~ $matrices ]]; then body='__builtin_trap();'; fi
  functions="$(nm -D --undefined-only "$2" | sed -n 's/^ *U //p' |
    grep -xF "$(nm -D --defined-only "$(find_library "$1")" |
      sed -n 's/.* [A-Z] //p' | sed 's/@@/@/')")"
  sed -n 's/.*@//p' <<<"$functions" | sort -u | while IFS= read -r version; do
    echo "$version { global: $(sed -n "s/@$version\$/;/p" <<<"$functions" | xargs) };"
  done >"$3/versions"
  if [[ -s "$3/versions" ]]; then script=("-Wl,--version-script=$3/versions"); fi
  sed "s/@.*//; s/.*/long &(void) { $body }/" <<<"$functions" |
    "$compiler" -O2 -shared -fPIC -nostdlib -Wl,--build-id=none "-Wl,-soname,$1" \
      "${script[@]}" -w -x c -o "$3/$1" -
  rm "$3/versions"
  "$strip" --strip-unneeded "$3/$1"
}

# add_library NAME LIB: one library, and the license of the package that owns it.
add_library() {
  local path file package made
  path="$(find_library "$1")"
  made="$path"
  if [[ "$1" =~ $ffmpeg ]]; then made="$("$REPO_ROOT/dev/ffmpeg.sh" "$ARCH")/$1"; fi
  install -m 644 "$made" "$2/$1"
  # shellcheck disable=SC2016  # $ORIGIN is for the dynamic linker.
  set_rpath "$2/$1" '$ORIGIN'
  # This machine has the same packages for itself.
  path="${path#"${sysroot:-}"}"
  file="$(readlink -f "${path//$ARCH/$(uname -m)}")"
  # Some packages list their files under /lib, which is a link to /usr/lib.
  package="$(dpkg-query -S "$file" "${file#/usr}" 2>/dev/null |
    sed -n '1s/:.*//p')" || true
  if [[ -e "/usr/share/doc/$package/copyright" ]]; then
    install -D -m 644 "/usr/share/doc/$package/copyright" "$2/licenses/$package"
  fi
}

# add_binary SOURCE TARGET LIB [PLACE...]: a program, with the shared libraries that
# it needs in LIB. It also looks for libraries in PLACEs, relative to LIB.
add_binary() {
  local path place
  install -D -m 755 "$1" "$2"
  add_libraries "$2" "$3"
  # shellcheck disable=SC2016  # $ORIGIN is for the dynamic linker.
  path='$ORIGIN'"/$(realpath --relative-to="$(dirname "$2")" "$3")"
  for place in "${@:4}"; do path+=":${path%%:*}/$place"; done
  set_rpath "$2" "$path"
}

# add_libraries FILE LIB: those it needs, and theirs.
add_libraries() {
  local name
  for name in $(needed "$1"); do
    if [[ "$name" =~ $of_target || -e "$2/$name" ]]; then continue; fi
    if [[ "$name" =~ $uncalled ]]; then
      stand_in "$name" "$1" "$2"
      continue
    fi
    add_library "$name" "$2"
    add_libraries "$2/$name" "$2"
  done
}
