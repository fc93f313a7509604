#include "lib/analysis/mixture/mixture_stalls.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/analysis/mixture/mixture_run.h"
#include "lib/records/records.pb.h"
#include "lib/stats/quantiles.h"

namespace feedrate {
namespace {

struct Gap {
  int64_t batches;
  // The batch that ended it.
  size_t returned;
};

// Batches without a sample of data set `d` between two that have one.
std::vector<Gap> GapsOf(const MixtureRun& run, size_t d) {
  std::vector<Gap> gaps;
  size_t last = run.counts.size();
  for (size_t b = run.warmup; b < run.counts.size(); ++b) {
    if (run.counts[b][d] == 0) continue;
    if (last < b) gaps.push_back({static_cast<int64_t>(b - last - 1), b});
    last = b;
  }
  return gaps;
}

// The same with those at both ends, after which nothing returned.
int64_t LongestGap(const MixtureRun& run, size_t d) {
  int64_t longest = 0;
  int64_t gap = 0;
  for (size_t b = run.warmup; b < run.counts.size(); ++b) {
    gap = run.counts[b][d] == 0 ? gap + 1 : 0;
    longest = std::max(longest, gap);
  }
  return longest;
}

// Of each batch: the data sets that came back in it after a large gap.
using Returned = std::vector<std::vector<size_t>>;

void AddReturns(const MixtureRun& run, size_t d, double typical_wait_s,
                DatasetStalls* stalls, Returned* returned) {
  const std::vector<Gap> gaps = GapsOf(run, d);
  double mean = 0;
  for (const Gap& gap : gaps) {
    mean += static_cast<double>(gap.batches) / static_cast<double>(gaps.size());
  }
  std::vector<double> waits;
  for (const Gap& gap : gaps) {
    if (gap.batches < kLargeGapBatches ||
        static_cast<double>(gap.batches) < kLargeGapFactor * mean) {
      continue;
    }
    waits.push_back(run.batches[gap.returned].wait_s());
    (*returned)[gap.returned].push_back(d);
  }
  if (waits.empty()) return;
  stalls->returns = static_cast<int64_t>(waits.size());
  stalls->return_wait_s = Median(waits);
  stalls->returns_slowly =
      stalls->returns >= kFewReturns &&
      stalls->return_wait_s >= kSlowReturn * typical_wait_s;
}

// Those of them whose returns are slow.
std::vector<DatasetStalls*> SlowIn(const std::vector<size_t>& returned,
                                   MixtureStalls* all) {
  std::vector<DatasetStalls*> slow;
  for (const size_t d : returned) {
    if (all->datasets[d].returns_slowly) slow.push_back(&all->datasets[d]);
  }
  return slow;
}

// REQUIRES: `all->datasets` are in the order of the run's.
void AddDominated(const MixtureRun& run, const Returned& returned,
                  MixtureStalls* all) {
  std::map<std::string, DatasetStalls*> by_name;
  for (DatasetStalls& one : all->datasets) by_name[one.dataset] = &one;
  std::map<DatasetStalls*, std::vector<double>> waits;
  for (size_t b = run.warmup; b < run.batches.size(); ++b) {
    const Batch& batch = run.batches[b];
    const auto found = by_name.find(batch.dominant());
    if (found == by_name.end()) continue;
    DatasetStalls* const dominant = found->second;
    ++dominant->dominated;
    dominant->stall_s += batch.wait_s();
    waits[dominant].push_back(batch.wait_s());
    const double excess = std::max(0.0, batch.wait_s() - all->typical_wait_s);
    std::vector<DatasetStalls*> causes = SlowIn(returned[b], all);
    all->total_excess_s += excess;
    if (causes.empty()) {
      causes.push_back(dominant);
    } else {
      all->return_excess_s += excess;
    }
    for (DatasetStalls* const cause : causes) {
      cause->excess_s += excess / static_cast<double>(causes.size());
    }
  }
  for (const auto& [one, values] : waits) one->typical_stall_s = Median(values);
}

void AddWaits(const MixtureRun& run, MixtureStalls* all) {
  std::vector<double> waits;
  for (size_t b = run.warmup; b < run.batches.size(); ++b) {
    waits.push_back(run.batches[b].wait_s());
    all->total_wait_s += waits.back();
  }
  if (waits.empty()) return;
  all->typical_wait_s = Median(waits);
  const double begin =
      run.warmup == 0 ? 0 : run.batches[run.warmup - 1].time_s();
  const double lasted = run.batches.back().time_s() - begin;
  if (lasted > 0) all->wait_share = all->total_wait_s / lasted;
}

}  // namespace

MixtureStalls StallsOf(const MixtureRun& run) {
  MixtureStalls all;
  AddWaits(run, &all);
  Returned returned(run.batches.size());
  const std::vector<int64_t> samples = run.MeasuredSamples();
  const double sum = static_cast<double>(
      std::accumulate(samples.begin(), samples.end(), int64_t{0}));
  for (size_t d = 0; d < run.datasets.size(); ++d) {
    DatasetStalls one;
    one.dataset = run.datasets[d];
    if (!run.weight_shares.empty()) one.weight_share = run.weight_shares[d];
    if (sum > 0) one.sample_share = static_cast<double>(samples[d]) / sum;
    one.longest_gap = LongestGap(run, d);
    AddReturns(run, d, all.typical_wait_s, &one, &returned);
    all.datasets.push_back(std::move(one));
  }
  AddDominated(run, returned, &all);
  std::sort(all.datasets.begin(), all.datasets.end(),
            [](const DatasetStalls& a, const DatasetStalls& b) {
              return std::make_tuple(-a.excess_s, -a.stall_s, a.dataset) <
                     std::make_tuple(-b.excess_s, -b.stall_s, b.dataset);
            });
  return all;
}

}  // namespace feedrate
