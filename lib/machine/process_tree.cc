#include "lib/machine/process_tree.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/machine/root.h"

namespace feedrate {
namespace {

// No loader has more; a tree that grows while it is read must end.
constexpr size_t kMaxProcesses = 1024;
// Maps of a process with thousands of libraries and threads.
constexpr size_t kMaxMapsBytes = size_t{64} << 20;

// Threads start processes too, and each has a list of its own.
void AddChildren(const Root& root, pid_t pid, std::vector<pid_t>* tree) {
  const std::string tasks = absl::StrCat("/proc/", pid, "/task");
  for (const std::string& task : root.List(tasks)) {
    for (const absl::string_view word : absl::StrSplit(
             root.ReadText(absl::StrCat(tasks, "/", task, "/children")), ' ',
             absl::SkipEmpty())) {
      int child = 0;
      if (absl::SimpleAtoi(word, &child) && tree->size() < kMaxProcesses) {
        tree->push_back(child);
      }
    }
  }
}

// A map begins with a line such as `7f00-7f08 r--p 0000 fd:01 77  /lib/x.so`;
// lines of numbers have a colon in their first word.
bool BeginsMap(absl::string_view line) {
  const absl::string_view word = line.substr(0, line.find(' '));
  return absl::StrContains(word, '-') && !absl::EndsWith(word, ":");
}

int64_t PssOfMaps(absl::string_view maps, absl::string_view left_out) {
  int64_t kilobytes = 0;
  bool counts = true;
  for (absl::string_view line : absl::StrSplit(maps, '\n')) {
    if (BeginsMap(line)) {
      counts = left_out.empty() || !absl::StrContains(line, left_out);
      continue;
    }
    int64_t number = 0;
    if (counts && absl::ConsumePrefix(&line, "Pss:") &&
        absl::SimpleAtoi(
            absl::StripSuffix(absl::StripAsciiWhitespace(line), " kB"),
            &number)) {
      kilobytes += number;
    }
  }
  return kilobytes * 1024;
}

}  // namespace

std::vector<pid_t> ProcessTree(const Root& root, pid_t pid) {
  std::vector<pid_t> tree = {pid};
  for (size_t at = 0; at < tree.size(); ++at)
    AddChildren(root, tree[at], &tree);
  return tree;
}

std::optional<int64_t> TreePssBytes(const Root& root, pid_t pid,
                                    absl::string_view left_out) {
  std::optional<int64_t> total;
  for (const pid_t member : ProcessTree(root, pid)) {
    const std::optional<std::string> maps =
        root.Read(absl::StrCat("/proc/", member, "/smaps"), kMaxMapsBytes);
    // One that went away since has no memory.
    if (!maps.has_value() || maps->empty()) continue;
    total = total.value_or(0) + PssOfMaps(*maps, left_out);
  }
  return total;
}

std::optional<int64_t> TreeReadBytes(const Root& root, pid_t pid) {
  std::optional<int64_t> total;
  for (const pid_t member : ProcessTree(root, pid)) {
    const std::string io = root.ReadText(absl::StrCat("/proc/", member, "/io"));
    for (absl::string_view line : absl::StrSplit(io, '\n')) {
      int64_t bytes = 0;
      if (absl::ConsumePrefix(&line, "read_bytes: ") &&
          absl::SimpleAtoi(line, &bytes)) {
        total = total.value_or(0) + bytes;
      }
    }
  }
  return total;
}

}  // namespace feedrate
