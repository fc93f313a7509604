#include "lib/adapters/faulty/faulty_adapter.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/adapters/faulty/faults.h"
#include "lib/adapters/worker/params.h"
#include "lib/adapters/worker/random.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

enum When { kPrepare, kCall, kOutput };

// What goes wrong, and before which call.
struct Plan {
  std::string name;
  Fault fault = nullptr;
  FaultSettings settings;
  When when = kCall;
  int64_t at = 0;
  // A way to behave in every call, not an accident in one.
  bool always = false;
};

absl::StatusOr<Plan> ReadPlan(const TransformSpec& spec) {
  Plan plan;
  plan.name = spec.native_op;
  ASSIGN_OR_RETURN(plan.fault, FindFault(plan.name));
  plan.always = plan.name == "slow" || plan.name == "busy";
  Params params(spec.params);
  plan.settings = ReadFaultSettings(plan.name, &params);
  if (params.Has("when")) {
    plan.when = static_cast<When>(params.Word(
        "when", {{"prepare", kPrepare}, {"call", kCall}, {"output", kOutput}}));
  }
  if (params.Has("at")) {
    Random random(spec.seed);
    plan.at = random.Integer(params.DrawInteger("at"));
  }
  RETURN_IF_ERROR(params.Finish());
  return plan;
}

class FaultyTransform : public PreparedTransform {
 public:
  FaultyTransform(Plan plan, const Corpus& corpus)
      : plan_(std::move(plan)), corpus_(corpus) {}

  void Seed(uint64_t seed) override {}

  void Run(int64_t item) override {
    MaybeFault(kCall, &calls_);
    Work(item);
  }

  absl::StatusOr<Output> RunForOutput(int64_t item) override {
    MaybeFault(kOutput, &outputs_);
    Work(item);
    const ItemView input = corpus_.item(item);
    Output output;
    output.data = pixels_.data();
    output.bytes = static_cast<int64_t>(pixels_.size());
    output.dtype = "uint8";
    output.layout = "HWC";
    output.shape = {input.height, input.width, input.channels};
    if (plan_.name == "bad_output") output.shape[0] += 1;
    return output;
  }

 private:
  void MaybeFault(When now, int64_t* count) {
    const int64_t call = (*count)++;
    if (plan_.when == now && (call == plan_.at || plan_.always)) {
      plan_.fault(plan_.settings);
    }
  }

  void Work(int64_t item) {
    const ItemView input = corpus_.item(item);
    const auto* bytes = static_cast<const uint8_t*>(input.data);
    pixels_.assign(bytes, bytes + input.bytes);
    if (plan_.name == "noop") return;
    for (uint8_t& pixel : pixels_) pixel = 255 - pixel;
  }

  const Plan plan_;
  const Corpus& corpus_;
  std::vector<uint8_t> pixels_;
  int64_t calls_ = 0;
  int64_t outputs_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PreparedTransform>> FaultyAdapter::Prepare(
    const TransformSpec& spec, const Corpus& corpus) {
  ASSIGN_OR_RETURN(Plan plan, ReadPlan(spec));
  if (plan.when == kPrepare) plan.fault(plan.settings);
  return std::make_unique<FaultyTransform>(std::move(plan), corpus);
}

}  // namespace feedrate
