#include "lib/media/video/clip_reader.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/base/status_macros.h"
#include "lib/media/video/av.h"
#include "lib/media/video/av_decoder.h"
#include "lib/media/video/clip_walk.h"
#include "lib/media/video/frame_decoder.h"
#include "lib/media/video/frame_rgb.h"
#include "lib/media/video/packet_list.h"

namespace feedrate {
namespace {

class AvClipReader : public ClipReader {
 public:
  static absl::StatusOr<std::unique_ptr<ClipReader>> Open(
      const VideoPlace& place, int threads) {
    auto reader = std::make_unique<AvClipReader>();
    const auto find_decoder = [&](const AVCodecParameters& parameters)
        -> absl::StatusOr<FrameDecoder*> {
      ASSIGN_OR_RETURN(reader->decoder_, AvDecoder::Open(parameters, threads));
      return reader->decoder_.get();
    };
    ASSIGN_OR_RETURN(reader->walk_, ClipWalk::Open(place, find_decoder));
    return reader;
  }

  const VideoInfo& info() const override { return walk_->info(); }

  absl::Status Read(const std::vector<int64_t>& frames, uint8_t* rgb) override {
    const int64_t bytes = FrameBytes();
    const auto put = [&](const DecodedFrame& frame, size_t first,
                         size_t count) -> absl::Status {
      uint8_t* const out = rgb + static_cast<int64_t>(first) * bytes;
      RETURN_IF_ERROR(converter_.Convert(*frame.on_host, out));
      for (size_t i = 1; i < count; ++i)
        std::memcpy(out + i * bytes, out, bytes);
      return absl::OkStatus();
    };
    return walk_->Read(frames, put);
  }

 private:
  std::unique_ptr<AvDecoder> decoder_;
  std::unique_ptr<ClipWalk> walk_;
  FrameRgb converter_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ClipReader>> ClipReader::Open(
    const std::string& path, int threads) {
  return AvClipReader::Open({path, {}}, threads);
}

absl::StatusOr<std::unique_ptr<ClipReader>> ClipReader::OpenBytes(
    absl::string_view bytes, int threads) {
  return AvClipReader::Open({"", bytes}, threads);
}

std::string ClipReaderVersion() { return AvVersion(); }

}  // namespace feedrate
