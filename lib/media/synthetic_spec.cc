#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/media/synthetic.h"

namespace feedrate {
namespace {

absl::Status Wrong(absl::string_view dataset, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      dataset, ": ", what, "; write for example synthetic:rgb,n=100,seed=1"));
}

// One NAME=VALUE of the form that DatasetId has checked.
absl::Status ReadParameter(absl::string_view dataset, absl::string_view text,
                           SyntheticSpec* spec) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  if (parts[0] == "n") {
    if (!absl::SimpleAtoi(parts[1], &spec->n) || spec->n < 1) {
      return Wrong(dataset, "n must be a whole number above 0");
    }
    return absl::OkStatus();
  }
  if (parts[0] == "seed") {
    if (!absl::SimpleAtoi(parts[1], &spec->seed)) {
      return Wrong(dataset, "seed must be a whole number of 64 bits");
    }
    return absl::OkStatus();
  }
  return Wrong(dataset, absl::StrCat("parameter \"", parts[0],
                                     "\" is unknown, n and seed are not"));
}

}  // namespace

bool IsSynthetic(absl::string_view dataset) {
  return absl::StartsWith(dataset, "synthetic:");
}

absl::StatusOr<SyntheticSpec> ParseSynthetic(absl::string_view dataset) {
  ASSIGN_OR_RETURN(const std::string id, DatasetId(dataset));
  const std::vector<absl::string_view> parts =
      absl::StrSplit(absl::StripPrefix(id, "synthetic:"), ',');
  if (parts[0] != "rgb" && parts[0] != "9ch") {
    return Wrong(dataset, absl::StrCat("there are no synthetic images of kind ",
                                       "\"", parts[0], "\", only rgb and 9ch"));
  }
  SyntheticSpec spec;
  for (size_t i = 1; i < parts.size(); ++i) {
    RETURN_IF_ERROR(ReadParameter(dataset, parts[i], &spec));
  }
  return spec;
}

}  // namespace feedrate
