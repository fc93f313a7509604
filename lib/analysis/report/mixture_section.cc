#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "lib/analysis/mixture/mixture_advice.h"
#include "lib/analysis/mixture/mixture_figures.h"
#include "lib/analysis/mixture/mixture_run.h"
#include "lib/analysis/mixture/mixture_stalls.h"
#include "lib/analysis/mixture/mixture_summary.h"
#include "lib/analysis/report/input.h"
#include "lib/analysis/report/side_sections.h"
#include "lib/draw/axes.h"
#include "lib/draw/charts.h"
#include "lib/draw/document.h"

namespace feedrate {
namespace {

// Of a sweep the first so many are shown; mixture_summary.txt has all.
constexpr size_t kShown = 8;

using Chart = StackedColumns (*)(const MixtureRun&, double width);

// `number` counts runs from 0: the first has the plain name.
Figure FigureOf(const MixtureRun& run, size_t number, const std::string& id,
                const std::string& caption, Chart chart) {
  Figure figure;
  figure.id = number == 0 ? id : absl::StrCat(id, "-", number + 1);
  figure.caption = absl::StrCat(caption, " ", run.name, ".");
  figure.draw = [run, chart](ScaleType, double width) {
    return DrawStackedColumns(chart(run, width));
  };
  return figure;
}

void AddRun(const MixtureRun& run, size_t number, Section* section) {
  const MixtureStalls stalls = StallsOf(run);
  section->blocks.emplace_back(FigureOf(run, number, "mixture_over_time",
                                        "Shares of the data sets over the run.",
                                        MixtureOverTime));
  section->blocks.emplace_back(
      FigureOf(run, number, "mixture_windows_every_stride",
               absl::StrCat("Single batches: ", kWindowBatches, " in every ",
                            kWindowStride, "."),
               MixtureWindows));
  std::string facts;
  for (const MixtureFact& fact : MixtureFacts(run, stalls)) {
    absl::StrAppend(&facts, facts.empty() ? "" : "; ", fact.name, ": ",
                    fact.text);
  }
  section->blocks.emplace_back(Paragraph{absl::StrCat(facts, ".")});
  DocumentTable table = StallTable(stalls);
  table.caption =
      absl::StrCat("Data sets by the stalls they cause. ", run.name);
  section->blocks.emplace_back(std::move(table));
  for (const std::string& line : MixtureAdvice(run, stalls)) {
    section->blocks.emplace_back(Paragraph{line});
  }
}

}  // namespace

absl::optional<Section> MixtureSection(const ReportInput& input) {
  const std::vector<MixtureRun> runs =
      FirstRuns(MixtureRunsOf(input.rows, input.batches));
  if (runs.empty()) return absl::nullopt;
  Section section;
  section.id = "mixing";
  section.title = "How mixtures mix";
  section.blocks.emplace_back(Paragraph{
      "The first run of each job, batch by batch. A data set's stalls are what "
      "the consumer waited for batches of which it had the most samples; its "
      "excess is what lay above the median wait in batches that it slowed. It "
      "returns when it comes back after a gap of three times its usual one. "
      "What is suggested is to "
      "be tried in turns with what is, for example by `duel`."});
  for (size_t i = 0; i < runs.size() && i < kShown; ++i) {
    AddRun(runs[i], i, &section);
  }
  if (runs.size() > kShown) {
    section.blocks.emplace_back(
        Paragraph{absl::StrCat(runs.size() - kShown,
                               " further jobs are in `mixture_summary.txt`, "
                               "which `--svg` writes beside the figures.")});
  }
  return section;
}

}  // namespace feedrate
