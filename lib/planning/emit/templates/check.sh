#!/bin/bash
# Holds the rows of this campaign against its plan:
#
#   check.sh    rows.jsonl gets all rows; rerun.jsonl the jobs to run again,
#               rerun.tasks the tasks that they are in
#
# Exit: that of check_coverage: 0 complete, 3 it is not, 5 no rows at all.
set -euo pipefail

campaign="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=/dev/null
source "$campaign/common.sh"
cd "$campaign"
mkdir -p rows

find rows -name '[!.]*.jsonl' -print0 | LC_ALL=C sort -z |
  xargs -0 --no-run-if-empty cat >.rows.new
mv -f .rows.new rows.jsonl

status=0
"$(program check_coverage)" --plan=jobs.jsonl rows || status=$?
: >rerun.jsonl
: >rerun.tasks
if [[ "$status" -eq 0 ]]; then exit 0; fi
if [[ "$status" -eq 5 ]]; then
  cp jobs.jsonl rerun.jsonl
elif [[ "$status" -eq 3 ]]; then
  "$(program check_coverage)" --plan=jobs.jsonl --fix=jobs rows >rerun.jsonl ||
    true
else
  exit "$status"
fi
grep -o '"job_id":"[0-9a-f]*"' rerun.jsonl | LC_ALL=C sort -u >.rerun.ids || true
find tasks -name '*.jsonl' -print0 |
  xargs -0 grep -l -F -f .rerun.ids | sed 's|.*/||; s|\.jsonl$||' |
  LC_ALL=C sort >rerun.tasks || true
rm -f .rerun.ids
echo "$(wc -l <rerun.jsonl) jobs to run again (rerun.jsonl), in tasks:" >&2
sed 's/^/  /' rerun.tasks >&2
exit "$status"
