// Two tests with the same bytes. Read as the output of a profiler, they give
// stacks with times that can be added, and a profile whose text has only
// printable lines. Read as decisions, they make samples that are written as
// perf does; each is found with its names and time.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "glog/logging.h"
#include "lib/base/text.h"
#include "lib/gate/duel/profile.h"
#include "lib/gate/where.h"
#include "third_party/fuzz/decisions.h"

namespace feedrate {
namespace {

void CheckStacks(const FoldedStacks& stacks) {
  for (const auto& stack : stacks) {
    CHECK(std::isfinite(stack.second) && stack.second > 0) << stack.first;
    CHECK(stack.first.find('\n') == std::string::npos);
  }
}

void ReadAnything(const std::string& text) {
  const FoldedStacks perf = ParsePerfScript(text);
  FoldedStacks python;
  AddPythonStacks(text, &python);
  CheckStacks(perf);
  CheckStacks(python);
  for (const FoldedStacks& other : {perf, python}) {
    const Profile profile = MakeProfile("perf", {perf, other}, {other, python});
    for (const ProfilePart& part : profile.parts()) {
      CHECK(std::isfinite(part.a_s()) && std::isfinite(part.b_s()));
    }
    const std::string shown = ProfileText(profile, 10);
    CHECK_EQ(PrintableLines(shown), shown);
  }
}

// A symbol as perf prints it, with everything that C++ may have in a name.
std::string Symbol(Decisions* decisions) {
  static constexpr const char* kParts[] = {"operator()", "a::b",    "<x (y)>",
                                           "(int, T*)",  " const",  ";",
                                           "[clone .0]", "lambda#1"};
  std::string name = "f";
  for (uint32_t left = decisions->Below(5); left > 0; --left) {
    name += kParts[decisions->Below(8)];
  }
  return name;
}

void ReadWhatIsKnown(Decisions* decisions) {
  static constexpr const char* kFiles[] = {"/usr/bin/x", "[kernel.kallsyms]",
                                           "/tmp/a (1)/x", "/tmp/x (deleted)",
                                           "//anon"};
  std::string text;
  std::map<std::string, int64_t> expected;
  while (!decisions->empty()) {
    const int64_t period = 1 + decisions->Below(1 << 24);
    absl::StrAppend(&text, absl::StrFormat("%10d \n", period));
    std::string stack;
    for (uint32_t left = 1 + decisions->Below(3); left > 0; --left) {
      const std::string name = Symbol(decisions);
      absl::StrAppend(&text, "\t    7f12 ", name, " (",
                      kFiles[decisions->Below(5)], ")\n");
      stack = absl::StrCat(absl::StrReplaceAll(name, {{";", ","}}),
                           stack.empty() ? "" : ";", stack);
    }
    absl::StrAppend(&text, "\n");
    expected[stack] += period;
  }
  const FoldedStacks stacks = ParsePerfScript(text);
  CHECK_EQ(stacks.size(), expected.size()) << text;
  for (const auto& [stack, period] : expected) {
    const auto found = stacks.find(stack);
    CHECK(found != stacks.end()) << stack << "\n" << text;
    CHECK_LE(std::abs(found->second - period * 1e-9), 1e-12) << text;
  }
}

}  // namespace
}  // namespace feedrate

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // More adds only repetitions, and the intervals of a profile take time.
  if (size > 4096) return 0;
  feedrate::ReadAnything(
      std::string(reinterpret_cast<const char*>(data), size));
  feedrate::Decisions decisions(data, size);
  feedrate::ReadWhatIsKnown(&decisions);
  return 0;
}
