#include "lib/adapters/cuda/cuda_adapter.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/cuda/cuda_probe.h"
#include "lib/base/status_macros.h"
#include "lib/ops/cuda/cuda_device.h"
#include "lib/ops/cuda/fused_op.h"
#include "lib/ops/cuda/kernels/fused.h"

namespace feedrate {
namespace {

using fused::ByteImage;

// Kernels read whole words around an image.
constexpr int64_t kAlign = 16;

int64_t Aligned(int64_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

void Check(cudaError_t error, const char* call) {
  const absl::Status status = CudaStatus(error, call);
  if (!status.ok()) throw std::runtime_error(std::string(status.message()));
}

// Calls that may be in flight: more than a sample has.
constexpr int64_t kSlots = 256;
constexpr int64_t kSlotAlign = 256;

// Small blocks of one size, used in turn, for copies to the device: pinned, so
// that the copy is part of the stream and nobody waits. Not thread-safe.
class StagingRing {
 public:
  struct Slot {
    uint8_t* host = nullptr;
    uint8_t* device = nullptr;
  };

  // `memory` must outlive it.
  static absl::StatusOr<std::unique_ptr<StagingRing>> Create(
      int64_t slot_bytes, cudaStream_t stream, DeviceMemory* memory);
  ~StagingRing();

  // Returns a block that the device no longer uses. Waits for the stream if all
  // blocks were used since the last wait.
  Slot Next();
  // Enqueues the copy of its first `bytes` bytes.
  cudaError_t Send(const Slot& slot, int64_t bytes);

 private:
  StagingRing(int64_t slot_bytes, cudaStream_t stream)
      : slot_bytes_(slot_bytes), stream_(stream) {}

  const int64_t slot_bytes_;
  const cudaStream_t stream_;
  uint8_t* host_ = nullptr;
  uint8_t* device_ = nullptr;
  int64_t used_ = 0;
};

absl::StatusOr<std::unique_ptr<StagingRing>> StagingRing::Create(
    int64_t slot_bytes, cudaStream_t stream, DeviceMemory* memory) {
  const int64_t each = (slot_bytes + kSlotAlign - 1) / kSlotAlign * kSlotAlign;
  std::unique_ptr<StagingRing> ring =
      absl::WrapUnique(new StagingRing(each, stream));
  ASSIGN_OR_RETURN(ring->device_,
                   memory->Allocate(each * kSlots, "parameters"));
  void* host = nullptr;
  RETURN_IF_ERROR(
      CudaStatus(cudaMallocHost(&host, each * kSlots), "cudaMallocHost"));
  ring->host_ = static_cast<uint8_t*>(host);
  return ring;
}

StagingRing::~StagingRing() {
  if (host_ != nullptr) cudaFreeHost(host_);
}

StagingRing::Slot StagingRing::Next() {
  if (used_ == kSlots) {
    cudaStreamSynchronize(stream_);
    used_ = 0;
  }
  const int64_t at = used_++ * slot_bytes_;
  return {host_ + at, device_ + at};
}

cudaError_t StagingRing::Send(const Slot& slot, int64_t bytes) {
  return cudaMemcpyAsync(slot.device, slot.host, bytes, cudaMemcpyHostToDevice,
                         stream_);
}

class CudaTransform : public PreparedTransform {
 public:
  CudaTransform(FusedOp op, int64_t batch)
      : op_(std::move(op)), batch_(batch), packer_(&op_) {}

  absl::Status Load(const Corpus& corpus);

  void Seed(uint64_t seed) override { random_ = Random(seed); }
  void Run(int64_t item) override { Call(item, 1, item + 1); }
  void RunChunk(int64_t first, int64_t count, int64_t num_items) override;
  absl::StatusOr<Output> RunForOutput(int64_t item) override;
  DeviceProbe* device() override { return probe_.get(); }
  DeviceBytes BytesOf(int64_t item) override;

 private:
  void Call(int64_t first, int64_t count, int64_t num_items);
  cudaError_t Launch(const ByteImage* in, const void* params, int count,
                     const ByteImage* out, FusedSize largest,
                     const void* host_params);
  const FusedOp op_;
  // Items per call.
  const int64_t batch_;
  Random random_;
  DeviceMemory memory_;
  std::unique_ptr<CudaProbe> probe_;
  std::unique_ptr<StagingRing> staging_;
  CallPacker packer_;
  // Memory for the outputs of a call.
  uint8_t* outputs_ = nullptr;
  std::vector<uint8_t> shown_;
};

absl::Status CudaTransform::Load(const Corpus& corpus) {
  ASSIGN_OR_RETURN(probe_, CudaProbe::Create(&memory_));
  int64_t input_bytes = 0;
  int64_t output_bytes = 0;
  for (int64_t i = 0; i < corpus.size(); ++i) {
    input_bytes += Aligned(corpus.item(i).bytes);
    const ItemView item = corpus.item(i);
    const FusedSize out = op_.OutSize(
        {static_cast<int>(item.height), static_cast<int>(item.width)});
    output_bytes =
        std::max(output_bytes, Aligned(int64_t{3} * out.height * out.width));
  }
  ASSIGN_OR_RETURN(uint8_t * at,
                   memory_.Allocate(input_bytes + kAlign,
                                    absl::StrCat(corpus.size(), " inputs")));
  for (int64_t i = 0; i < corpus.size(); ++i) {
    const ItemView item = corpus.item(i);
    RETURN_IF_ERROR(CudaStatus(
        cudaMemcpy(at, item.data, item.bytes, cudaMemcpyHostToDevice),
        "cudaMemcpy"));
    packer_.AddInput({at, static_cast<int>(item.height),
                      static_cast<int>(item.width), 3 * item.width});
    at += Aligned(item.bytes);
  }
  ASSIGN_OR_RETURN(outputs_,
                   memory_.Allocate(batch_ * output_bytes + kAlign,
                                    absl::StrCat(batch_, " outputs")));
  packer_.SetOutputs(outputs_, output_bytes);
  ASSIGN_OR_RETURN(staging_, StagingRing::Create(packer_.BlockBytes(batch_),
                                                 probe_->stream(), &memory_));
  return absl::OkStatus();
}

cudaError_t CudaTransform::Launch(const ByteImage* in, const void* params,
                                  int count, const ByteImage* out,
                                  FusedSize largest, const void* host_params) {
  const cudaStream_t stream = probe_->stream();
  switch (op_.kernel) {
    case FusedOp::Kernel::kWarp:
      return WarpBytes(in, static_cast<const fused::Projection*>(params), count,
                       op_.edge, out, largest.height, largest.width, stream);
    case FusedOp::Kernel::kJitter: {
      const auto* const jitters =
          static_cast<const fused::Jitter*>(host_params);
      return JitterBytes(
          in, static_cast<const fused::Jitter*>(params), count,
          std::any_of(jitters, jitters + count, fused::HasContrast), out,
          stream);
    }
    case FusedOp::Kernel::kBlur:
      return BlurBytes(in, static_cast<const float*>(params), count, op_.radius,
                       out, largest.height, largest.width, stream);
    case FusedOp::Kernel::kTone:
      return ToneBytes(in, op_.tone, static_cast<const float*>(params), count,
                       out, stream);
    case FusedOp::Kernel::kEqualize:
      return EqualizeBytes(in, count, out, stream);
  }
  return cudaErrorInvalidValue;
}

void CudaTransform::Call(int64_t first, int64_t count, int64_t num_items) {
  const StagingRing::Slot slot = staging_->Next();
  const CallPacker::Packed packed =
      packer_.Pack(first, count, num_items, &random_, slot.host);
  Check(staging_->Send(slot, packed.bytes), "cudaMemcpyAsync");
  const auto* in = reinterpret_cast<const ByteImage*>(slot.device);
  const int64_t params = 2 * count;
  Check(Launch(in, in + params, static_cast<int>(count), in + count,
               packed.largest,
               reinterpret_cast<const ByteImage*>(slot.host) + params),
        "launch");
}

void CudaTransform::RunChunk(int64_t first, int64_t count, int64_t num_items) {
  for (int64_t done = 0; done < count; done += batch_) {
    Call((first + done) % num_items, std::min(batch_, count - done), num_items);
  }
}

DeviceBytes CudaTransform::BytesOf(int64_t item) {
  const FusedSize in = packer_.in_size(item);
  const FusedSize out = packer_.out_size(item);
  return {int64_t{3} * in.height * in.width,
          int64_t{3} * out.height * out.width};
}

absl::StatusOr<Output> CudaTransform::RunForOutput(int64_t item) {
  Run(item);
  const FusedSize size = packer_.out_size(item);
  shown_.resize(size_t{3} * size.height * size.width);
  RETURN_IF_ERROR(CudaStatus(cudaStreamSynchronize(probe_->stream()),
                             "cudaStreamSynchronize"));
  RETURN_IF_ERROR(CudaStatus(cudaMemcpy(shown_.data(), outputs_, shown_.size(),
                                        cudaMemcpyDeviceToHost),
                             "cudaMemcpy"));
  Output output;
  output.data = shown_.data();
  output.bytes = static_cast<int64_t>(shown_.size());
  output.dtype = "uint8";
  output.layout = "HWC";
  output.shape = {size.height, size.width, 3};
  return output;
}

absl::Status CheckCorpus(const Corpus& corpus) {
  for (int64_t i = 0; i < corpus.size(); ++i) {
    if (corpus.item(i).channels != 3 || corpus.item(i).frames > 1) {
      return absl::InvalidArgumentError(
          "the kernels of cuda are for images of three channels");
    }
  }
  if (corpus.dtype() != DType::kUint8 || corpus.layout() != Layout::kHwc) {
    return absl::InvalidArgumentError("cuda needs a corpus of uint8 HWC");
  }
  return absl::OkStatus();
}

}  // namespace

std::string CudaAdapter::version() const {
  return absl::StrCat(CUDART_VERSION / 1000, ".", CUDART_VERSION % 1000 / 10);
}

absl::StatusOr<std::unique_ptr<PreparedTransform>> CudaAdapter::Prepare(
    const PrepareCommand& spec, const Corpus& corpus) {
  if (spec.device() != "cuda") {
    return absl::InvalidArgumentError(absl::StrCat(
        "the kernels of cuda run on cuda, not on ", spec.device()));
  }
  RETURN_IF_ERROR(CheckCorpus(corpus));
  ASSIGN_OR_RETURN(FusedOp op, MakeFusedOp(TransformOf(spec)));
  auto transform = std::make_unique<CudaTransform>(
      std::move(op), std::max<int64_t>(spec.batch(), 1));
  RETURN_IF_ERROR(transform->Load(corpus));
  return transform;
}

}  // namespace feedrate
