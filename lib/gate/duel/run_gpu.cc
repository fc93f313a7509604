#include "lib/gate/duel/run_gpu.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "lib/machine/visible_gpu.h"

namespace feedrate {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks(20);
constexpr char kContended[] = "contended";

void AddContended(Row* row) {
  auto* const warnings = row->mutable_warnings();
  if (std::find(warnings->begin(), warnings->end(), kContended) ==
      warnings->end()) {
    *warnings->Add() = kContended;
    std::sort(warnings->begin(), warnings->end());
  }
  auto* const causes = row->mutable_noise()->mutable_causes();
  *causes->Add() = "gpu_shared";
  std::sort(causes->begin(), causes->end());
}

}  // namespace

std::unique_ptr<RunGpu> RunGpu::Open(
    const std::vector<std::string>& libraries) {
  const std::optional<unsigned> index = FirstVisibleGpu(libraries);
  if (!index) return nullptr;
  auto clock = GpuClock::OpenAt(libraries, *index);
  if (!clock.ok()) return nullptr;
  return std::unique_ptr<RunGpu>(new RunGpu(*std::move(clock)));
}

void RunGpu::Start() {
  started_us_ = absl::ToUnixMicros(absl::Now());
  looked_ = {};
  readings_.clear();
}

void RunGpu::Look() {
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ < kBetweenLooks) return;
  looked_ = now;
  if (const auto reading = clock_->Read()) readings_.push_back(*reading);
  if (is_used_ || searches_ == 0) return;
  --searches_;
  const auto others = clock_->OthersSince(started_us_);
  is_used_ = others && others->is_used_by_us;
}

void RunGpu::Finish(std::vector<Row>* rows) {
  // The GPU may have gone to sleep by now, but a short run has nothing else.
  if (readings_.empty()) Look();
  for (const Row& row : *rows) {
    is_used_ |= absl::StartsWith(row.device(), "cuda");
  }
  std::optional<GpuOthers> others;
  if (is_used_) others = clock_->OthersSince(started_us_);
  uint64_t reasons = 0;
  for (const GpuClock::Reading& reading : readings_) {
    reasons |= reading.throttle_reasons;
  }
  for (Row& row : *rows) {
    GpuState* const gpu = row.mutable_gpu();
    const bool has_clocks = gpu->clocks_mhz_size() > 0;
    for (const GpuClock::Reading& reading : readings_) {
      if (!has_clocks) gpu->add_clocks_mhz(reading.mhz);
      if (!has_clocks && reading.memory_mhz) {
        gpu->add_memory_clocks_mhz(*reading.memory_mhz);
      }
      if (reading.temperature_c) {
        gpu->set_temperature_c(
            std::max(gpu->temperature_c(), *reading.temperature_c));
      }
      if (reading.power_limit_w) {
        gpu->set_power_limit_w(*reading.power_limit_w);
      }
    }
    if (!has_clocks) {
      gpu->set_max_clock_mhz(clock_->max_mhz());
      for (const std::string& word : ThrottleWords(reasons)) {
        gpu->add_throttle_reasons(word);
      }
    }
    if (!others.has_value()) continue;
    gpu->set_other_processes(others->processes);
    gpu->set_other_busy(others->busy);
    if (others->processes > 0) AddContended(&row);
  }
}

}  // namespace feedrate
