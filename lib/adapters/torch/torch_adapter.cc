#include "lib/adapters/torch/torch_adapter.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/stack.h>
#include <c10/core/InferenceMode.h>
#include <torch/version.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/torch/make_op.h"
#include "lib/adapters/torch/op.h"
#include "lib/adapters/torch/torch_images.h"
#include "lib/adapters/torch/torch_probe.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/adapters/worker/params.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

// Every frame of a clip by itself, all with one draw of parameters.
class TorchClipTransform : public PreparedTransform {
 public:
  TorchClipTransform(TorchOp op, const Corpus& corpus, TorchPlace place)
      : op_(std::move(op)), probe_(std::move(place.probe)) {
    inputs_.reserve(corpus.size());
    for (int64_t i = 0; i < corpus.size(); ++i) {
      const ItemView item = corpus.item(i);
      const at::Tensor clip = at::from_blob(
          const_cast<void*>(item.data),
          {item.frames, item.channels, item.height, item.width}, at::kByte);
      inputs_.push_back(clip.to(place.device));
    }
  }

  DeviceProbe* device() override { return probe_.get(); }
  DeviceBytes BytesOf(int64_t item) override {
    return {static_cast<int64_t>(inputs_[item].nbytes()),
            static_cast<int64_t>(output_.nbytes())};
  }

  void Seed(uint64_t seed) override { random_ = Random(seed); }

  void Run(int64_t item) override {
    const c10::InferenceMode inference;
    // What draws from torch's own generator is to draw the same for each frame
    // too.
    const uint64_t seed = random_.Next();
    const Random drawn = random_;
    frames_.clear();
    for (int64_t i = 0; i < inputs_[item].size(0); ++i) {
      random_ = drawn;
      at::manual_seed(seed);
      frames_.push_back(op_(inputs_[item][i], &random_));
    }
    output_ = at::stack(frames_);
  }

  absl::StatusOr<Output> RunForOutput(int64_t item) override {
    Run(item);
    if (!output_.is_contiguous() || output_.scalar_type() != at::kByte) {
      return absl::InternalError("an output is not contiguous bytes");
    }
    Output output;
    shown_ = output_.cpu();
    output.data = shown_.const_data_ptr();
    output.bytes = static_cast<int64_t>(shown_.nbytes());
    output.dtype = "uint8";
    output.layout = "TCHW";
    output.shape = output_.sizes().vec();
    return output;
  }

 private:
  TorchOp op_;
  Random random_;
  std::unique_ptr<DeviceProbe> probe_;
  std::vector<at::Tensor> inputs_;
  std::vector<at::Tensor> frames_;
  at::Tensor output_;
  at::Tensor shown_;
};

absl::Status CheckCorpus(const Corpus& corpus) {
  if (corpus.dtype() != DType::kUint8 || corpus.layout() != Layout::kChw) {
    return absl::InvalidArgumentError("torch needs a corpus of uint8 CHW");
  }
  for (int64_t i = 0; i < corpus.size(); ++i) {
    if ((corpus.item(i).frames > 1) != (corpus.item(0).frames > 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("torch needs images or clips; item ", i,
                       " is not what the first is"));
    }
  }
  return absl::OkStatus();
}

void SetThreads(const TransformSpec& spec) {
  if (spec.torch_intra_op > 0) at::set_num_threads(spec.torch_intra_op);
  // May be set once in a process, so not without need.
  if (spec.torch_inter_op > 0 &&
      spec.torch_inter_op != at::get_num_interop_threads()) {
    at::set_num_interop_threads(spec.torch_inter_op);
  }
}

}  // namespace

TorchAdapter::TorchAdapter() : TorchAdapter(MakeTorchProbe, "cuda:0") {}

std::string TorchAdapter::version() const { return TORCH_VERSION; }

int TorchAdapter::threads() const { return at::get_num_threads(); }

absl::StatusOr<std::unique_ptr<PreparedTransform>> TorchAdapter::Prepare(
    const TransformSpec& spec, const Corpus& corpus) {
  TorchPlace place;
  if (spec.device == "cuda") {
    ASSIGN_OR_RETURN(place.probe, make_probe_());
    place.device = c10::Device(device_);
  } else if (!spec.device.empty() && spec.device != "cpu") {
    return absl::InvalidArgumentError(
        absl::StrCat("torch runs on cpu or cuda, not on ", spec.device));
  }
  RETURN_IF_ERROR(CheckCorpus(corpus));
  SetThreads(spec);
  ASSIGN_OR_RETURN(TorchOp op, MakeTorchOp(spec));
  if (corpus.item(0).frames > 1) {
    return std::make_unique<TorchClipTransform>(std::move(op), corpus,
                                                std::move(place));
  }
  return MakeTorchImages({std::move(op), MakeTorchBatchOp(spec)}, corpus,
                         spec.batch, std::move(place));
}

}  // namespace feedrate
