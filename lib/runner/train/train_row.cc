#include "lib/runner/train/train_row.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/catalogue/catalogue.h"
#include "lib/json/json.h"
#include "lib/model/flops.h"
#include "lib/records/attempts.h"
#include "lib/records/fields.h"
#include "lib/runner/core/measured_process.h"
#include "lib/stats/quantiles.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

template <typename Doubles>
double Mean(const Doubles& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / values.size();
}

// For each step, the time of the slowest process.
std::vector<double> SlowestSteps(const std::vector<TrainReply>& results) {
  std::vector<double> steps(results[0].steps_s().begin(),
                            results[0].steps_s().end());
  for (const TrainReply& result : results) {
    const size_t both = std::min<size_t>(steps.size(), result.steps_s_size());
    for (size_t i = 0; i < both; ++i) {
      steps[i] = std::max(steps[i], result.steps_s(i));
    }
  }
  return steps;
}

double Phase(const TrainReply& result, const std::string& name) {
  const auto found = result.phases().find(name);
  return found == result.phases().end() ? 0 : found->second;
}

// From this share of the step on, waiting for data means that the loader is too
// slow: it works while the step runs, so a fast one is not waited for at all.
constexpr double kLoaderBound = 0.1;

std::string BoundBy(const Train& train) {
  const StepBudget& budget = train.budget();
  if (train.data_wait_share() >= kLoaderBound) return "loader";
  const double compute = train.step_time_mean() - budget.data_wait_s() -
                         budget.copy_s() - budget.grad_sync_s();
  if (budget.copy_s() > std::max(compute, budget.grad_sync_s())) return "copy";
  return budget.grad_sync_s() > compute ? "synchronization" : "compute";
}

// Sets the budget from the first process. The part of the mean step that its
// parts do not cover is named unattributed, as is what it could not tell apart.
// REQUIRES: step_time_mean is set.
void SetBudget(const TrainReply& result, Train* train) {
  StepBudget* const budget = train->mutable_budget();
  budget->set_data_wait_s(Phase(result, "data_wait"));
  budget->set_copy_s(Phase(result, "copy"));
  budget->set_mixing_s(Phase(result, "mixing"));
  budget->set_forward_s(Phase(result, "forward"));
  budget->set_loss_s(Phase(result, "loss"));
  budget->set_backward_s(Phase(result, "backward"));
  budget->set_grad_sync_s(Phase(result, "grad_sync"));
  budget->set_optimizer_s(Phase(result, "optimizer"));
  budget->set_other_s(Phase(result, "other"));
  double told = 0;
  for (const auto& phase : result.phases()) {
    if (phase.first != "unattributed") told += phase.second;
  }
  const double mean = train->step_time_mean();
  budget->set_unattributed_s(std::max(0.0, mean - told));
  if (mean > 0) train->set_data_wait_share(budget->data_wait_s() / mean);
  train->set_bound_by(BoundBy(*train));
}

void SetRates(double samples, double tokens, const std::vector<double>& sorted,
              double mean, Train* train) {
  const double p50 = SortedQuantile(sorted, 0.5);
  const double p90 = SortedQuantile(sorted, 0.9);
  train->set_step_time_mean(mean);
  train->set_step_time_p50(p50);
  train->set_step_time_p90(p90);
  train->set_samples_per_sec_mean(samples / mean);
  train->set_samples_per_sec_p50(samples / p50);
  train->set_samples_per_sec_p10(samples / p90);
  train->set_tokens_per_sec_mean(samples * tokens / mean);
  train->set_tokens_per_sec_p50(samples * tokens / p50);
  train->set_tokens_per_sec_p10(samples * tokens / p90);
}

// The peak for computing utilization, and its source.
double PeakOf(const TrainSettings& settings, const TrainDevicePeak& peak,
              Train* train) {
  if (peak.given_flops > 0) {
    train->set_peak_source("flag");
    return peak.given_flops;
  }
  const double known = PeakOfGpu(peak.gpu, settings.precision);
  train->set_peak_source(known > 0 ? "registry" : "measured");
  return known > 0 ? known : peak.matmul_flops;
}

