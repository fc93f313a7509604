#include "lib/runner/loader_row.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/machine/gpu.h"
#include "lib/records/records.pb.h"
#include "lib/runner/row_builder.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

// Of the mean time between batches: below this a batch was ready.
constexpr double kReadyShare = 0.1;

// The epochs of a run as one.
EpochReply Sum(const std::vector<EpochReply>& epochs) {
  EpochReply sum;
  std::map<std::string, StageTimes> stages;
  std::vector<std::string> order;
  for (const EpochReply& epoch : epochs) {
    sum.items += epoch.items;
    sum.batches += epoch.batches;
    sum.elapsed_s += epoch.elapsed_s;
    sum.startup_s += epoch.startup_s;
    sum.first_batch_s += epoch.first_batch_s;
    sum.teardown_s += epoch.teardown_s;
    sum.consumer_s += epoch.consumer_s;
    sum.cpu_s += epoch.cpu_s;
    sum.bytes_out += epoch.bytes_out;
    sum.errors_total += epoch.errors_total;
    sum.cpu_frames += epoch.cpu_frames;
    sum.gpu_allocated_bytes =
        std::max(sum.gpu_allocated_bytes, epoch.gpu_allocated_bytes);
    sum.gpu_reserved_bytes =
        std::max(sum.gpu_reserved_bytes, epoch.gpu_reserved_bytes);
    sum.samples_s.insert(sum.samples_s.end(), epoch.samples_s.begin(),
                         epoch.samples_s.end());
    sum.errors.insert(sum.errors.end(), epoch.errors.begin(),
                      epoch.errors.end());
    for (const StageTimes& stage : epoch.stages) {
      const auto [entry, is_new] = stages.emplace(stage.name, StageTimes());
      if (is_new) order.push_back(stage.name);
      entry->second.busy_s += stage.busy_s;
      entry->second.wait_in_s += stage.wait_in_s;
      entry->second.wait_out_s += stage.wait_out_s;
      entry->second.queue_fill += stage.queue_fill / epochs.size();
    }
  }
  for (const std::string& name : order) {
    sum.stages.push_back(stages[name]);
    sum.stages.back().name = name;
  }
  return sum;
}

void SetStages(const EpochReply& sum, LoaderStats* loader) {
  for (const StageTimes& stage : sum.stages) {
    LoaderStage* const record = loader->add_stages();
    record->set_name(stage.name);
    record->set_busy_s(stage.busy_s);
    record->set_wait_in_s(stage.wait_in_s);
    record->set_wait_out_s(stage.wait_out_s);
    record->set_queue_fill(stage.queue_fill);
  }
}

void SetErrors(const EpochReply& sum, LoaderStats* loader) {
  loader->set_errors_total(sum.errors_total);
  for (const LoaderError& error : sum.errors) {
    if (loader->errors_size() == kMaxNamedErrors) return;
    LoaderFault* const record = loader->add_errors();
    record->set_item(error.item);
    record->set_path(error.path);
    record->set_reason(error.reason);
  }
}

// The first batch of each epoch had to be waited for by anyone.
void SetPrefetch(const std::vector<EpochReply>& epochs, LoaderStats* loader) {
  int64_t ready = 0;
  int64_t later = 0;
  for (const EpochReply& epoch : epochs) {
    const double between_s =
        epoch.elapsed_s /
        static_cast<double>(std::max<int64_t>(epoch.batches, 1));
    for (size_t i = 1; i < epoch.samples_s.size(); ++i) {
      ++later;
      ready += epoch.samples_s[i] < kReadyShare * between_s;
    }
  }
  if (later < 2) return;
  loader->set_prefetch_efficiency(static_cast<double>(ready) /
                                  static_cast<double>(later));
}

}  // namespace

double RunningThroughput(const EpochReply& epoch) {
  const double running_s = epoch.elapsed_s - epoch.startup_s - epoch.teardown_s;
  if (epoch.items == 0 || running_s <= 0) return 0;
  return static_cast<double>(epoch.items) / running_s;
}

void SetEpochs(const std::vector<EpochReply>& epochs, const LoaderSpec& spec,
               int processors, double step_s, Row* row) {
  const EpochReply sum = Sum(epochs);
  const double count = static_cast<double>(epochs.size());
  row->set_status("ok");
  row->set_elapsed_s(sum.elapsed_s);
  row->set_items(sum.items);
  if (sum.elapsed_s > 0) {
    row->set_throughput(static_cast<double>(sum.items) / sum.elapsed_s);
  }
  SetSamples(sum.samples_s, row);
  row->set_timed_unit("batch");
  LoaderStats* const loader = row->mutable_loader();
  loader->set_epochs(static_cast<int>(epochs.size()));
  loader->set_batches(sum.batches);
  loader->set_startup_s(sum.startup_s / count);
  loader->set_first_batch_s(sum.first_batch_s / count);
  loader->set_teardown_s(sum.teardown_s / count);
  loader->set_cpu_s(sum.cpu_s);
  loader->set_bytes_out(sum.bytes_out);
  SetStages(sum, loader);
  SetErrors(sum, loader);
  SetPrefetch(epochs, loader);
  if (sum.gpu_reserved_bytes > 0) {
    GpuMemory* const memory = row->mutable_gpu_memory();
    memory->set_peak_allocated_bytes(sum.gpu_allocated_bytes);
    memory->set_peak_reserved_bytes(sum.gpu_reserved_bytes);
  }
  if (sum.cpu_frames > 0) row->add_labels(kCpuFallback);
  loader->set_consumer_step_s(step_s);
  if (sum.elapsed_s <= 0) return;
  if (step_s > 0) {
    loader->set_consumer_utilisation(sum.consumer_s / sum.elapsed_s);
    return;
  }
  // Without workers the caller works, and no one else could.
  const int hands = std::clamp(spec.workers, 1, std::max(processors, 1));
  loader->set_sync_overhead(
      std::clamp(1 - sum.cpu_s / (hands * sum.elapsed_s), 0.0, 1.0));
}

void SetGpuUsage(const GpuUsage& usage, Row* row) {
  LoaderGpu* const gpu = row->mutable_loader()->mutable_gpu();
  gpu->set_samples(usage.samples);
  if (usage.busy.has_value()) gpu->set_busy(*usage.busy);
  if (usage.busy_peak.has_value()) gpu->set_busy_peak(*usage.busy_peak);
  if (usage.memory_busy.has_value()) gpu->set_memory_busy(*usage.memory_busy);
  if (usage.decoder_busy.has_value()) {
    gpu->set_decoder_busy(*usage.decoder_busy);
  }
  if (usage.jpeg_busy.has_value()) gpu->set_jpeg_busy(*usage.jpeg_busy);
  if (usage.memory_peak_bytes.has_value()) {
    gpu->set_memory_peak_bytes(*usage.memory_peak_bytes);
  }
}

}  // namespace feedrate
