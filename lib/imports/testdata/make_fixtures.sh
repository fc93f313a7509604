#!/bin/bash
# Writes the result files of real tools that the tests of lib/imports read:
#
#   lib/imports/testdata/make_fixtures.sh
#
# Tools: google/benchmark, hyperfine, Go and Catch2 of the distribution (the
# group `fixtures` of dev/packages.txt), and pytest-benchmark, pyperf and asv of
# dev/locks/imports.lock. README.md says where the other files come from.
set -euo pipefail
# shellcheck source=dev/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../../dev/common.sh"

"$REPO_ROOT/dev/setup.sh" build fixtures
data="$REPO_ROOT/lib/imports/testdata"
bin="$("$REPO_ROOT/dev/python_env.sh" "$REPO_ROOT/dev/locks/imports.lock")/bin"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME="$work" GOCACHE="$work/go" GOFLAGS=-mod=mod PATH="$bin:$PATH"

# tidy FILE: JSON on standard input without what tells this machine apart, one
# result per line.
tidy() {
  python -c '
import json
import sys

HIDDEN = {"node": "host", "hostname": "host", "host_name": "host", "release": "6.1",
          "platform": "Linux", "python_executable": "python", "env_name": "existing",
          "username": "t", "project": "demo"}


def tidy(value):
    if isinstance(value, list):
        return [tidy(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: HIDDEN.get(key, tidy(item)) for key, item in value.items()
            if key not in ("flags", "command_line", "python_cflags", "env_vars",
                           "python_config_args",
                           "requirements") and not str(item).startswith("/")}


def body(value):
    if isinstance(value, list) and any(isinstance(i, (list, dict)) for i in value):
        return "[\n" + ",\n".join(json.dumps(item) for item in value) + "\n]"
    return json.dumps(value)


pairs = (f"{json.dumps(key)}: {body(item)}"
         for key, item in tidy(json.load(sys.stdin)).items())
print("{\n" + ",\n".join(pairs) + "\n}")' >"$1"
}

# google/benchmark: parameters, a template, threads, counters, an error, a
# complexity fit.
cat >bench.cc <<'CC'
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>
template <typename T>
void BM_sort(benchmark::State& state) {
  std::vector<T> values(state.range(0));
  for (auto _ : state) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = (i * 7919) % 1009;
    std::sort(values.begin(), values.end());
    benchmark::DoNotOptimize(values.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["passes"] = 2;
  state.SetComplexityN(state.range(0));
}
BENCHMARK_TEMPLATE(BM_sort, int)->ArgName("n")->Arg(64)->Arg(256)->Complexity();
void BM_copy(benchmark::State& state) {
  std::vector<char> from(4096), to(4096);
  for (auto _ : state) {
    std::copy(from.begin(), from.end(), to.begin());
    benchmark::DoNotOptimize(to.data());
  }
  state.SetBytesProcessed(state.iterations() * 4096);
}
BENCHMARK(BM_copy)->Threads(2)->UseRealTime()->Unit(benchmark::kMicrosecond);
void BM_broken(benchmark::State& state) {
  state.SkipWithError("no \"device\"");
  for (auto _ : state) {
  }
}
BENCHMARK(BM_broken);
BENCHMARK_MAIN();
CC
g++ -O2 bench.cc -lbenchmark -pthread -o bench
./bench --benchmark_min_time=0.005 --benchmark_repetitions=5 \
  --benchmark_format=json | tidy "$data/google_benchmark.json"
./bench --benchmark_min_time=0.005 --benchmark_repetitions=5 \
  --benchmark_report_aggregates_only --benchmark_filter=sort \
  --benchmark_format=json | tidy "$data/google_benchmark_summary.json"
./bench --benchmark_min_time=0.005 --benchmark_filter='sort|copy' \
  --benchmark_format=csv >"$data/google_benchmark.csv" 2>/dev/null

# pytest-benchmark, with and without the raw data.
cat >test_sort.py <<'PY'
import pytest


@pytest.mark.parametrize("n", [10, 100])
def test_sort(benchmark, n):
    benchmark.extra_info["kind"] = "list"
    benchmark.pedantic(sorted, args=(list(range(n, 0, -1)),), rounds=12, iterations=5)
PY
python -m pytest -q -p no:cacheprovider test_sort.py \
  --benchmark-json=out.json --benchmark-autosave \
  --benchmark-storage=file://saved >/dev/null
tidy "$data/pytest_benchmark_data.json" <out.json
tidy "$data/pytest_benchmark_stats.json" <"$(echo saved/*/*.json)"

# pyperf: a file of one benchmark and one of two, and what it says about them.
python -m pyperf timeit --name=sort -p4 -n3 -w1 -l512 -q -o one.json \
  'sorted([3, 1, 2])'
python -m pyperf timeit --name=sum -p3 -n2 -w1 -l512 -q -o two.json \
  'sum([3, 1, 2])'
python -m pyperf convert one.json --add=two.json -o both.json
for file in one both; do tidy "$data/pyperf_$file.json" <"$file.json"; done
python - "$data/pyperf_both.json" >"$data/pyperf_both.expected" <<'PY'
import sys

import pyperf

for bench in pyperf.BenchmarkSuite.load(sys.argv[1]):
    print(bench.get_name(), repr(bench.mean()), repr(bench.median()), repr(bench.stdev()))
PY

# hyperfine: a parameter and two commands.
hyperfine --style=none --runs=6 --warmup=1 --export-json=hyperfine.json \
  --export-csv="$data/hyperfine.csv" --shell=none --parameter-list n 1,2 \
  'sleep 0.00{n}' 'sh -c "sleep 0.00{n}"'
tidy "$data/hyperfine.json" <hyperfine.json

# Go: five runs, a sub-benchmark, memory and an own unit.
mkdir gobench
cat >gobench/go.mod <<'GO'
module example.org/gobench

go 1.19
GO
cat >gobench/sort_test.go <<'GO'
package gobench

import (
	"sort"
	"testing"
)

func BenchmarkSort(b *testing.B) {
	for _, n := range []string{"n=64", "n=256"} {
		size := map[string]int{"n=64": 64, "n=256": 256}[n]
		b.Run(n, func(b *testing.B) {
			b.SetBytes(int64(8 * size))
			for i := 0; i < b.N; i++ {
				values := make([]int, size)
				for k := range values {
					values[k] = (k * 7919) % 1009
				}
				sort.Ints(values)
			}
			b.ReportMetric(float64(size), "values/op")
		})
	}
}

func BenchmarkEmpty(b *testing.B) {
	for i := 0; i < b.N; i++ {
	}
}
GO
(cd gobench && go test -bench=. -benchmem -benchtime=2000x -count=6 \
  >"$data/go.txt")

# Catch2 2 (Debian 12's).
cat >catch.cc <<'CC'
#define CATCH_CONFIG_MAIN
#define CATCH_CONFIG_ENABLE_BENCHMARKING
#include <catch2/catch.hpp>
#include <numeric>
#include <vector>
TEST_CASE("sums & products") {
  std::vector<int> values(256, 3);
  BENCHMARK("sum") { return std::accumulate(values.begin(), values.end(), 0); };
  SECTION("of halves") {
    BENCHMARK("half <0>") {
      return std::accumulate(values.begin(), values.begin() + 128, 0);
    };
  }
}
CC
g++ -O2 catch.cc -o catch
./catch -r xml --benchmark-samples 20 --benchmark-resamples 1000 \
  --benchmark-warmup-time 5 >"$data/catch2.xml"

# asv: a folder of results with the samples of one commit and without those of
# the other.
mkdir repo && cd repo && git init -q -b main
git config user.email t@example.org && git config user.name t
cat >setup.py <<'PY'
from setuptools import setup

setup(name="demo", version="1", py_modules=[])
PY
git add . && git commit -qm one && git commit -q --allow-empty -m two
cat >asv.conf.json <<'JSON'
{"version": 1, "project": "demo", "repo": ".", "branches": ["main"],
 "environment_type": "existing", "benchmark_dir": "benchmarks"}
JSON
mkdir benchmarks
touch benchmarks/__init__.py
cat >benchmarks/sorting.py <<'PY'
class Sort:
    params = [[10, 100], ["list", "tuple"]]
    param_names = ["n", "kind"]
    repeat = 6
    number = 50
    warmup_time = 0

    def setup(self, n, kind):
        if n == 100 and kind == "tuple":
            raise NotImplementedError
        self.values = {"list": list, "tuple": tuple}[kind](range(n, 0, -1))

    def time_sort(self, n, kind):
        sorted(self.values)


def peakmem_list():
    return [0] * 1000


peakmem_list.repeat = 1
PY
python -m asv machine --yes --machine=host --os=Linux --arch=x86_64 \
  --cpu="Example CPU" --num_cpu=2 --ram=8 >/dev/null
python -m asv run --python="$(command -v python)" --machine=host \
  --set-commit-hash="$(git rev-parse HEAD~1)" --record-samples >/dev/null
python -m asv run --python="$(command -v python)" --machine=host \
  --set-commit-hash="$(git rev-parse HEAD)" >/dev/null
rm -rf "$data/asv"
mkdir -p "$data/asv/host"
tidy "$data/asv/benchmarks.json" <results/benchmarks.json
tidy "$data/asv/host/machine.json" <results/host/machine.json
for commit in HEAD~1 HEAD; do
  name="$(git rev-parse --short=8 $commit)"
  tidy "$data/asv/host/$name-existing.json" <"$(echo results/host/"$name"-*)"
done