// Operations of a step of one process, by the hook of a subject or as known of
// our models.
double FlopsOfStep(const Job& job, const TrainSettings& settings,
                   const TrainReply& result) {
  if (result.has_flops_per_step()) return result.flops_per_step();
  return static_cast<double>(job.batch_size()) * settings.accumulation *
         ExactFlops(settings.model);
}

void SetUse(const Job& job, const TrainSettings& settings,
            const TrainDevicePeak& device, double flops, Train* train) {
  const double of_one =
      static_cast<double>(job.batch_size()) * settings.accumulation;
  train->set_flops_per_step(settings.world_size * flops);
  train->set_weight_decay(settings.weight_decay);
  train->set_matmul_tflops(device.matmul_flops / 1e12);
  train->set_copy_bytes_per_s(device.copy_bytes);
  const double peak = PeakOf(settings, device, train);
  const double step = train->step_time_p50();
  if (peak > 0) {
    train->set_peak_tflops(peak / 1e12);
    const double possible = peak * step;
    train->set_mfu_exact(flops / possible);
    if (flops > 0) {
      train->set_peak_samples_per_sec(settings.world_size * of_one * peak /
                                      flops);
    }
  }
  // The rest follows from the parts of our own models.
  if (IsSubject(job.library())) return;
  if (peak > 0) {
    const double possible = peak * step;
    train->set_mfu_6nd(of_one * SixNd(settings.model) / possible);
    train->set_mfu_transformer_aware(of_one * TransformerAware(settings.model) /
                                     possible);
  }
  if (device.matmul_flops <= 0 || device.copy_bytes <= 0) return;
  RooflineInput input;
  input.samples = job.batch_size() * settings.accumulation;
  input.batches = settings.accumulation;
  // FP8 is for products; what lies between them is bf16.
  const bool wide =
      settings.precision == "fp32" || settings.precision == "tf32";
  input.bytes_per_value = wide ? 4 : 2;
  input.matmul_flops = device.matmul_flops;
  input.copy_bytes = device.copy_bytes;
  const Roofline roofline = RooflineOf(settings.model, input);
  train->set_attainable_step_s(roofline.step_s);
  if (peak > 0) {
    train->set_attainable_mfu(of_one * ExactFlops(settings.model) /
                              (peak * roofline.step_s));
  }
  train->set_bytes_per_step(roofline.bytes);
  train->set_bandwidth_share(roofline.bytes / step / device.copy_bytes);
}

void SetSettings(const TrainSettings& settings, Train* train) {
  train->set_model(settings.model.name);
  train->set_parameters(CountParameters(settings.model));
  train->set_precision(settings.precision);
  train->set_optimizer(settings.optimizer);
  train->set_optimizer_in_step(settings.optimizer_in_step);
  train->set_clip_norm(settings.clip_norm);
  train->set_world_size(settings.world_size);
  train->set_accumulation(settings.accumulation);
  train->set_graphs(settings.graphs);
  train->set_activation_checkpointing(settings.activation_checkpointing);
  train->set_warmup_steps(settings.warmup);
  train->set_measured_steps(settings.steps);
  train->set_loader(settings.loader.empty() ? "synthetic" : settings.loader);
}

void SetLearning(const TrainReply& result, Train* train) {
  const std::vector<double> losses(result.losses().begin(),
                                   result.losses().end());
  train->set_first_loss(losses.front());
  train->set_last_loss(losses.back());
  train->set_loss_slope(LeastSquaresSlope(losses));
  if (!result.grad_norms().empty()) {
    train->set_grad_norm(Mean(result.grad_norms()));
  }
  *train->mutable_losses() = result.losses();
  *train->mutable_matmul_types() = result.matmul_types();
}

// REQUIRES: trained on a GPU.
void SetAllocations(const TrainReply& result, double steps, Train* train) {
  if (result.has_allocations()) {
    train->set_allocations_per_step(static_cast<double>(result.allocations()) /
                                    steps);
  }
  if (result.has_device_allocations()) {
    train->set_device_allocations(result.device_allocations());
  }
  if (result.gpu_memory_bytes() > result.memory_reserved_bytes()) {
    train->set_idle_memory_bytes(result.gpu_memory_bytes() -
                                 result.memory_reserved_bytes());
  }
}

