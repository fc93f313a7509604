#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/types/optional.h"
#include "lib/analysis/report/cell.h"
#include "lib/analysis/report/input.h"
#include "lib/analysis/report/side_sections.h"
#include "lib/draw/document.h"
#include "lib/draw/text.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

constexpr char kPlainCharacters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    "-_=/.,:+@%^";

std::string ShellWord(const std::string& word) {
  if (!word.empty() &&
      word.find_first_not_of(kPlainCharacters) == std::string::npos) {
    return word;
  }
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

std::string CommandOf(const Run& run) {
  std::vector<std::string> words;
  for (const std::string& word : run.command())
    words.push_back(ShellWord(word));
  return absl::StrJoin(words, " ");
}

}  // namespace

absl::optional<Section> NotMeasuredSection(
    const std::vector<ReportCell>& cells) {
  DocumentTable table;
  table.header = {"transform", "library", "scenario", "mode",
                  "device",    "status",  "runs",     "reason"};
  table.align = {Align::kLeft, Align::kLeft, Align::kLeft,  Align::kLeft,
                 Align::kLeft, Align::kLeft, Align::kRight, Align::kLeft};
  for (const ReportCell& cell : cells) {
    if (cell.status == "ok" && cell.failed_runs == 0) continue;
    const Row& row = cell.example;
    DocumentCell runs(absl::StrCat(cell.runs));
    runs.value = cell.runs;
    table.rows.push_back(
        {row.transform(), row.library(), row.scenario(), row.mode(),
         row.device(),
         cell.status == "ok"
             ? absl::StrCat("ok, but ", cell.failed_runs, " failed")
             : cell.status,
         runs, cell.reason.empty() ? "–" : cell.reason});
  }
  if (table.rows.empty()) return absl::nullopt;
  Section section;
  section.id = "not-measured";
  section.title = "Not measured";
  section.blocks.emplace_back(
      Paragraph{"Cells without a full measurement. None of them enters an "
                "average, a ratio or a rank."});
  section.blocks.emplace_back(std::move(table));
  return section;
}

absl::optional<Section> RepeatSection(const ReportInput& input) {
  if (input.runs.empty()) return absl::nullopt;
  Section section;
  section.id = "repeat";
  section.title = "Repeat it";
  std::string commands;
  for (const Run& run : input.runs) {
    if (run.command().empty()) continue;
    if (!run.label().empty() || !run.started_at().empty()) {
      absl::StrAppend(&commands, "# ", run.label(),
                      run.label().empty() ? "" : ", ", run.started_at(), "\n");
    }
    absl::StrAppend(&commands, CommandOf(run), "\n");
  }
  if (!commands.empty()) {
    section.blocks.emplace_back(CodeBlock{"", std::move(commands)});
  }
  for (const Run& run : input.runs) {
    if (run.config().empty()) continue;
    section.blocks.emplace_back(CodeBlock{
        absl::StrCat("Config of run `", run.run_id(), "`"), run.config()});
  }
  return section;
}

}  // namespace feedrate
