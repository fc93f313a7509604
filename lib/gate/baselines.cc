#include "lib/gate/baselines.h"

#include <fcntl.h>

#include <cmath>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "lib/base/files.h"
#include "lib/base/private_folder.h"
#include "lib/base/status_macros.h"
#include "lib/base/unique_fd.h"
#include "lib/machine/git_state.h"
#include "lib/records/json.h"
#include "simdjson.h"

namespace feedrate {
namespace {

// Names are paths through nested objects: without a limit, a small file could
// have names of gigabytes.
constexpr size_t kMaxNameBytes = 512;

// The lines of the keys in `json`, in their order, without those in lists.
std::vector<int> KeyLines(absl::string_view json) {
  std::vector<int> lines;
  int line = 1;
  int line_of_text = 0;
  int lists = 0;
  for (size_t i = 0; i < json.size(); ++i) {
    switch (json[i]) {
      case '\n':
        ++line;
        break;
      case '[':
        ++lists;
        break;
      case ']':
        --lists;
        break;
      case '"':
        line_of_text = line;
        for (++i; i < json.size() && json[i] != '"'; ++i) {
          if (json[i] == '\\') ++i;
        }
        break;
      case ':':
        if (lists == 0) lines.push_back(line_of_text);
        break;
      default:
        break;
    }
  }
  return lines;
}

// Absent unless it is a list of finite numbers.
absl::optional<std::vector<double>> NumbersOf(simdjson::dom::element value) {
  simdjson::dom::array list;
  if (value.get(list) != simdjson::SUCCESS) return absl::nullopt;
  std::vector<double> numbers;
  for (const simdjson::dom::element item : list) {
    double number = 0;
    if (item.get(number) != simdjson::SUCCESS || !std::isfinite(number)) {
      return absl::nullopt;
    }
    numbers.push_back(number);
  }
  return numbers;
}

// `lines` are those of the keys that come next.
absl::Status AddObject(simdjson::dom::object object, const std::string& prefix,
                       absl::Span<const int>* lines, MetricsFile* file) {
  for (const auto field : object) {
    const std::string key = absl::StrCat(prefix, std::string(field.key));
    const int line = lines->front();
    lines->remove_prefix(1);
    const auto wrong = [&](absl::string_view what) {
      return absl::InvalidArgumentError(
          absl::StrCat(file->name, ":", line, ": ",
                       absl::string_view(key).substr(0, 100), " ", what));
    };
    if (key.size() > kMaxNameBytes) return wrong("... is too long a name");
    simdjson::dom::object inner;
    double number = 0;
    if (field.value.get(inner) == simdjson::SUCCESS) {
      RETURN_IF_ERROR(AddObject(inner, key + ".", lines, file));
      continue;
    }
    if (!file->lines.emplace(key, line).second) {
      return wrong("is there twice; which one counts?");
    }
    if (field.value.get(number) == simdjson::SUCCESS) {
      if (!std::isfinite(number)) return wrong("is not a finite number");
      file->metrics[key] = number;
    } else if (field.value.is_null()) {
      return wrong("is null; it has to be a number");
    } else if (absl::optional<std::vector<double>> list =
                   NumbersOf(field.value)) {
      file->lists[key] = *std::move(list);
    } else {
      std::string_view value;
      if (field.value.get(value) == simdjson::SUCCESS) {
        file->texts[key] = std::string(value);
      }
      file->others[key] = field.value.is_string() ? "text"
                          : field.value.is_bool() ? "true or false"
                                                  : "a list";
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MetricsFile> ParseMetrics(absl::string_view text,
                                         const std::string& name) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  const auto error =
      parser.parse(simdjson::padded_string(text.data(), text.size()))
          .get(object);
  if (error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": is not a whole JSON object (", simdjson::error_message(error),
        "); it may be half-written"));
  }
  MetricsFile file;
  file.name = name;
  std::string_view profile;
  if (object["machine_profile"].get(profile) != simdjson::SUCCESS ||
      profile.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name,
                     ": has no `machine_profile`, so nobody knows what "
                     "it may be compared with"));
  }
  file.machine_profile = std::string(profile);
  const absl::Status is_name = CheckProfile(file.machine_profile);
  if (!is_name.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": ", is_name.message()));
  }
  const std::vector<int> lines = KeyLines(text);
  absl::Span<const int> next = lines;
  RETURN_IF_ERROR(AddObject(object, "", &next, &file));
  if (file.metrics.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": has no number in it"));
  }
  return file;
}

