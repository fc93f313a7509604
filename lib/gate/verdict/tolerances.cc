#include "lib/gate/verdict/tolerances.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/config/places.h"
#include "lib/config/text_proto.h"
#include "lib/gate/paired_rows.h"
#include "lib/gate/stored_runs.h"

namespace feedrate {
namespace {

absl::Status CheckTolerance(const Tolerance& tolerance, const Places& places,
                            const std::string& path) {
  const auto error = [&](const std::string& field, const std::string& what) {
    return places.Error(absl::StrCat(path, field), what);
  };
  if (tolerance.metric().empty()) {
    return error("", "`metric` is missing; use one such as \"throughput\"");
  }
  const int limits = tolerance.has_percent() + tolerance.has_absolute() +
                     tolerance.has_max_value() + tolerance.has_min_value();
  if (tolerance.off()) {
    if (limits == 0) return absl::OkStatus();
    return error(".off", "goes without a limit; leave one of them out");
  }
  if (limits != 1) {
    return error("", absl::StrCat("has ", limits,
                                  " limits; give exactly one of `percent`, "
                                  "`absolute`, `max_value`, `min_value`"));
  }
  const bool is_relative = tolerance.has_percent() || tolerance.has_absolute();
  if (is_relative && tolerance.better() == BETTER_UNSPECIFIED) {
    return error("", "`better` is missing; use HIGHER or LOWER");
  }
  const double limit =
      tolerance.has_percent() ? tolerance.percent() : tolerance.absolute();
  if (is_relative && !(limit >= 0 && std::isfinite(limit))) {
    return error(tolerance.has_percent() ? ".percent" : ".absolute",
                 absl::StrCat(limit, " is not a number from 0 upwards"));
  }
  for (const double value : {tolerance.max_value(), tolerance.min_value()}) {
    if (!std::isfinite(value)) return error("", "a limit is not finite");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Tolerances> ParseTolerances(
    absl::string_view text, const std::string& file,
    const std::vector<std::string>& others) {
  Tolerances tolerances;
  Places places(file);
  RETURN_IF_ERROR(ParseTextProto(text, file, &tolerances, &places));
  if (tolerances.tolerances_size() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": there is no tolerance in it"));
  }
  for (int i = 0; i < tolerances.tolerances_size(); ++i) {
    RETURN_IF_ERROR(CheckTolerance(tolerances.tolerances(i), places,
                                   absl::StrCat("tolerances[", i, "]")));
  }
  std::vector<std::string> known = MetricNames();
  known.insert(known.end(), others.begin(), others.end());
  for (int i = 0; i < tolerances.tolerances_size(); ++i) {
    const std::string& metric = tolerances.tolerances(i).metric();
    const bool is_known = std::any_of(
        known.begin(), known.end(),
        [&](const std::string& name) { return GlobMatches(metric, name); });
    // Other harnesses count what they like.
    if (is_known || absl::StartsWith(metric, kCounterPrefix)) continue;
    return places.Error(
        absl::StrCat("tolerances[", i, "].metric"),
        absl::StrCat("no row, `train` metrics or `eval` file has a number \"",
                     metric, "\"", DidYouMean(metric, known)));
  }
  return tolerances;
}

absl::StatusOr<Tolerances> LoadTolerances(
    const std::string& path, const std::vector<std::string>& others) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseTolerances(text, path, others);
}

const Tolerance* ToleranceFor(const Tolerances& tolerances,
                              const std::string& metric,
                              const std::string& job_id,
                              const std::string& label, bool with_tails) {
  const Tolerance* last = nullptr;
  for (const Tolerance& tolerance : tolerances.tolerances()) {
    if (tolerance.tail() && !with_tails) continue;
    if (!GlobMatches(tolerance.metric(), metric)) continue;
    if (!IsWantedJob(tolerance.jobs(), job_id, label)) continue;
    last = &tolerance;
  }
  return last == nullptr || last->off() ? nullptr : last;
}

}  // namespace feedrate
