#include "lib/analysis/report/history_section.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "lib/analysis/report/report_data.h"
#include "lib/draw/axes.h"
#include "lib/draw/charts.h"
#include "lib/draw/text.h"
#include "lib/gate/paired_rows.h"
#include "lib/stats/change_points.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

// With more plots than this, the table is easier to read.
constexpr size_t kMostPlots = 24;
constexpr char kCommitPlace[] = "{commit}";

std::string SignedPercent(double percent) {
  return std::abs(percent) < 0.05 ? "0.0%"
                                  : absl::StrFormat("%+.1f%%", percent);
}

std::string UrlOf(const std::string& revision, const std::string& commit_url) {
  if (commit_url.empty()) return "";
  std::string escaped;
  for (const char c : revision) {
    const bool is_plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                          c == '.' || c == '-' || c == '_';
    absl::StrAppend(&escaped,
                    is_plain
                        ? std::string(1, c)
                        : absl::StrFormat("%%%02X", static_cast<uint8_t>(c)));
  }
  return absl::StrReplaceAll(commit_url, {{kCommitPlace, escaped}});
}

DocumentCell RevisionCell(const std::string& revision,
                          const std::string& commit_url) {
  DocumentCell cell(ShortRevision(revision));
  cell.link = UrlOf(revision, commit_url);
  return cell;
}

std::string StepText(const HistorySeries& series, const Step& step) {
  return absl::StrFormat("%s after %s, at the latest in %s",
                         SignedPercent(PercentOfLog(step.shift)),
                         ShortRevision(series.revisions[step.before]),
                         ShortRevision(series.revisions[step.index]));
}

// Seconds are shown in the unit of the first time.
struct TimeUnit {
  const char* name;
  double seconds;
};

TimeUnit UnitOf(double seconds) {
  for (const TimeUnit& unit :
       {TimeUnit{"s", 1}, TimeUnit{"ms", 1e-3}, TimeUnit{"µs", 1e-6}}) {
    if (seconds >= unit.seconds) return unit;
  }
  return {"ns", 1e-9};
}

Figure PlotOf(const HistorySeries& series, const std::string& id) {
  const TimeUnit unit = UnitOf(std::exp(series.logs[0]));
  LineChart chart;
  chart.title = absl::StrCat("History of ", series.label);
  chart.x_title = "revision";
  chart.y_title = absl::StrCat("time, ", unit.name);
  chart.from_zero = false;
  // The caption has its name.
  LineSeries line;
  for (size_t i = 0; i < series.logs.size(); ++i) {
    const double seconds = std::exp(series.logs[i]);
    const std::string revision = ShortRevision(series.revisions[i]);
    chart.x_names.push_back(revision);
    line.points.push_back(
        {static_cast<double>(i),
         Estimate{seconds / unit.seconds, absl::nullopt},
         absl::StrCat(
             revision, "\n", SecondsText(seconds), ", ",
             SignedPercent(PercentOfLog(series.logs[i] - series.logs[0])),
             " against the first")});
  }
  chart.series = {std::move(line)};
  std::vector<std::string> changes;
  for (const Step& step : series.steps) {
    chart.marks.push_back(static_cast<double>(step.index) - 0.5);
    changes.push_back(StepText(series, step));
  }
  Figure figure;
  figure.id = id;
  figure.caption = absl::StrCat(
      series.label, " on `", series.machine_profile, "`: ",
      changes.empty()
          ? "no lasting change"
          : absl::StrCat("time changed by ", absl::StrJoin(changes, "; by ")),
      ".");
  figure.draw = [chart](ScaleType, double width) {
    LineChart sized = chart;
    sized.width = std::min(width, 620.0);
    sized.height = 220;
    return DrawLineChart(sized);
  };
  return figure;
}

DocumentTable StepsTable(const std::vector<HistorySeries>& all,
                         const std::map<const HistorySeries*, std::string>& ids,
                         const std::string& commit_url) {
  DocumentTable table;
  table.caption = "Lasting changes of time; above 0 is slower.";
  table.header = {"job", "machine", "change", "after", "at the latest in",
                  "p",   "now"};
  table.align = {Align::kLeft, Align::kLeft,  Align::kRight, Align::kLeft,
                 Align::kLeft, Align::kRight, Align::kLeft};
  for (const HistorySeries& series : all) {
    for (const Step& step : series.steps) {
      const double percent = PercentOfLog(step.shift);
      DocumentCell name(series.label);
      const auto id = ids.find(&series);
      if (id != ids.end()) name.link = absl::StrCat("#", id->second);
      DocumentCell change(SignedPercent(percent));
      change.value = percent;
      DocumentCell p(SignificantText(step.p_value));
      p.value = step.p_value;
      DocumentCell now("still there");
      if (step.gone_at > 0) {
        now = RevisionCell(series.revisions[step.gone_at], commit_url);
        now.text = absl::StrCat("gone in ", now.text);
      }
      table.rows.push_back(
          {name, series.machine_profile, change,
           RevisionCell(series.revisions[step.before], commit_url),
           RevisionCell(series.revisions[step.index], commit_url), p, now});
    }
  }
  return table;
}

// All revisions in the order of the series, each once, with their dates.
struct Revisions {
  std::vector<std::string> names;
  std::vector<std::string> dates;
  std::map<std::string, int> index;
};

