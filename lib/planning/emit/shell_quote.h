// Words for a POSIX shell.
#ifndef FEEDRATE_LIB_PLANNING_EMIT_SHELL_QUOTE_H_
#define FEEDRATE_LIB_PLANNING_EMIT_SHELL_QUOTE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace feedrate {

// One word that every shell reads as exactly `text`, whatever is in it; plain
// words stay as they are.
std::string ShellQuote(absl::string_view text);

// A file of assignments, to be read by `source`.
class ShellSettings {
 public:
  void Comment(absl::string_view text);
  void Set(absl::string_view name, absl::string_view value);
  // A bash array.
  void SetList(absl::string_view name, const std::vector<std::string>& words);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_PLANNING_EMIT_SHELL_QUOTE_H_
