#include "lib/base/without_query.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace feedrate {
namespace {

// What an address cannot hold, as it stands in a text.
constexpr absl::string_view kEnds = " \t\n\"'<>";

}  // namespace

std::string WithoutQueries(absl::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const size_t begin = std::min(text.find("http://"), text.find("https://"));
    if (begin == text.npos) break;
    absl::StrAppend(&clean, text.substr(0, begin));
    text.remove_prefix(begin);
    const absl::string_view address = text.substr(0, text.find_first_of(kEnds));
    const size_t query = address.find('?');
    absl::StrAppend(&clean, address.substr(0, query),
                    query == address.npos ? "" : "?...");
    text.remove_prefix(address.size());
  }
  return absl::StrCat(clean, text);
}

}  // namespace feedrate
