#include "lib/model/torch/profiler.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>

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
  return ProfilerConfig(ProfilerState::KINETO, /*report_input_shapes=*/true,
                        /*profile_memory=*/false, /*with_stack=*/false,
                        /*with_flops=*/false, /*with_modules=*/false,
                        experimental);
}

std::set<ActivityType> Activities(bool cuda) {
  if (cuda) return {ActivityType::CPU, ActivityType::CUDA};
  return {ActivityType::CPU};
}

using Kernels = std::map<std::array<std::string, 3>, KernelTime>;

// Shapes of many tensors, as of an optimizer, say nothing beyond this length.
constexpr size_t kLongestShapes = 60;

std::string ShapesOf(const kineto::KinetoEvent& event) {
  std::string text;
  if (!event.hasShapes()) return text;
  for (const std::vector<int64_t>& shape : event.shapes()) {
    if (shape.empty()) continue;
    text += text.empty() ? "" : ", ";
    for (size_t i = 0; i < shape.size(); ++i) {
      text += (i == 0 ? "" : "x") + std::to_string(shape[i]);
    }
    if (text.size() > kLongestShapes) {
      text.resize(kLongestShapes);
      return text + "...";
    }
  }
  return text;
}

bool IsOnDevice(const kineto::KinetoEvent& event) {
  return event.deviceType() == c10::DeviceType::CUDA;
}

uint64_t EndNs(const kineto::KinetoEvent& event) {
  return event.startNs() + event.durationNs();
}

// Finds the part of the step that an event belongs to.
class Parts {
 public:
  explicit Parts(const kineto::ProfilerResult& result) {
    for (const kineto::KinetoEvent& event : result.events()) {
      if (IsOnDevice(event)) continue;
      if (event.scope() == static_cast<uint8_t>(at::RecordScope::USER_SCOPE)) {
        on_host_.push_back(&event);
        names_.insert(event.name());
      } else if (event.correlationId() != 0) {
        operations_[event.correlationId()] = &event;
      }
    }
    for (const kineto::KinetoEvent& event : result.events()) {
      if (IsOnDevice(event) && IsRange(event)) on_device_.push_back(&event);
    }
  }

  // Whether it is a range of NamedRange. Kineto shows ranges on the device too,
  // by their names only.
  bool IsRange(const kineto::KinetoEvent& event) const {
    return names_.count(event.name()) > 0;
  }

  // The operation that launched a kernel, on whichever thread. Null if unknown.
  const kineto::KinetoEvent* Launcher(const kineto::KinetoEvent& kernel) const {
    const auto found = operations_.find(kernel.linkedCorrelationId());
    return found == operations_.end() ? nullptr : found->second;
  }

  // The backward pass runs on threads of its own while the range waits for
  // them, so time decides, not the thread.
  std::string PartOf(const kineto::KinetoEvent& event) const {
    const auto& ranges = IsOnDevice(event) ? on_device_ : on_host_;
    const kineto::KinetoEvent* innermost = nullptr;
    for (const kineto::KinetoEvent* range : ranges) {
      if (range->startNs() <= event.startNs() &&
          event.startNs() < EndNs(*range) &&
          (innermost == nullptr || range->startNs() > innermost->startNs())) {
        innermost = range;
      }
    }
    if (innermost == nullptr) return "other";
    const std::string name = innermost->name();
    return name == "optimizer_step" ? "optimizer" : name;
  }

 private:
  std::vector<const kineto::KinetoEvent*> on_host_;
  std::vector<const kineto::KinetoEvent*> on_device_;
  std::set<std::string> names_;
  std::map<uint64_t, const kineto::KinetoEvent*> operations_;
};

void AddTime(const std::string& part, const std::string& name,
             const std::string& shapes, int64_t ns, Kernels* times) {
  KernelTime& time = (*times)[{part, name, shapes}];
  time.part = part;
  time.name = name;
  time.shapes = shapes;
  time.total_s += ns * 1e-9;
  ++time.calls;
}

// Adds the time of each event of a thread without that of nested events.
void AddSelfTimes(std::vector<const kineto::KinetoEvent*> events,
                  const Parts& parts, Kernels* times) {
  std::sort(events.begin(), events.end(),
            [](const kineto::KinetoEvent* a, const kineto::KinetoEvent* b) {
              return a->startNs() != b->startNs() ? a->startNs() < b->startNs()
                                                  : EndNs(*a) > EndNs(*b);
            });
  struct Open {
    const kineto::KinetoEvent* event;
    int64_t self_ns;
  };
  std::vector<Open> open;
  const auto close = [&] {
    const kineto::KinetoEvent& event = *open.back().event;
    AddTime(parts.PartOf(event), event.name(), ShapesOf(event),
            open.back().self_ns, times);
    open.pop_back();
  };
  for (const kineto::KinetoEvent* event : events) {
    while (!open.empty() && EndNs(*open.back().event) <= event->startNs()) {
      close();
    }
    const auto length = static_cast<int64_t>(event->durationNs());
    if (!open.empty()) open.back().self_ns -= length;
    open.push_back({event, length});
  }
  while (!open.empty()) close();
}

