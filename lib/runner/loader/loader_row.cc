#include "lib/runner/loader/loader_row.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"
#include "lib/base/xoshiro.h"
#include "lib/machine/gpu.h"
#include "lib/machine/visible_gpu.h"
#include "lib/measure/measure_run.h"
#include "lib/records/fields.h"
#include "lib/records/loader.pb.h"
#include "lib/records/row.pb.h"
#include "lib/runner/core/measured_process.h"
#include "lib/runner/core/rows.h"
#include "lib/stats/summary.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

// A batch that took less than this share of the mean time between batches was
// ready.
constexpr double kReadyShare = 0.1;

// Adds up the epochs of a run. Peaks are the highest of any epoch, and stages
// of the same name become one, with the mean of their queues.
EpochReply Sum(const std::vector<EpochReply>& epochs) {
  EpochReply sum;
  int64_t allocated_bytes = 0;
  int64_t reserved_bytes = 0;
  for (const EpochReply& epoch : epochs) {
    AddSameFields(epoch, &sum);
    allocated_bytes = std::max(allocated_bytes, epoch.gpu_allocated_bytes());
    reserved_bytes = std::max(reserved_bytes, epoch.gpu_reserved_bytes());
  }
  sum.set_gpu_allocated_bytes(allocated_bytes);
  sum.set_gpu_reserved_bytes(reserved_bytes);
  EpochReply all;
  all.mutable_stages()->Swap(sum.mutable_stages());
  std::map<std::string, StageTimes*> stages;
  for (const StageTimes& stage : all.stages()) {
    StageTimes*& same = stages[stage.name()];
    if (same == nullptr) same = sum.add_stages();
    AddSameFields(stage, same);
  }
  for (StageTimes& stage : *sum.mutable_stages()) {
    stage.set_queue_fill(stage.queue_fill() / epochs.size());
  }
  return sum;
}

// A file that cannot be used in one epoch cannot be used in the next either: it
// counts once.
void SetErrors(const std::vector<EpochReply>& epochs, LoaderStats* loader) {
  std::set<std::pair<int64_t, std::string>> seen;
  int64_t most = 0;
  loader->clear_errors();
  for (const EpochReply& epoch : epochs) {
    most = std::max(most, epoch.errors_total());
    for (const LoaderError& error : epoch.errors()) {
      if (!seen.emplace(error.item(), error.path()).second) continue;
      if (loader->errors_size() == kMaxNamedErrors) continue;
      AddSameFields(error, loader->add_errors());
    }
  }
  // Beyond what they name, replies have numbers only.
  loader->set_errors_total(std::max(most, static_cast<int64_t>(seen.size())));
}

// Skips the first batch of each epoch, which any loader has to wait for.
void SetPrefetch(const std::vector<EpochReply>& epochs, LoaderStats* loader) {
  int64_t ready = 0;
  int64_t later = 0;
  for (const EpochReply& epoch : epochs) {
    const double between_s =
        epoch.elapsed_s() /
        static_cast<double>(std::max<int64_t>(epoch.batches(), 1));
    for (int i = 1; i < epoch.samples_s_size(); ++i) {
      ++later;
      ready += epoch.samples_s(i) < kReadyShare * between_s;
    }
  }
  if (later < 2) return;
  loader->set_prefetch_efficiency(static_cast<double>(ready) /
                                  static_cast<double>(later));
}

}  // namespace

double RunningThroughput(const EpochReply& epoch) {
  const double running_s =
      epoch.elapsed_s() - epoch.startup_s() - epoch.teardown_s();
  if (epoch.items() == 0 || running_s <= 0) return 0;
  return static_cast<double>(epoch.items()) / running_s;
}

