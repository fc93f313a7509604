// The text and figures of a report on mixtures.
#pragma once

#include <string>
#include <vector>

#include "lib/analysis/mixture/mixture_run.h"
#include "lib/draw/charts.h"
#include "lib/draw/document.h"

namespace feedrate {

// Suggests what to change if the consumer waits. Sentences about the worst data
// sets come first, then those about the whole mixture. There is at least one
// sentence, which says so if nothing needs to be changed. Suggestions are
// guesses to try: only an interleaved comparison shows whether they help.
std::vector<std::string> MixtureAdvice(const MixtureRun& run,
                                       const MixtureStalls& stalls);

// Name of the file with MixtureSummary, next to the figures.
inline constexpr char kMixtureSummaryName[] = "mixture_summary.txt";

// Speed, times and how well it is mixed, each as a name and a text. Only for
// runs that have a row.
struct MixtureFact {
  std::string name;
  std::string text;
};
std::vector<MixtureFact> MixtureFacts(const MixtureRun& run,
                                      const MixtureStalls& stalls);

// A table of the data sets, sorted by the stalls they cause.
DocumentTable StallTable(const MixtureStalls& stalls);

// For each run, its facts, the table of stalls, the longest waits and advice.
std::string MixtureSummary(const std::vector<MixtureRun>& runs);

// Batches per window, and batches from the start of one window to the next.
inline constexpr int kWindowBatches = 5;
inline constexpr int kWindowStride = 100;

// Shares of the data sets over the whole run, in as many columns as can be
// distinguished, with the mean wait of each below and the weights beside it.
// The data sets with the most samples have their own colors, the others are
// gray.
StackedColumns MixtureOverTime(const MixtureRun& run, double width);

// The same for single batches: kWindowBatches out of every kWindowStride. Shows
// how mixed each batch is, which means over many batches hide.
StackedColumns MixtureWindows(const MixtureRun& run, double width);

}  // namespace feedrate
