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

void AddReturns(const MixtureRun& run, size_t d, DatasetStalls* stalls) {
  const std::vector<Gap> gaps = GapsOf(run, d);
  if (gaps.empty()) return;
  double mean = 0;
  for (const Gap& gap : gaps) mean += static_cast<double>(gap.batches);
  mean /= static_cast<double>(gaps.size());
  for (const Gap& gap : gaps) {
    if (gap.batches < kLargeGapBatches ||
        static_cast<double>(gap.batches) < kLargeGapFactor * mean) {
      continue;
    }
    ++stalls->returns;
    stalls->return_wait_s += run.batches[gap.returned].wait_s();
  }
  if (stalls->returns > 0) {
    stalls->return_wait_s /= static_cast<double>(stalls->returns);
  }
}

void AddDominated(const MixtureRun& run, MixtureStalls* all) {
  std::map<std::string, DatasetStalls*> by_name;
  for (DatasetStalls& one : all->datasets) by_name[one.dataset] = &one;
  std::map<DatasetStalls*, std::vector<double>> waits;
  for (size_t b = run.warmup; b < run.batches.size(); ++b) {
    const Batch& batch = run.batches[b];
    const auto found = by_name.find(batch.dominant());
    if (found == by_name.end()) continue;
    ++found->second->dominated;
    found->second->stall_s += batch.wait_s();
    waits[found->second].push_back(batch.wait_s());
    found->second->excess_s +=
        std::max(0.0, batch.wait_s() - all->typical_wait_s);
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
  const std::vector<int64_t> samples = run.MeasuredSamples();
  const double sum = static_cast<double>(
      std::accumulate(samples.begin(), samples.end(), int64_t{0}));
  for (size_t d = 0; d < run.datasets.size(); ++d) {
    DatasetStalls one;
    one.dataset = run.datasets[d];
    if (!run.weight_shares.empty()) one.weight_share = run.weight_shares[d];
    if (sum > 0) one.sample_share = static_cast<double>(samples[d]) / sum;
    one.longest_gap = LongestGap(run, d);
    AddReturns(run, d, &one);
    all.datasets.push_back(std::move(one));
  }
  AddDominated(run, &all);
  for (const DatasetStalls& one : all.datasets) {
    all.total_excess_s += one.excess_s;
  }
  std::sort(all.datasets.begin(), all.datasets.end(),
            [](const DatasetStalls& a, const DatasetStalls& b) {
              return std::make_tuple(-a.excess_s, -a.stall_s, a.dataset) <
                     std::make_tuple(-b.excess_s, -b.stall_s, b.dataset);
            });
  return all;
}

}  // namespace feedrate
