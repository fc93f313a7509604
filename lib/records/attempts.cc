#include "lib/records/attempts.h"

namespace feedrate {
namespace {

// The weight of a warning in a rank: powers of two, so that no sum of weaker
// warnings outweighs a stronger one. The other warnings (`multithreaded`,
// `noop`) are about the measured program; repeating the run cannot help.
int WeightOf(absl::string_view warning) {
  if (warning == "migrated") return 1;
  if (warning == "contended") return 2;
  if (warning == "throttled") return 4;
  if (warning == "noisy") return 8;
  return 0;
}

constexpr int kNoTiming = 16;
constexpr int kDidNotEnd = 32;

}  // namespace

int AttemptRank(absl::string_view status,
                absl::Span<const std::string> warnings) {
  if (status == "early_stopped" || status == "unsupported") return kNoTiming;
  if (status != "ok") return kDidNotEnd;
  int rank = 0;
  for (const std::string& warning : warnings) rank |= WeightOf(warning);
  return rank;
}

int AttemptRank(const Row& row) {
  return AttemptRank(
      row.status(),
      std::vector<std::string>(row.warnings().begin(), row.warnings().end()));
}

std::vector<std::string> DisturbancesAmong(
    absl::Span<const std::string> warnings) {
  std::vector<std::string> found;
  for (const std::string& warning : warnings) {
    if (WeightOf(warning) > 1) found.push_back(warning);
  }
  return found;
}

std::vector<std::string> DisturbancesOf(const Row& row) {
  return DisturbancesAmong(
      std::vector<std::string>(row.warnings().begin(), row.warnings().end()));
}

}  // namespace feedrate
