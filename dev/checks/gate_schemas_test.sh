#!/bin/bash
# Checks JUnit, SARIF, the GitHub workflow and jobs of Kubernetes that we write
# against their schemas, and runs the commands of the jobs. Checks pages of
# report by axe-core and the W3C's rules.
#
# Not a Bazel test, because the schemas come from packages of PyPI.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
cd "$REPO_ROOT"

env="$(dev/python_env.sh dev/locks/gate_schemas.lock)"
dev/bazel.sh build //tools/compare_baseline //tools/duel \
  //tools/duel/testing:row_program //tools/plan //tools/check_coverage \
  //tools/report //lib/analysis/testing/...
"$env/bin/python" dev/checks/gate_schemas_check.py
exec "$env/bin/python" dev/checks/html_check.py
