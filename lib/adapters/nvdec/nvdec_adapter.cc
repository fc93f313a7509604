#include "lib/adapters/nvdec/nvdec_adapter.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <stdexcept>

#include "lib/adapters/cuda/cuda_probe.h"
#include "lib/base/status_macros.h"
#include "lib/media/video/nvdec/nvdec_reader.h"
#include "lib/ops/cuda/cuda_device.h"

namespace feedrate {
namespace {

// The probe for kernels, plus the memory of decoder sessions.
class NvdecProbe : public DeviceProbe {
 public:
  // Both must outlive it.
  NvdecProbe(CudaProbe* probe, const DeviceBlock* frames)
      : probe_(*probe), frames_(*frames) {}

  void Flush() override { probe_.Flush(); }
  void Begin() override { probe_.Begin(); }
  double End() override { return probe_.End(); }
  void ResetPeaks() override { taken_.Reset(); }
  Memory Peaks() override { return {frames_.bytes(), taken_.Look()}; }
  double CopyBytesPerSecond() override { return probe_.CopyBytesPerSecond(); }
  std::string pci_bus_id() const override { return probe_.pci_bus_id(); }

 private:
  CudaProbe& probe_;
  const DeviceBlock& frames_;
  TakenMemory taken_;
};

class NvdecDecoder : public PreparedTransform {
 public:
  explicit NvdecDecoder(const std::vector<SourceFile>& files) : files_(files) {}

  absl::Status Load() {
    ASSIGN_OR_RETURN(events_, CudaProbe::Create(&own_));
    ASSIGN_OR_RETURN(engine_rate_, EngineRate(files_, 1));
    probe_.emplace(events_.get(), &frames_);
    ASSIGN_OR_RETURN(reader_, NvdecReader::Create(events_->stream()));
    return absl::OkStatus();
  }

  // Nothing is drawn.
  void Seed(uint64_t seed) override {}

  void Run(int64_t item) override {
    const absl::Status decoded = Decode(files_[item]);
    if (decoded.ok()) return;
    throw std::runtime_error(
        absl::StrCat(files_[item].path, ": ", decoded.message()));
  }

  absl::StatusOr<Output> RunForOutput(int64_t item) override {
    Run(item);
    const auto count = static_cast<int64_t>(files_[item].frames.size());
    shown_.resize(count * FrameBytesOf(info_));
    RETURN_IF_ERROR(
        CudaStatus(cudaMemcpy(shown_.data(), frames_.data(), shown_.size(),
                              cudaMemcpyDeviceToHost),
                   "cudaMemcpy"));
    Output output;
    output.data = shown_.data();
    output.bytes = static_cast<int64_t>(shown_.size());
    output.dtype = "uint8";
    output.layout = "THWC";
    output.shape = {count, info_.height, info_.width, 3};
    return output;
  }

  DeviceProbe* device() override { return &*probe_; }
  double EngineItemsPerSecond() override { return engine_rate_; }
  int64_t CpuFrames() override { return reader_->cpu_frames(); }

 private:
  absl::Status Decode(const SourceFile& file) {
    ASSIGN_OR_RETURN(info_, reader_->Open({file.path, {}}));
    RETURN_IF_ERROR(frames_.Reserve(static_cast<int64_t>(file.frames.size()) *
                                    FrameBytesOf(info_)));
    return reader_->Read(file.frames, frames_.data());
  }

  const std::vector<SourceFile>& files_;
  DeviceMemory own_;
  std::unique_ptr<CudaProbe> events_;
  // The last clip, as RGB.
  DeviceBlock frames_;
  std::optional<NvdecProbe> probe_;
  std::unique_ptr<NvdecReader> reader_;
  double engine_rate_ = 0;
  VideoInfo info_;
  std::vector<uint8_t> shown_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PreparedTransform>> MakeNvdecDecoder(
    const std::vector<SourceFile>& files) {
  auto decoder = std::make_unique<NvdecDecoder>(files);
  RETURN_IF_ERROR(decoder->Load());
  return decoder;
}

}  // namespace feedrate
