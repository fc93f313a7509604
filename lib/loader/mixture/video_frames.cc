#include "lib/loader/mixture/video_frames.h"

#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/base/private_folder.h"
#include "lib/base/status_macros.h"
#include "lib/loader/mixture/video_plugin.h"

namespace feedrate {
namespace {

// Neither a JPEG nor a PNG begins like this.
constexpr absl::string_view kMark("\0video", 6);
constexpr char kLibrary[] = "libfeedrate_frames.so";
// Videos that a decoder keeps open. Blocks draw from few episodes at a time.
constexpr size_t kMostOpen = 4;
// A decoder keeps at most 16 frames that others depend on, in half the bytes of
// RGB, and some more while it works.
constexpr int64_t kFramesPerVideo = 12;
constexpr int64_t kVideoBytes = int64_t{4} << 20;

struct Plugin {
  decltype(&feedrate_video_open) open = nullptr;
  decltype(&feedrate_video_read) read = nullptr;
  decltype(&feedrate_video_close) close = nullptr;
};

// The program, or the library that has this code: another program, such as
// Python, may have loaded it.
absl::StatusOr<std::string> OwnPath() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&IsVideoFrame), &info) != 0 &&
      info.dli_fname != nullptr && absl::EndsWith(info.dli_fname, ".so")) {
    return std::string(info.dli_fname);
  }
  return ProgramPath();
}

// Beside our own file: `../lib` where programs are installed, or where Bazel
// builds it.
absl::StatusOr<Plugin> LoadPlugin() {
  ASSIGN_OR_RETURN(std::string folder, OwnPath());
  struct stat program, info;
  if (stat(folder.c_str(), &program) != 0) {
    return absl::ErrnoToStatus(errno, folder);
  }
  std::string reason = "there is none";
  for (folder = ParentFolder(folder); folder.size() > 1;
       folder = ParentFolder(folder)) {
    for (const char* const below : {"lib", "lib/loader/mixture"}) {
      const std::string path = JoinPath(JoinPath(folder, below), kLibrary);
      if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
      // A folder above the program may be everybody's, such as /tmp.
      if (const absl::Status status = CheckLibrary(program, path, info);
          !status.ok()) {
        reason = std::string(status.message());
        continue;
      }
      void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) {
        reason = dlerror();
        continue;
      }
      Plugin plugin;
      plugin.open = reinterpret_cast<decltype(plugin.open)>(
          dlsym(library, "feedrate_video_open"));
      plugin.read = reinterpret_cast<decltype(plugin.read)>(
          dlsym(library, "feedrate_video_read"));
      plugin.close = reinterpret_cast<decltype(plugin.close)>(
          dlsym(library, "feedrate_video_close"));
      if (plugin.open != nullptr && plugin.read != nullptr &&
          plugin.close != nullptr) {
        return plugin;
      }
      reason = absl::StrCat(path, " is of another version");
    }
  }
  return absl::UnavailableError(
      absl::StrCat("frames of videos need ", kLibrary, ", and ", reason,
                   "; build //lib/loader/mixture:feedrate_frames, or install "
                   "feedrate with `video`"));
}

const absl::StatusOr<Plugin>& ThePlugin() {
  static const auto& plugin = *new absl::StatusOr<Plugin>(LoadPlugin());
  return plugin;
}

}  // namespace

absl::Status CheckLibrary(const struct stat& program, const std::string& path,
                          const struct stat& library) {
  if (library.st_uid == program.st_uid) return absl::OkStatus();
  return CheckPrivate(path, library);
}

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
  RETURN_IF_ERROR(ThePlugin().status());
  const Plugin& plugin = *ThePlugin();
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
