#include "lib/analysis/report/speed_ups.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "lib/analysis/report/report_data.h"
#include "lib/base/text.h"
#include "lib/draw/charts.h"
#include "lib/stats/summary.h"
#include "lib/stats/winner.h"

namespace feedrate {
namespace {

bool Ran(const ReportCell* cell) {
  return cell != nullptr && cell->summary.has_value() &&
         cell->summary->median > 0;
}

absl::optional<size_t> ReferenceColumn(const Setting& setting,
                                       const std::string& wanted) {
  absl::optional<size_t> column;
  int most = 0;
  for (size_t i = 0; i < setting.libraries.size(); ++i) {
    if (!wanted.empty()) {
      if (setting.libraries[i] == wanted) return i;
      continue;
    }
    int ran = 0;
    for (size_t line = 0; line < setting.lines.size(); ++line) {
      ran += Ran(setting.Find(line, i)) ? 1 : 0;
    }
    if (ran > most) {
      most = ran;
      column = i;
    }
  }
  return column;
}

void AddMean(LibrarySpeedUps* library) {
  std::vector<double> ratios;
  for (const LineSpeedUp& line : library->lines) {
    ratios.push_back(line.ratio.value);
  }
  Estimate& mean = library->mean;
  mean.value = GeometricMean(ratios);
  mean.whiskers = ratios.size() == 1
                      ? library->lines[0].ratio.whiskers
                      : WhiskersOf(GeometricMeanInterval(ratios));
  library->is_separate = mean.whiskers.has_value() &&
                         (mean.whiskers->low > 1 || mean.whiskers->high < 1);
}

}  // namespace

LineResult ResultOf(const Setting& setting, size_t line, bool any_work) {
  std::vector<Contestant> contestants(setting.libraries.size());
  LineResult result;
  int ran = 0;
  for (size_t i = 0; i < contestants.size(); ++i) {
    const ReportCell* const cell = setting.Find(line, i);
    if (!Ran(cell)) continue;
    contestants[i] = cell->AsContestant(any_work);
    ++ran;
  }
  result.standings = Standings(contestants);
  if (ran < 2) return result;
  int leader = -1;
  for (size_t i = 0; i < contestants.size(); ++i) {
    const Standing& standing = result.standings[i];
    if (standing.wins) {
      result.winner = i;
      result.text = setting.libraries[i];
      return result;
    }
    if (standing.rival >= 0 &&
        (leader < 0 ||
         contestants[i].summary.median > contestants[leader].summary.median)) {
      leader = static_cast<int>(i);
    }
  }
  if (leader < 0) {
    result.text = EvidenceText(Evidence::kOtherWork, 0);
    return result;
  }
  const Standing& standing = result.standings[leader];
  result.text = absl::StrCat(
      setting.libraries[leader], ", ", setting.libraries[standing.rival], ": ",
      EvidenceText(standing.evidence, standing.runs_needed));
  return result;
}

absl::optional<Answer> AnswerOf(const Setting& setting, size_t line,
                                bool any_work) {
  std::vector<size_t> order;
  for (size_t i = 0; i < setting.libraries.size(); ++i) {
    if (Ran(setting.Find(line, i))) order.push_back(i);
  }
  if (order.empty()) return absl::nullopt;
  const LineResult result = ResultOf(setting, line, any_work);
  const auto cell = [&](size_t i) { return setting.Find(line, i); };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::make_tuple(result.winner != a, -cell(a)->summary->median, a) <
           std::make_tuple(result.winner != b, -cell(b)->summary->median, b);
  });
  Answer answer;
  answer.leader = order[0];
  answer.wins = result.winner.has_value();
  const ReportCell& leader = *cell(answer.leader);
  if (order.size() == 1) {
    answer.sure =
        absl::StrCat(Counted(leader.summary->n, "run"),
                     leader.disturbed == 0
                         ? ""
                         : absl::StrCat(", ", leader.disturbed, " disturbed"));
    return answer;
  }
  const Contestant own = leader.AsContestant(any_work);
  Separation found;
  for (size_t i = 1; i < order.size(); ++i) {
    const Separation one =
        Separate(own, cell(order[i])->AsContestant(any_work));
    if (i > 1 && one.evidence == Evidence::kOtherWork) continue;
    found = one;
    answer.next = order[i];
    if (one.evidence != Evidence::kOtherWork) break;
  }
  answer.ahead = RatioOf(leader, *cell(*answer.next), found);
  answer.sure = answer.wins
                    ? absl::StrCat("sure: ", leader.summary->n, " and ",
                                   cell(*answer.next)->summary->n, " runs")
                    : EvidenceText(found.evidence, found.runs_needed);
  // Separate from the next one, and yet no winner.
  if (answer.sure.empty()) answer.sure = "not sure: not all can be compared";
  return answer;
}

absl::optional<SpeedUps> SpeedUpsOf(const Setting& setting,
                                    const std::string& reference,
                                    bool any_work) {
  const absl::optional<size_t> column = ReferenceColumn(setting, reference);
  if (!column.has_value() || setting.libraries.size() < 2) {
    return absl::nullopt;
  }
  SpeedUps result;
  result.reference = setting.libraries[*column];
  for (size_t i = 0; i < setting.libraries.size(); ++i) {
    if (i == *column) continue;
    LibrarySpeedUps library;
    library.library = setting.libraries[i];
    library.column = i;
    for (size_t line = 0; line < setting.lines.size(); ++line) {
      const ReportCell* own = setting.Find(line, i);
      const ReportCell* base = setting.Find(line, *column);
      if (!Ran(own) || !Ran(base)) continue;
      const Separation found =
          Separate(own->AsContestant(any_work), base->AsContestant(any_work));
      if (found.evidence == Evidence::kOtherWork) {
        ++result.left_out;
        continue;
      }
      if (found.evidence == Evidence::kFewRuns ||
          found.evidence == Evidence::kDisturbed) {
        ++result.without_evidence;
        continue;
      }
      const std::string tied = EvidenceText(found.evidence, found.runs_needed);
      const std::string remarks = own->Remarks();
      library.lines.push_back(
          {absl::StrCat(
               setting.lines[line].Name(),
               remarks.empty() ? "" : absl::StrCat(" (", remarks, ")")),
           RatioOf(*own, *base, found), tied,
           absl::StrCat(own->Story(), "\n\nagainst\n", base->Story(),
                        tied.empty() ? "" : "\n\n", tied)});
    }
    if (library.lines.empty()) continue;
    AddMean(&library);
    result.libraries.push_back(std::move(library));
  }
  return result;
}

}  // namespace feedrate