// Each process tells of its own GPU, and all of the same processors.
void SetEnergy(const std::vector<TrainReply>& results, Row* row) {
  double gpu_j = 0;
  bool all_known = true;
  for (const TrainReply& result : results) {
    gpu_j += result.gpu_j();
    all_known &= result.has_gpu_j();
  }
  if (all_known) row->mutable_energy()->set_gpu_j(gpu_j);
  if (results[0].has_cpu_j()) {
    row->mutable_energy()->set_cpu_j(results[0].cpu_j());
  }
}

// The value of Train.sharing.
constexpr char kOneOrder[] = "one_order";

void AddSkipped(const SkippedItem& file, Train* train) {
  if (train->skipped_size() >= kMaxNamedErrors) return;
  LoaderFault* const fault = train->add_skipped();
  AddSameFields(file, fault);
  if (!file.has_item()) fault->set_item(-1);
}

// All processes read the same files in one order, and the same shards of a
// mixture. Otherwise each reads its own files.
void SetFiles(const TrainSettings& settings,
              const std::vector<TrainReply>& results, Row* row) {
  Train* const train = row->mutable_train();
  Dataset* const dataset = row->mutable_dataset();
  train->set_storage(results[0].storage());
  const bool has_one_order = results[0].sharing() == kOneOrder;
  const bool has_own = !has_one_order && settings.loader != kMixtureLoader;
  double resident = 1;
  std::set<std::string> skipped;
  int64_t most = 0;
  for (const TrainReply& result : results) {
    if (has_own || &result == &results[0]) {
      dataset->set_files(dataset->files() + result.files());
      dataset->set_bytes(dataset->bytes() + result.file_bytes());
    } else if (has_one_order && result.files() < dataset->files()) {
      // It met more files that it had to skip.
      dataset->set_files(result.files());
      dataset->set_bytes(result.file_bytes());
    }
    train->set_skipped_files(train->skipped_files() + result.skipped_files());
    most = std::max(most, result.skipped_files());
    for (const SkippedItem& file : result.skipped()) {
      if (skipped.insert(file.path()).second || !has_one_order) {
        AddSkipped(file, train);
      }
    }
    resident =
        std::min(resident, result.has_resident() ? result.resident() : -1);
  }
  // In one order, two processes may meet the same file.
  if (has_one_order) {
    train->set_skipped_files(
        std::max(most, static_cast<int64_t>(skipped.size())));
  }
  if (train->skipped_files() > 0) row->add_labels("skipped_files");
  if (resident >= 0) row->mutable_cache()->set_resident_fraction(resident);
}

}  // namespace

void SetObjects(const std::vector<TrainReply>& results,
                const std::map<std::string, std::string>& store, Row* row) {
  StorageCounts sum;
  double busy_s = 0;
  for (const TrainReply& result : results) {
    AddSameFields(result.objects(), &sum);
    busy_s = std::max(busy_s, result.objects().busy_s());
  }
  // Processes read at the same time.
  sum.set_busy_s(busy_s);
  int connections = 0;
  (void)absl::SimpleAtoi(store.at("connections"), &connections);
  SetTransfers(sum, store.at("url"), connections, row);
  const Storage& storage = row->storage();
  std::string* const words = row->mutable_train()->mutable_storage();
  if (storage.has_download_mb_per_s()) {
    absl::StrAppendFormat(words, ", %.0f MB/s", storage.download_mb_per_s());
  }
  if (storage.has_cache_hit_rate()) {
    absl::StrAppendFormat(words, ", %.0f%% cached",
                          std::floor(storage.cache_hit_rate() * 100));
  }
}

double LeastSquaresSlope(const std::vector<double>& values) {
  const double n = values.size();
  if (values.size() < 2) return 0;
  const double middle = (n - 1) / 2;
  const double mean = Mean(values);
  double products = 0;
  double squares = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    products += (i - middle) * (values[i] - mean);
    squares += (i - middle) * (i - middle);
  }
  return products / squares;
}

