#include "lib/analysis/report/comparison_sections.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/optional.h"
#include "lib/analysis/report/report_data.h"
#include "lib/draw/axes.h"
#include "lib/draw/charts.h"
#include "lib/draw/document.h"
#include "lib/draw/text.h"
#include "lib/records/row.pb.h"
#include "lib/records/verdict.pb.h"
#include "lib/stats/winner.h"

namespace feedrate {
namespace {

std::string JobAndMachineOf(const ReportCell& cell) {
  return absl::StrCat(
      cell.example.job_id(), " ", cell.example.machine_profile(), " ",
      cell.example.usable_cpus(), cell.labels.count("cold") > 0 ? " cold" : "");
}

bool Ran(const ReportCell& cell) {
  return cell.summary.has_value() && cell.summary->median > 0;
}

// Executions of the same program differ too. The usual tolerance of
// compare_baseline, which knows more about noise.
constexpr double kAcrossExecutions = 0.05;

Change ChangeOf(const ReportCell& before, const ReportCell& now) {
  Change change;
  change.before = &before;
  change.now = &now;
  if (!Ran(before) || !Ran(now)) {
    change.word = before.status == now.status
                      ? absl::StrCat("still ", now.status)
                      : absl::StrCat(before.status, " → ", now.status);
    return change;
  }
  const Separation found =
      Separate(now.AsContestant(/*any_work=*/true), before.AsContestant(true));
  change.ratio = RatioOf(now, before, found);
  if (found.evidence == Evidence::kSeparate) {
    const auto& interval = change.ratio.whiskers;
    const bool is_small =
        change.ratio.value > 1
            ? interval && interval->low < 1 + kAcrossExecutions
            : interval && interval->high > 1 - kAcrossExecutions;
    change.word = is_small                 ? "cannot tell"
                  : change.ratio.value > 1 ? "faster"
                                           : "slower";
    if (is_small) {
      change.why = absl::StrCat("under ", PercentText(kAcrossExecutions));
    }
  } else if (found.evidence == Evidence::kTied) {
    change.word = "tied";
  } else {
    change.word = "cannot tell";
    change.why = found.evidence == Evidence::kDisturbed ? "disturbed runs"
                                                        : "too few runs";
  }
  return change;
}

std::string VersionText(const Change& change) {
  const std::string& before = change.before->example.library_version();
  const std::string& now = change.now->example.library_version();
  return before == now ? now : absl::StrCat(before, " → ", now);
}

// How much more memory it takes now.
DocumentCell MemoryCell(const absl::optional<double>& before,
                        const absl::optional<double>& now) {
  if (!before.has_value() || !now.has_value() || !(*before > 0)) {
    return NotMeasured();
  }
  DocumentCell cell(absl::StrFormat("%+.0f%%", 100 * (*now / *before - 1)));
  cell.value = *now / *before;
  cell.hover = absl::StrCat(BytesText(*before), " → ", BytesText(*now));
  return cell;
}

std::vector<DocumentCell> LineOf(const Change& change) {
  const Row& row = change.now->example;
  DocumentCell before(change.before->Text());
  DocumentCell now(change.now->Text());
  DocumentCell ratio = NotMeasured();
  if (change.before->summary.has_value()) {
    before.value = change.before->summary->median;
  }
  if (change.now->summary.has_value()) now.value = change.now->summary->median;
  if (change.ratio.value > 0) {
    ratio =
        DocumentCell(absl::StrCat(SignificantText(change.ratio.value), "×"));
    ratio.value = change.ratio.value;
    if (change.ratio.whiskers.has_value()) {
      ratio.detail =
          absl::StrCat("[", SignificantText(change.ratio.whiskers->low), ", ",
                       SignificantText(change.ratio.whiskers->high), "]");
    }
  }
  DocumentCell word(change.word);
  word.detail = change.why;
  return {
      row.transform(),
      row.library(),
      VersionText(change),
      row.scenario(),
      row.mode(),
      row.scope(),
      row.device(),
      SettingOf(row),
      before,
      now,
      ratio,
      word,
      MemoryCell(change.before->rss_peak_bytes, change.now->rss_peak_bytes),
      MemoryCell(change.before->gpu_peak_bytes, change.now->gpu_peak_bytes)};
}

// Slower cells come first, because readers look for them.
double OrderOf(const Change& change) {
  return change.ratio.value > 0 ? change.ratio.value : 1e300;
}

}  // namespace

Changes ChangesBetween(const std::vector<ReportCell>& before,
                       const std::vector<ReportCell>& now) {
  std::map<std::string, const ReportCell*> earlier;
  for (const ReportCell& cell : before) {
    if (cell.example.library() == kNullLibrary) continue;
    earlier[JobAndMachineOf(cell)] = &cell;
  }
  Changes changes;
  std::map<std::string, bool> paired;
  for (const ReportCell& cell : now) {
    if (cell.example.library() == kNullLibrary) continue;
    const auto other = earlier.find(JobAndMachineOf(cell));
    if (other == earlier.end()) {
      ++changes.only_now;
      continue;
    }
    paired[other->first] = true;
    changes.changes.push_back(ChangeOf(*other->second, cell));
  }
  changes.only_before = static_cast<int>(earlier.size() - paired.size());
  std::stable_sort(
      changes.changes.begin(), changes.changes.end(),
      [](const Change& a, const Change& b) { return OrderOf(a) < OrderOf(b); });
  return changes;
}

Section ChangesSection(const Changes& changes) {
  Section section;
  section.id = "changes";
  section.title = "Changes against the baseline";
  int faster = 0;
  int slower = 0;
  int open = 0;
  for (const Change& change : changes.changes) {
    faster += change.word == "faster" ? 1 : 0;
    slower += change.word == "slower" ? 1 : 0;
    open += change.word == "cannot tell" ? 1 : 0;
  }
  std::string text = absl::StrCat(
      changes.changes.size(), " cells are in both: ", slower, " slower, ",
      faster, " faster by intervals of the ratio that exclude ",
      PercentText(kAcrossExecutions), "; of ", open,
      " it cannot be told, because their runs are too few or disturbed, or "
      "differ by less than executions of the same program may. ",
      changes.only_now, " are new, ", changes.only_before,
      " are only in the baseline.");
  if (changes.changes.empty()) {
    text =
        "Nothing is comparable: no job of the baseline was run on the same "
        "machine profile.";
  }
  Paragraph summary;
  summary.text = std::move(text);
  summary.is_warning = slower > 0 || changes.changes.empty();
  section.blocks.emplace_back(std::move(summary));
  if (changes.changes.empty()) return section;
  section.blocks.emplace_back(Paragraph{
      "Runs at different times also differ because machine speed "
      "drifts; `compare_baseline` and `duel` take that into account."});
  DocumentTable table;
  table.header = {
      "transform", "library", "version",         "scenario",  "mode",
      "scope",     "device",  "setting",         "baseline",  "now",
      "ratio",     "change",  "resident memory", "GPU memory"};
  table.align.assign(8, Align::kLeft);
  table.align.insert(table.align.end(),
                     {Align::kRight, Align::kRight, Align::kRight, Align::kLeft,
                      Align::kRight, Align::kRight});
  for (const Change& change : changes.changes) {
    table.rows.push_back(LineOf(change));
  }
  table.DropEmptyColumns();
  table.FoldConstantColumns();
  section.blocks.emplace_back(std::move(table));
  return section;
}

namespace {

bool IsSuite(const Verdict& verdict) { return verdict.scope() == "suite"; }

// Sorts verdicts by importance.
int OrderOf(const Verdict& verdict) {
  static constexpr const char* kOrder[] = {"slower", "invalid", "cannot_tell",
                                           "faster", "same"};
  const auto place =
      std::find(std::begin(kOrder), std::end(kOrder), verdict.verdict());
  return static_cast<int>(place - std::begin(kOrder));
}

std::string Signed(double percent) {
  return absl::StrFormat("%+.1f%%", percent);
}

std::string CountsText(const VerdictCounts& counts) {
  std::vector<std::string> parts;
  const auto add = [&](int64_t count, const char* word) {
    if (count > 0) parts.push_back(absl::StrCat(count, " ", word));
  };
  add(counts.slower(), "slower");
  add(counts.invalid(), "invalid");
  add(counts.cannot_tell(), "cannot tell");
  add(counts.faster(), "faster");
  add(counts.same(), "same");
  return absl::StrJoin(parts, ", ");
}

Paragraph SuiteText(const Verdict& suite) {
  std::vector<std::string> parts = {absl::StrCat(
      "All jobs", suite.machine_profile().empty() ? "" : " on `",
      suite.machine_profile(), suite.machine_profile().empty() ? "" : "`", ": ",
      suite.verdict())};
  if (suite.has_counts()) parts.push_back(CountsText(suite.counts()));
  if (!suite.reason().empty()) parts.push_back(suite.reason());
  if (suite.has_exit_code()) {
    parts.push_back(absl::StrCat("exit ", suite.exit_code()));
  }
  Paragraph paragraph;
  paragraph.text = absl::StrCat(absl::StrJoin(parts, "; "), ".");
  paragraph.is_warning =
      suite.verdict() != "same" && suite.verdict() != "faster";
  return paragraph;
}

std::string NameOf(const Verdict& verdict) {
  return verdict.job().empty() ? verdict.job_id() : verdict.job();
}

std::string StoryOf(const Verdict& verdict) {
  std::vector<std::string> lines = {
      absl::StrCat(NameOf(verdict), " (", verdict.job_id(), ")")};
  if (verdict.has_effect() && verdict.effect().confidence() > 0) {
    lines.push_back(absl::StrCat("interval at ",
                                 PercentText(verdict.effect().confidence())));
  }
  if (verdict.has_p_value()) {
    lines.push_back(absl::StrCat(
        "p ", SignificantText(verdict.p_value()),
        verdict.has_level()
            ? absl::StrCat(", level ", SignificantText(verdict.level()))
            : ""));
  }
  if (verdict.has_floor_percent()) {
    lines.push_back(absl::StrCat("shows changes from ",
                                 SignificantText(verdict.floor_percent()),
                                 "% on (", verdict.floor_source(), ")"));
  }
  return absl::StrJoin(lines, "\n");
}

std::vector<DocumentCell> LineOf(const Verdict& verdict) {
  DocumentCell effect = NotMeasured();
  if (verdict.has_effect()) {
    effect = DocumentCell(Signed(verdict.effect().percent()));
    effect.value = verdict.effect().percent();
    // A stored baseline gives none.
    if (verdict.effect().confidence() > 0) {
      effect.detail =
          absl::StrCat("[", Signed(verdict.effect().low_percent()), ", ",
                       Signed(verdict.effect().high_percent()), "]");
    }
  }
  effect.hover = StoryOf(verdict);
  DocumentCell pairs(absl::StrCat(verdict.pairs()));
  pairs.value = static_cast<double>(verdict.pairs());
  return {NameOf(verdict), verdict.verdict(),
          effect,          verdict.metric(),
          pairs,           absl::StrJoin(verdict.codes(), ", "),
          verdict.reason()};
}

DocumentTable JobsTable(const std::vector<Verdict>& jobs) {
  DocumentTable table;
  table.caption =
      "How much worse the candidate is than the baseline in the metric, "
      "below 0 better; with an interval if the two ran in pairs.";
  table.header = {"job",           "verdict", "worse by", "metric",
                  "pairs or runs", "codes",   "reason"};
  table.align = {Align::kLeft,  Align::kLeft, Align::kRight, Align::kLeft,
                 Align::kRight, Align::kLeft, Align::kLeft};
  for (const Verdict& job : jobs) table.rows.push_back(LineOf(job));
  return table;
}

DocumentCell NumberCell(bool has, double value, const std::string& unit) {
  if (!has) return NotMeasured();
  DocumentCell cell(absl::StrCat(SignificantText(value), unit));
  cell.value = value;
  return cell;
}

// The rules whose result is not simply `pass`.
absl::optional<DocumentTable> RulesTable(const std::vector<Verdict>& jobs) {
  DocumentTable table;
  table.caption = "Rules that were not passed.";
  table.header = {"job",     "metric",   "result", "baseline",
                  "current", "worse by", "allowed"};
  table.align = {Align::kLeft,  Align::kLeft,  Align::kLeft, Align::kRight,
                 Align::kRight, Align::kRight, Align::kRight};
  for (const Verdict& job : jobs) {
    for (const RuleCheck& check : job.checks()) {
      if (check.result() == "pass") continue;
      const std::string unit = check.unit() == "%" ? "%" : "";
      table.rows.push_back(
          {NameOf(job), check.metric(), check.result(),
           NumberCell(check.has_baseline(), check.baseline(), ""),
           NumberCell(check.has_current(), check.current(), ""),
           NumberCell(check.has_worse_by(), check.worse_by(), unit),
           NumberCell(true, check.allowed(), unit)});
    }
  }
  if (table.rows.empty()) return absl::nullopt;
  return table;
}

absl::optional<Figure> EffectsFigure(const std::vector<Verdict>& jobs) {
  ForestPlot plot;
  plot.title = "Verdicts";
  plot.axis_title = "time of the candidate over the baseline's";
  plot.below_text = "faster";
  plot.above_text = "slower";
  for (const Verdict& job : jobs) {
    const Effect& effect = job.effect();
    if (!job.has_effect() || effect.low_percent() <= -100) continue;
    ForestRow row;
    row.label = NameOf(job);
    if (effect.confidence() > 0) {
      row.ratio = {1 + effect.percent() / 100,
                   Whiskers{1 + effect.low_percent() / 100,
                            1 + effect.high_percent() / 100}};
    } else if (job.metric() == "throughput" && effect.a() > 0 &&
               effect.b() > 0) {
      row.ratio = {effect.a() / effect.b(), absl::nullopt};
    } else {
      // The axis is a ratio of times, but a rule's metric may be anything.
      continue;
    }
    row.series = OrderOf(job);
    row.hover = StoryOf(job);
    plot.rows.push_back(std::move(row));
  }
  if (plot.rows.empty()) return absl::nullopt;
  Figure figure;
  figure.id = "verdicts-effects";
  figure.caption =
      "Time of the candidate over the baseline's, job by job; with an "
      "interval if the two ran in pairs.";
  figure.draw = DrawnBy(DrawForestPlot, std::move(plot));
  return figure;
}

}  // namespace

absl::optional<Section> VerdictsSection(std::vector<Verdict> verdicts) {
  if (verdicts.empty()) return absl::nullopt;
  const auto key = [](const Verdict& verdict) {
    return std::make_tuple(verdict.machine_profile(), OrderOf(verdict),
                           verdict.job(), verdict.job_id(), verdict.metric(),
                           verdict.ShortDebugString());
  };
  std::sort(
      verdicts.begin(), verdicts.end(),
      [&](const Verdict& a, const Verdict& b) { return key(a) < key(b); });
  Section section;
  section.id = "verdicts";
  section.title = "Verdicts";
  std::vector<Verdict> jobs;
  for (const Verdict& verdict : verdicts) {
    if (IsSuite(verdict)) {
      section.blocks.emplace_back(SuiteText(verdict));
    } else {
      jobs.push_back(verdict);
    }
  }
  if (!jobs.empty()) section.blocks.emplace_back(JobsTable(jobs));
  if (auto figure = EffectsFigure(jobs)) {
    section.blocks.emplace_back(*std::move(figure));
  }
  if (auto rules = RulesTable(jobs)) {
    section.blocks.emplace_back(*std::move(rules));
  }
  return section;
}

}  // namespace feedrate
