#include "lib/analysis/report/changes.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/analysis/report/cell.h"
#include "lib/draw/document.h"
#include "lib/draw/text.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

// The harness alone is no result.
constexpr char kNullLibrary[] = "null";

std::string KeyOf(const ReportCell& cell) {
  return absl::StrCat(cell.example.job_id(), " ",
                      cell.example.machine_profile());
}

bool Ran(const ReportCell& cell) {
  return cell.summary.has_value() && cell.summary->median > 0;
}

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
  change.ratio = RatioOf(now, before);
  if (!change.ratio.whiskers.has_value()) {
    change.word = "cannot tell";
  } else if (change.ratio.whiskers->low > 1) {
    change.word = "faster";
  } else if (change.ratio.whiskers->high < 1) {
    change.word = "slower";
  } else {
    change.word = "not shown";
  }
  return change;
}

std::string VersionText(const Change& change) {
  const std::string& before = change.before->example.library_version();
  const std::string& now = change.now->example.library_version();
  return before == now ? now : absl::StrCat(before, " → ", now);
}

std::vector<DocumentCell> LineOf(const Change& change) {
  const Row& row = change.now->example;
  DocumentCell before(change.before->Text());
  DocumentCell now(change.now->Text());
  DocumentCell ratio("–");
  if (change.before->summary.has_value()) {
    before.value = change.before->summary->median;
  }
  if (change.now->summary.has_value()) now.value = change.now->summary->median;
  if (change.ratio.value > 0) {
    ratio.text = absl::StrCat(SignificantText(change.ratio.value), "×");
    ratio.value = change.ratio.value;
    if (change.ratio.whiskers.has_value()) {
      ratio.detail =
          absl::StrCat("[", SignificantText(change.ratio.whiskers->low), ", ",
                       SignificantText(change.ratio.whiskers->high), "]");
    }
  }
  return {row.transform(),
          row.library(),
          VersionText(change),
          row.mode(),
          row.device(),
          before,
          now,
          ratio,
          change.word};
}

// Losses first: that is what a reader looks for.
double OrderOf(const Change& change) {
  return change.ratio.value > 0 ? change.ratio.value : 1e300;
}

}  // namespace

Changes ChangesBetween(const std::vector<ReportCell>& before,
                       const std::vector<ReportCell>& now) {
  std::map<std::string, const ReportCell*> earlier;
  for (const ReportCell& cell : before) {
    if (cell.example.library() == kNullLibrary) continue;
    earlier[KeyOf(cell)] = &cell;
  }
  Changes changes;
  std::map<std::string, bool> paired;
  for (const ReportCell& cell : now) {
    if (cell.example.library() == kNullLibrary) continue;
    const auto other = earlier.find(KeyOf(cell));
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
      faster, " faster by intervals of the ratio that exclude 1; of ", open,
      " it cannot be told, for want of runs. ", changes.only_now, " are new, ",
      changes.only_before, " are only in the baseline.");
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
  section.blocks.emplace_back(
      Paragraph{"Two sets of runs at different times also differ by the "
                "machine's mood; `compare_baseline` and `duel` judge that."});
  DocumentTable table;
  table.header = {"transform", "library", "version", "mode",  "device",
                  "baseline",  "now",     "ratio",   "change"};
  table.align = {Align::kLeft,  Align::kLeft,  Align::kLeft,
                 Align::kLeft,  Align::kLeft,  Align::kRight,
                 Align::kRight, Align::kRight, Align::kLeft};
  for (const Change& change : changes.changes) {
    table.rows.push_back(LineOf(change));
  }
  section.blocks.emplace_back(std::move(table));
  return section;
}

}  // namespace feedrate
