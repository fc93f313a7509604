#include "lib/runner/gpu_row.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "lib/machine/gpu.h"
#include "lib/measure/subject.h"
#include "lib/records/records.pb.h"
#include "lib/runner/row_builder.h"

namespace feedrate {
namespace {

constexpr char kThrottled[] = "throttled";

void AddThrottled(Row* row) {
  const auto& warnings = row->warnings();
  if (std::find(warnings.begin(), warnings.end(), kThrottled) !=
      warnings.end()) {
    return;
  }
  row->add_warnings(kThrottled);
  std::sort(row->mutable_warnings()->begin(), row->mutable_warnings()->end());
}

void SetClocks(const GpuTiming& gpu, double slow_clock, GpuState* state) {
  state->mutable_clocks_mhz()->Assign(gpu.clocks_mhz.begin(),
                                      gpu.clocks_mhz.end());
  state->set_max_clock_mhz(gpu.max_clock_mhz);
  for (const std::string& word : ThrottleWords(gpu.throttle_reasons)) {
    state->add_throttle_reasons(word);
  }
  const double least = slow_clock * static_cast<double>(gpu.max_clock_mhz);
  for (size_t i = 0; i < gpu.clocks_mhz.size(); ++i) {
    if (static_cast<double>(gpu.clocks_mhz[i]) < least) {
      state->add_slow_samples(static_cast<int64_t>(i));
    }
  }
}

}  // namespace

void SetGpu(const GpuRowInput& input, const Timing& timing, Row* row) {
  if (!timing.gpu.has_value()) return;
  const GpuTiming& gpu = *timing.gpu;
  GpuState* const state = row->mutable_gpu();
  state->set_l2(input.settings.cold ? "cold" : "hot");
  state->set_batch(input.settings.batch);
  state->set_copy_bytes_per_s(input.copy_bytes_per_s);
  state->set_warm(input.warm);
  SetClocks(gpu, input.slow_clock, state);
  if (state->slow_samples_size() > 0) AddThrottled(row);
  if (input.settings.cold) row->add_labels("cold");
  if (input.per_sample_loop) row->add_labels("per_sample_loop");
  if (input.settings.batch > 0) row->set_timed_unit("batch");
  GpuMemory* const memory = row->mutable_gpu_memory();
  memory->set_peak_allocated_bytes(gpu.peak_allocated_bytes);
  memory->set_peak_reserved_bytes(gpu.peak_reserved_bytes);
  const double moved =
      static_cast<double>(gpu.bytes_out + (input.partial ? 0 : gpu.bytes_in));
  if (moved > 0 && input.copy_bytes_per_s > 0) {
    SetLimit("device copy",
             static_cast<double>(timing.items) * input.copy_bytes_per_s / moved,
             row);
  }
}

}  // namespace feedrate
