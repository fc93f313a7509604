#include "lib/catalogue/checker.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/text.h"

namespace feedrate {

void Checker::Enter(absl::string_view field, int index,
                    absl::string_view name) {
  field_ = field;
  index_ = index;
  name_ = name;
}

void Checker::Present(absl::string_view field, absl::string_view value) {
  if (value.empty()) Complain(absl::StrCat(field, " is missing"));
}

void Checker::OneOf(absl::string_view field, absl::string_view value,
                    const std::vector<std::string>& known) {
  if (value.empty()) return Complain(absl::StrCat(field, " is missing"));
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  Complain(absl::StrCat(field, " \"", value, "\" is unknown",
                        DidYouMean(value, known)));
}

void Checker::That(bool good, absl::string_view problem) {
  if (!good) Complain(problem);
}

void Checker::Complain(absl::string_view problem) {
  if (!status_.ok()) return;
  std::string place(file_);
  if (!field_.empty()) {
    absl::StrAppend(&place, ": ", field_, "[", index_, "]");
    if (!name_.empty()) absl::StrAppend(&place, " (", name_, ")");
  }
  status_ = absl::InvalidArgumentError(absl::StrCat(place, ": ", problem));
}

}  // namespace feedrate