namespace {

constexpr const char* kKinds[] = {"metrics.json", "eval.json", "rows.jsonl"};
// In percent; far above any change that a gate is asked about.
constexpr double kNothingSeen = 1000;

absl::Status BrokenAt(const std::string& name, size_t line,
                      absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      name, ":", line, ": ", what,
      "; it is torn or was changed by hand, so restore or update it"));
}

// Calls `use` for each record. Any other line is an error.
template <typename Use>
absl::Status ForEachRecord(const std::string& text, const std::string& name,
                           const Use& use) {
  if (!text.empty() && text.back() != '\n') {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": ends in the middle of a line; it is torn"));
  }
  JsonReader reader;
  size_t number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    const absl::StatusOr<std::string> record = reader.Open(line);
    if (!record.ok()) {
      return BrokenAt(name, number, record.status().message());
    }
    const absl::Status used = use(*record, &reader);
    if (!used.ok()) return BrokenAt(name, number, used.message());
  }
  return absl::OkStatus();
}

absl::Status WrongProfile(const std::string& path, const std::string& inside,
                          const std::string& profile) {
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": is of machine \"", inside, "\", but its name says \"", profile,
      "\"; baselines of other machines are not used"));
}

// A broken or torn line is an error that names the line, because a baseline
// with missing rows would let a regression pass.
absl::StatusOr<std::vector<Row>> ParseRowsStrictly(const std::string& text,
                                                   const std::string& name) {
  std::vector<Row> rows;
  RETURN_IF_ERROR(ForEachRecord(
      text, name,
      [&](const std::string& record, JsonReader* reader) -> absl::Status {
        if (record != "row") return absl::OkStatus();
        if (rows.empty()) rows.reserve(text.size() / kUsualRowBytes);
        Row& row = rows.emplace_back();
        RETURN_IF_ERROR(reader->Read(&row));
        if (row.job_id().empty()) {
          return absl::InvalidArgumentError("a row has no job_id");
        }
        return CheckRow(row);
      }));
  return rows;
}

}  // namespace

absl::Status CheckProfile(const std::string& profile) {
  if (CheckStaysBelow(profile).ok() && profile[0] != '.' &&
      profile.find_first_of("/\\\n") == profile.npos) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "field \"machine_profile\": \"", profile,
      "\" is not a name of a file; it must not lead out of a folder"));
}

absl::Status CheckRow(const Row& row) {
  if (!row.machine_profile().empty()) {
    RETURN_IF_ERROR(CheckProfile(row.machine_profile()));
  }
  if (row.status() != "ok" || row.throughput() > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "field \"throughput\": expected a number above 0 for status ok, found ",
      row.throughput()));
}

absl::StatusOr<std::string> BaselineStore::PathOf(
    const std::string& profile, const std::string& kind) const {
  RETURN_IF_ERROR(CheckProfile(profile));
  return JoinPath(folder_, absl::StrCat(profile, ".", kind));
}

absl::StatusOr<std::string> BaselineStore::FileOf(
    const std::string& profile, const std::string& kind) const {
  if (profile.empty()) return "";
  ASSIGN_OR_RETURN(const std::string path, PathOf(profile, kind));
  return IsFile(path) ? path : "";
}

absl::StatusOr<std::vector<std::string>> BaselineStore::Profiles() const {
  const absl::StatusOr<std::vector<std::string>> paths =
      ListFiles(folder_, "", false);
  if (absl::IsNotFound(paths.status())) {
    return absl::NotFoundError(absl::StrCat(
        paths.status().message(), "; --update_baseline makes the folder"));
  }
  RETURN_IF_ERROR(paths.status());
  std::set<std::string> profiles;
  for (const std::string& path : *paths) {
    absl::string_view name = path;
    name.remove_prefix(path.size() - BaseName(path).size());
    for (const char* kind : kKinds) {
      if (absl::ConsumeSuffix(&name, absl::StrCat(".", kind))) {
        profiles.insert(std::string(name));
        break;
      }
    }
  }
  return std::vector<std::string>(profiles.begin(), profiles.end());
}

