#include "lib/model/torch/profiler.h"

#include <sys/stat.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

namespace feedrate {
namespace {

namespace kineto = torch::autograd::profiler;
using torch::profiler::impl::ActivityType;
using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;

constexpr size_t kTopKernels = 30;

ProfilerConfig Config() {
  torch::profiler::impl::ExperimentalConfig experimental;
  // The backward pass runs on threads of its own.
  experimental.profile_all_threads = true;
  return ProfilerConfig(ProfilerState::KINETO, /*report_input_shapes=*/false,
                        /*profile_memory=*/false, /*with_stack=*/false,
                        /*with_flops=*/false, /*with_modules=*/false,
                        experimental);
}

std::set<ActivityType> Activities(bool cuda) {
  if (cuda) return {ActivityType::CPU, ActivityType::CUDA};
  return {ActivityType::CPU};
}

struct Span {
  uint64_t start_ns;
  uint64_t end_ns;
  const kineto::KinetoEvent* event;
};

void AddTime(const std::string& name, int64_t ns,
             std::map<std::string, KernelTime>* times) {
  KernelTime& time = (*times)[name];
  time.name = name;
  time.total_s += ns * 1e-9;
  ++time.calls;
}

// Time of each span without that of spans inside it.
void AddSelfTimes(std::vector<Span> spans,
                  std::map<std::string, KernelTime>* times) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns
                                    : a.end_ns > b.end_ns;
  });
  struct Open {
    Span span;
    int64_t self_ns;
  };
  std::vector<Open> open;
  const auto close = [&] {
    AddTime(open.back().span.event->name(), open.back().self_ns, times);
    open.pop_back();
  };
  for (const Span& span : spans) {
    while (!open.empty() && open.back().span.end_ns <= span.start_ns) close();
    const auto length = static_cast<int64_t>(span.end_ns - span.start_ns);
    if (!open.empty()) open.back().self_ns -= length;
    open.push_back({span, length});
  }
  while (!open.empty()) close();
}

std::vector<KernelTime> TimesOf(const kineto::ProfilerResult& result,
                                bool cuda) {
  std::map<std::string, KernelTime> times;
  std::map<uint64_t, std::vector<Span>> by_thread;
  for (const kineto::KinetoEvent& event : result.events()) {
    const bool on_device = event.deviceType() == c10::DeviceType::CUDA;
    if (cuda != on_device) continue;
    // Ranges are not kernels; Kineto shows them on the device too.
    if (event.scope() == static_cast<uint8_t>(at::RecordScope::USER_SCOPE)) {
      continue;
    }
    if (on_device) {
      AddTime(event.name(), event.durationNs(), &times);
    } else {
      by_thread[event.startThreadId()].push_back(
          {event.startNs(), event.startNs() + event.durationNs(), &event});
    }
  }
  for (const auto& thread : by_thread) AddSelfTimes(thread.second, &times);
  std::vector<KernelTime> list;
  for (const auto& time : times) list.push_back(time.second);
  return list;
}

}  // namespace

int64_t Profiler::steps() const {
  if (options_.kind.empty()) return 0;
  return int64_t{options_.repeat} *
         (options_.wait + options_.warmup + options_.active);
}

void Profiler::BeforeStep(int64_t step) {
  if (options_.kind.empty() || step > steps()) return;
  const int64_t cycle = options_.wait + options_.warmup + options_.active;
  const int64_t place = step % cycle;
  // A cycle ends where the next begins.
  if (place == 0 && running_) Stop(/*keep=*/true);
  if (step == steps()) return;
  if (options_.warmup > 0 && place == options_.wait) Start();
  if (place == options_.wait + options_.warmup) {
    if (running_) Stop(/*keep=*/false);
    Start();
  }
}

void Profiler::Finish() {
  if (running_) Stop(/*keep=*/true);
}

void Profiler::Start() {
  const std::set<ActivityType> activities = Activities(options_.cuda);
  kineto::prepareProfiler(Config(), activities);
  kineto::enableProfiler(Config(), activities);
  running_ = true;
}

void Profiler::Stop(bool keep) {
  running_ = false;
  const std::unique_ptr<kineto::ProfilerResult> result =
      kineto::disableProfiler();
  if (!keep) return;
  const std::string number = std::to_string(files_.size());
  const std::string rank = std::to_string(options_.rank);
  std::string file = options_.prefix +
                     (options_.rank > 0 ? ".rank" + rank : "") + "." + number +
                     ".json";
  if (options_.kind == "tb") {
    mkdir(options_.prefix.c_str(), 0755);
    file = options_.prefix + "/rank" + rank + "." + number + ".pt.trace.json";
  }
  result->save(file);
  TORCH_CHECK(access(file.c_str(), R_OK) == 0, file, ": cannot be written");
  files_.push_back(file);
  for (const KernelTime& time : TimesOf(*result, options_.cuda)) {
    const auto found = std::find_if(
        kernels_.begin(), kernels_.end(),
        [&time](const KernelTime& k) { return k.name == time.name; });
    if (found == kernels_.end()) {
      kernels_.push_back(time);
    } else {
      found->total_s += time.total_s;
      found->calls += time.calls;
    }
  }
}

std::vector<KernelTime> Profiler::TopKernels() const {
  std::vector<KernelTime> top = kernels_;
  std::sort(
      top.begin(), top.end(), [](const KernelTime& a, const KernelTime& b) {
        return a.total_s != b.total_s ? a.total_s > b.total_s : a.name < b.name;
      });
  if (top.size() > kTopKernels) top.resize(kTopKernels);
  return top;
}

}  // namespace feedrate
