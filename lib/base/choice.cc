#include "lib/base/choice.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "lib/base/did_you_mean.h"

namespace feedrate {

absl::Status CheckChoice(absl::string_view flag, const std::string& value,
                         const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      flag, ": \"", value, "\" is unknown", DidYouMean(value, known)));
}

}  // namespace feedrate
