#include "lib/catalogue/published_numbers.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

using View = absl::string_view;

enum Column {
  kScenario,
  kMode,
  kScope,
  kDevice,
  kMachine,
  kLibrary,
  kTransform,
  kItemsPerS,
  kStatus,
  kRuns,
  kRevision,
  kColumns
};

constexpr char kHeader[] =
    "scenario,mode,scope,device,machine,library,transform,items_per_s,status,"
    "runs,revision";

using Fields = std::array<View, kColumns>;

// Cuts the first line off `rest`, without its end.
View NextLine(View* rest) {
  const size_t end = std::min(rest->find('\n'), rest->size());
  const View line = rest->substr(0, end);
  rest->remove_prefix(std::min(end + 1, rest->size()));
  return line;
}

// False unless `line` has as many fields as there are columns.
bool Split(View line, Fields* fields) {
  for (int i = 0; i + 1 < kColumns; ++i) {
    const size_t comma = line.find(',');
    if (comma == View::npos) return false;
    (*fields)[i] = line.substr(0, comma);
    line.remove_prefix(comma + 1);
  }
  (*fields)[kColumns - 1] = line;
  return line.find(',') == View::npos;
}

absl::Status BadLine(const std::string& file, int line, View problem) {
  return absl::InvalidArgumentError(
      absl::StrCat(file, ":", line, ": ", problem));
}

}  // namespace

absl::StatusOr<PublishedNumbers> PublishedNumbers::Load(
    const std::string& configs_dir) {
  const std::string file =
      JoinPath(JoinPath(configs_dir, "published"), "throughput.csv");
  ASSIGN_OR_RETURN(std::string text, ReadFile(file));
  return Parse(std::move(text), file);
}

absl::StatusOr<PublishedNumbers> PublishedNumbers::Parse(
    std::string text, const std::string& file) {
  PublishedNumbers numbers;
  numbers.text_ = absl::make_unique<const std::string>(std::move(text));
  View rest = *numbers.text_;
  if (NextLine(&rest) != kHeader) {
    return BadLine(file, 1, absl::StrCat("the header must be ", kHeader));
  }
  numbers.cells_.reserve(std::count(rest.begin(), rest.end(), '\n'));
  Fields f;
  for (int line = 2; !rest.empty(); ++line) {
    if (!Split(NextLine(&rest), &f)) {
      return BadLine(file, line, absl::StrCat("needs ", kColumns, " fields"));
    }
    PublishedNumber number;
    if (!absl::SimpleAtod(f[kItemsPerS], &number.items_per_s) ||
        !(number.items_per_s > 0)) {
      return BadLine(file, line,
                     absl::StrCat("items_per_s \"", f[kItemsPerS],
                                  "\" is not a number above 0"));
    }
    number.early_stopped = f[kStatus] == "early_stopped";
    numbers.cells_.try_emplace(
        std::make_tuple(f[kScenario], f[kMode], f[kDevice], f[kTransform],
                        f[kLibrary]),
        number);
  }
  return numbers;
}

const PublishedNumber* PublishedNumbers::Find(View scenario, View mode,
                                              View device, View transform,
                                              View library) const {
  const auto found =
      cells_.find(std::make_tuple(scenario, mode, device, transform, library));
  return found == cells_.end() ? nullptr : &found->second;
}

absl::optional<double> PublishedNumbers::ItemsPerSecond(View scenario,
                                                        View mode, View device,
                                                        View transform,
                                                        View library) const {
  const PublishedNumber* number =
      Find(scenario, mode, device, transform, library);
  if (number == nullptr) return absl::nullopt;
  return number->items_per_s;
}

}  // namespace feedrate
