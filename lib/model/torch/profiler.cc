#include "lib/model/torch/profiler.h"

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <sys/stat.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <vector>

namespace feedrate {
namespace {

namespace kineto = torch::autograd::profiler;
using torch::profiler::impl::ActivityType;
using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;

constexpr size_t kTopKernels = 30;

ProfilerConfig Config() {
  torch::profiler::impl::ExperimentalConfig experimental;
  // The backward pass runs on its own threads.
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

// Adds the time of each span without that of nested spans.
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
    // Ranges are not kernels, but Kineto shows them on the device too.
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
  // A cycle ends where the next one starts.
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

namespace {

struct State {
  std::mutex mutex;
  OpCount count;
};

State& TheState() {
  static auto* const state = new State;
  return *state;
}

std::string TypeName(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return "fp32";
    case at::kBFloat16:
      return "bf16";
    case at::kHalf:
      return "fp16";
    case at::kDouble:
      return "fp64";
    default:
      return c10::toString(type);
  }
}

bool StartsWith(const std::string& text, const char* start) {
  return text.rfind(start, 0) == 0;
}

// The tensors among the inputs, in order.
std::vector<at::Tensor> TensorsOf(c10::ArrayRef<const c10::IValue> inputs) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& input : inputs) {
    if (input.isTensor() && input.toTensor().defined()) {
      tensors.push_back(input.toTensor());
    }
  }
  return tensors;
}

// Rows x inner times inner x columns, for each matrix of a batch.
int64_t ProductFlops(const at::Tensor& a, const at::Tensor& b) {
  return 2 * a.numel() * b.size(-1);
}

// `is_causal` is the only boolean that is true in any of these calls: the
// others request extra outputs, which training does not.
bool AnyTrue(c10::ArrayRef<const c10::IValue> inputs) {
  for (const c10::IValue& input : inputs) {
    if (input.isBool() && input.toBool()) return true;
  }
  return false;
}

// Scores and weighted sum of batch x heads x tokens x width.
int64_t AttentionFlops(const at::Tensor& q, const at::Tensor& k, bool causal) {
  const int64_t batch = q.size(0) * q.size(1);
  const int64_t pairs =
      causal ? q.size(2) * (q.size(2) + 1) / 2 : q.size(2) * k.size(2);
  return 4 * batch * pairs * q.size(3);
}

struct Found {
  int64_t flops = 0;
  at::Tensor operand;
};

Found FlopsOf(const std::string& name,
              c10::ArrayRef<const c10::IValue> inputs) {
  const std::vector<at::Tensor> tensors = TensorsOf(inputs);
  if (name == "mm" || name == "bmm" || name == "mv") {
    if (tensors.size() < 2) return {};
    if (name == "mv") return {2 * tensors[0].numel(), tensors[0]};
    return {ProductFlops(tensors[0], tensors[1]), tensors[0]};
  }
  if (name == "addmm" || name == "baddbmm") {
    if (tensors.size() < 3) return {};
    return {ProductFlops(tensors[1], tensors[2]), tensors[1]};
  }
  // The unfused implementation of attention consists of products, which are
  // counted.
  if (!StartsWith(name, "_scaled_dot_product_") ||
      name.find("_math") != std::string::npos) {
    return {};
  }
  const bool backward = name.find("backward") != std::string::npos;
  // Backward takes the gradient first.
  const size_t first = backward ? 1 : 0;
  if (tensors.size() < first + 2) return {};
  const int64_t forward =
      AttentionFlops(tensors[first], tensors[first + 1], AnyTrue(inputs));
  return {backward ? 2 * forward : forward, tensors[first]};
}

std::unique_ptr<at::ObserverContext> OnCall(const at::RecordFunction& call) {
  constexpr char kPrefix[] = "aten::";
  std::string name = call.name();
  if (!StartsWith(name, kPrefix)) return nullptr;
  name = name.substr(sizeof(kPrefix) - 1);
  const Found found = FlopsOf(name, call.inputs());
  if (found.flops == 0) return nullptr;
  State& state = TheState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.count.flops += found.flops;
  state.count.flops_by_op[name] += found.flops;
  ++state.count.products_by_type[TypeName(found.operand.scalar_type())];
  return nullptr;
}

}  // namespace

OpCounter::OpCounter() {
  {
    const std::lock_guard<std::mutex> lock(TheState().mutex);
    TheState().count = OpCount();
  }
  handle_ = at::addGlobalCallback(
      at::RecordFunctionCallback(OnCall).needsInputs(true).scopes(
          {at::RecordScope::FUNCTION}));
}

OpCounter::~OpCounter() { at::removeCallback(handle_); }

OpCount OpCounter::Count() const {
  const std::lock_guard<std::mutex> lock(TheState().mutex);
  return TheState().count;
}

}  // namespace feedrate
