// Questions with answers that a program can judge.
#ifndef FEEDRATE_LIB_RUNNER_EVAL_PROBE_H_
#define FEEDRATE_LIB_RUNNER_EVAL_PROBE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// One line of a probe: {"prompt":"2 plus 2 is ","answer":"4"}, or with
// "pattern", a regular expression (ECMAScript) that the whole answer matches.
struct ProbeItem {
  std::string prompt;
  std::string answer;
  std::string pattern;
};

struct Probe {
  // Of the file, without folder and ending.
  std::string name;
  std::vector<ProbeItem> items;
};

// InvalidArgument with file and line: no JSON, no prompt, both or neither of
// answer and pattern, a pattern that is none; or no item at all.
absl::StatusOr<Probe> ParseProbe(absl::string_view text,
                                 const std::string& file);

// Spaces at either end of an answer are not looked at.
bool IsRight(const ProbeItem& item, const std::string& answer);

// REQUIRES: one answer for each item.
ProbeResult ScoreProbe(const Probe& probe,
                       const std::vector<std::string>& answers);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_EVAL_PROBE_H_
