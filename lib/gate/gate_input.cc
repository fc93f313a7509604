#include "lib/gate/gate_input.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/records/json_reader.h"
#include "lib/records/record_reader.h"

namespace feedrate {
namespace {

absl::StatusOr<std::string> ReadStandardInput() {
  std::string text;
  char buffer[65536];
  while (true) {
    const ssize_t got = read(STDIN_FILENO, buffer, sizeof(buffer));
    if (got == 0) return text;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return absl::InternalError(
          absl::StrCat("standard input: ", std::strerror(errno)));
    }
    text.append(buffer, got);
  }
}

// Metrics files may have their keys on lines of their own; records have
// `record` in their first line.
bool IsMetrics(absl::string_view text) {
  const absl::string_view trimmed = absl::StripLeadingAsciiWhitespace(text);
  if (!absl::StartsWith(trimmed, "{")) return false;
  JsonReader reader;
  const size_t end = trimmed.find('\n');
  const absl::string_view line = trimmed.substr(0, end);
  return !reader.Open(line).ok() && !absl::StrContains(line, "\"record\"");
}

}  // namespace

absl::StatusOr<GateInput> ParseGateInput(
    const std::string& text, const std::string& name, RunStatistic statistic,
    const std::function<void(const std::string&)>& warn) {
  GateInput input;
  input.paired = PairedRows(statistic);
  if (IsMetrics(text)) {
    ASSIGN_OR_RETURN(input.metrics, ParseMetrics(text, name));
    input.metrics_text = text;
    return input;
  }
  RecordReader reader(
      [&input](absl::string_view record, JsonReader& json) -> absl::Status {
        if (record == "row") {
          Row row;
          RETURN_IF_ERROR(json.Read(&row));
          if (row.has_pair()) {
            ++input.paired_rows;
            input.paired.Add(row);
          } else {
            input.rows.push_back(std::move(row));
          }
        } else if (record == "duel") {
          Duel duel;
          RETURN_IF_ERROR(json.Read(&duel));
          input.paired.Add(duel);
        } else if (record == "verdict") {
          Verdict verdict;
          RETURN_IF_ERROR(json.Read(&verdict));
          if (verdict.scope() == "job") {
            input.verdicts.push_back(std::move(verdict));
          }
        }
        return absl::OkStatus();
      },
      warn);
  size_t start = 0;
  int64_t number = 0;
  while (start < text.size()) {
    const size_t end = text.find('\n', start);
    const bool is_unfinished = end == std::string::npos;
    const absl::string_view line = absl::string_view(text).substr(
        start, is_unfinished ? absl::string_view::npos : end - start);
    ++number;
    if (!line.empty()) {
      reader.ReadLine(line, absl::StrCat(name, ":", number), is_unfinished);
    }
    start = is_unfinished ? text.size() : end + 1;
  }
  const bool has_any = input.paired_rows > 0 || !input.rows.empty() ||
                       !input.verdicts.empty() || input.paired.duel();
  if (reader.broken_lines() > 0 && !has_any) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": holds neither records nor a metrics file"));
  }
  return input;
}

absl::StatusOr<std::string> ReadAll(const std::string& path) {
  return path == "-" ? ReadStandardInput() : ReadFile(path);
}

absl::StatusOr<GateInput> ReadGateInput(
    const std::string& path, RunStatistic statistic,
    const std::function<void(const std::string&)>& warn) {
  ASSIGN_OR_RETURN(const std::string text, ReadAll(path));
  return ParseGateInput(text, path == "-" ? "standard input" : path, statistic,
                        warn);
}

}  // namespace feedrate