// Series may lack revisions, so the longest comes first; others add theirs
// after the one before.
Revisions RevisionsOf(const std::vector<HistorySeries>& all) {
  std::vector<const HistorySeries*> order;
  for (const HistorySeries& series : all) order.push_back(&series);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) {
                     return a->revisions.size() > b->revisions.size();
                   });
  std::vector<std::pair<std::string, std::string>> names;
  std::set<std::string> known;
  for (const HistorySeries* series : order) {
    std::string before;
    for (size_t i = 0; i < series->revisions.size(); ++i) {
      const std::string& revision = series->revisions[i];
      if (known.insert(revision).second) {
        auto place = std::find_if(
            names.begin(), names.end(),
            [&before](const auto& name) { return name.first == before; });
        names.insert(
            i == 0 ? names.begin() : place + (place != names.end() ? 1 : 0),
            {revision, series->started_at[i]});
      }
      before = revision;
    }
  }
  Revisions revisions;
  for (auto& name : names) {
    revisions.index[name.first] = static_cast<int>(revisions.names.size());
    revisions.names.push_back(std::move(name.first));
    revisions.dates.push_back(std::move(name.second));
  }
  return revisions;
}

DocumentCell ChangeCell(double log) {
  DocumentCell cell(SignedPercent(PercentOfLog(log)));
  cell.value = PercentOfLog(log);
  return cell;
}

DocumentTable JobsTable(const std::vector<HistorySeries>& all,
                        const std::string& commit_url) {
  const Revisions revisions = RevisionsOf(all);
  DocumentTable table;
  table.caption =
      "All jobs; vertical lines mark lasting changes. Choose a row to see its "
      "history.";
  table.header = {"job",           "machine",      "history",    "time now",
                  "against first", "against best", "last change"};
  table.align = {Align::kLeft,  Align::kLeft,  Align::kLeft, Align::kRight,
                 Align::kRight, Align::kRight, Align::kLeft};
  table.point_names = revisions.names;
  table.point_details = revisions.dates;
  table.point_link = commit_url;
  for (const HistorySeries& series : all) {
    DocumentCell line(Sparkline(series.logs));
    for (size_t i = 0; i < series.logs.size(); ++i) {
      line.line.push_back(
          {revisions.index.at(series.revisions[i]), std::exp(series.logs[i])});
    }
    // Revisions that come back do not go back in the plot.
    for (size_t i = 1; i < line.line.size(); ++i) {
      line.line[i].x = std::max(line.line[i].x, line.line[i - 1].x);
    }
    for (const Step& step : series.steps) {
      line.marks.push_back(line.line[step.index].x);
    }
    const double last = series.logs.back();
    DocumentCell now(SecondsText(std::exp(last)));
    now.value = std::exp(last);
    DocumentCell change;
    if (!series.steps.empty()) {
      const Step& step = series.steps.back();
      change = RevisionCell(series.revisions[step.index], commit_url);
      change.text = absl::StrCat(SignedPercent(PercentOfLog(step.shift)),
                                 " in ", change.text);
    }
    table.rows.push_back(
        {series.label, series.machine_profile, line, now,
         ChangeCell(last - series.logs.front()),
         ChangeCell(last -
                    *std::min_element(series.logs.begin(), series.logs.end())),
         change});
  }
  table.FoldConstantColumns();
  return table;
}

KeyNumbers NumbersOf(const std::vector<HistorySeries>& all) {
  std::set<std::string> revisions;
  int slower = 0;
  int faster = 0;
  int gone = 0;
  for (const HistorySeries& series : all) {
    revisions.insert(series.revisions.begin(), series.revisions.end());
    for (const Step& step : series.steps) {
      ++(step.gone_at > 0 ? gone : step.shift > 0 ? slower : faster);
    }
  }
  return {{{absl::StrCat(all.size()), all.size() == 1 ? "job" : "jobs"},
           {absl::StrCat(revisions.size()), "revisions"},
           {absl::StrCat(slower), "slowdowns that are still there"},
           {absl::StrCat(faster), "speed-ups that are still there"},
           {absl::StrCat(gone), "changes that went away"}}};
}

}  // namespace

absl::Status CheckCommitUrl(const std::string& url) {
  const bool is_web =
      absl::StartsWith(url, "https://") || absl::StartsWith(url, "http://");
  if (url.empty() || (is_web && absl::StrContains(url, kCommitPlace))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--commit_url: \"", url,
                   "\" is not a web address with {commit}, such as "
                   "https://github.com/me/project/commit/{commit}"));
}

absl::optional<Section> HistorySection(std::vector<HistorySeries> all,
                                       const std::string& commit_url) {
  all.erase(
      std::remove_if(all.begin(), all.end(),
                     [](const auto& series) { return series.logs.size() < 2; }),
      all.end());
  if (all.empty()) return absl::nullopt;
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.steps.size() > b.steps.size();
  });
  Section section;
  section.id = "history";
  section.title = "History";
  std::set<std::string> used;
  std::map<const HistorySeries*, std::string> ids;
  for (const HistorySeries& series : all) {
    if (ids.size() == kMostPlots) break;
    ids[&series] =
        NewId(IdFrom(absl::StrCat("history ", series.label)), 0, &used);
  }
  DocumentTable steps = StepsTable(all, ids, commit_url);
  section.blocks.emplace_back(NumbersOf(all));
  section.blocks.emplace_back(Paragraph{
      "Changes are found as `compare_baseline --history` finds them."});
  if (!steps.rows.empty()) section.blocks.emplace_back(std::move(steps));
  section.blocks.emplace_back(JobsTable(all, commit_url));
  for (const HistorySeries& series : all) {
    const auto id = ids.find(&series);
    if (id == ids.end()) break;
    section.blocks.emplace_back(PlotOf(series, id->second));
  }
  return section;
}

}  // namespace feedrate
