#include "lib/gate/simulation/executions.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/base/xoshiro.h"
#include "lib/gate/verdict/compare_stored.h"
#include "lib/gate/verdict/verdicts.h"
#include "lib/records/row.pb.h"

namespace feedrate {
namespace {

// One draw of variance 1.
double Draw(ExecutionNoise noise, Xoshiro256* random) {
  switch (noise) {
    case ExecutionNoise::kNormal:
      return random->Normal();
    case ExecutionNoise::kTwoValued:
      return random->Coin() ? 1 : -1;
    case ExecutionNoise::kHeavyTailed:
      break;
  }
  double chi_squared = 0;
  for (int i = 0; i < 3; ++i) {
    const double x = random->Normal();
    chi_squared += x * x;
  }
  return random->Normal() / std::sqrt(chi_squared);
}

// The rows of one side.
std::vector<Row> Side(const SimulatedExecutions& design, bool is_baseline,
                      Xoshiro256* random) {
  std::vector<Row> rows;
  const int executions =
      is_baseline ? design.baseline_executions : design.executions;
  const double slowdown =
      is_baseline ? 0 : std::log1p(design.slowdown_percent / 100);
  for (int e = 0; e < executions; ++e) {
    const double shared = Draw(design.noise, random);
    for (int j = 0; j < design.jobs; ++j) {
      const double own = Draw(design.noise, random);
      const double level =
          design.deviation * (design.is_shared ? shared : own) - slowdown;
      for (int run = 0; run < design.runs; ++run) {
        Row& row = rows.emplace_back();
        row.set_job_id(absl::StrCat("job", j));
        row.set_machine_profile("m");
        row.set_status("ok");
        row.set_run_index(run);
        row.set_run_id(absl::StrCat(is_baseline ? "a" : "b", e));
        row.set_throughput(
            1000 * std::exp(level + design.run_deviation * random->Normal()));
      }
    }
  }
  return rows;
}

}  // namespace

ExecutionResult SimulateExecutions(const SimulatedExecutions& design,
                                   int suites) {
  RuleOptions rules;
  Tolerance* const tolerance = rules.tolerances.add_tolerances();
  tolerance->set_metric("throughput");
  tolerance->set_better(HIGHER);
  tolerance->set_percent(5);
  ExecutionResult result;
  for (int i = 0; i < suites; ++i) {
    Xoshiro256 random(design.seed * 0x9e3779b97f4a7c15 +
                      static_cast<uint64_t>(i));
    std::vector<Row> baseline = Side(design, true, &random);
    const Verdict suite =
        SuiteVerdict(CompareRowFiles(Side(design, false, &random),
                                     std::move(baseline), rules),
                     {});
    result.jobs += design.jobs;
    result.slower += suite.counts().slower();
    result.cannot_tell += suite.counts().cannot_tell();
    result.suites_slower += suite.exit_code() == 3 ? 1 : 0;
  }
  return result;
}

}  // namespace feedrate
