// For any bytes, reading a clip, or a frame by its time, ends, stays within its
// memory, and gives the frames or a reason.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/media/video/clip_reader.h"
#include "lib/media/video/clips.h"
#include "lib/media/video/timed_reader.h"

namespace {

void ReadByTime(absl::string_view bytes) {
  const auto reader = feedrate::TimedReader::OpenBytes(bytes);
  if (!reader.ok()) return;
  if (int64_t{(*reader)->height()} * (*reader)->width() > 1 << 16) return;
  std::vector<uint8_t> rgb((*reader)->FrameBytes());
  for (const double seconds : {0.04, 0.08, 0.0}) {
    const absl::Status read = (*reader)->Read(seconds, rgb.data());
    if (!read.ok() && read.message().empty()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using feedrate::ClipReader;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  ReadByTime(bytes);
  const auto reader = ClipReader::OpenBytes(bytes, 1);
  if (!reader.ok()) {
    if (reader.status().message().empty()) std::abort();
    return 0;
  }
  const feedrate::VideoInfo& info = (*reader)->info();
  if (info.frames < 1 || info.height < 1 || info.width < 1) std::abort();
  // Large videos are slow and add nothing.
  if (int64_t{info.height} * info.width > 1 << 16 || info.frames > 64) return 0;
  for (const auto rule :
       {feedrate::ClipRule::kUniform, feedrate::ClipRule::kConsecutive}) {
    const std::vector<int64_t> frames =
        feedrate::ClipFrames(rule, info.frames, 4, 1, 0);
    std::vector<uint8_t> rgb(frames.size() * (*reader)->FrameBytes());
    const absl::Status read = (*reader)->Read(frames, rgb.data());
    if (!read.ok() && read.message().empty()) std::abort();
  }
  return 0;
}
