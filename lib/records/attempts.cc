#include "lib/records/attempts.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "lib/base/text.h"
#include "lib/records/train_settings.h"

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

bool QualifiesSpeed(absl::string_view label) {
  for (const char* known : {"host_cpu", "memory_limited", "partly_cold",
                            "per_sample_loop", "skipped_files"}) {
    if (label == known) return true;
  }
  return false;
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

// Programs that write `run` records.
constexpr absl::string_view kRunners[] = {"eval",     "micro", "mixture",
                                          "pipeline", "train", "video"};

// Flags that only choose what is measured, and how, beside those of
// TrainSettingTable. Not: Python interpreters,
// subjects, endpoints, checkpoints, folders and files that are written.
constexpr absl::string_view kRepeatedFlags[] = {
    "audit",         "batch_size",    "batches",        "budget",
    "cache_bytes",   "cold",          "config",         "connections",
    "consumer_ms",   "dataset",       "device",         "env_set",
    "equivalence",   "fail_on",       "format",         "items",
    "jobs",          "label",         "libraries",      "lock_clocks",
    "memory_limit",  "min_time",      "note",           "num_items",
    "num_runs",      "on_error",      "params_profile", "peak_tflops",
    "probes",        "quiet",         "quiet_wait",     "retries",
    "sample_ratio",  "scope",         "seed",           "shard",
    "skip_missing",  "stable_within", "sweep",          "teardown_limit",
    "thread_policy", "timeout",       "transform_set",  "transforms",
    "verify",        "window",        "workers"};

// Whether a value may stand in a command that people run: plain characters, no
// address, no way out of a folder, and no colon, which names code.
bool IsPlainValue(absl::string_view value) {
  return std::all_of(value.begin(), value.end(),
                     [](char c) {
                       return absl::ascii_isalnum(c) ||
                              absl::StrContains("-_=/.,+@% ",
                                                absl::string_view(&c, 1));
                     }) &&
         !absl::StrContains(value, "..");
}

// Whether a config or jobs may stand there: what they name is run, so nobody
// else of this machine may have written it. One of another machine is only read
// where it is relative to a folder that the user has chosen. A group with the
// number of its user is taken for a group of that user alone.
bool IsOwnFile(const std::string& path) {
  struct stat file;
  struct stat link;
  if (stat(path.c_str(), &file) != 0 || lstat(path.c_str(), &link) != 0) {
    return !absl::StartsWith(path, "/");
  }
  const auto is_own = [](const struct stat& info) {
    return info.st_uid == 0 || info.st_uid == geteuid();
  };
  const mode_t others =
      file.st_gid == file.st_uid ? S_IWOTH : S_IWOTH | S_IWGRP;
  return is_own(file) && is_own(link) && (file.st_mode & others) == 0;
}

bool IsRepeated(absl::string_view word) {
  const std::vector<TrainSetting>& settings = TrainSettingTable();
  return std::any_of(
             std::begin(kRepeatedFlags), std::end(kRepeatedFlags),
             [word](absl::string_view flag) { return IsFlag(word, flag); }) ||
         std::any_of(settings.begin(), settings.end(),
                     [word](const TrainSetting& setting) {
                       return *setting.flag != '\0' &&
                              IsFlag(word, setting.flag);
                     });
}

// The checked words of a command, not yet ready for a shell: a program, and
// flags as `--flag` or `--flag=value`. Empty if there is any other.
std::vector<std::string> CheckedWords(absl::Span<const std::string> command) {
  if (command.empty()) return {};
  const std::string program =
      command[0].substr(command[0].find_last_of('/') + 1);
  if (std::find(std::begin(kRunners), std::end(kRunners), program) ==
      std::end(kRunners)) {
    return {};
  }
  std::vector<std::string> words = {program};
  for (size_t i = 1; i < command.size(); ++i) {
    std::string word = command[i];
    if (word == "--resume") continue;
    const bool has_value =
        absl::StrContains(word, '=') ||
        (i + 1 < command.size() && !absl::StartsWith(command[i + 1], "--"));
    if (has_value && !absl::StrContains(word, '=')) {
      absl::StrAppend(&word, "=", command[++i]);
    }
    if (IsFlag(word, "output")) continue;
    if (!IsRepeated(word) || !IsPlainValue(word)) return {};
    if ((IsFlag(word, "config") || IsFlag(word, "jobs")) &&
        !IsOwnFile(
            word.substr(std::min(word.find('='), word.size() - 1) + 1))) {
      return {};
    }
    words.push_back(std::move(word));
  }
  return words;
}

std::string ListFlag(absl::string_view flag,
                     const std::set<std::string>& values) {
  return ShellWord(absl::StrCat("--", flag, "=", absl::StrJoin(values, ",")));
}

}  // namespace

std::vector<std::string> CheckedCommand(absl::Span<const std::string> command) {
  std::vector<std::string> words = CheckedWords(command);
  if (words.empty()) return words;
  for (size_t i = 1; i < words.size(); ++i) words[i] = ShellWord(words[i]);
  words[0] = ProgramCommand(words[0]);
  return words;
}

std::string FlagOf(absl::Span<const std::string> command,
                   absl::string_view flag) {
  for (size_t i = 1; i < command.size(); ++i) {
    if (!IsFlag(command[i], flag)) continue;
    std::string word = command[i];
    if (!absl::StrContains(word, '=')) {
      if (i + 1 == command.size()) return "";
      absl::StrAppend(&word, "=", command[i + 1]);
    }
    return IsRepeated(word) && IsPlainValue(word) ? ShellWord(word) : "";
  }
  return "";
}

std::vector<std::string> CommandAgain(absl::Span<const std::string> command,
                                      absl::Span<const Row* const> rows) {
  const std::vector<std::string> words = CheckedWords(command);
  std::set<std::string> libraries;
  std::set<std::string> transforms;
  for (const Row* row : rows) {
    // A library with a colon is code that the row names.
    if (!IsPlainValue(row->library()) || !IsPlainValue(row->transform())) {
      return {};
    }
    libraries.insert(row->library());
    transforms.insert(row->transform());
  }
  // Jobs of a file are what they are; those of a config can be narrowed down.
  const bool has_config = std::any_of(
      words.begin(), words.end(),
      [](const std::string& word) { return IsFlag(word, "config"); });
  const bool by_transform = has_config && transforms.count("") == 0;
  std::vector<std::string> kept;
  for (const std::string& word : words) {
    if (has_config && IsFlag(word, "libraries")) continue;
    if (by_transform && IsFlag(word, "transforms")) continue;
    kept.push_back(kept.empty() ? ProgramCommand(word) : ShellWord(word));
  }
  if (has_config) kept.push_back(ListFlag("libraries", libraries));
  if (by_transform) kept.push_back(ListFlag("transforms", transforms));
  return kept;
}

}  // namespace feedrate
