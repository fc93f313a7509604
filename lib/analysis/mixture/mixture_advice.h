// What to change in a mixture whose consumer waits.
#ifndef FEEDRATE_LIB_ANALYSIS_MIXTURE_MIXTURE_ADVICE_H_
#define FEEDRATE_LIB_ANALYSIS_MIXTURE_MIXTURE_ADVICE_H_

#include <string>
#include <vector>

#include "lib/analysis/mixture/mixture_run.h"
#include "lib/analysis/mixture/mixture_stalls.h"

namespace feedrate {

// A sentence each, about the worst data sets first, then about the mixture as a
// whole. At least one, which says so where nothing needs to be changed. What is
// suggested is a guess to be tried: only an interleaved comparison tells
// whether it helps.
std::vector<std::string> MixtureAdvice(const MixtureRun& run,
                                       const MixtureStalls& stalls);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_MIXTURE_MIXTURE_ADVICE_H_
