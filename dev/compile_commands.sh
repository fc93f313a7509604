#!/bin/bash
# Writes compile_commands.json, which clangd, clang-tidy and editors read, and makes
# the headers that it needs.
#
#   dev/compile_commands.sh [FOLDER]     this checkout if none is named
#
# Every C++ file has a command of its own. Bazel's commands would not do: it compiles
# the sources of a library as one file.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$REPO_ROOT"
mapfile -t generated < <(bazel query --noshow_progress \
  'kind(genrule, //lib/... + //tools/...)' 2>/dev/null)
dev/bazel.sh build --noshow_progress --show_result=0 "${generated[@]}" ||
  say "the build failed: generated headers may be missing"

flags=(-std=c++17 -I. -isystem "$(readlink -f bazel-bin)"
  -isystem /usr/include/opencv4)
if torch="$(third_party/torch/find_torch.sh 2>/dev/null)"; then
  # After the others: it has an old protobuf.
  flags+=(-idirafter "$torch/include"
    -idirafter "$torch/include/torch/csrc/api/include")
fi
repo_files '*.cc' '*.h' | python3 -c '
import json, os, sys
commands = [
    {"directory": os.getcwd(), "file": file,
     "arguments": ["clang++", *sys.argv[1:], "-x",
                   "c++-header" if file.endswith(".h") else "c++", "-c", file]}
    for file in sys.stdin.read().split()
]
json.dump(commands, sys.stdout, indent=0)
' "${flags[@]}" >"${1:-.}/compile_commands.json"
