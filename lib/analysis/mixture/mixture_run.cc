#include "lib/analysis/mixture/mixture_run.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using Key = std::tuple<std::string, int, std::string>;

template <typename Record>
Key KeyOf(const Record& record) {
  return {record.job_id(), record.run_index(), record.run_id()};
}

// Names of data sets by falling samples, equals by name.
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

// Data sets: those of the row, then those that only batches name.
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

// Settings that tell the runs apart, and two that say what is mixed how.
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
    NameDatasets(&run);
    CountSamples(&run);
    runs.push_back(std::move(run));
  }
  NameRuns(&runs);
  return runs;
}

std::vector<MixtureRun> FirstRuns(std::vector<MixtureRun> runs) {
  // Sorted by job, so equals are neighbours and the first of them stays.
  runs.erase(std::unique(runs.begin(), runs.end(),
                         [](const MixtureRun& a, const MixtureRun& b) {
                           return a.job_id == b.job_id;
                         }),
             runs.end());
  return runs;
}

}  // namespace feedrate
