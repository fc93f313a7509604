// Lists of names in one: shard-{000..099}.tar.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_BRACE_LIST_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_BRACE_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Where the first list begins: a range "{000..099}" or choices "{train,val}".
// npos where there is none; other braces are letters like any.
size_t FindBraceList(absl::string_view text);

// Every name that `text` stands for, in order; `text` alone where it has no
// list. Numbers get the leading zeros of the range's ends. InvalidArgument for
// a range that runs backwards, the same name twice, or more than a million.
absl::StatusOr<std::vector<std::string>> ExpandBraceLists(
    absl::string_view text);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_BRACE_LIST_H_
