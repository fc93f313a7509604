#include "lib/records/attempts.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "lib/base/text.h"

namespace feedrate {
namespace {

// The weight of a warning in a rank: powers of two, so that no sum of weaker
// warnings outweighs a stronger one. The other warnings (`multithreaded`,
// `noop`) are about the measured program; repeating the run cannot help.
int WeightOf(absl::string_view warning) {
  if (warning == "migrated") return 1;
  if (warning == "contended") return 2;
  if (warning == "throttled") return 4;
  if (warning == "noisy") return 8;
  return 0;
}

constexpr int kNoTiming = 16;
constexpr int kDidNotEnd = 32;

}  // namespace

const std::vector<std::string>& RowStatuses() {
  static const auto* const statuses = new std::vector<std::string>{
      "ok",      "early_stopped", "unsupported", "failed",
      "crashed", "timeout",       "oom",         "diverged"};
  return *statuses;
}

bool IsFailure(absl::string_view status) {
  for (const char* failure :
       {"failed", "crashed", "timeout", "oom", "diverged"}) {
    if (status == failure) return true;
  }
  return false;
}

int AttemptRank(absl::string_view status,
                absl::Span<const std::string> warnings) {
  if (status == "early_stopped" || status == "unsupported") return kNoTiming;
  if (status != "ok") return kDidNotEnd;
  int rank = 0;
  for (const std::string& warning : warnings) rank |= WeightOf(warning);
  return rank;
}

int AttemptRank(const Row& row) {
  return AttemptRank(
      row.status(),
      std::vector<std::string>(row.warnings().begin(), row.warnings().end()));
}

std::vector<std::string> DisturbancesAmong(
    absl::Span<const std::string> warnings) {
  std::vector<std::string> found;
  for (const std::string& warning : warnings) {
    if (WeightOf(warning) > 1) found.push_back(warning);
  }
  return found;
}

std::vector<std::string> DisturbancesOf(const Row& row) {
  return DisturbancesAmong(
      std::vector<std::string>(row.warnings().begin(), row.warnings().end()));
}

bool HasLabel(const Row& row, absl::string_view label) {
  return std::find(row.labels().begin(), row.labels().end(), label) !=
         row.labels().end();
}

std::string PageCacheOf(const Row& row) {
  if (HasLabel(row, "cold")) return "cold";
  return HasLabel(row, "partly_cold") ? "" : "warm";
}

namespace {

// Whether `word` is the flag, in either spelling, with its value or before it.
bool IsFlag(absl::string_view word, absl::string_view flag) {
  const size_t end = std::min(word.find('='), word.size());
  return absl::StrReplaceAll(word.substr(0, end), {{"-", "_"}}) ==
         absl::StrCat("__", flag);
}

std::string ListFlag(absl::string_view flag,
                     const std::set<std::string>& values) {
  return ShellWord(absl::StrCat("--", flag, "=", absl::StrJoin(values, ",")));
}

}  // namespace

std::string StartOf(const std::string& program) {
  const std::string name = program.substr(program.find_last_of('/') + 1);
  const std::string command = ProgramCommand(name);
  return command == name ? ShellWord(program) : command;
}

std::string FlagOf(absl::Span<const std::string> command,
                   absl::string_view flag) {
  for (size_t i = 1; i < command.size(); ++i) {
    if (!IsFlag(command[i], flag)) continue;
    if (absl::StrContains(command[i], '=')) return ShellWord(command[i]);
    if (i + 1 < command.size()) {
      return ShellWord(absl::StrCat(command[i], "=", command[i + 1]));
    }
  }
  return "";
}

std::vector<std::string> CommandAgain(absl::Span<const std::string> command,
                                      absl::Span<const Row* const> rows) {
  if (command.empty()) return {};
  std::set<std::string> libraries;
  std::set<std::string> transforms;
  for (const Row* row : rows) {
    libraries.insert(row->library());
    transforms.insert(row->transform());
  }
  // Jobs of a file are what they are; those of a config can be narrowed down.
  const bool has_config = std::any_of(
      command.begin(), command.end(),
      [](const std::string& word) { return IsFlag(word, "config"); });
  const bool by_transform = has_config && transforms.count("") == 0;
  std::vector<std::string> dropped = {"output"};
  if (has_config) dropped.push_back("libraries");
  if (by_transform) dropped.push_back("transforms");
  std::vector<std::string> words = {StartOf(command[0])};
  for (size_t i = 1; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (word == "--resume") continue;
    if (std::any_of(dropped.begin(), dropped.end(),
                    [&](const auto& flag) { return IsFlag(word, flag); })) {
      if (!absl::StrContains(word, '=')) ++i;
      continue;
    }
    words.push_back(ShellWord(word));
  }
  if (has_config) words.push_back(ListFlag("libraries", libraries));
  if (by_transform) words.push_back(ListFlag("transforms", transforms));
  return words;
}

}  // namespace feedrate
