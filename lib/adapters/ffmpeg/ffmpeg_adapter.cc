#include "lib/adapters/ffmpeg/ffmpeg_adapter.h"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/ffmpeg/clip_loader.h"
#include "lib/base/status_macros.h"
#include "lib/media/video/clip_reader.h"

namespace feedrate {
namespace {

class ClipDecoder : public PreparedTransform {
 public:
  ClipDecoder(int threads, const std::vector<SourceFile>& files)
      : threads_(threads), files_(files) {}

  // There is nothing to draw.
  void Seed(uint64_t seed) override {}

  void Run(int64_t item) override {
    const absl::Status decoded = Decode(files_[item]);
    if (decoded.ok()) return;
    throw std::runtime_error(
        absl::StrCat(files_[item].path, ": ", decoded.message()));
  }

  absl::StatusOr<Output> RunForOutput(int64_t item) override {
    Run(item);
    Output output;
    output.data = rgb_.data();
    output.bytes = static_cast<int64_t>(rgb_.size());
    output.dtype = "uint8";
    output.layout = "THWC";
    output.shape = {static_cast<int64_t>(files_[item].frames.size()), height_,
                    width_, 3};
    return output;
  }

 private:
  absl::Status Decode(const SourceFile& file) {
    ASSIGN_OR_RETURN(const std::unique_ptr<ClipReader> reader,
                     ClipReader::Open(file.path, threads_));
    height_ = reader->info().height;
    width_ = reader->info().width;
    // The memory of the last clip, which nobody needs any more.
    rgb_.resize(file.frames.size() * reader->FrameBytes());
    return reader->Read(file.frames, rgb_.data());
  }

  const int threads_;
  const std::vector<SourceFile>& files_;
  std::vector<uint8_t> rgb_;
  int height_ = 0;
  int width_ = 0;
};

}  // namespace

std::string FfmpegAdapter::version() const { return ClipReaderVersion(); }

absl::StatusOr<std::unique_ptr<PreparedTransform>> FfmpegAdapter::Prepare(
    const TransformSpec& spec, const Corpus& corpus) {
  return absl::UnimplementedError("ffmpeg is a decoder; it has no transforms");
}

absl::StatusOr<std::unique_ptr<PreparedTransform>>
FfmpegAdapter::PrepareDecoder(const TransformSpec& spec,
                              const std::vector<SourceFile>& files) {
  for (const SourceFile& file : files) {
    if (!file.frames.empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(file.path, ": its clip has no frames"));
  }
  threads_ = spec.decode->threads;
  return std::make_unique<ClipDecoder>(threads_, files);
}

absl::StatusOr<std::unique_ptr<PreparedLoader>> FfmpegAdapter::PrepareLoader(
    const TransformSpec& spec, const LoaderInput& input) {
  threads_ = spec.loader->workers;
  return ClipLoader::Make(spec, input);
}

}  // namespace feedrate