void SetTrainResult(const Job& job, const TrainSettings& settings,
                    const TrainDevicePeak& peak,
                    const std::vector<TrainReply>& results, Row* row) {
  const std::vector<double> steps = SlowestSteps(results);
  std::vector<double> sorted = steps;
  std::sort(sorted.begin(), sorted.end());
  const double samples = static_cast<double>(job.batch_size()) *
                         settings.accumulation * settings.world_size;
  row->set_status("ok");
  row->set_unit("sample");
  row->set_timed_unit("step");
  row->set_library_version(results[0].version());
  row->mutable_samples_s()->Assign(steps.begin(), steps.end());
  // Wall time of all measured steps, which began and ended with the device
  // idle.
  double wall = 0;
  for (const TrainReply& result : results) {
    wall = std::max(wall, result.wall_s());
  }
  // The optimizer runs between timed steps if it is not part of them.
  if (!settings.optimizer_in_step) {
    wall = std::accumulate(steps.begin(), steps.end(), 0.0);
  }
  row->set_elapsed_s(wall);
  row->set_items(static_cast<int64_t>(samples) * steps.size());
  row->set_throughput(row->items() / wall);
  row->set_p50_s(SortedQuantile(sorted, 0.5));
  row->set_p90_s(SortedQuantile(sorted, 0.9));
  row->set_p99_s(SortedQuantile(sorted, 0.99));
  Train* const train = row->mutable_train();
  SetSettings(settings, train);
  train->set_measured_steps(steps.size());
  const bool is_subject = IsSubject(job.library());
  if (is_subject) {
    train->set_model(job.library());
    train->set_parameters(results[0].parameters());
  }
  SetRates(samples, is_subject ? 0 : settings.model.tokens(), sorted,
           wall / steps.size(), train);
  SetBudget(results[0], train);
  const double flops = FlopsOfStep(job, settings, results[0]);
  SetUse(job, settings, peak, flops, train);
  SetLearning(results[0], train);
  if (!results[0].storage().empty()) SetFiles(settings, results, row);
  train->set_sharing(results[0].sharing());
  if (results[0].has_resumed()) {
    *train->mutable_resumed() = results[0].resumed();
  }
  *train->mutable_kernels() = results[0].kernels();
  train->set_profiled_steps(results[0].profiled_steps());
  train->set_engine(results[0].engine());
  train->set_method(results[0].method());
  *train->mutable_validations() = results[0].validations();
  if (results[0].has_last_learning_rate()) {
    train->set_last_learning_rate(results[0].last_learning_rate());
  }
  if (results[0].has_skipped_steps()) {
    train->set_skipped_steps(results[0].skipped_steps());
    train->set_loss_scale(results[0].loss_scale());
  }
  train->set_blas(results[0].blas());
  if (results[0].has_gpu_use()) train->set_gpu_use(results[0].gpu_use());
  SetEnergy(results, row);
  int64_t memory = 0;
  for (const TrainReply& result : results) {
    memory = std::max(memory, result.memory_peak_bytes());
  }
  train->set_memory_peak_bytes(memory);
  if (job.device() == "cuda") {
    train->set_event_step_time_p50(row->p50_s());
    row->mutable_gpu_memory()->set_peak_allocated_bytes(memory);
    row->mutable_gpu_memory()->set_peak_reserved_bytes(
        results[0].memory_reserved_bytes());
    SetAllocations(results[0], static_cast<double>(steps.size()), train);
  } else {
    row->set_rss_peak_bytes(memory);
  }
  // Not the roofline: caches may hold what it counts as coming from memory.
  if (peak.matmul_flops > 0 && flops > 0) {
    row->mutable_limit()->set_name("matmul");
    row->mutable_limit()->set_throughput(samples * peak.matmul_flops / flops);
    row->set_of_limit(row->throughput() / row->limit().throughput());
  }
}

