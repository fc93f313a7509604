#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/optional.h"
#include "lib/analysis/report/report_data.h"
#include "lib/analysis/report/sections.h"
#include "lib/analysis/report/speed_ups.h"
#include "lib/base/files.h"
#include "lib/base/text.h"
#include "lib/draw/document.h"
#include "lib/draw/text.h"
#include "lib/records/attempts.h"
#include "lib/records/env.pb.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"
#include "lib/stats/winner.h"

namespace feedrate {
namespace {

struct Counts {
  std::set<std::string> libraries;
  std::set<std::string> transforms;
  std::set<std::string> machines;
  int cells = 0;
  int measured = 0;
  int with_interval = 0;
  int unstable = 0;
  int stopped = 0;
  int unsupported = 0;
  int failed = 0;
  int warned = 0;
  int64_t runs = 0;
  int64_t disturbed = 0;
  int min_runs = 0;
  int max_runs = 0;
};

Counts CountsOf(const std::vector<ReportCell>& cells) {
  Counts counts;
  for (const ReportCell& cell : cells) {
    const Row& row = cell.example;
    if (row.library() == kNullLibrary) continue;
    ++counts.cells;
    // Plain commands of a duel have none.
    if (!row.library().empty()) counts.libraries.insert(row.library());
    if (!row.transform().empty()) counts.transforms.insert(row.transform());
    counts.machines.insert(row.machine_profile());
    counts.stopped += cell.status == "early_stopped" ? 1 : 0;
    counts.unsupported += cell.status == "unsupported" ? 1 : 0;
    counts.failed += cell.failed_runs > 0 ? 1 : 0;
    counts.warned += cell.warnings.empty() ? 0 : 1;
    if (!cell.summary.has_value()) continue;
    const int runs = static_cast<int>(cell.summary->n);
    counts.min_runs =
        counts.measured == 0 ? runs : std::min(counts.min_runs, runs);
    counts.max_runs = std::max(counts.max_runs, runs);
    ++counts.measured;
    counts.runs += runs;
    counts.disturbed += cell.disturbed;
    counts.with_interval += cell.summary->interval.has_value() ? 1 : 0;
    counts.unstable += cell.IsUnstable() ? 1 : 0;
  }
  return counts;
}

KeyNumbers NumbersOf(const Counts& counts) {
  KeyNumbers numbers;
  const std::string runs =
      counts.min_runs == counts.max_runs
          ? absl::StrCat(counts.max_runs)
          : absl::StrCat(counts.min_runs, "–", counts.max_runs);
  // Commands of a duel and imported results have neither libraries nor
  // transforms.
  const auto add = [&numbers](size_t count, const char* one, const char* many) {
    if (count == 0) return;
    numbers.numbers.push_back({absl::StrCat(count), count == 1 ? one : many});
  };
  add(counts.libraries.size(), "library", "libraries");
  add(counts.transforms.size(), "transform", "transforms");
  add(counts.machines.size(), "machine", "machines");
  const std::vector<KeyNumber> counted = {
      {absl::StrCat(counts.measured, " / ", counts.cells), "cells measured"},
      {runs, "runs per cell"},
      {counts.runs == 0 ? "0"
                        : PercentText(static_cast<double>(counts.disturbed) /
                                      static_cast<double>(counts.runs)),
       "noisy runs"},
  };
  numbers.numbers.insert(numbers.numbers.end(), counted.begin(), counted.end());
  return numbers;
}

std::string HowSure(const Counts& counts) {
  std::string text = absl::StrCat(
      "How sure: ", counts.with_interval, " of ", counts.measured,
      " measured cells have the three runs that an interval needs; ",
      counts.unstable, " spread by more than ", PercentText(kUnstableCv),
      " of their mean; ", counts.warned, " carry a warning.");
  std::vector<std::string> rest;
  if (counts.stopped > 0) {
    rest.push_back(absl::StrCat(counts.stopped, " stopped early as too slow"));
  }
  if (counts.unsupported > 0) {
    rest.push_back(absl::StrCat(counts.unsupported, " unsupported"));
  }
  if (counts.failed > 0) {
    rest.push_back(absl::StrCat(counts.failed, " with failed runs"));
  }
  if (!rest.empty()) {
    absl::StrAppend(&text,
                    " Without a full measurement: ", absl::StrJoin(rest, ", "),
                    "; each is listed with its reason.");
  }
  return text;
}

// How often each library wins, and how often nobody does.
struct Wins {
  std::map<std::string, int> wins;
  int contested = 0;
  int tied = 0;
};

Wins WinsOf(const Setting& setting, bool any_work) {
  Wins found;
  for (size_t line = 0; line < setting.lines.size(); ++line) {
    const LineResult result = ResultOf(setting, line, any_work);
    if (result.text.empty()) continue;
    ++found.contested;
    if (result.winner.has_value()) {
      ++found.wins[setting.libraries[*result.winner]];
    } else if (std::any_of(result.standings.begin(), result.standings.end(),
                           [](const Standing& one) { return one.tied; })) {
      ++found.tied;
    }
  }
  return found;
}

std::string WinsText(const Wins& found) {
  std::vector<std::pair<int, std::string>> order;
  int decided = found.tied;
  for (const auto& win : found.wins) {
    order.emplace_back(-win.second, win.first);
    decided += win.second;
  }
  std::sort(order.begin(), order.end());
  std::vector<std::string> parts;
  for (const auto& win : order) {
    parts.push_back(absl::StrCat(win.second, " ", -win.first));
  }
  if (found.tied > 0) parts.push_back(absl::StrCat("tied ", found.tied));
  if (found.contested > decided) {
    parts.push_back(absl::StrCat("different work ", found.contested - decided));
  }
  return absl::StrCat(absl::StrJoin(parts, ", "), " of ", found.contested);
}

std::string RatioText(const Estimate& ratio) {
  std::string text = absl::StrCat(SignificantText(ratio.value), "×");
  if (ratio.whiskers.has_value()) {
    absl::StrAppend(&text, " [", SignificantText(ratio.whiskers->low), ", ",
                    SignificantText(ratio.whiskers->high), "]");
  }
  return text;
}

DocumentTable FindingsOf(const std::vector<Setting>& settings,
                         const SpeedUpOptions& options) {
  DocumentTable table;
  table.caption =
      "In short: lines in which a library is separated from all others that do "
      "the same work, and geometric mean of speed-ups.";
  table.header = {"setting", "fastest in", "mean speed-up"};
  table.align = {Align::kLeft, Align::kLeft, Align::kLeft};
  for (const Setting& setting : settings) {
    const Wins wins = WinsOf(setting, options.any_work);
    if (wins.contested == 0) continue;
    const absl::optional<SpeedUps> speed_ups =
        SpeedUpsOf(setting, options.relative_to, options.any_work);
    std::vector<std::string> means;
    if (speed_ups.has_value()) {
      for (const LibrarySpeedUps& library : speed_ups->libraries) {
        if (library.lines.size() == 2) {
          means.push_back(
              absl::StrCat(library.library,
                           ": no mean of 2 lines; three show its interval"));
          continue;
        }
        const bool all_tied = std::all_of(
            library.lines.begin(), library.lines.end(),
            [](const LineSpeedUp& one) { return !one.tied.empty(); });
        means.push_back(absl::StrCat(
            library.library, " ",
            library.is_separate ? absl::StrCat(RatioText(library.mean), " of ")
            : all_tied          ? "tied with "
                       : "faster or slower, depending on the line, than ",
            speed_ups->reference, " over ", library.lines.size(),
            library.lines.size() == 1 ? " line" : " lines"));
      }
    }
    table.rows.push_back(
        {setting.title == setting.mode
             ? setting.mode
             : absl::StrCat(setting.mode, ": ", setting.title),
         WinsText(wins),
         means.empty() ? "nothing comparable" : absl::StrJoin(means, "; ")});
  }
  return table;
}

// Lines of the table that fit on a screen.
constexpr size_t kAnswerLines = 12;

// One line per question; empty if there are too many for a screen.
DocumentTable AnswersOf(const std::vector<Setting>& settings, bool any_work) {
  DocumentTable table;
  bool compares = false;
  for (const Setting& setting : settings) {
    for (size_t line = 0; line < setting.lines.size(); ++line) {
      const absl::optional<Answer> answer = AnswerOf(setting, line, any_work);
      if (!answer.has_value()) continue;
      const std::string name = setting.lines[line].Name();
      DocumentCell what(name.empty() ? setting.mode : name);
      if (settings.size() > 1) what.detail = setting.mode;
      DocumentCell fastest(setting.libraries[answer->leader]);
      const ReportCell& cell = *setting.Find(line, answer->leader);
      fastest.detail = absl::StrCat(cell.Text(), " ", setting.unit, "s/s");
      fastest.is_best = answer->wins;
      fastest.remark = cell.Remarks();
      DocumentCell ahead;
      if (answer->next.has_value()) {
        compares = true;
        ahead.text = RatioText(answer->ahead);
        ahead.detail = absl::StrCat("of ", setting.libraries[*answer->next]);
      }
      table.rows.push_back({what, fastest, ahead, answer->sure});
    }
  }
  if (table.rows.size() > kAnswerLines) table.rows.clear();
  table.caption =
      compares ? "Which is fastest, by how much, and how sure that is."
               : "How fast, and how sure that is; there is nothing beside it.";
  table.header = {"measured", compares ? "fastest" : "library", "by",
                  "how sure"};
  table.align = {Align::kLeft, Align::kLeft, Align::kLeft, Align::kLeft};
  table.DropEmptyColumns();
  table.is_sentences = true;
  return table;
}

// A long command has one flag per line. The words are ready for a shell.
std::string ShellCommand(const std::vector<std::string>& words) {
  const std::string line = absl::StrJoin(words, " ");
  return line.size() <= 100 ? line : absl::StrJoin(words, " \\\n    ");
}

// The commands of the runs with disturbed rows, limited to what was disturbed.
std::string CommandsAgain(const ReportInput& input) {
  std::string commands;
  int number = 0;
  for (const Run& run : input.runs) {
    std::vector<const Row*> rows;
    for (const Row& row : input.rows) {
      if (row.run_id() != run.run_id() || DisturbancesOf(row).empty()) continue;
      if (row.library() != kNullLibrary) rows.push_back(&row);
    }
    std::vector<std::string> words = CommandAgain(
        std::vector<std::string>(run.command().begin(), run.command().end()),
        rows);
    if (rows.empty() || words.empty()) continue;
    // A file that is not there: runners do not overwrite rows.
    std::string file;
    do {
      ++number;
      file = absl::StrCat("again", number == 1 ? "" : absl::StrCat("-", number),
                          ".jsonl");
    } while (IsFile(file));
    words.push_back(absl::StrCat("--output=", file));
    absl::StrAppend(&commands, ShellCommand(words), "\n");
  }
  return commands;
}

void AddNoise(const ReportInput& input, const Counts& counts,
              Section* section) {
  if (counts.disturbed == 0) return;
  const std::string commands = CommandsAgain(input);
  Paragraph note;
  note.is_warning = true;
  note.text = absl::StrCat(
      "Noise: ", counts.disturbed, " of ", counts.runs,
      " runs were noisy, contended or throttled. A cell with more than ",
      PercentText(kDisturbedShare), " of such runs supports no winner. ",
      commands.empty()
          ? "Measure them again on a quiet machine."
          : "Measure them again on a quiet machine and make the report from "
            "both files; the cleanest attempt at a run counts.");
  section->blocks.emplace_back(std::move(note));
  if (!commands.empty()) {
    section->blocks.emplace_back(
        CodeBlock{"Commands that measure them again", commands});
  }
}

}  // namespace

std::string SubtitleOf(const ReportInput& input) {
  std::set<std::string> machines;
  std::set<std::string> days;
  for (const Row& row : input.rows) {
    if (!row.machine_profile().empty()) machines.insert(row.machine_profile());
    if (row.started_at().size() >= 10) {
      days.insert(row.started_at().substr(0, 10));
    }
  }
  std::string text;
  if (!days.empty()) {
    text = absl::StrCat("Measured ", *days.begin());
    if (days.size() > 1) absl::StrAppend(&text, " to ", *days.rbegin());
    text += machines.empty() ? "" : " on ";
  }
  std::vector<std::string> quoted;
  for (const std::string& machine : machines) {
    quoted.push_back(absl::StrCat("`", machine, "`"));
  }
  return absl::StrCat(text, absl::StrJoin(quoted, ", "));
}

Section SummarySection(const ReportInput& input,
                       const std::vector<ReportCell>& cells,
                       const std::vector<Setting>& settings,
                       const SpeedUpOptions& options) {
  const Counts counts = CountsOf(cells);
  Section section;
  section.id = "summary";
  section.title = "Summary";
  if (input.rows.empty()) {
    section.blocks.emplace_back(
        Paragraph{"There are no rows, only what the gate said of some."});
  } else {
    DocumentTable answers = AnswersOf(settings, options.any_work);
    if (!answers.rows.empty()) section.blocks.emplace_back(std::move(answers));
    section.blocks.emplace_back(NumbersOf(counts));
    const std::string libraries = absl::StrJoin(counts.libraries, ", ");
    section.blocks.emplace_back(Paragraph{
        absl::StrCat("What: ", Counted(input.rows.size(), "row"),
                     libraries.empty() ? "" : " of ", libraries,
                     ". Where: ", absl::StrJoin(counts.machines, ", "), ".")});
    section.blocks.emplace_back(Paragraph{HowSure(counts)});
  }
  // Results first, and only then what to run again.
  DocumentTable findings = FindingsOf(settings, options);
  if (!findings.rows.empty()) section.blocks.emplace_back(std::move(findings));
  AddNoise(input, counts, &section);
  if (input.replaced_rows > 0 || input.broken_lines > 0 ||
      input.torn_lines > 0) {
    section.blocks.emplace_back(Paragraph{
        absl::StrCat("Attempts replaced by cleaner or later ones: ",
                     input.replaced_rows, ". Lines that could not be read: ",
                     input.broken_lines + input.torn_lines, "."),
        input.broken_lines + input.torn_lines > 0});
  }
  std::vector<std::string> others;
  for (const auto& other : input.passed_over) {
    others.push_back(absl::StrCat(other.second, " `", other.first, "`"));
  }
  if (!others.empty()) {
    section.blocks.emplace_back(Paragraph{
        absl::StrCat("Passed over, as this program does not read them: ",
                     absl::StrJoin(others, ", "), " records.")});
  }
  return section;
}

namespace {

void AddLine(const std::string& name, const std::string& value,
             DocumentTable* table) {
  if (!value.empty()) table->rows.push_back({name, value});
}

std::string CpuText(const Cpu& cpu) {
  std::string text = absl::StrCat(cpu.model(), ", ", cpu.architecture(), ", ",
                                  cpu.usable_cores(), " of ",
                                  cpu.online_cores(), " processors usable");
  if (!cpu.hypervisor().empty()) {
    absl::StrAppend(&text, ", guest of ", cpu.hypervisor());
  }
  return text;
}

std::string GpuText(const Env& env) {
  std::vector<std::string> gpus;
  for (const Gpu& gpu : env.gpus()) {
    gpus.push_back(absl::StrCat(gpu.name(), ", ", BytesText(gpu.memory_bytes()),
                                ", compute ", gpu.compute_capability()));
  }
  return absl::StrJoin(gpus, "; ");
}

std::string LimitsText(const Cgroup& cgroup) {
  std::vector<std::string> limits;
  if (cgroup.has_cpu_quota()) {
    limits.push_back(
        absl::StrCat(SignificantText(cgroup.cpu_quota()), " processors"));
  }
  if (cgroup.has_memory_limit_bytes()) {
    limits.push_back(BytesText(cgroup.memory_limit_bytes()));
  }
  return absl::StrJoin(limits, ", ");
}

DocumentTable TableOf(const Env& env) {
  DocumentTable table;
  table.caption = absl::StrCat("`", env.machine_profile(), "`");
  table.header = {"machine", env.env_id()};
  table.align = {Align::kLeft, Align::kLeft};
  AddLine("processor", CpuText(env.cpu()), &table);
  AddLine("memory", BytesText(env.memory().total_bytes()), &table);
  if (env.memory().swap_bytes() > 0) {
    AddLine("swap", BytesText(env.memory().swap_bytes()), &table);
  }
  AddLine("limits", LimitsText(env.cgroup()), &table);
  AddLine("GPU", GpuText(env), &table);
  AddLine("driver", env.driver(), &table);
  AddLine("CUDA", env.cuda(), &table);
  AddLine("system", absl::StrCat(env.os(), ", kernel ", env.kernel()), &table);
  // A protobuf map has no order.
  const std::map<std::string, std::string> libraries(env.libraries().begin(),
                                                     env.libraries().end());
  std::vector<std::string> versions;
  for (const auto& library : libraries) {
    versions.push_back(absl::StrCat(library.first, " ", library.second));
  }
  AddLine("libraries", absl::StrJoin(versions, ", "), &table);
  std::string version = env.feedrate_version();
  // A bundle has no repository.
  if (!env.git().revision().empty()) {
    absl::StrAppend(&version, ", revision ", env.git().revision().substr(0, 12),
                    env.git().dirty() ? " with changes" : "");
  }
  AddLine("feedrate", version, &table);
  return table;
}

}  // namespace

absl::optional<Section> EnvironmentSection(const ReportInput& input) {
  if (input.envs.empty()) return absl::nullopt;
  Section section;
  section.id = "environment";
  section.title = "Environment";
  for (const Env& env : input.envs) section.blocks.emplace_back(TableOf(env));
  return section;
}

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
         runs, cell.reason});
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
      absl::StrAppend(&commands, "# ", PrintableText(run.label()),
                      run.label().empty() ? "" : ", ",
                      PrintableText(run.started_at()), "\n");
    }
    const std::vector<std::string> words = CheckedCommand(
        std::vector<std::string>(run.command().begin(), run.command().end()));
    absl::StrAppend(&commands,
                    words.empty() ? "# not printed: the record has a program "
                                    "or flags that are not taken from records"
                                  : ShellCommand(words),
                    "\n");
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
