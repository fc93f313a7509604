#!/bin/bash
# Writes testdata/media: images and clips of rare kinds, and what Pillow and PyAV
# read from them. Run it after a change of lib/media/video/write_odd_media.cc.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$REPO_ROOT"

env="$(dev/python_env.sh dev/locks/media_answers.lock)"
dev/bazel.sh build //lib/media/video:write_odd_media
bazel-bin/lib/media/video/write_odd_media --folder=testdata/media
exec "$env/bin/python" -B dev/media_answers.py testdata/media
