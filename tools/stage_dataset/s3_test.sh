#!/usr/bin/env bash
# s3:// with the real client against moto's server. Only in the full tests,
# because both take seconds to start.
set -euo pipefail

skip() {
  echo "SKIPPED: $*"
  exit 0
}
fail() {
  echo "FAIL: $*" >&2
  exit 1
}

[[ ${FEEDRATE_FULL:-} == 1 ]] || skip "runs with FEEDRATE_FULL=1"
command -v aws >/dev/null || skip "aws is not installed (pip install awscli)"
moto_server --help >/dev/null 2>&1 ||
  skip "moto_server is not installed (pip install 'moto[server,s3]')"

tool=$PWD/tools/stage_dataset/stage_dataset
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/s3.XXXXXX")
server=
cleanup() {
  [[ -z $server ]] || kill "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
cd "$work"

port=$((20000 + RANDOM % 20000))
moto_server -H 127.0.0.1 -p "$port" >server.log 2>&1 &
server=$!
export AWS_ENDPOINT_URL=http://127.0.0.1:$port AWS_ACCESS_KEY_ID=test \
  AWS_SECRET_ACCESS_KEY=test AWS_DEFAULT_REGION=us-east-1 HOME=$work
for _ in {1..300}; do
  if curl --silent --output /dev/null "$AWS_ENDPOINT_URL"; then break; fi
  kill -0 "$server" 2>/dev/null || fail "moto_server: $(tail -n 1 server.log)"
  sleep 0.2
done

mkdir set
echo hello >set/a
tar -cf set.tar set
aws s3 mb s3://bucket >/dev/null
aws s3 cp --only-show-errors set.tar "s3://bucket/a folder/set.tar"

source="s3://bucket/a folder/set.tar"
"$tool" --source="$source" --dest=dest --sha256=compute --format=jsonl ||
  fail "not staged"
[[ $(cat dest/set/a) == hello ]] || fail "wrong data"
again=$("$tool" --source="$source" --dest=dest 2>&1)
[[ $again == *already* ]] || fail "staged twice: $again"

# Another object of the same size under the same name has another ETag.
echo HELLO >set/a
tar -cf set.tar set
aws s3 cp --only-show-errors set.tar "$source"
"$tool" --source="$source" --dest=dest
[[ $(cat dest/set/a) == HELLO ]] || fail "a changed object went unnoticed"

code=0
said=$("$tool" --source=s3://bucket/none.tar --dest=dest2 2>&1) || code=$?
[[ $code -eq 2 && $said == *"aws failed"* && $said == *404* ]] ||
  fail "a missing object: exit $code: $said"
echo PASS