void AddKernels(const kineto::ProfilerResult& result, bool cuda,
                Kernels* times) {
  const Parts parts(result);
  std::map<uint64_t, std::vector<const kineto::KinetoEvent*>> by_thread;
  for (const kineto::KinetoEvent& event : result.events()) {
    if (cuda != IsOnDevice(event) || parts.IsRange(event)) continue;
    if (!cuda) {
      by_thread[event.startThreadId()].push_back(&event);
      continue;
    }
    const kineto::KinetoEvent* const launcher = parts.Launcher(event);
    AddTime(parts.PartOf(launcher == nullptr ? event : *launcher), event.name(),
            launcher == nullptr ? "" : ShapesOf(*launcher), event.durationNs(),
            times);
  }
  for (const auto& thread : by_thread) {
    AddSelfTimes(thread.second, parts, times);
  }
}

}  // namespace

int64_t TrainProfiler::steps() const {
  return int64_t{options_.repeat} *
         (options_.wait + options_.warmup + options_.active);
}

void TrainProfiler::BeforeStep(int64_t step) {
  if (step > steps()) return;
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

void TrainProfiler::Finish() {
  if (running_) Stop(/*keep=*/true);
}

void TrainProfiler::Start() {
  const std::set<ActivityType> activities = Activities(options_.cuda);
  kineto::prepareProfiler(Config(), activities);
  kineto::enableProfiler(Config(), activities);
  running_ = true;
}

void TrainProfiler::Stop(bool keep) {
  running_ = false;
  const std::unique_ptr<kineto::ProfilerResult> result =
      kineto::disableProfiler();
  if (!keep) return;
  AddKernels(*result, options_.cuda, &kernels_);
  if (options_.kind.empty()) return;
  const std::string number = std::to_string(files_.size());
  const std::string rank = std::to_string(options_.rank);
  std::string file = options_.prefix +
                     (options_.rank > 0 ? ".rank" + rank : "") + "." + number +
                     ".json";
  if (options_.kind == "tb") {
    file = options_.prefix + "/rank" + rank + "." + number + ".pt.trace.json";
  }
  // A folder that cannot be made is a file that cannot be written.
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(),
                                      ignored);
  result->save(file);
  TORCH_CHECK(access(file.c_str(), R_OK) == 0, file, ": cannot be written");
  files_.push_back(file);
}

std::vector<KernelTime> TrainProfiler::TopKernels() const {
  std::map<std::string, double> parts;
  for (const auto& entry : kernels_) {
    parts[entry.second.part] += entry.second.total_s;
  }
  std::vector<KernelTime> top;
  for (const auto& entry : kernels_) {
    top.push_back(entry.second);
    const double total_s = parts[entry.second.part];
    if (total_s > 0) top.back().share = entry.second.total_s / total_s;
  }
  std::stable_sort(top.begin(), top.end(),
                   [](const KernelTime& a, const KernelTime& b) {
                     return a.total_s > b.total_s;
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

// Products of a convolution per output of each channel, which is how often the
// weights are used: of a transposed one per input. `stride`, `padding` and
// `dilation` have one number per dimension, or one for all.
int64_t ConvolutionUses(const at::Tensor& input, const at::Tensor& weight,
                        c10::ArrayRef<const c10::IValue> inputs) {
  const std::vector<int64_t> stride = inputs[3].toIntVector();
  const std::vector<int64_t> padding = inputs[4].toIntVector();
  const std::vector<int64_t> dilation = inputs[5].toIntVector();
  const bool is_transposed = inputs[6].toBool();
  const auto at = [](const std::vector<int64_t>& values, int64_t i) {
    return values.size() == 1 ? values[0] : values[i];
  };
  int64_t uses = input.size(0);
  for (int64_t i = 0; i < input.dim() - 2; ++i) {
    const int64_t size = input.size(i + 2);
    const int64_t reach = at(dilation, i) * (weight.size(i + 2) - 1) + 1;
    uses *= is_transposed
                ? size
                : (size + 2 * at(padding, i) - reach) / at(stride, i) + 1;
  }
  return uses;
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
  if (name == "convolution" && inputs.size() > 6 && tensors.size() > 1) {
    return {2 * ConvolutionUses(tensors[0], tensors[1], inputs) *
                tensors[1].numel(),
            tensors[0]};
  }
  // Gradient of the output, input, weight; which gradients it makes comes last.
  if (name == "convolution_backward" && inputs.size() > 10 &&
      tensors.size() > 2) {
    const at::Tensor& used = inputs[7].toBool() ? tensors[1] : tensors[0];
    const int64_t uses = used.numel() / used.size(1);
    const c10::List<bool> wanted = inputs[10].toBoolList();
    return {2 * uses * tensors[2].numel() * (wanted[0] + wanted[1]),
            tensors[1]};
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
