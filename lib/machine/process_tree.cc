#include "lib/machine/process_tree.h"

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
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

// A number of kilobytes after `name`.
bool Kilobytes(absl::string_view line, absl::string_view name,
               int64_t* number) {
  return absl::ConsumePrefix(&line, name) &&
         absl::SimpleAtoi(
             absl::StripSuffix(absl::StripAsciiWhitespace(line), " kB"),
             number);
}

struct MapBytes {
  int64_t pss = 0;
  int64_t own = 0;  // Of that, in no other process.
};

MapBytes BytesOfMaps(absl::string_view maps, absl::string_view left_out) {
  MapBytes bytes;
  bool counts = true;
  for (const absl::string_view line : absl::StrSplit(maps, '\n')) {
    if (BeginsMap(line)) {
      counts = left_out.empty() || !absl::StrContains(line, left_out);
    }
    int64_t number = 0;
    if (!counts) continue;
    if (Kilobytes(line, "Pss:", &number)) bytes.pss += number * 1024;
    if (Kilobytes(line, "Private_Clean:", &number) ||
        Kilobytes(line, "Private_Dirty:", &number)) {
      bytes.own += number * 1024;
    }
  }
  return bytes;
}

}  // namespace

std::vector<pid_t> ProcessTree(const Root& root, pid_t pid) {
  std::vector<pid_t> tree = {pid};
  for (size_t at = 0; at < tree.size(); ++at)
    AddChildren(root, tree[at], &tree);
  return tree;
}

std::optional<int64_t> TreePssBytes(const Root& root, pid_t parent, pid_t pid,
                                    absl::string_view left_out) {
  std::vector<pid_t> ours = ProcessTree(root, pid);
  ours.push_back(parent);
  std::optional<int64_t> total;
  for (const pid_t member : ProcessTree(root, parent)) {
    const std::optional<std::string> maps =
        root.Read(absl::StrCat("/proc/", member, "/smaps"), kMaxMapsBytes);
    // One that went away since has no memory.
    if (!maps.has_value() || maps->empty()) continue;
    const MapBytes bytes = BytesOfMaps(*maps, left_out);
    const bool is_ours =
        std::find(ours.begin(), ours.end(), member) != ours.end();
    total = total.value_or(0) + bytes.pss - (is_ours ? 0 : bytes.own);
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