namespace {

// All settings but one, and everything else that makes rows comparable.
std::string KeyWithout(const Row& row, const std::string& left_out) {
  std::map<std::string, std::string> settings(row.settings().begin(),
                                              row.settings().end());
  settings.erase(left_out);
  std::string key =
      absl::StrCat(row.library(), "|", row.device(), "|", row.scope(), "|",
                   row.batch_size(), "|", row.seed());
  for (const auto& setting : settings) {
    absl::StrAppend(&key, "|", setting.first, "=", setting.second);
  }
  return key;
}

// The latest row with status ok that matches `wanted` and differs from `row`
// only in one setting. Null if there is none.
const Row* Counterpart(const std::vector<Row>& before, const Row& row,
                       const std::string& setting,
                       const std::function<bool(const Train&)>& wanted) {
  for (auto other = before.rbegin(); other != before.rend(); ++other) {
    if (other->status() == "ok" && wanted(other->train()) &&
        KeyWithout(*other, setting) == KeyWithout(row, setting)) {
      return &*other;
    }
  }
  return nullptr;
}

// The number `name` of each training that has it.
std::vector<double> NumbersOf(const std::vector<Row>& rows,
                              const std::string& name) {
  std::vector<double> numbers;
  for (const Row& row : rows) {
    const auto* const field = Train::descriptor()->FindFieldByName(name);
    const auto& train = row.train();
    const auto* const reflection = Train::GetReflection();
    if (field->has_presence() && !reflection->HasField(train, field)) continue;
    const bool is_double =
        field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_DOUBLE;
    numbers.push_back(
        is_double ? reflection->GetDouble(train, field)
                  : static_cast<double>(reflection->GetInt64(train, field)));
  }
  return numbers;
}

// What is compared. Of the first ones, times and rates, each run counts.
constexpr int kMetricsOfRuns = 9;
constexpr const char* kMetrics[] = {"samples_per_sec_mean",
                                    "samples_per_sec_p50",
                                    "samples_per_sec_p10",
                                    "tokens_per_sec_mean",
                                    "tokens_per_sec_p50",
                                    "tokens_per_sec_p10",
                                    "step_time_mean",
                                    "step_time_p50",
                                    "step_time_p90",
                                    "memory_peak_bytes",
                                    "loss_slope",
                                    "data_wait_share",
                                    "mfu_exact"};

}  // namespace

std::string MetricsJson(const std::vector<Row>& runs) {
  const Row& row = runs.back();
  OrderedJson json = {{"machine_profile", row.machine_profile()},
                      {"job_id", row.job_id()},
                      {"model", row.train().model()},
                      {"library_version", row.library_version()}};
  std::set<std::string> warnings;
  int64_t disturbed = 0;
  for (const Row& run : runs) {
    const std::vector<std::string> found = DisturbancesOf(run);
    warnings.insert(found.begin(), found.end());
    disturbed += found.empty() ? 0 : 1;
  }
  json["runs"] = runs.size();
  json["disturbed_runs"] = disturbed;
  json["warnings"] = absl::StrJoin(warnings, " ");
  OrderedJson of_runs = OrderedJson::object();
  for (int i = 0; i < static_cast<int>(std::size(kMetrics)); ++i) {
    std::vector<double> numbers = NumbersOf(runs, kMetrics[i]);
    // A number that nobody knows is left out, and is not 0.
    if (numbers.empty()) continue;
    if (i < kMetricsOfRuns) of_runs[kMetrics[i]] = numbers;
    std::sort(numbers.begin(), numbers.end());
    json[kMetrics[i]] = SortedQuantile(numbers, 0.5);
  }
  json["of_runs"] = std::move(of_runs);
  return PrintJson(json);
}

void CompareWithEarlier(const std::vector<Row>& before, Row* row) {
  if (row->status() != "ok") return;
  Train* const train = row->mutable_train();
  if (train->world_size() > 1) {
    const Row* const alone =
        Counterpart(before, *row, "world_size",
                    [](const Train& other) { return other.world_size() == 1; });
    if (alone != nullptr) {
      train->set_scaling_efficiency(
          row->throughput() / (train->world_size() * alone->throughput()));
    }
  }
  if (train->precision() != "fp32") {
    const Row* const plain = Counterpart(
        before, *row, "precision",
        [](const Train& other) { return other.precision() == "fp32"; });
    if (plain != nullptr) {
      train->set_speedup_over_fp32(plain->train().step_time_p50() /
                                   train->step_time_p50());
      if (train->memory_peak_bytes() > 0) {
        train->set_memory_over_fp32(
            static_cast<double>(plain->train().memory_peak_bytes()) /
            train->memory_peak_bytes());
      }
    }
  }
}

}  // namespace feedrate
