#include "lib/runner/train/train_summary.h"

#include <functional>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/draw/text.h"
#include "lib/records/json.h"
#include "lib/runner/train/train_result.h"

namespace feedrate {
namespace {

std::string Milliseconds(double seconds) {
  return SignificantText(seconds * 1e3, 3);
}

// Settings without one of them, with all that makes rows comparable.
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

// The latest row of status ok that `wanted` holds for and that is like `row`
// but for one setting. Null: none.
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

void Add(const char* name, double value, std::string* json) {
  absl::StrAppend(json, ",\n  \"", name, "\": ");
  AppendJsonDouble(value, json);
}

}  // namespace

std::string TrainTable(const std::vector<Row>& rows) {
  const Align right = Align::kRight;
  Table table(
      {"library", "model", "batch", "precision", "samples/s", "it/s", "ms/step",
       "data", "forward", "loss", "backward", "sync", "optimiser", "other", "?",
       "MFU", "of attainable"},
      {Align::kLeft, Align::kLeft, right, Align::kLeft, right, right, right,
       right, right, right, right, right, right, right, right, right, right});
  for (const Row& row : rows) {
    if (row.status() != "ok") continue;
    const Train& train = row.train();
    const StepBudget& b = train.budget();
    table.AddRow(
        {row.library(), train.model(), absl::StrCat(row.batch_size()),
         train.precision(), SignificantText(train.samples_per_sec_p50(), 4),
         SignificantText(1 / train.step_time_p50(), 3),
         Milliseconds(train.step_time_p50()),
         Milliseconds(b.data_wait_s() + b.copy_s() + b.mixing_s()),
         Milliseconds(b.forward_s()), Milliseconds(b.loss_s()),
         Milliseconds(b.backward_s()), Milliseconds(b.grad_sync_s()),
         Milliseconds(b.optimizer_s()), Milliseconds(b.other_s()),
         Milliseconds(b.unattributed_s()), PercentText(train.mfu_exact()),
         train.attainable_mfu() > 0
             ? PercentText(train.mfu_exact() / train.attainable_mfu())
             : "–"});
  }
  return table.empty() ? "" : table.ToText();
}

std::string LoaderTable(const std::vector<Row>& rows) {
  const Align right = Align::kRight;
  Table table({"loader", "data", "storage", "workers", "it/s", "ms/step",
               "data wait", "samples/s"},
              {Align::kLeft, Align::kLeft, Align::kLeft, right, right, right,
               right, right});
  for (const Row& row : rows) {
    if (row.status() != "ok" || row.scope() != "e2e") continue;
    const Train& train = row.train();
    table.AddRow({train.loader(), row.dataset().id(), train.storage(),
                  absl::StrCat(row.workers()),
                  SignificantText(1 / train.step_time_mean(), 3),
                  Milliseconds(train.step_time_mean()),
                  PercentText(train.data_wait_share()),
                  SignificantText(train.samples_per_sec_mean(), 4)});
  }
  return table.empty() ? "" : table.ToText();
}

std::string KernelTable(const std::vector<TrainKernel>& kernels) {
  Table table({"ms", "calls", "kernel"},
              {Align::kRight, Align::kRight, Align::kLeft});
  for (const TrainKernel& kernel : kernels) {
    table.AddRow({Milliseconds(kernel.total_s), absl::StrCat(kernel.calls),
                  kernel.name.substr(0, 100)});
  }
  return table.empty() ? "" : table.ToText();
}

std::string MetricsJson(const Row& row) {
  const Train& train = row.train();
  std::string json = "{\n  \"machine_profile\": ";
  AppendJsonString(row.machine_profile(), &json);
  absl::StrAppend(&json, ",\n  \"job_id\": ");
  AppendJsonString(row.job_id(), &json);
  absl::StrAppend(&json, ",\n  \"model\": ");
  AppendJsonString(train.model(), &json);
  Add("samples_per_sec_mean", train.samples_per_sec_mean(), &json);
  Add("samples_per_sec_p50", train.samples_per_sec_p50(), &json);
  Add("samples_per_sec_p10", train.samples_per_sec_p10(), &json);
  Add("tokens_per_sec_mean", train.tokens_per_sec_mean(), &json);
  Add("tokens_per_sec_p50", train.tokens_per_sec_p50(), &json);
  Add("tokens_per_sec_p10", train.tokens_per_sec_p10(), &json);
  Add("step_time_mean", train.step_time_mean(), &json);
  Add("step_time_p50", train.step_time_p50(), &json);
  Add("step_time_p90", train.step_time_p90(), &json);
  Add("memory_peak_bytes", train.memory_peak_bytes(), &json);
  Add("loss_slope", train.loss_slope(), &json);
  Add("data_wait_share", train.data_wait_share(), &json);
  Add("mfu_exact", train.mfu_exact(), &json);
  return json + "\n}\n";
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
