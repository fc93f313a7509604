#include "lib/analysis/mixture/mixture_run.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/records/loader.pb.h"
#include "lib/records/row.pb.h"
#include "lib/stats/quantiles.h"

namespace feedrate {
namespace {

using Key = std::tuple<std::string, int, std::string>;

template <typename Record>
Key KeyOf(const Record& record) {
  return {record.job_id(), record.run_index(), record.run_id()};
}

// A table of more is nobody's; each takes memory in every batch.
constexpr size_t kMostDatasets = 1000;
constexpr char kOthers[] = "other data sets";

// Names of data sets by decreasing number of samples, then by name.
std::vector<std::string> NamesIn(const std::vector<Batch>& batches) {
  std::map<std::string, int64_t> samples;
  for (const Batch& batch : batches) {
    for (const BatchCount& count : batch.counts()) {
      samples[count.dataset()] += count.samples();
    }
  }
  std::vector<std::string> names;
  for (const auto& entry : samples) names.push_back(entry.first);
  std::stable_sort(names.begin(), names.end(),
                   [&](const std::string& a, const std::string& b) {
                     return samples[a] > samples[b];
                   });
  return names;
}

// Gives the data sets beyond kMostDatasets one name.
void JoinOthers(MixtureRun* run) {
  std::vector<std::string> names;
  if (run->row.has_value()) {
    for (const MixtureDataset& share : run->row->mixture().shares()) {
      names.push_back(share.dataset());
    }
  }
  for (std::string& name : NamesIn(run->batches)) {
    names.push_back(std::move(name));
  }
  std::set<std::string> kept;
  for (const std::string& name : names) {
    if (kept.size() == kMostDatasets && kept.count(name) == 0) {
      kept.insert(kOthers);
      break;
    }
    kept.insert(name);
  }
  if (kept.size() <= kMostDatasets) return;
  const auto name_of = [&kept](const std::string& name) {
    return name.empty() || kept.count(name) > 0 ? name : kOthers;
  };
  for (Batch& batch : run->batches) {
    batch.set_dominant(name_of(batch.dominant()));
    for (BatchCount& count : *batch.mutable_counts()) {
      count.set_dataset(name_of(count.dataset()));
    }
    for (std::string& name : *batch.mutable_first_seen()) name = name_of(name);
  }
  if (!run->row.has_value()) return;
  auto& shares = *run->row->mutable_mixture()->mutable_shares();
  double others = 0;
  int used = 0;
  for (int i = 0; i < shares.size(); ++i) {
    if (kept.count(shares[i].dataset()) == 0) {
      others += shares[i].weight_share();
    } else {
      shares.SwapElements(used++, i);
    }
  }
  if (used == shares.size()) return;
  shares.DeleteSubrange(used, shares.size() - used);
  MixtureDataset* const rest = run->row->mutable_mixture()->add_shares();
  rest->set_dataset(kOthers);
  rest->set_weight_share(others);
}

// Lists the data sets of the row, then those that only batches name.
void NameDatasets(MixtureRun* run) {
  if (run->row.has_value()) {
    for (const MixtureDataset& share : run->row->mixture().shares()) {
      run->datasets.push_back(share.dataset());
      run->weight_shares.push_back(share.weight_share());
    }
  }
  for (const std::string& name : NamesIn(run->batches)) {
    if (std::find(run->datasets.begin(), run->datasets.end(), name) !=
        run->datasets.end()) {
      continue;
    }
    run->datasets.push_back(name);
    if (run->row.has_value()) run->weight_shares.push_back(0);
  }
}

void CountSamples(MixtureRun* run) {
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < run->datasets.size(); ++i) {
    places[run->datasets[i]] = i;
  }
  for (const Batch& batch : run->batches) {
    std::vector<int64_t> counts(run->datasets.size());
    for (const BatchCount& count : batch.counts()) {
      counts[places[count.dataset()]] += count.samples();
    }
    run->counts.push_back(std::move(counts));
    if (batch.warmup()) run->warmup = run->counts.size();
  }
}

// The settings in which the runs differ, and the two that every name includes.
std::set<std::string> NamedSettings(const std::vector<MixtureRun>& runs) {
  std::map<std::string, std::set<std::string>> values;
  for (const MixtureRun& run : runs) {
    if (!run.row.has_value()) continue;
    for (const auto& setting : run.row->settings()) {
      values[setting.first].insert(setting.second);
    }
  }
  std::set<std::string> named = {"metadata", "mix_block_length"};
  for (const auto& [name, different] : values) {
    if (different.size() > 1) named.insert(name);
  }
  return named;
}

void NameRuns(std::vector<MixtureRun>* runs) {
  const std::set<std::string> named = NamedSettings(*runs);
  for (MixtureRun& run : *runs) {
    if (!run.row.has_value()) {
      run.name = absl::StrCat("job ", run.job_id);
      continue;
    }
    run.name = run.row->library();
    for (const std::string& name : named) {
      const std::string value = run.Setting(name);
      if (!value.empty()) absl::StrAppend(&run.name, ", ", name, " ", value);
    }
  }
}

}  // namespace

