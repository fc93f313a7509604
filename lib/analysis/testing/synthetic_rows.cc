#include "lib/analysis/testing/synthetic_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "lib/analysis/rows/text_scan.h"
#include "lib/records/env.pb.h"
#include "lib/records/job.pb.h"
#include "lib/records/job_identity.h"
#include "lib/records/row.pb.h"

namespace feedrate {
namespace {

constexpr char kCpuProfile[] = "xeon-8581c_16c_x86-64";
constexpr char kGpuProfile[] = "l4x1_driver580_cuda13.0_torch2.11_sm89";
constexpr char kCpuEnv[] = "00000000000000c4";
constexpr char kGpuEnv[] = "00000000000000f2";
constexpr char kCpuRun[] = "000000000000000000000000000000c4";
constexpr char kGpuRun[] = "000000000000000000000000000000f2";
constexpr double kCopyBytesPerS = 12e9;
constexpr int64_t kFileBytes = 110000;
// Items per second of the slowest and the fastest image transform.
constexpr double kSlowest = 30;
constexpr double kFastest = 20000;
constexpr int kFrames = 16;

bool IsClip(const std::string& scenario) {
  return absl::StartsWith(scenario, "video");
}

// A uniform number in (0, 1) that depends only on `print`.
double Uniform(const Fingerprint& print) {
  return (static_cast<double>(print.value() >> 11) + 0.5) * 0x1p-53;
}

double Normal(Fingerprint print) {
  constexpr double kTwoPi = 6.283185307179586;
  const double a = Uniform(print.Number(1));
  const double b = Uniform(print.Number(2));
  return std::sqrt(-2 * std::log(a)) * std::cos(kTwoPi * b);
}

void SetMachine(const Job& job, Row* row) {
  const bool on_gpu_machine = job.hardware_class() != "cpu";
  row->set_machine_profile(on_gpu_machine ? kGpuProfile : kCpuProfile);
  row->set_env_id(on_gpu_machine ? kGpuEnv : kCpuEnv);
  row->set_run_id(on_gpu_machine ? kGpuRun : kCpuRun);
  row->set_hardware(job.device() == "cuda" ? "NVIDIA L4"
                                           : "Intel Xeon Platinum 8581C");
  row->set_library_version("1.0");
}

}  // namespace

std::vector<Env> SyntheticRows::Envs() const {
  std::vector<Env> envs(2);
  envs[0].set_env_id(kCpuEnv);
  envs[0].set_machine_profile(kCpuProfile);
  envs[1].set_env_id(kGpuEnv);
  envs[1].set_machine_profile(kGpuProfile);
  envs[1].add_gpus()->set_name("NVIDIA L4");
  for (Env& env : envs) env.mutable_cpu()->set_usable_cores(16);
  return envs;
}

std::vector<Run> SyntheticRows::Runs() const {
  std::vector<Run> runs(2);
  runs[0].set_run_id(kCpuRun);
  runs[0].set_env_id(kCpuEnv);
  runs[1].set_run_id(kGpuRun);
  runs[1].set_env_id(kGpuEnv);
  for (Run& run : runs) run.set_copy_bytes_per_s(kCopyBytesPerS);
  return runs;
}

void SyntheticRows::Measure(const Job& job, Row* row) const {
  // As in reality, nine-channel images and clips of the same cell take longer.
  Fingerprint cell;
  cell.Number(options_.seed).Add(job.library()).Add(job.transform());
  cell.Add(job.mode()).Add(job.scope()).Add(job.device());
  const double share = Uniform(cell);
  double rate = kSlowest * std::pow(kFastest / kSlowest, share);
  if (IsClip(job.scenario())) rate /= kFrames / 2;
  if (job.scenario() == "image-9ch") rate /= 3;

  Fingerprint run;
  run.Number(options_.seed).Add(job.job_id()).Number(row->run_index());
  rate *= std::exp(options_.noise * Normal(run));
  const int64_t items = std::max<int64_t>(1, job.num_items());
  row->set_items(items);
  row->set_elapsed_s(items / rate);
  row->set_throughput(items / row->elapsed_s());
  const double part = row->elapsed_s() / std::max(1, options_.samples);
  for (int i = 0; i < options_.samples; ++i) row->add_samples_s(part);
  row->set_timed_unit("chunk");
  if (options_.samples > 0) row->set_p50_s(part);
  row->set_duration_s(row->elapsed_s() + 1);
}

Row SyntheticRows::MakeRow(const Job& job, int32_t run_index) const {
  Row row = RowOfJob(job);
  row.set_run_index(run_index);
  row.set_unit(IsClip(job.scenario()) ? "clip" : "image");
  if (job.has_unsupported_reason()) {
    row.set_status("unsupported");
    row.set_reason(job.unsupported_reason());
    return row;
  }
  SetMachine(job, &row);
  row.mutable_dataset()->set_files(std::max<int64_t>(1, job.num_items()));
  row.mutable_dataset()->set_bytes(kFileBytes * row.dataset().files());
  row.set_started_at("2026-01-01T00:00:00Z");
  const Fingerprint early =
      Fingerprint().Number(options_.seed).Add("early").Add(job.job_id());
  if (Uniform(early) < options_.early_stopped) {
    row.set_status("early_stopped");
    row.set_reason("0.1 s an item in the preflight");
    row.set_throughput(10);
    row.set_preflight_s(1);
    return row;
  }
  row.set_status("ok");
  Measure(job, &row);
  row.mutable_equivalence()->set_label("equivalent");
  row.set_rss_peak_bytes(1 << 29);
  return row;
}

std::vector<Row> SyntheticRows::MakeRows(const Job& job) const {
  std::vector<Row> rows;
  for (const int32_t run : job.run_indexes()) rows.push_back(MakeRow(job, run));
  return rows;
}

}  // namespace feedrate
