#include "lib/gate/gate_input.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/exit_code.h"
#include "lib/imports/imports.h"
#include "lib/records/job.pb.h"
#include "lib/records/json.h"
#include "lib/records/record_io.h"

namespace feedrate {
namespace {

using Warn = std::function<void(const std::string&)>;

// Metrics files may have one key per line; records have `record` in their first
// line.
bool IsMetrics(absl::string_view text) {
  const absl::string_view trimmed = absl::StripLeadingAsciiWhitespace(text);
  if (!absl::StartsWith(trimmed, "{")) return false;
  JsonReader reader;
  const size_t end = trimmed.find('\n');
  const absl::string_view line = trimmed.substr(0, end);
  return !reader.Open(line).ok() && !absl::StrContains(line, "\"record\"");
}

// Results of another harness, as rows.
absl::StatusOr<GateInput> ImportGateInput(const std::string& path,
                                          const ImportChoice& import,
                                          const Warn& warn) {
  GateInput input;
  input.is_imported = true;
  Importer importer(import, [&input](const Row& row) {
    input.rows.push_back(row);
    return absl::OkStatus();
  });
  RETURN_IF_ERROR(importer.ReadPath(path));
  if (importer.left_out() > 0) {
    warn(absl::StrCat(path, ": ", importer.left_out(),
                      " results are no times and are left out"));
  }
  if (importer.unstated() > 0) {
    warn(absl::StrCat(path,
                      ": does not name its machine; compare only "
                      "results of the same one"));
  }
  return input;
}

// A word or a code that is not one of ours would count as "not slower".
absl::Status CheckVerdict(const Verdict& verdict) {
  const std::vector<std::string> words = {"same", "faster", "slower",
                                          "cannot_tell", "invalid"};
  if (!absl::c_linear_search(words, verdict.verdict())) {
    return absl::InvalidArgumentError(
        absl::StrCat("field \"verdict\": \"", verdict.verdict(),
                     "\" is unknown", DidYouMean(verdict.verdict(), words)));
  }
  if (verdict.exit_code() < 0 ||
      verdict.exit_code() > static_cast<int>(ExitCode::kInvalid)) {
    return absl::InvalidArgumentError(
        absl::StrCat("field \"exit_code\": ", verdict.exit_code(),
                     " is none of ours, 0 to 5"));
  }
  return absl::OkStatus();
}

// A row of neither side would be counted as one of A.
absl::Status CheckSide(const Pair& pair) {
  if (pair.side() == "a" || pair.side() == "b") return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "field \"pair.side\": \"", pair.side(), "\" is neither a nor b"));
}

}  // namespace