absl::StatusOr<absl::optional<MetricsFile>> BaselineStore::ReadFlat(
    const std::string& profile, const std::string& kind) const {
  ASSIGN_OR_RETURN(const std::string path, FileOf(profile, kind));
  if (path.empty()) return absl::optional<MetricsFile>();
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  ASSIGN_OR_RETURN(MetricsFile file, ParseMetrics(text, path));
  if (file.machine_profile != profile) {
    return WrongProfile(path, file.machine_profile, profile);
  }
  return absl::optional<MetricsFile>(std::move(file));
}

absl::StatusOr<absl::optional<MetricsFile>> BaselineStore::ReadMetrics(
    const std::string& profile) const {
  return ReadFlat(profile, "metrics.json");
}

absl::StatusOr<absl::optional<MetricsFile>> BaselineStore::ReadEval(
    const std::string& profile) const {
  return ReadFlat(profile, "eval.json");
}

absl::StatusOr<absl::optional<RunsByJob>> BaselineStore::ReadRows(
    const std::string& profile) const {
  ASSIGN_OR_RETURN(const std::string path, FileOf(profile, "rows.jsonl"));
  if (path.empty()) return absl::optional<RunsByJob>();
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  ASSIGN_OR_RETURN(std::vector<Row> rows, ParseRowsStrictly(text, path));
  if (rows.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": has no row"));
  }
  for (const Row& row : rows) {
    if (row.machine_profile() != profile) {
      return WrongProfile(path, row.machine_profile(), profile);
    }
  }
  return absl::optional<RunsByJob>(RunsOfAllExecutions(std::move(rows)));
}

absl::StatusOr<std::vector<Calibration>> BaselineStore::ReadCalibrations(
    const std::string& profile) const {
  std::vector<Calibration> calibrations;
  ASSIGN_OR_RETURN(const std::string path,
                   FileOf(profile, "calibration.jsonl"));
  if (path.empty()) return calibrations;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  RETURN_IF_ERROR(ForEachRecord(
      text, path,
      [&](const std::string& record, JsonReader* reader) -> absl::Status {
        if (record != "calibration") return absl::OkStatus();
        Calibration calibration;
        RETURN_IF_ERROR(reader->Read(&calibration));
        if (calibration.machine_profile() != profile) {
          return absl::InvalidArgumentError("a calibration of another machine");
        }
        calibrations.push_back(std::move(calibration));
        return absl::OkStatus();
      }));
  return calibrations;
}

absl::Status BaselineStore::AddCalibrations(
    const std::vector<Calibration>& calibrations) const {
  ASSIGN_OR_RETURN(const UniqueFd lock, LockFolder(folder_));
  std::map<std::string, std::map<std::string, Calibration>> by_profile;
  for (const Calibration& one : calibrations) {
    auto& known = by_profile[one.machine_profile()];
    if (known.empty()) {
      ASSIGN_OR_RETURN(const std::vector<Calibration> before,
                       ReadCalibrations(one.machine_profile()));
      for (const Calibration& old : before) known[old.job_id()] = old;
    }
    known[one.job_id()] = one;
  }
  for (const auto& profile : by_profile) {
    std::string text;
    for (const auto& job : profile.second) AppendRecord(job.second, &text);
    ASSIGN_OR_RETURN(const std::string path,
                     PathOf(profile.first, "calibration.jsonl"));
    RETURN_IF_ERROR(WriteFileAtomically(path, text));
  }
  return absl::OkStatus();
}

std::map<std::string, double> FloorsOf(
    const std::vector<Calibration>& calibrations) {
  std::map<std::string, double> floors;
  for (const Calibration& calibration : calibrations) {
    floors[calibration.job_id()] = calibration.has_floor_percent()
                                       ? calibration.floor_percent()
                                       : kNothingSeen;
  }
  return floors;
}

