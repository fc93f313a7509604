#include "lib/analysis/report/overview_sections.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/optional.h"
#include "lib/analysis/report/report_data.h"
#include "lib/analysis/report/setting_section.h"
#include "lib/base/text.h"
#include "lib/draw/document.h"
#include "lib/draw/text.h"
#include "lib/records/env.pb.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"

namespace feedrate {
namespace {

struct Counts {
  std::set<std::string> libraries;
  std::set<std::string> transforms;
  std::set<std::string> machines;
  int measured = 0;
  int with_interval = 0;
  int unstable = 0;
  int stopped = 0;
  int unsupported = 0;
  int failed = 0;
  int warned = 0;
  int min_runs = 0;
  int max_runs = 0;
};

Counts CountsOf(const std::vector<ReportCell>& cells) {
  Counts counts;
  for (const ReportCell& cell : cells) {
    const Row& row = cell.example;
    counts.libraries.insert(row.library());
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
    counts.with_interval += cell.summary->interval.has_value() ? 1 : 0;
    counts.unstable += cell.IsUnstable() ? 1 : 0;
  }
  counts.libraries.erase("null");
  return counts;
}

KeyNumbers NumbersOf(const Counts& counts, size_t cells) {
  KeyNumbers numbers;
  const std::string runs =
      counts.min_runs == counts.max_runs
          ? absl::StrCat(counts.max_runs)
          : absl::StrCat(counts.min_runs, "–", counts.max_runs);
  numbers.numbers = {
      {absl::StrCat(counts.libraries.size()), "libraries"},
      {absl::StrCat(counts.transforms.size()), "transforms"},
      {absl::StrCat(counts.machines.size()),
       counts.machines.size() == 1 ? "machine" : "machines"},
      {absl::StrCat(counts.measured, " / ", cells), "cells measured"},
      {runs, "runs of a cell"},
      {absl::StrCat(counts.unstable), "unstable cells"},
  };
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

// Number of lines in which each library has the best median.
std::map<std::string, int> WinsOf(const Setting& setting, int* contested) {
  std::map<std::string, int> wins;
  for (size_t line = 0; line < setting.lines.size(); ++line) {
    double best = 0;
    int ran = 0;
    std::string winner;
    for (size_t i = 0; i < setting.libraries.size(); ++i) {
      const ReportCell* cell = setting.Find(line, i);
      if (cell == nullptr || !cell->summary.has_value()) continue;
      ++ran;
      if (cell->summary->median > best) {
        best = cell->summary->median;
        winner = setting.libraries[i];
      }
    }
    if (ran < 2) continue;
    ++*contested;
    ++wins[winner];
  }
  return wins;
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
      "In short: lines that each library does fastest, and geometric mean of "
      "speed-ups between cells that do the same work.";
  table.header = {"setting", "fastest in", "mean speed-up"};
  table.align = {Align::kLeft, Align::kLeft, Align::kLeft};
  for (const Setting& setting : settings) {
    int contested = 0;
    std::vector<std::pair<int, std::string>> wins;
    for (const auto& win : WinsOf(setting, &contested)) {
      wins.emplace_back(-win.second, win.first);
    }
    std::sort(wins.begin(), wins.end());
    std::vector<std::string> parts;
    for (const auto& win : wins) {
      parts.push_back(absl::StrCat(win.second, " ", -win.first));
    }
    if (contested == 0) continue;
    const absl::optional<SpeedUps> speed_ups =
        SpeedUpsOf(setting, options.relative_to, options.any_work);
    std::vector<std::string> means;
    if (speed_ups.has_value()) {
      for (const LibrarySpeedUps& library : speed_ups->libraries) {
        means.push_back(
            absl::StrCat(library.library, " ", RatioText(library.mean), " of ",
                         speed_ups->reference, " over ", library.lines.size(),
                         library.lines.size() == 1 ? " line" : " lines"));
      }
    }
    table.rows.push_back(
        {absl::StrCat(setting.mode, ": ", setting.title),
         absl::StrCat(absl::StrJoin(parts, ", "), " of ", contested),
         means.empty() ? "–" : absl::StrJoin(means, "; ")});
  }
  return table;
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
    section.blocks.emplace_back(NumbersOf(counts, cells.size()));
    section.blocks.emplace_back(Paragraph{
        absl::StrCat("What: ", input.rows.size(), " rows of ",
                     absl::StrJoin(counts.libraries, ", "),
                     ". Where: ", absl::StrJoin(counts.machines, ", "), ".")});
    section.blocks.emplace_back(Paragraph{HowSure(counts)});
  }
  DocumentTable findings = FindingsOf(settings, options);
  if (!findings.rows.empty()) section.blocks.emplace_back(std::move(findings));
  if (input.replaced_rows > 0 || input.broken_lines > 0 ||
      input.torn_lines > 0) {
    section.blocks.emplace_back(Paragraph{
        absl::StrCat("Rows replaced by later attempts: ", input.replaced_rows,
                     ". Lines that could not be read: ",
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
  table.header = {"", env.env_id()};
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
  AddLine("feedrate",
          absl::StrCat(env.feedrate_version(), ", revision ",
                       env.git().revision().substr(0, 12),
                       env.git().dirty() ? " with changes" : ""),
          &table);
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

namespace {

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
