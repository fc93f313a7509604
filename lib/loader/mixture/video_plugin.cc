#include "lib/loader/mixture/video_plugin.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/media/video/clip_reader.h"
#include "lib/media/video/timed_reader.h"

using ::feedrate::ClipReader;
using ::feedrate::TimedReader;

namespace {

void Tell(const absl::Status& status, char* error, size_t error_size) {
  const absl::string_view text = status.message();
  const size_t size = std::min(text.size(), error_size - 1);
  std::copy_n(text.data(), size, error);
  error[size] = 0;
}

}  // namespace

void* feedrate_video_open(const char* path, int* height, int* width,
                          char* error, size_t error_size) {
  auto reader = TimedReader::Open(path);
  if (!reader.ok()) {
    Tell(reader.status(), error, error_size);
    return nullptr;
  }
  *height = (*reader)->height();
  *width = (*reader)->width();
  return reader->release();
}

bool feedrate_video_read(void* video, double seconds, uint8_t* rgb, char* error,
                         size_t error_size) {
  const absl::Status read =
      static_cast<TimedReader*>(video)->Read(seconds, rgb);
  if (!read.ok()) Tell(read, error, error_size);
  return read.ok();
}

void feedrate_video_close(void* video) {
  delete static_cast<TimedReader*>(video);
}

void* feedrate_clip_open(const char* path, const char* bytes, size_t size,
                         feedrate_clip_facts* facts, char* error,
                         size_t error_size) {
  auto reader = path != nullptr
                    ? ClipReader::Open(path, /*threads=*/1)
                    : ClipReader::OpenBytes(absl::string_view(bytes, size), 1);
  if (!reader.ok()) {
    Tell(reader.status(), error, error_size);
    return nullptr;
  }
  const feedrate::VideoInfo& info = (*reader)->info();
  *facts = {info.height, info.width, info.frames, {}};
  info.codec.copy(facts->codec, sizeof(facts->codec) - 1);
  return reader->release();
}

bool feedrate_clip_times(void* clip, double* times, char* error,
                         size_t error_size) {
  const auto found = static_cast<ClipReader*>(clip)->Times();
  if (!found.ok()) {
    Tell(found.status(), error, error_size);
    return false;
  }
  std::copy(found->begin(), found->end(), times);
  return true;
}

bool feedrate_clip_read(void* clip, const int64_t* frames, int64_t count,
                        const int32_t* window,
                        void (*take)(void* self, int64_t first, int64_t count,
                                     const uint8_t* rgb),
                        void* self, char* error, size_t error_size) {
  const absl::Status read = static_cast<ClipReader*>(clip)->ReadEach(
      {frames, frames + count}, {window[0], window[1], window[2], window[3]},
      [&](int64_t first, int64_t places, const uint8_t* rgb) {
        take(self, first, places, rgb);
      });
  if (!read.ok()) Tell(read, error, error_size);
  return read.ok();
}

void feedrate_clip_close(void* clip) { delete static_cast<ClipReader*>(clip); }
