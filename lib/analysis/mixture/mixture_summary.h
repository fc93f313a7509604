// A mixture in words: mixture_summary.txt.
#ifndef FEEDRATE_LIB_ANALYSIS_MIXTURE_MIXTURE_SUMMARY_H_
#define FEEDRATE_LIB_ANALYSIS_MIXTURE_MIXTURE_SUMMARY_H_

#include <string>
#include <vector>

#include "lib/analysis/mixture/mixture_run.h"
#include "lib/analysis/mixture/mixture_stalls.h"
#include "lib/draw/document.h"

namespace feedrate {

// Its name beside the figures.
inline constexpr char kMixtureSummaryName[] = "mixture_summary.txt";

// Speed, times and how mixed it is, of runs that have a row; each name with its
// text.
struct MixtureFact {
  std::string name;
  std::string text;
};
std::vector<MixtureFact> MixtureFacts(const MixtureRun& run,
                                      const MixtureStalls& stalls);

// Data sets by the stalls they cause.
DocumentTable StallTable(const MixtureStalls& stalls);

// Facts, the table, the longest waits and advice, of each run.
std::string MixtureSummary(const std::vector<MixtureRun>& runs);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_MIXTURE_MIXTURE_SUMMARY_H_
