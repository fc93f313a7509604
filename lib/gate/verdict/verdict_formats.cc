#include "lib/gate/verdict/verdict_formats.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/text.h"
#include "lib/draw/text.h"
#include "lib/gate/gate_metrics.h"
#include "lib/gate/verdict/metric_verdicts.h"
#include "lib/stats/paired_design.h"
#include "lib/stats/summary.h"

namespace feedrate {

std::vector<std::string> MovedMetrics(const Verdict& job) {
  std::vector<std::string> texts;
  for (const MetricChange& change : job.metrics()) {
    if (HasMoved(change)) texts.push_back(MetricChangeText(change));
  }
  return texts;
}

bool IsPlain(const Verdict& job) {
  return job.verdict() == "same" && job.codes().empty() &&
         MovedMetrics(job).empty();
}

namespace {

int Rank(const std::string& verdict) {
  const char* order[] = {"slower", "cannot_tell", "invalid", "faster", "same"};
  for (int i = 0; i < 5; ++i) {
    if (verdict == order[i]) return i;
  }
  return 5;
}

std::string Words(const std::string& verdict) {
  return verdict == "cannot_tell" ? "cannot tell" : verdict;
}

std::string ChangeText(const Verdict& verdict) {
  return verdict.has_effect()
             ? absl::StrFormat("%+.2f%%", verdict.effect().percent())
             : "";
}

std::string BoundsText(const Effect& effect) {
  if (effect.confidence() == 0) return "";
  return absl::StrFormat("%+.2f%% … %+.2f%%", effect.low_percent(),
                         effect.high_percent());
}

std::string IntervalText(const Verdict& verdict) {
  return verdict.has_effect() ? BoundsText(verdict.effect()) : "";
}

std::string SureText(const Verdict& verdict) {
  return verdict.has_p_value() ? absl::StrFormat("%.1g", verdict.p_value())
                               : "";
}

std::string PairsLine(const Verdict& verdict) {
  return Sparkline(std::vector<double>(verdict.pair_percent().begin(),
                                       verdict.pair_percent().end()));
}

std::string FloorText(const Verdict& verdict) {
  return verdict.has_floor_percent()
             ? absl::StrFormat("%.1f%%", verdict.floor_percent())
             : "";
}

Table PairedTable(const std::vector<Verdict>& jobs) {
  Table table(
      {"job", "verdict", "change", "99% interval", "p", "detectable", "pairs",
       "per pair", "why"},
      {Align::kLeft, Align::kLeft, Align::kRight, Align::kLeft, Align::kRight,
       Align::kRight, Align::kRight, Align::kLeft, Align::kLeft});
  for (const Verdict& job : jobs) {
    table.AddRow({job.job(), Words(job.verdict()), ChangeText(job),
                  IntervalText(job), SureText(job), FloorText(job),
                  absl::StrCat(job.pairs()), PairsLine(job),
                  absl::StrJoin(job.codes(), ", ")});
    for (const MetricChange& change : job.metrics()) {
      if (!HasMoved(change)) continue;
      table.AddRow(
          {absl::StrCat("  ", change.metric()), change.verdict(),
           absl::StrFormat("%+.2f%%", change.effect().percent()),
           BoundsText(change.effect()),
           absl::StrFormat("%.1g", change.p_value()),
           change.has_floor_percent()
               ? absl::StrFormat("%.1f%%", change.floor_percent())
               : "",
           absl::StrCat(change.pairs()), "",
           absl::StrCat(MetricText(change.effect().a(), change.unit()), " -> ",
                        MetricText(change.effect().b(), change.unit()))});
    }
  }
  return table;
}

std::string NumberText(bool is_there, double number) {
  return is_there ? SignificantText(number, 4) : "";
}

// How the value changed, and whether that is good: "-7.3% worse".
std::string DirectionText(const RuleCheck& check) {
  if (!check.has_worse_by()) return "";
  const char* const direction = check.worse_by() > 0   ? " worse"
                                : check.worse_by() < 0 ? " better"
                                                       : "";
  if (check.unit() == "value") {
    return check.worse_by() > 0 ? "past the limit" : "";
  }
  // Adding 0 makes 0 of -0.
  const double change =
      (check.better() == "higher" ? -check.worse_by() : check.worse_by()) + 0.0;
  if (check.unit() != "%") return absl::StrFormat("%+.4g%s", change, direction);
  if (std::abs(change) < 0.05) return "0.0%";
  return absl::StrFormat("%+.1f%%%s", change, direction);
}

std::string AllowedText(const RuleCheck& check) {
  return absl::StrFormat("%g%s", check.allowed(),
                         check.unit() == "%" ? "%" : "");
}

std::string ChanceText(const RuleCheck& check) {
  return check.has_chance_percent()
             ? absl::StrFormat("%.1f%%", check.chance_percent())
             : "";
}

// The check that decided, else an empty one.
RuleCheck CheckOf(const Verdict& verdict) {
  for (const RuleCheck& check : verdict.checks()) {
    if (check.metric() == verdict.metric()) return check;
  }
  return RuleCheck();
}

// A table with what is to be said above it.
struct Captioned {
  std::string caption;
  Table table;
};

// "throughput (images/s)", one for each metric that decided.
std::set<std::string> MetricsOf(const std::vector<Verdict>& jobs) {
  std::set<std::string> names;
  for (const Verdict& job : jobs) {
    if (job.metric().empty()) continue;
    const std::string unit = CheckOf(job).value_unit();
    names.insert(unit.empty() ? job.metric()
                              : absl::StrCat(job.metric(), " (", unit, ")"));
  }
  return names;
}

Captioned RulesTable(const std::vector<Verdict>& jobs) {
  const std::set<std::string> metrics = MetricsOf(jobs);
  const bool several = metrics.size() > 1;
  std::vector<std::string> header = {"job",    "verdict", "baseline", "now",
                                     "change", "chance",  "runs",     "why"};
  std::vector<Align> align = {Align::kLeft,  Align::kLeft,  Align::kRight,
                              Align::kRight, Align::kRight, Align::kRight,
                              Align::kRight, Align::kLeft};
  const auto with_metric = [several](auto* cells, auto metric, auto unit) {
    if (!several) return;
    cells->insert(cells->begin() + 4, unit);
    cells->insert(cells->begin() + 2, metric);
  };
  with_metric(&header, "metric", "unit");
  with_metric(&align, Align::kLeft, Align::kLeft);
  Table table(header, align);
  bool has_chance = false;
  for (const Verdict& job : jobs) {
    const RuleCheck check = CheckOf(job);
    std::vector<std::string> cells = {
        job.job(),
        Words(job.verdict()),
        NumberText(check.has_baseline(), check.baseline()),
        NumberText(check.has_current(), check.current()),
        DirectionText(check),
        ChanceText(check),
        absl::StrCat(job.pairs()),
        absl::StrJoin(job.codes(), ", ")};
    with_metric(&cells, job.metric(), check.value_unit());
    table.AddRow(std::move(cells));
    has_chance = has_chance || check.has_chance_percent();
  }
  return {absl::StrCat(several || metrics.empty()
                           ? "Medians"
                           : absl::StrCat("Medians of ", *metrics.begin()),
                       " of the stored baseline and of now",
                       has_chance
                           ? "; chance: how much worse a job can look although "
                             "nothing changed"
                           : ""),
          std::move(table)};
}

// The tables of the jobs of a duel and of those with a stored baseline.
std::string JobTables(const std::vector<Verdict>& jobs, bool markdown) {
  std::vector<Verdict> paired;
  std::vector<Verdict> rules;
  for (const Verdict& job : jobs) {
    (job.mode() == "paired" ? paired : rules).push_back(job);
  }
  std::vector<std::string> texts;
  for (const Captioned& each :
       {Captioned{"", PairedTable(paired)}, RulesTable(rules)}) {
    if (each.table.empty()) continue;
    const char* const end = each.caption.empty() ? "" : ".\n";
    texts.push_back(markdown ? absl::StrCat(MarkdownText(each.caption), end,
                                            "\n", each.table.ToMarkdown())
                             : absl::StrCat(PrintableText(each.caption), end,
                                            each.table.ToText()));
  }
  return absl::StrJoin(texts, "\n");
}

std::vector<Verdict> Only(const std::vector<Verdict>& jobs, bool same) {
  std::vector<Verdict> kept;
  for (const Verdict& job : jobs) {
    // Warnings are shown even though nothing got slower.
    if (IsPlain(job) == same) kept.push_back(job);
  }
  return kept;
}

// With `suite_command`, which measures all undecided jobs again, theirs are
// left out. Of undecided jobs with the same reason, such as a missing baseline,
// only the first has lines.
std::string Details(const std::vector<Verdict>& jobs,
                    const std::string& suite_command, bool markdown) {
  const auto reason = [](const Verdict& job) {
    return absl::StrCat(job.verdict(),
                        job.verdict() == "slower" ? job.job() : "", "\n",
                        job.reason());
  };
  std::map<std::string, int64_t> jobs_with;
  for (const Verdict& job : jobs) {
    if (!IsPlain(job)) ++jobs_with[reason(job)];
  }
  std::set<std::string> told;
  std::string text;
  for (Verdict job : jobs) {
    if (!suite_command.empty() && job.verdict() == "cannot_tell" &&
        job.mode() == "rules") {
      job.clear_command();
    }
    if (IsPlain(job) || !told.insert(reason(job)).second) continue;
    const int64_t more = jobs_with[reason(job)] - 1;
    if (more > 0) {
      job.set_job(absl::StrCat(job.job(), " and ", Counted(more, "other")));
    }
    if (markdown) {
      absl::StrAppend(&text, "- **", MarkdownText(job.job()), "** ",
                      MarkdownText(Words(job.verdict())), ": ",
                      MarkdownText(job.reason()), "\n");
      if (!job.command().empty()) {
        absl::StrAppend(&text, "  ", MarkdownCode(job.command()), "\n");
      }
    } else {
      absl::StrAppend(&text, PrintableText(job.job()), ": ",
                      PrintableText(job.reason()), "\n");
      if (!job.command().empty()) {
        absl::StrAppend(&text, "  again: ", PrintableText(job.command()), "\n");
      }
    }
  }
  return text;
}

}  // namespace

std::string CountsText(const VerdictCounts& counts) {
  std::vector<std::string> parts;
  const auto add = [&parts](int64_t count, const char* word) {
    if (count > 0) parts.push_back(absl::StrCat(count, " ", word));
  };
  add(counts.slower(), "slower");
  add(counts.cannot_tell(), "cannot tell");
  add(counts.invalid(), "invalid");
  add(counts.faster(), "faster");
  add(counts.same(), "same");
  return parts.empty() ? "no jobs" : absl::StrJoin(parts, ", ");
}

std::vector<Verdict> WorstFirst(std::vector<Verdict> jobs) {
  std::stable_sort(
      jobs.begin(), jobs.end(), [](const Verdict& a, const Verdict& b) {
        const int rank_a = Rank(a.verdict());
        const int rank_b = Rank(b.verdict());
        if (rank_a != rank_b) return rank_a < rank_b;
        return std::abs(a.effect().percent()) > std::abs(b.effect().percent());
      });
  return jobs;
}

std::string VerdictText(const std::vector<Verdict>& jobs, const Verdict& suite,
                        int limit) {
  const std::vector<Verdict> sorted = WorstFirst(jobs);
  std::vector<Verdict> shown = Only(sorted, false);
  const std::vector<Verdict> same = Only(sorted, true);
  const size_t most = limit == 0 ? same.size() : limit;
  for (size_t i = 0; i < std::min(most, same.size()); ++i) {
    shown.push_back(same[i]);
  }
  std::string text = JobTables(shown, false);
  if (same.size() > most) {
    absl::StrAppend(&text, "… and ", same.size() - most,
                    " more are the same\n");
  }
  absl::StrAppend(&text, "\n", CountsText(suite.counts()), ": ",
                  PrintableText(suite.reason()), "\n");
  if (suite.level() > 0) {
    absl::StrAppendFormat(&text,
                          "Each job is called wrongly at most once in %.0f "
                          "clean runs.\n",
                          1 / suite.level());
  }
  if (!suite.command().empty()) {
    absl::StrAppend(&text, "Measure again: ", PrintableText(suite.command()),
                    "\n");
  }
  const std::string details = Details(sorted, suite.command(), false);
  if (!details.empty()) absl::StrAppend(&text, "\n", details);
  return text;
}

std::string VerdictMarkdown(const std::vector<Verdict>& jobs,
                            const Verdict& suite) {
  const std::vector<Verdict> sorted = WorstFirst(jobs);
  const std::vector<Verdict> shown = Only(sorted, false);
  const std::vector<Verdict> same = Only(sorted, true);
  // A change that cannot be judged has not failed.
  const char* const sign = suite.exit_code() == 0   ? "✅"
                           : suite.exit_code() == 4 ? "⚠️"
                                                    : "❌";
  std::string text =
      absl::StrCat("### ", sign, " Performance: ", CountsText(suite.counts()),
                   "\n\n", MarkdownText(suite.reason()),
                   suite.machine_profile().empty() ? "" : " on ",
                   MarkdownCode(suite.machine_profile()), ".\n");
  if (!suite.command().empty()) {
    absl::StrAppend(&text, "\nMeasure again: ", MarkdownCode(suite.command()),
                    "\n");
  }
  if (!shown.empty()) {
    absl::StrAppend(&text, "\n", JobTables(shown, true), "\n",
                    Details(sorted, suite.command(), true));
  }
  if (!same.empty()) {
    absl::StrAppend(&text, "\n<details><summary>", same.size(),
                    same.size() == 1 ? " job is" : " jobs are",
                    " the same</summary>\n\n", JobTables(same, true),
                    "\n</details>\n");
  }
  return text;
}

namespace {

std::string PairsText(const PairedJob& job) {
  Table table({"pair", "stage", "first", "A", "B", "change"},
              {Align::kRight, Align::kRight, Align::kLeft, Align::kRight,
               Align::kRight, Align::kRight});
  for (const auto& entry : job.pairs) {
    const RunPair& pair = entry.second;
    const bool whole = pair.IsWhole();
    table.AddRow({absl::StrCat(entry.first), absl::StrCat(pair.stage),
                  pair.a.rows > 0 && pair.a.position == 0 ? "A" : "B",
                  pair.a.rows > 0 ? SecondsText(std::exp(pair.a.Log())) : "–",
                  pair.b.rows > 0 ? SecondsText(std::exp(pair.b.Log())) : "–",
                  whole ? absl::StrFormat("%+.2f%%", PercentOfLog(pair.b.Log() -
                                                                  pair.a.Log()))
                        : "not whole"});
  }
  return table.ToText();
}

std::string LookText(const std::vector<double>& differences,
                     const PairedDesign& design, int number) {
  const PairedLook look = LookAt(differences, design, number, true);
  const double share = ShareOfLook(design, number);
  std::string text =
      absl::StrFormat("Look %d, after %d pairs: estimate %+.3f%%", number + 1,
                      differences.size(), PercentOfLog(look.estimate));
  if (look.interval) {
    absl::StrAppendFormat(&text, ", 99%% interval %+.3f%% to %+.3f%%",
                          PercentOfLog(look.interval->low),
                          PercentOfLog(look.interval->high));
  }
  absl::StrAppendFormat(&text, ", spread of pairs %.2f%%.\n",
                        100 * look.spread);
  if (share > 0) {
    absl::StrAppendFormat(
        &text,
        "  Sign-flip test: of all 2^%d ways to swap A and B in these pairs a "
        "share of %.2g is as far out on this side; the look may spend %.2g.\n",
        differences.size(), look.p_value / 2, share);
  } else {
    absl::StrAppendFormat(
        &text,
        "  So few pairs cannot prove a change: not even equal signs "
        "throughout (a share of %.2g) would be enough. It can only clear.\n",
        SmallestSignFlipPValue(static_cast<int>(differences.size())));
  }
  absl::StrAppendFormat(&text, "  -> %s%s\n", PairedVerdictName(look.verdict),
                        look.is_small_change
                            ? " (proved, but less than half of what is of "
                              "interest)"
                            : "");
  return text;
}

}  // namespace

std::string ExplainPairs(const PairedJob& job, const PairedRows& rows,
                         const PairedOptions& options, const Verdict& verdict) {
  std::string text = absl::StrCat(
      PrintableText(job.label), " (", PrintableText(job.job_id), ") on ",
      PrintableText(job.machine_profile), "\n\n", PairsText(job), "\n");
  const std::vector<double> differences = job.Differences();
  const PairedDesign design = DesignOf(rows, options);
  const bool is_chosen = rows.duel() && rows.duel()->has_error_percent();
  absl::StrAppendFormat(
      &text,
      "Level: %s%s / %d jobs, %.2g for this job in either direction and over "
      "all looks.\n",
      JudgedMetrics(rows) > 0 ? "96% of " : "",
      is_chosen ? absl::StrFormat("%g%%", rows.duel()->error_percent())
                : std::string("the smaller of 2e-5 and 0.01"),
      JudgedJobs(rows), design.level);
  const auto floor = options.floor_percent.find(job.job_id);
  if (floor != options.floor_percent.end()) {
    absl::StrAppendFormat(&text,
                          "Calibration: the smallest change seen here is "
                          "%.1f%%; less is not judged.\n",
                          floor->second);
  }
  absl::StrAppendFormat(
      &text,
      "Rule: slower or faster when the test is at most the look's share and "
      "the estimate at least %g%%; same when the interval is within ±%g%%; "
      "else go on, and after the last look cannot tell.\n\n",
      design.interest_percent / 2, design.interest_percent);
  for (int i = 0; i < static_cast<int>(design.looks.size()); ++i) {
    const bool is_last = job.LastStage() == i;
    const size_t count =
        is_last ? differences.size()
                : std::min<size_t>(design.looks[i], differences.size());
    if (count == 0) break;
    text +=
        LookText({differences.begin(), differences.begin() + count}, design, i);
    if (is_last) break;
  }
  for (const MetricChange& change : verdict.metrics()) {
    absl::StrAppendFormat(
        &text, "%s; level %.2g, of interest from %g%%, %s is better.\n",
        PrintableText(MetricChangeText(change)), change.level(),
        change.interest_percent(), change.better());
  }
  absl::StrAppend(&text, "\nVerdict: ", PrintableText(verdict.verdict()), ": ",
                  PrintableText(verdict.reason()), "\n");
  if (!verdict.command().empty()) {
    absl::StrAppend(&text, "Again: ", PrintableText(verdict.command()), "\n");
  }
  return text;
}

std::string ExplainRules(const Verdict& verdict) {
  Table table({"metric", "baseline", "now", "unit", "change", "allowed",
               "chance", "result"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kLeft,
               Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  for (const RuleCheck& check : verdict.checks()) {
    table.AddRow({check.metric(),
                  NumberText(check.has_baseline(), check.baseline()),
                  NumberText(check.has_current(), check.current()),
                  check.value_unit(), DirectionText(check), AllowedText(check),
                  ChanceText(check), check.result()});
  }
  std::string text = absl::StrCat(PrintableText(verdict.job()), " on ",
                                  PrintableText(verdict.machine_profile()),
                                  "\n\n", table.ToText(), "\n");
  if (verdict.has_floor_percent()) {
    absl::StrAppendFormat(&text,
                          "Calibration: the smallest change seen here is "
                          "%.1f%%; breaches below it are not judged.\n",
                          verdict.floor_percent());
  }
  if (verdict.has_executions()) {
    const Executions& executions = verdict.executions();
    absl::StrAppendFormat(&text, "Executions: %d of the baseline, %d now",
                          executions.baseline(), executions.current());
    if (executions.differ_percent() > 0) {
      absl::StrAppendFormat(
          &text, ", taken to differ by %.2g%%; %s on each side would find 3%%",
          executions.differ_percent(),
          executions.needed() > 0 ? absl::StrCat(executions.needed())
                                  : "more than 1000");
    } else {
      absl::StrAppend(&text,
                      "; how much they differ is not known, so nobody can say "
                      "how many would find 3%");
    }
    absl::StrAppend(&text, ".\n");
  }
  return absl::StrCat(text, "Verdict: ", PrintableText(verdict.verdict()), ": ",
                      PrintableText(verdict.reason()), "\n");
}

}  // namespace feedrate
