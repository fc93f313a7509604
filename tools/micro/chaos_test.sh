#!/bin/bash
# With mounts of its own where that is possible, so that disks can be full.
exec=(python3 tools/micro/chaos_test.py)
if unshare --mount --map-root-user true 2>/dev/null; then
  exec=(unshare --mount --map-root-user "${exec[@]}")
fi
exec "${exec[@]}"