absl::StatusOr<GateInput> ParseGateInput(const std::string& text,
                                         const std::string& name,
                                         RunStatistic statistic,
                                         const Warn& warn,
                                         const MetricChoice& metrics) {
  GateInput input;
  input.paired = PairedRows(statistic, metrics);
  if (IsMetrics(text)) {
    ASSIGN_OR_RETURN(input.metrics, ParseMetrics(text, name));
    input.metrics_text = text;
    return input;
  }
  std::string complaint;
  RecordReader reader(
      [&](absl::string_view record, JsonReader& json) -> absl::Status {
        if (record == "row") {
          Row row;
          RETURN_IF_ERROR(json.Read(&row));
          if (!row.has_pair()) RETURN_IF_ERROR(CheckRow(row));
          if (row.has_pair()) {
            RETURN_IF_ERROR(CheckSide(row.pair()));
            ++input.paired_rows;
            input.paired.Add(row);
          } else {
            if (input.rows.empty()) {
              input.rows.reserve(text.size() / kUsualRowBytes);
            }
            input.rows.push_back(std::move(row));
          }
        } else if (record == "duel") {
          Duel duel;
          RETURN_IF_ERROR(json.Read(&duel));
          input.paired.Add(duel);
        } else if (record == "control") {
          Control control;
          RETURN_IF_ERROR(json.Read(&control));
          RETURN_IF_ERROR(CheckSide(control.pair()));
          input.paired.Add(control);
        } else if (record == "run") {
          Run run;
          RETURN_IF_ERROR(json.Read(&run));
          input.commands[run.run_id()] = {run.command().begin(),
                                          run.command().end()};
        } else if (record == "profile") {
          RETURN_IF_ERROR(json.Read(&input.profiles.emplace_back()));
        } else if (record == "verdict") {
          Verdict verdict;
          RETURN_IF_ERROR(json.Read(&verdict));
          RETURN_IF_ERROR(CheckVerdict(verdict));
          if (verdict.scope() == "job") {
            input.verdicts.push_back(std::move(verdict));
          } else if (verdict.scope() == "suite") {
            input.suite = std::move(verdict);
          }
        }
        return absl::OkStatus();
      },
      [&complaint](const std::string& text) { complaint = text; },
      std::numeric_limits<int64_t>::max());
  size_t start = 0;
  int64_t number = 0;
  std::vector<std::string> complaints;
  while (start < text.size()) {
    const size_t end = text.find('\n', start);
    const bool is_unfinished = end == std::string::npos;
    const absl::string_view line = absl::string_view(text).substr(
        start, is_unfinished ? absl::string_view::npos : end - start);
    ++number;
    if (!line.empty()) {
      const int64_t refused = reader.refused_records();
      complaint.clear();
      reader.ReadLine(line, absl::StrCat(name, ":", number), is_unfinished);
      // A gate that leaves out a record lets a regression pass. Other lines,
      // such as logs, are only told of.
      if (reader.refused_records() > refused) {
        return absl::InvalidArgumentError(complaint);
      }
      if (!complaint.empty()) complaints.push_back(complaint);
    }
    start = is_unfinished ? text.size() : end + 1;
  }
  const bool has_any = input.paired_rows > 0 || !input.rows.empty() ||
                       !input.verdicts.empty() || input.paired.duel();
  if (reader.broken_lines() > 0 && !has_any) {
    return absl::InvalidArgumentError(
        absl::StrCat(name,
                     ": holds neither records nor a metrics file nor results "
                     "of a known harness (docs/import.md lists them)"));
  }
  if (!input.verdicts.empty() &&
      (input.paired_rows > 0 || !input.rows.empty() || input.paired.duel())) {
    return absl::InvalidArgumentError(absl::StrCat(
        name,
        ": holds verdicts beside rows; verdicts are printed again and rows "
        "are compared, so keep each in a file of its own"));
  }
  const size_t shown =
      std::min<size_t>(complaints.size(), RecordReader::kMostComplaints);
  for (size_t i = 0; i < shown; ++i) warn(complaints[i]);
  if (const size_t more = complaints.size() - shown; more > 0) {
    warn(absl::StrCat(name, ": ", more, " more broken ",
                      more == 1 ? "line" : "lines"));
  }
  return input;
}

absl::StatusOr<GateInput> ReadGateInput(const std::string& path,
                                        const ImportChoice& import,
                                        RunStatistic statistic,
                                        const Warn& warn,
                                        const MetricChoice& metrics) {
  const bool is_imported = import.harness.empty()
                               ? !DetectHarnessOfPath(path).empty()
                               : !absl::EndsWith(path, ".jsonl");
  if (is_imported) return ImportGateInput(path, import, warn);
  ASSIGN_OR_RETURN(const std::string text,
                   path == "-" ? ReadStandardInput() : ReadFile(path));
  const std::string name = path == "-" ? "standard input" : path;
  RETURN_IF_ERROR(CheckNotCompressed(name, text));
  ASSIGN_OR_RETURN(GateInput input,
                   ParseGateInput(text, name, statistic, warn, metrics));
  struct stat info;
  input.is_own =
      path == "-" && fstat(STDIN_FILENO, &info) == 0 && S_ISFIFO(info.st_mode);
  for (Verdict& verdict : input.verdicts) {
    if (!input.is_own) verdict.clear_command();
  }
  if (input.suite && !input.is_own) input.suite->clear_command();
  return input;
}

}  // namespace feedrate
