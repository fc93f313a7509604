// A subject whose time is made up, for tests.
#ifndef FEEDRATE_LIB_MEASURE_FAKE_SUBJECT_H_
#define FEEDRATE_LIB_MEASURE_FAKE_SUBJECT_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/measure/subject.h"

namespace feedrate {

class FakeSubject : public Subject {
 public:
  // Seconds that call number `call`, counted over all requests, takes.
  using CallTime = std::function<double(int64_t call)>;

  explicit FakeSubject(CallTime call_time) : call_time_(std::move(call_time)) {}

  absl::StatusOr<Timing> Time(const TimeRequest& request) override {
    requests.push_back(request);
    if (!error.ok()) return error;
    Timing timing;
    double elapsed_s = 0;
    while (timing.items < request.count &&
           (request.limit_s == 0 || elapsed_s <= request.limit_s)) {
      double sample_s = clock_s;
      const int64_t calls =
          std::min(request.chunk, request.count - timing.items);
      for (int64_t i = 0; i < calls; ++i) sample_s += call_time_(calls_made++);
      timing.items += calls;
      timing.samples_s.push_back(sample_s);
      elapsed_s += sample_s;
    }
    if (gpu != nullptr) timing.gpu = gpu();
    return timing;
  }
  NoiseCounters Count() override {
    return counts.empty() ? NoiseCounters() : counts[counted++ % counts.size()];
  }
  double clock_pair_s() const override { return clock_s; }

  // What a GPU tells with each answer; null: it is none.
  std::function<GpuTiming()> gpu;
  double clock_s = 0;
  absl::Status error;
  std::vector<NoiseCounters> counts;
  std::vector<TimeRequest> requests;
  int64_t calls_made = 0;
  size_t counted = 0;

 private:
  const CallTime call_time_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEASURE_FAKE_SUBJECT_H_
