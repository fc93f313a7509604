#include "lib/loader/mixture/video_frames.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/loader/mixture/video_library.h"

namespace feedrate {
namespace {

// Neither a JPEG nor a PNG begins like this.
constexpr absl::string_view kMark("\0video", 6);
// Videos that a decoder keeps open. Blocks draw from few episodes at a time.
constexpr size_t kMostOpen = 4;
// A decoder keeps at most 16 frames that others depend on, in half the bytes of
// RGB, and some more while it works.
constexpr int64_t kFramesPerVideo = 12;
constexpr int64_t kVideoBytes = int64_t{4} << 20;

}  // namespace

std::string VideoFrameName(absl::string_view path, double seconds) {
  char bytes[sizeof(seconds)];
  std::memcpy(bytes, &seconds, sizeof(seconds));
  return absl::StrCat(kMark, absl::string_view(bytes, sizeof(bytes)), path);
}

bool IsVideoFrame(absl::string_view frame) {
  return absl::StartsWith(frame, kMark);
}

struct VideoFrames::Open {
  std::string path;
  std::unique_ptr<void, void (*)(void*)> video;
  int height = 0;
  int width = 0;
};

VideoFrames::VideoFrames() = default;
VideoFrames::~VideoFrames() = default;

absl::StatusOr<ImageView> VideoFrames::Decode(absl::string_view frame) {
  double seconds = 0;
  if (frame.size() < kMark.size() + sizeof(seconds)) {
    return absl::InvalidArgumentError("the name of a video's frame is cut off");
  }
  std::memcpy(&seconds, frame.data() + kMark.size(), sizeof(seconds));
  const std::string path(frame.substr(kMark.size() + sizeof(seconds)));
  RETURN_IF_ERROR(TheVideoLibrary().status());
  const VideoLibrary& plugin = *TheVideoLibrary();
  char error[512] = {};
  const auto failed = [&] {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", error));
  };
  const auto found =
      std::find_if(open_.begin(), open_.end(),
                   [&](const Open& one) { return one.path == path; });
  if (found != open_.end()) {
    std::rotate(open_.begin(), found, found + 1);
  } else {
    int height = 0;
    int width = 0;
    void* const video =
        plugin.open(path.c_str(), &height, &width, error, sizeof(error));
    if (video == nullptr) return failed();
    if (open_.size() == kMostOpen) open_.pop_back();
    open_.insert(open_.begin(),
                 Open{path, {video, plugin.close}, height, width});
    const int64_t bytes =
        kVideoBytes + kFramesPerVideo * 3 * int64_t{height} * width;
    bound_bytes_ = std::max<int64_t>(bound_bytes_, kMostOpen * bytes);
  }
  const Open& open = open_.front();
  pixels_.resize(size_t{3} * open.height * open.width);
  if (plugin.read(open.video.get(), seconds, pixels_.data(), error,
                  sizeof(error))) {
    return ImageView{pixels_.data(), open.height, open.width, 3};
  }
  const absl::Status status = failed();
  // Its state is not known.
  open_.erase(open_.begin());
  return status;
}

}  // namespace feedrate