namespace {

// Git takes milliseconds; a broken network mount must not hang the gate.
constexpr absl::Duration kGitLimit = absl::Seconds(10);

// "metrics.json" at a time -> "metrics.20260102T030405.678Z.json".
std::string Stamped(const std::string& kind, absl::Time now) {
  const size_t dot = kind.rfind('.');
  return absl::StrCat(
      kind.substr(0, dot), ".",
      absl::FormatTime("%Y%m%dT%H%M%E3SZ", now, absl::UTCTimeZone()),
      kind.substr(dot));
}

absl::Status AppendUpdate(const std::string& path,
                          const BaselineUpdate& update) {
  std::string text;
  if (IsFile(path)) {
    ASSIGN_OR_RETURN(text, ReadFile(path));
    if (!text.empty() && text.back() != '\n') text += '\n';
  }
  AppendRecord(update, &text);
  return WriteFileAtomically(path, text);
}

}  // namespace

Checkout ReadCheckout(const std::string& folder) {
  std::string existing = folder.empty() ? "." : folder;
  while (!IsFolder(existing) && existing != "." && existing != "/") {
    existing = ParentFolder(existing);
  }
  const GitState state = ReadGitState(existing);
  Checkout checkout;
  checkout.git.set_revision(state.revision);
  if (state.dirty.has_value()) checkout.git.set_dirty(*state.dirty);
  const absl::StatusOr<std::string> branch = RunCommand(
      {"git", "-C", existing, "symbolic-ref", "--short", "-q", "HEAD"},
      kGitLimit);
  if (branch.ok()) {
    checkout.branch = std::string(absl::StripAsciiWhitespace(*branch));
  }
  return checkout;
}

absl::Status MayUpdate(const Checkout& checkout,
                       const std::string& maintainer_reason) {
  if (!maintainer_reason.empty()) return absl::OkStatus();
  constexpr char kRemedy[] =
      "; baselines are updated on branch main of a clean checkout, or with "
      "--i-am-a-maintainer=REASON";
  if (checkout.git.revision().empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "--update-baseline: the folder is in no git checkout", kRemedy));
  }
  if (checkout.branch != "main") {
    return absl::FailedPreconditionError(absl::StrCat(
        "--update-baseline: the checkout is on ",
        checkout.branch.empty() ? std::string("no branch")
                                : absl::StrCat("branch ", checkout.branch),
        kRemedy));
  }
  if (!checkout.git.has_dirty() || checkout.git.dirty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "--update-baseline: the checkout has changes that are not committed",
        kRemedy));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<BaselineUpdate>> UpdateBaselines(
    const std::string& folder, const std::vector<NewBaseline>& baselines,
    const Checkout& checkout, const std::string& maintainer_reason,
    absl::Time now) {
  for (const NewBaseline& baseline : baselines) {
    RETURN_IF_ERROR(CheckProfile(baseline.machine_profile));
  }
  RETURN_IF_ERROR(MakeFolder(folder));
  ASSIGN_OR_RETURN(const UniqueFd lock, LockFolder(folder));
  std::vector<BaselineUpdate> updates;
  for (const NewBaseline& baseline : baselines) {
    const std::string name =
        absl::StrCat(baseline.machine_profile, ".", baseline.kind);
    const std::string path = JoinPath(folder, name);
    BaselineUpdate update;
    update.set_machine_profile(baseline.machine_profile);
    update.set_file(name);
    update.set_updated_at(
        absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", now, absl::UTCTimeZone()));
    *update.mutable_git() = checkout.git;
    update.set_branch(checkout.branch);
    update.set_maintainer_reason(maintainer_reason);
    if (IsFile(path)) {
      ASSIGN_OR_RETURN(const std::string old, ReadFile(path));
      RETURN_IF_ERROR(MakeFolder(JoinPath(folder, "history")));
      absl::Time stamp = now;
      do {
        update.set_replaced(absl::StrCat("history/", baseline.machine_profile,
                                         ".", Stamped(baseline.kind, stamp)));
        stamp += absl::Milliseconds(1);
      } while (IsFile(JoinPath(folder, update.replaced())));
      RETURN_IF_ERROR(
          WriteFileAtomically(JoinPath(folder, update.replaced()), old));
    }
    RETURN_IF_ERROR(WriteFileAtomically(path, baseline.content));
    RETURN_IF_ERROR(AppendUpdate(
        JoinPath(folder,
                 absl::StrCat(baseline.machine_profile, ".updates.jsonl")),
        update));
    updates.push_back(update);
  }
  return updates;
}

}  // namespace feedrate