absl::StatusOr<Preflight> PreflightOfLoader(const PreflightPolicy& policy,
                                            const LoaderSpec& spec,
                                            int64_t items,
                                            const RunEpoch& run) {
  // A longer look at this many times the threshold would take minutes, and its
  // answer is known.
  constexpr double kHopeless = 4;
  const int64_t count = std::min(policy.items, items);
  RETURN_IF_ERROR(run(count, policy.max_s).status());
  ASSIGN_OR_RETURN(EpochReply epoch, run(count, policy.max_s));
  Preflight preflight;
  preflight.elapsed_s = epoch.elapsed_s();
  preflight.items = epoch.items();
  // Fewer items than a batch: one worker did all of them.
  const double running = RunningThroughput(epoch);
  preflight.per_item_s = running > 0 ? 1 / running : 0;
  const bool is_slow = preflight.per_item_s >= policy.slow_threshold_s;
  const int64_t workers = std::max(1, spec.workers());
  // Two batches from each worker, of which the first of all is left out.
  const int64_t more = std::min(items, 2 * workers * spec.batch_size());
  if (policy.slow_skip && is_slow && more > spec.batch_size() &&
      preflight.per_item_s < kHopeless * policy.slow_threshold_s) {
    ASSIGN_OR_RETURN(epoch, run(more, policy.max_s));
    const double steady_s =
        epoch.elapsed_s() - epoch.first_batch_s() - epoch.teardown_s();
    const int64_t steady_items = epoch.items() - spec.batch_size();
    if (steady_items > 0 && steady_s > 0) {
      preflight.elapsed_s += epoch.elapsed_s();
      preflight.items = epoch.items();
      preflight.per_item_s =
          static_cast<double>(workers) * steady_s / steady_items;
    }
  }
  preflight.stops_early =
      policy.slow_skip && preflight.per_item_s >= policy.slow_threshold_s;
  if (preflight.stops_early) {
    preflight.slow_from_s = policy.slow_threshold_s;
    preflight.reason = absl::StrFormat(
        "preflight: %.3g s per item over %d items, slow from %.3g s on",
        preflight.per_item_s, preflight.items, policy.slow_threshold_s);
  }
  return preflight;
}

absl::StatusOr<double> RandomItemSeconds(
    int64_t items, uint64_t seed,
    const std::function<absl::StatusOr<EpochReply>(const EpochCommand&)>& run) {
  constexpr int kCounted = 16;
  SplitMix64 random(seed);
  std::vector<double> seconds;
  for (int i = 0; i < 2 * kCounted; ++i) {
    EpochCommand command;
    command.set_seed(seed + i);
    // Not the first item, where every loader can begin.
    const uint64_t others = std::max<int64_t>(items - 1, 1);
    command.set_first(static_cast<int64_t>(1 + random.Next() % others));
    command.set_count(1);
    ASSIGN_OR_RETURN(const EpochReply epoch, run(command));
    if (i >= kCounted) seconds.push_back(epoch.first_batch_s());
  }
  return Summarize(absl::MakeSpan(seconds)).median;
}

void SetEpochs(const std::vector<EpochReply>& epochs, const LoaderSpec& spec,
               int processors, double step_s, Row* row) {
  const EpochReply sum = Sum(epochs);
  const double count = static_cast<double>(epochs.size());
  row->set_status("ok");
  row->set_elapsed_s(sum.elapsed_s());
  row->set_items(sum.items());
  if (sum.elapsed_s() > 0) {
    row->set_throughput(static_cast<double>(sum.items()) / sum.elapsed_s());
  }
  SetSamples(sum.samples_s(), row);
  row->set_timed_unit("batch");
  LoaderStats* const loader = row->mutable_loader();
  loader->Clear();
  loader->set_epochs(static_cast<int>(epochs.size()));
  AddSameFields(sum, loader);
  loader->set_startup_s(sum.startup_s() / count);
  loader->set_first_batch_s(sum.first_batch_s() / count);
  loader->set_teardown_s(sum.teardown_s() / count);
  SetErrors(epochs, loader);
  SetPrefetch(epochs, loader);
  if (sum.gpu_reserved_bytes() > 0) {
    GpuMemory* const memory = row->mutable_gpu_memory();
    memory->set_peak_allocated_bytes(sum.gpu_allocated_bytes());
    memory->set_peak_reserved_bytes(sum.gpu_reserved_bytes());
  }
  if (sum.cpu_frames() > 0) row->add_labels(kCpuFallback);
  loader->set_consumer_step_s(step_s);
  if (sum.elapsed_s() <= 0) return;
  if (step_s > 0) {
    loader->set_consumer_utilisation(sum.consumer_s() / sum.elapsed_s());
    return;
  }
  // Without workers the caller does the work alone.
  const int hands = std::clamp(spec.workers(), 1, std::max(processors, 1));
  loader->set_cpu_idle(
      std::clamp(1 - sum.cpu_s() / (hands * sum.elapsed_s()), 0.0, 1.0));
  if (sum.sync_threads() == 0) return;
  // Threads are a sum over epochs, too.
  const double threads = static_cast<double>(sum.sync_threads()) / count;
  loader->set_sync_overhead(
      std::min(sum.sync_s() / (threads * sum.elapsed_s()), 1.0));
}

