#include "lib/model/torch/op_counter.h"

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <mutex>
#include <vector>

namespace feedrate {
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

// The tensors among the inputs, in their order.
std::vector<at::Tensor> TensorsOf(c10::ArrayRef<const c10::IValue> inputs) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& input : inputs) {
    if (input.isTensor() && input.toTensor().defined()) {
      tensors.push_back(input.toTensor());
    }
  }
  return tensors;
}

// Rows x inner times inner x columns, for each of a batch.
int64_t ProductFlops(const at::Tensor& a, const at::Tensor& b) {
  return 2 * a.numel() * b.size(-1);
}

// `is_causal` is the only truth value that is true in any of these calls: the
// others ask for extra outputs, which training does not.
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
  // The plain way to attention is made of products, which are counted.
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
