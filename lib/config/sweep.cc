#include "lib/config/sweep.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/config/run_config.pb.h"

namespace feedrate {

absl::StatusOr<std::vector<SweepAxis>> ParseSweep(absl::string_view text) {
  std::vector<SweepAxis> axes;
  for (absl::string_view part :
       absl::StrSplit(text, ';', absl::SkipWhitespace())) {
    const std::pair<absl::string_view, absl::string_view> sides =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    SweepAxis axis;
    // Flags take hyphens; so do the axes that stand for them.
    axis.set_name(absl::StrReplaceAll(absl::StripAsciiWhitespace(sides.first),
                                      {{"-", "_"}}));
    for (absl::string_view value :
         absl::StrSplit(sides.second, ',', absl::SkipWhitespace())) {
      axis.add_values(std::string(absl::StripAsciiWhitespace(value)));
    }
    if (axis.name().empty() || axis.values().empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", absl::StripAsciiWhitespace(part),
          "\" is no axis; write name=value,value such as workers=0,2,4"));
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

}  // namespace feedrate
