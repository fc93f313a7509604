#include "lib/loader/mixture/video_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/base/private_folder.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

constexpr char kLibrary[] = "libfeedrate_frames.so";

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

// The program, or the library that has this code: another program, such as
// Python, may have loaded it.
absl::StatusOr<std::string> OwnPath() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&OpenClip), &info) != 0 &&
      info.dli_fname != nullptr && absl::EndsWith(info.dli_fname, ".so")) {
    return std::string(info.dli_fname);
  }
  return ProgramPath();
}

// Beside our own file: `../lib` where programs are installed, or where Bazel
// builds it.
absl::StatusOr<VideoLibrary> Load() {
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
      VideoLibrary found;
      if (Find(library, "feedrate_video_open", &found.open) &&
          Find(library, "feedrate_video_read", &found.read) &&
          Find(library, "feedrate_video_close", &found.close) &&
          Find(library, "feedrate_clip_open", &found.open_clip) &&
          Find(library, "feedrate_clip_times", &found.times_of_clip) &&
          Find(library, "feedrate_clip_read", &found.read_clip) &&
          Find(library, "feedrate_clip_close", &found.close_clip)) {
        Find(library, "feedrate_nvdec_new", &found.new_nvdec);
        Find(library, "feedrate_nvdec_open", &found.open_nvdec);
        Find(library, "feedrate_nvdec_times", &found.times_of_nvdec);
        Find(library, "feedrate_nvdec_read", &found.read_nvdec);
        Find(library, "feedrate_nvdec_delete", &found.delete_nvdec);
        return found;
      }
      reason = absl::StrCat(path, " is of another version");
    }
  }
  return absl::UnavailableError(
      absl::StrCat("videos need ", kLibrary, ", and ", reason,
                   "; build //lib/loader/mixture:feedrate_frames, or install "
                   "feedrate with `video`"));
}

}  // namespace

absl::Status CheckLibrary(const struct stat& program, const std::string& path,
                          const struct stat& library) {
  if (library.st_uid == program.st_uid) return absl::OkStatus();
  return CheckPrivate(path, library);
}

const absl::StatusOr<VideoLibrary>& TheVideoLibrary() {
  static const auto& library = *new absl::StatusOr<VideoLibrary>(Load());
  return library;
}

namespace {

VideoInfo InfoOf(const feedrate_clip_facts& facts) {
  return {facts.height, facts.width, facts.frames, facts.codec};
}

class LibraryClipReader : public ClipReader {
 public:
  LibraryClipReader(const VideoLibrary& library, void* clip,
                    const feedrate_clip_facts& facts)
      : library_(library),
        clip_(clip, library.close_clip),
        info_(InfoOf(facts)) {}

  const VideoInfo& info() const override { return info_; }

  absl::StatusOr<std::vector<double>> Times() override {
    char error[512] = {};
    std::vector<double> times(info_.frames);
    if (library_.times_of_clip(clip_.get(), times.data(), error,
                               sizeof(error))) {
      return times;
    }
    return absl::InvalidArgumentError(error);
  }

  absl::Status Read(const std::vector<int64_t>& frames, uint8_t* rgb) override {
    const int64_t bytes = FrameBytes();
    const auto take = [&](int64_t first, int64_t count, const uint8_t* pixels) {
      for (int64_t i = first; i < first + count; ++i) {
        std::copy_n(pixels, bytes, rgb + i * bytes);
      }
    };
    return ReadEach(frames, {0, 0, info_.width, info_.height}, take);
  }

  absl::Status ReadEach(const std::vector<int64_t>& frames,
                        const FrameWindow& window,
                        const TakeFrame& take) override {
    char error[512] = {};
    const int32_t edges[] = {window.x, window.y, window.width, window.height};
    const auto pass_on = [](void* self, int64_t first, int64_t count,
                            const uint8_t* rgb) {
      (*static_cast<const TakeFrame*>(self))(first, count, rgb);
    };
    if (library_.read_clip(clip_.get(), frames.data(),
                           static_cast<int64_t>(frames.size()), edges, pass_on,
                           const_cast<TakeFrame*>(&take), error,
                           sizeof(error))) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(error);
  }

 private:
  const VideoLibrary& library_;
  const std::unique_ptr<void, void (*)(void*)> clip_;
  const VideoInfo info_;
};

class LibraryNvdecReader : public DeviceClipReader {
 public:
  LibraryNvdecReader(const VideoLibrary& library, void* reader)
      : library_(library), reader_(reader, library.delete_nvdec) {}

  absl::StatusOr<VideoInfo> Open(const VideoPlace& place) override {
    feedrate_clip_facts facts = {};
    RETURN_IF_ERROR(Called([&](char* error, size_t size) {
      return library_.open_nvdec(
          reader_.get(), place.path.empty() ? nullptr : place.path.c_str(),
          place.bytes.data(), place.bytes.size(), &facts, error, size);
    }));
    frames_ = facts.frames;
    return InfoOf(facts);
  }

  absl::StatusOr<std::vector<double>> Times() override {
    std::vector<double> times(frames_);
    RETURN_IF_ERROR(Called([&](char* error, size_t size) {
      return library_.times_of_nvdec(reader_.get(), frames_, times.data(),
                                     error, size);
    }));
    return times;
  }

  absl::Status Read(const std::vector<int64_t>& frames, uint8_t* rgb) override {
    return Called([&](char* error, size_t size) {
      return library_.read_nvdec(reader_.get(), frames.data(),
                                 static_cast<int64_t>(frames.size()), rgb,
                                 &cpu_frames_, error, size);
    });
  }

  int64_t cpu_frames() const override { return cpu_frames_; }

  // Calls `function`, which returns a code and writes the message.
  template <typename Function>
  static absl::Status Called(const Function& function) {
    char error[512] = {};
    const int code = function(error, sizeof(error));
    return absl::Status(static_cast<absl::StatusCode>(code), error);
  }

 private:
  const VideoLibrary& library_;
  const std::unique_ptr<void, void (*)(void*)> reader_;
  int64_t frames_ = 0;
  int64_t cpu_frames_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ClipReader>> OpenClip(const char* path,
                                                     absl::string_view bytes) {
  RETURN_IF_ERROR(TheVideoLibrary().status());
  const VideoLibrary& library = *TheVideoLibrary();
  char error[512] = {};
  feedrate_clip_facts facts = {};
  void* const clip = library.open_clip(path, bytes.data(), bytes.size(), &facts,
                                       error, sizeof(error));
  if (clip == nullptr) return absl::InvalidArgumentError(error);
  return std::make_unique<LibraryClipReader>(library, clip, facts);
}

absl::StatusOr<std::unique_ptr<DeviceClipReader>> NewNvdecReader(
    int device, CUstream_st* stream) {
  RETURN_IF_ERROR(TheVideoLibrary().status());
  const VideoLibrary& library = *TheVideoLibrary();
  if (library.new_nvdec == nullptr) {
    return absl::UnavailableError(
        absl::StrCat(kLibrary,
                     " was built without CUDA; build it with "
                     "--config=cuda"));
  }
  void* reader = nullptr;
  RETURN_IF_ERROR(LibraryNvdecReader::Called([&](char* error, size_t size) {
    return library.new_nvdec(device, stream, &reader, error, size);
  }));
  return std::make_unique<LibraryNvdecReader>(library, reader);
}

}  // namespace feedrate