std::unique_ptr<GpuWatch> WatchGpu(const Job& job) {
  if (job.device() != "cuda" || job.hardware_class() == "host_cpu") {
    return nullptr;
  }
  const std::optional<unsigned> index = FirstVisibleGpu(NvmlLibraries());
  if (!index.has_value()) return nullptr;
  absl::StatusOr<std::unique_ptr<GpuWatch>> watch =
      GpuWatch::Start(NvmlLibraries(), *index);
  return watch.ok() ? *std::move(watch) : nullptr;
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

namespace {

StorageCounts SumOfStorage(const std::vector<EpochReply>& epochs) {
  StorageCounts sum;
  for (const EpochReply& epoch : epochs) AddSameFields(epoch.storage(), &sum);
  return sum;
}

// Workers wait for bytes or read them themselves; the rest is their work.
std::optional<double> NetworkShare(const LoaderStats& loader) {
  double waited_s = 0, read_s = 0, worked_s = 0;
  for (const LoaderStage& stage : loader.stages()) {
    if (stage.name() == "read") {
      read_s += stage.busy_s();
    } else if (stage.name() != "copy") {
      worked_s += stage.busy_s();
      waited_s += stage.wait_in_s();
    }
  }
  if (waited_s == 0) waited_s = read_s;
  if (waited_s + worked_s <= 0) return std::nullopt;
  return waited_s / (waited_s + worked_s);
}

std::string FieldOf(
    const google::protobuf::Map<std::string, std::string>& fields,
    const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? "" : found->second;
}

}  // namespace

std::optional<double> DownloadMbPerS(const std::vector<EpochReply>& epochs) {
  return TransferRate(SumOfStorage(epochs));
}

int ConnectionsOf(const LoaderSpec& spec) {
  std::string text = FieldOf(spec.settings(), "connections");
  if (text.empty()) text = FieldOf(spec.store(), "connections");
  int connections = 0;
  return !spec.store().empty() && absl::SimpleAtoi(text, &connections)
             ? connections
             : 0;
}

void SetStorage(const std::vector<EpochReply>& epochs, const LoaderSpec& spec,
                std::optional<double> one_connection_mb_per_s, Row* row) {
  if (epochs.empty() || !epochs[0].has_storage()) return;
  const StorageCounts counts = SumOfStorage(epochs);
  SetTransfers(counts, FieldOf(spec.store(), "url"), ConnectionsOf(spec), row);
  Storage* const storage = row->mutable_storage();
  const std::optional<double> share = NetworkShare(row->loader());
  if (share.has_value()) {
    storage->set_network_share(counts.requests() > 0 ? *share : 0);
  }
  const std::optional<double> rate = TransferRate(counts);
  if (!one_connection_mb_per_s.has_value()) return;
  storage->set_one_connection_mb_per_s(*one_connection_mb_per_s);
  if (!rate.has_value() || storage->connections() == 0) return;
  storage->set_parallel_efficiency(
      *rate / (storage->connections() * *one_connection_mb_per_s));
}

std::string StorageText(const Row& row) {
  if (!row.has_storage()) return "";
  const Storage& storage = row.storage();
  std::string text = absl::StrFormat(
      "%s %s: %d connections, %d requests, %.1f MB", row.library(),
      row.transform(), storage.connections(), storage.requests(),
      static_cast<double>(storage.bytes()) / 1e6);
  if (storage.has_download_mb_per_s()) {
    absl::StrAppendFormat(&text, " at %.1f MB/s", storage.download_mb_per_s());
  }
  if (storage.has_parallel_efficiency()) {
    absl::StrAppendFormat(&text, " (%.0f%% of as many times one connection)",
                          100 * storage.parallel_efficiency());
  }
  if (storage.part_of_bytes() > 0) {
    absl::StrAppendFormat(&text, ", %d items read in part (%.1f of %.1f MB)",
                          storage.part_items(),
                          static_cast<double>(storage.part_bytes()) / 1e6,
                          static_cast<double>(storage.part_of_bytes()) / 1e6);
  }
  if (storage.has_cache_hit_rate()) {
    absl::StrAppendFormat(&text, ", %.0f%% from the cache",
                          100 * storage.cache_hit_rate());
  }
  if (storage.has_network_share()) {
    absl::StrAppendFormat(&text, ", %.0f%% of the wait is the network",
                          100 * storage.network_share());
  }
  if (storage.retries() > 0) {
    absl::StrAppendFormat(&text, ", %d retries", storage.retries());
  }
  if (storage.cache_write_failures() > 0) {
    absl::StrAppend(&text, ", the cache could not be written to");
  }
  return absl::StrCat(text, "\n");
}

namespace {

// From this utilization on, the accelerator is the bottleneck, not the loader.
constexpr double kConsumerBinds = 0.9;

double BusyOf(const LoaderStats& loader, absl::string_view name) {
  for (const LoaderStage& stage : loader.stages()) {
    if (stage.name() == name) return stage.busy_s();
  }
  return 0;
}

// Median and interval over rounds.
LoaderAblation ThroughputOf(const LoaderTrials& trials) {
  LoaderAblation ablation;
  ablation.set_name(trials.name);
  std::vector<double> rounds = trials.throughputs;
  const Summary summary = Summarize(absl::MakeSpan(rounds));
  ablation.set_throughput(summary.median);
  if (summary.interval.has_value()) {
    ablation.set_throughput_low(summary.interval->low);
    ablation.set_throughput_high(summary.interval->high);
  }
  return ablation;
}

// Compares round by round, because neighbors saw the same state of the machine.
void SetShare(const LoaderTrials& full, const LoaderTrials& without,
              LoaderAblation* ablation) {
  std::vector<double> ratios;
  const size_t rounds =
      std::min(full.throughputs.size(), without.throughputs.size());
  for (size_t i = 0; i < rounds; ++i) {
    if (full.throughputs[i] <= 0 || without.throughputs[i] <= 0) continue;
    ratios.push_back(full.throughputs[i] / without.throughputs[i]);
  }
  if (ratios.empty()) return;
  const Summary ratio = Summarize(absl::MakeSpan(ratios));
  // Without everything but the hand-over, the hand-over's time remains.
  const bool remains = without.name == kCachedBatch;
  ablation->set_share(remains ? std::min(ratio.median, 1.0) : 1 - ratio.median);
  if (!ratio.interval.has_value()) return;
  const auto& [low, high] = *ratio.interval;
  ablation->set_share_low(remains ? std::min(low, 1.0) : 1 - high);
  ablation->set_share_high(remains ? std::min(high, 1.0) : 1 - low);
}

// What an epoch without it, or with nothing else, measures the cost of.
struct Part {
  const char* ablation;
  const char* name;
  // Its stages, each with the word for a verdict.
  std::vector<std::pair<const char*, const char*>> stages;
};

const std::vector<Part>& Parts() {
  static const auto* const parts = new std::vector<Part>{
      {"no_augment", "augmenting", {{"augment", "augmenting"}}},
      {"no_decode",
       "reading and decoding",
       {{"decode", "decoding"}, {"read", "reading"}}},
      {kCachedBatch,
       "handing over batches",
       {{"collate", "collating"}, {"copy", "copying"}}}};
  return *parts;
}

const Part* FindPart(absl::string_view ablation) {
  for (const Part& part : Parts()) {
    if (ablation == part.ablation) return &part;
  }
  return nullptr;
}

double BusyOf(const LoaderStats& loader, const Part& part) {
  double busy_s = 0;
  for (const auto& stage : part.stages) busy_s += BusyOf(loader, stage.first);
  return busy_s;
}

// Stages tell reading from decoding, and copying from collating.
std::string VerdictOf(const LoaderSpec& spec, const Part& part,
                      const LoaderStats& loader) {
  const auto* busiest = &part.stages[0];
  for (const auto& stage : part.stages) {
    if (absl::string_view(stage.first) == "copy" &&
        spec.scope() != kCopyScope) {
      continue;
    }
    if (BusyOf(loader, stage.first) > BusyOf(loader, busiest->first)) {
      busiest = &stage;
    }
  }
  return busiest->second;
}

// The parts whose cost is not known well enough to rule them out beside one
// that takes `share` of the time: they could not be left out, or the noise
// hides what that saved.
std::vector<const Part*> UnsettledParts(const LoaderDiagnosis& diagnosis,
                                        double share) {
  std::vector<const Part*> parts;
  for (const std::string& name : diagnosis.not_measured()) {
    if (const Part* part = FindPart(name)) parts.push_back(part);
  }
  for (const LoaderAblation& ablation : diagnosis.ablations()) {
    const Part* const part = FindPart(ablation.name());
    if (part != nullptr && IsNoise(ablation) && ablation.share() > 0 &&
        ablation.share_high() > share) {
      parts.push_back(part);
    }
  }
  return parts;
}

// Blames the part that takes the largest share of the time, unless a part that
// is not settled was busier, or may take more and nobody saw how busy it was.
void BlameLargest(const LoaderSpec& spec, const LoaderAblation& largest,
                  const LoaderStats& loader, LoaderDiagnosis* diagnosis) {
  const double share = std::min(largest.share(), 1.0);
  const Part& blamed = *FindPart(largest.name());
  const std::string verdict = VerdictOf(spec, blamed, loader);
  double known = 0;
  for (const LoaderAblation& ablation : diagnosis->ablations()) {
    if (!IsNoise(ablation)) known += ablation.share();
  }
  for (const Part* part : UnsettledParts(*diagnosis, share)) {
    const double busy_s = BusyOf(loader, *part);
    if (busy_s > BusyOf(loader, blamed)) {
      diagnosis->set_verdict(VerdictOf(spec, *part, loader));
      diagnosis->set_explanation(absl::StrFormat(
          "%s was busy %.2f s, %s %.2f s; how much of the time %s takes could "
          "not be measured",
          diagnosis->verdict(), BusyOf(loader, *part), verdict,
          BusyOf(loader, blamed), part->name));
      return;
    }
    if (busy_s == 0 && 1 - known > share) {
      diagnosis->set_explanation(absl::StrFormat(
          "%s takes %.0f%% of the time, but %s could not be measured and may "
          "take %.0f%%",
          verdict, 100 * share, part->name, 100 * (1 - known)));
      return;
    }
  }
  diagnosis->set_verdict(verdict);
  diagnosis->set_twice_as_fast_gain(1 / (1 - share / 2));
  diagnosis->set_explanation(absl::StrFormat(
      "%s takes %.0f%% of the time; twice as fast would give %.2fx", verdict,
      100 * share, diagnosis->twice_as_fast_gain()));
}

void ConsumerBinds(double utilization, LoaderDiagnosis* diagnosis) {
  diagnosis->set_verdict("consumer");
  diagnosis->set_explanation(absl::StrFormat(
      "the training step is busy %.1f%% of the time; a faster loader would not "
      "be felt",
      100 * utilization));
  // With half the step and everything else unchanged.
  diagnosis->set_twice_as_fast_gain(1 / (1 - utilization / 2));
}

}  // namespace

LoaderDiagnosis Diagnose(const LoaderSpec& spec,
                         const std::vector<LoaderTrials>& trials,
                         const LoaderStats& loader) {
  LoaderDiagnosis diagnosis;
  const LoaderTrials* full = nullptr;
  for (const LoaderTrials& trial : trials) {
    if (trial.name == kFullEpoch) full = &trial;
  }
  const LoaderAblation* largest = nullptr;
  for (const LoaderTrials& trial : trials) {
    if (trial.throughputs.empty()) {
      diagnosis.add_not_measured(trial.name);
      continue;
    }
    LoaderAblation* const ablation = diagnosis.add_ablations();
    *ablation = ThroughputOf(trial);
    if (full != nullptr && &trial != full) SetShare(*full, trial, ablation);
  }
  for (const LoaderAblation& ablation : diagnosis.ablations()) {
    if (IsNoise(ablation)) continue;
    if (largest == nullptr || ablation.share() > largest->share()) {
      largest = &ablation;
    }
  }
  // The mark is there if there are enough batches for a verdict.
  if (loader.has_utilisation_mark() &&
      loader.consumer_utilisation() >= kConsumerBinds) {
    ConsumerBinds(loader.consumer_utilisation(), &diagnosis);
  } else if (largest != nullptr) {
    BlameLargest(spec, *largest, loader, &diagnosis);
  }
  return diagnosis;
}

bool IsNoise(const LoaderAblation& ablation) {
  if (!ablation.has_share()) return true;
  return ablation.share() <= 0 ||
         (ablation.has_share_low() && ablation.share_low() <= 0);
}

}  // namespace feedrate
