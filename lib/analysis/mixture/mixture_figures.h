// Pictures of what a mixture delivered.
#ifndef FEEDRATE_LIB_ANALYSIS_MIXTURE_MIXTURE_FIGURES_H_
#define FEEDRATE_LIB_ANALYSIS_MIXTURE_MIXTURE_FIGURES_H_

#include "lib/analysis/mixture/mixture_run.h"
#include "lib/draw/charts.h"

namespace feedrate {

// Batches of a window, and from the start of one window to the next.
inline constexpr int kWindowBatches = 5;
inline constexpr int kWindowStride = 100;

// Shares of the data sets over the whole run, in as many columns as can be told
// apart, the mean wait of each below, the weights beside it. The data sets with
// most samples have a colour each, the others share grey.
StackedColumns MixtureOverTime(const MixtureRun& run, double width);

// The same of kWindowBatches single batches in every kWindowStride: how mixed a
// batch is, which means over many batches hide.
StackedColumns MixtureWindows(const MixtureRun& run, double width);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_MIXTURE_MIXTURE_FIGURES_H_