std::string MixtureRun::Setting(const std::string& name) const {
  if (!row.has_value()) return "";
  const auto found = row->settings().find(name);
  return found == row->settings().end() ? "" : found->second;
}

std::vector<int64_t> MixtureRun::MeasuredSamples() const {
  std::vector<int64_t> samples(datasets.size());
  for (size_t b = warmup; b < counts.size(); ++b) {
    for (size_t d = 0; d < samples.size(); ++d) samples[d] += counts[b][d];
  }
  return samples;
}

std::vector<MixtureRun> MixtureRunsOf(const std::vector<Row>& rows,
                                      const std::vector<Batch>& batches) {
  std::map<Key, std::map<int64_t, const Batch*>> found;
  for (const Batch& batch : batches) {
    found[KeyOf(batch)][batch.batch_index()] = &batch;
  }
  std::map<Key, const Row*> row_of;
  for (const Row& row : rows) {
    if (row.has_mixture()) row_of[KeyOf(row)] = &row;
  }
  std::vector<MixtureRun> runs;
  for (const auto& [key, by_index] : found) {
    MixtureRun run;
    std::tie(run.job_id, run.run_index, run.run_id) = key;
    const auto row = row_of.find(key);
    if (row != row_of.end()) run.row = *row->second;
    for (const auto& entry : by_index) run.batches.push_back(*entry.second);
    JoinOthers(&run);
    NameDatasets(&run);
    CountSamples(&run);
    runs.push_back(std::move(run));
  }
  NameRuns(&runs);
  return runs;
}

std::vector<MixtureRun> FirstRuns(std::vector<MixtureRun> runs) {
  // Runs are sorted by job, so this keeps the first of each.
  runs.erase(std::unique(runs.begin(), runs.end(),
                         [](const MixtureRun& a, const MixtureRun& b) {
                           return a.job_id == b.job_id;
                         }),
             runs.end());
  return runs;
}

namespace {

struct Gap {
  int64_t batches;
  // The batch that ended it.
  size_t returned;
};

// The gaps of data set `d`: batches without a sample of it, between two that
// have one.
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

// The longest gap, including those at both ends of the run.
int64_t LongestGap(const MixtureRun& run, size_t d) {
  int64_t longest = 0;
  int64_t gap = 0;
  for (size_t b = run.warmup; b < run.counts.size(); ++b) {
    gap = run.counts[b][d] == 0 ? gap + 1 : 0;
    longest = std::max(longest, gap);
  }
  return longest;
}

// For each batch, the data sets that came back in it after a large gap.
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

// The data sets of `returned` whose returns are slow.
std::vector<DatasetStalls*> SlowIn(const std::vector<size_t>& returned,
                                   MixtureStalls* all) {
  std::vector<DatasetStalls*> slow;
  for (const size_t d : returned) {
    if (all->datasets[d].returns_slowly) slow.push_back(&all->datasets[d]);
  }
  return slow;
}

// REQUIRES: `all->datasets` is in the order of the run's data sets.
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
