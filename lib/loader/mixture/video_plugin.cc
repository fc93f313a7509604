#include "lib/loader/mixture/video_plugin.h"

#include <algorithm>

#include "absl/status/status.h"
#include "lib/media/video/timed_reader.h"

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
