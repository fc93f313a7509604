#include "lib/runner/train/train_row.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "lib/model/flops.h"
#include "lib/stats/quantiles.h"

namespace feedrate {
namespace {

double Mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / values.size();
}

// Of each step, the process that took longest.
std::vector<double> SlowestSteps(const std::vector<TrainResult>& results) {
  std::vector<double> steps = results[0].steps_s;
  for (const TrainResult& result : results) {
    for (size_t i = 0; i < std::min(steps.size(), result.steps_s.size()); ++i) {
      steps[i] = std::max(steps[i], result.steps_s[i]);
    }
  }
  return steps;
}

double Phase(const TrainResult& result, const std::string& name) {
  const auto found = result.phases.find(name);
  return found == result.phases.end() ? 0 : found->second;
}

// Of the first process. What its parts leave over of the mean step is named
// unattributed, as is what it could not tell apart.
void SetBudget(const TrainResult& result, Train* train) {
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
  for (const auto& phase : result.phases) {
    if (phase.first != "unattributed") told += phase.second;
  }
  const double mean = Mean(result.steps_s);
  budget->set_unattributed_s(std::max(0.0, mean - told));
  if (mean > 0) train->set_data_wait_share(budget->data_wait_s() / mean);
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

// The peak that use is held against, and where it is from.
double PeakOf(const TrainSettings& settings, const TrainDevicePeak& peak,
              const TrainResult& result, Train* train) {
  if (peak.given_flops > 0) {
    train->set_peak_source("flag");
    return peak.given_flops;
  }
  const double known = PeakOfGpu(peak.gpu, settings.precision);
  train->set_peak_source(known > 0 ? "registry" : "measured");
  return known > 0 ? known : result.matmul_flops;
}

void SetUse(const Job& job, const TrainSettings& settings,
            const TrainDevicePeak& device, const TrainResult& result,
            Train* train) {
  const double of_one =
      static_cast<double>(job.batch_size()) * settings.accumulation;
  train->set_flops_per_step(of_one * settings.world_size *
                            ExactFlops(settings.model));
  train->set_matmul_tflops(result.matmul_flops / 1e12);
  train->set_copy_bytes_per_s(result.copy_bytes);
  const double peak = PeakOf(settings, device, result, train);
  const double step = train->step_time_p50();
  if (peak > 0) {
    train->set_peak_tflops(peak / 1e12);
    const double possible = peak * step;
    train->set_mfu_6nd(of_one * SixNd(settings.model) / possible);
    train->set_mfu_transformer_aware(of_one * TransformerAware(settings.model) /
                                     possible);
    train->set_mfu_exact(of_one * ExactFlops(settings.model) / possible);
  }
  if (result.matmul_flops <= 0 || result.copy_bytes <= 0) return;
  RooflineInput input;
  input.samples = job.batch_size() * settings.accumulation;
  input.batches = settings.accumulation;
  input.bytes_per_value = settings.precision == "bf16" ? 2 : 4;
  input.matmul_flops = result.matmul_flops;
  input.copy_bytes = result.copy_bytes;
  const Roofline roofline = RooflineOf(settings.model, input);
  train->set_attainable_step_s(roofline.step_s);
  if (peak > 0) {
    train->set_attainable_mfu(of_one * ExactFlops(settings.model) /
                              (peak * roofline.step_s));
  }
  train->set_bytes_per_step(roofline.bytes);
  train->set_bandwidth_share(roofline.bytes / step / result.copy_bytes);
}

void SetSettings(const TrainSettings& settings, Train* train) {
  train->set_model(settings.model.name);
  train->set_parameters(CountParameters(settings.model));
  train->set_precision(settings.precision);
  train->set_optimizer(settings.optimizer);
  train->set_optimizer_in_step(settings.optimizer_in_step);
  train->set_world_size(settings.world_size);
  train->set_accumulation(settings.accumulation);
  train->set_graphs(settings.graphs);
  train->set_activation_checkpointing(settings.activation_checkpointing);
  train->set_warmup_steps(settings.warmup);
  train->set_measured_steps(settings.steps);
  train->set_loader(settings.loader.empty() ? "synthetic" : settings.loader);
}

void SetLearning(const TrainResult& result, Train* train) {
  train->set_first_loss(result.losses.front());
  train->set_last_loss(result.losses.back());
  train->set_loss_slope(LeastSquaresSlope(result.losses));
  train->set_grad_norm(Mean(result.grad_norms));
  train->mutable_losses()->Assign(result.losses.begin(), result.losses.end());
  for (const auto& type : result.matmul_types) {
    (*train->mutable_matmul_types())[type.first] = type.second;
  }
}

}  // namespace

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
                    const std::vector<TrainResult>& results, Row* row) {
  const std::vector<double> steps = SlowestSteps(results);
  std::vector<double> sorted = steps;
  std::sort(sorted.begin(), sorted.end());
  const double samples = static_cast<double>(job.batch_size()) *
                         settings.accumulation * settings.world_size;
  row->set_status("ok");
  row->set_unit("sample");
  row->set_timed_unit("step");
  row->set_library_version(results[0].version);
  row->mutable_samples_s()->Assign(steps.begin(), steps.end());
  // By the clock around all measured steps, which began and ended with the
  // device at rest.
  double wall = 0;
  for (const TrainResult& result : results) {
    wall = std::max(wall, result.wall_s);
  }
  // The optimiser runs between timed steps when it is not part of them.
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
  SetRates(samples, settings.model.tokens(), sorted, wall / steps.size(),
           train);
  SetBudget(results[0], train);
  SetUse(job, settings, peak, results[0], train);
  SetLearning(results[0], train);
  if (!results[0].storage.empty()) {
    train->set_storage(results[0].storage);
    row->mutable_dataset()->set_files(results[0].files);
    row->mutable_dataset()->set_bytes(results[0].file_bytes);
  }
  if (results[0].gpu_use >= 0) train->set_gpu_use(results[0].gpu_use);
  int64_t memory = 0;
  for (const TrainResult& result : results) {
    memory = std::max(memory, result.memory_peak_bytes);
  }
  train->set_memory_peak_bytes(memory);
  if (job.device() == "cuda") {
    train->set_event_step_time_p50(row->p50_s());
    row->mutable_gpu_memory()->set_peak_allocated_bytes(memory);
    row->mutable_gpu_memory()->set_peak_reserved_bytes(
        results[0].memory_reserved_bytes);
  } else {
    row->set_rss_peak_bytes(memory);
  }
  if (train->has_attainable_step_s()) {
    row->mutable_limit()->set_name("roofline");
    row->mutable_limit()->set_throughput(samples / train->attainable_step_s());
    row->set_of_limit(row->throughput() / row->limit().throughput());
  }
}

}  // namespace feedrate
