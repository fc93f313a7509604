#include "lib/loader/mixture/video_plugin.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/media/video/clip_reader.h"
#ifdef FEEDRATE_CUDA
#include <cuda_runtime_api.h>

#include "lib/media/video/nvdec/nvdec_reader.h"
#endif
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

feedrate_clip_facts FactsOf(const feedrate::VideoInfo& info) {
  feedrate_clip_facts facts = {info.height, info.width, info.frames, {}};
  info.codec.copy(facts.codec, sizeof(facts.codec) - 1);
  return facts;
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
  *facts = FactsOf((*reader)->info());
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

#ifdef FEEDRATE_CUDA

using ::feedrate::DeviceClipReader;

int feedrate_nvdec_new(int device, CUstream_st* stream, void** reader,
                       char* error, size_t error_size) {
  // This library has a CUDA runtime of its own.
  cudaSetDevice(device);
  auto made = feedrate::NvdecReader::Create(stream);
  *reader = nullptr;
  if (made.ok()) *reader = static_cast<DeviceClipReader*>(made->release());
  Tell(made.status(), error, error_size);
  return static_cast<int>(made.status().code());
}

int feedrate_nvdec_open(void* reader, const char* path, const char* bytes,
                        size_t size, feedrate_clip_facts* facts, char* error,
                        size_t error_size) {
  const auto info = static_cast<DeviceClipReader*>(reader)->Open(
      {path == nullptr ? "" : path, absl::string_view(bytes, size)});
  if (info.ok()) *facts = FactsOf(*info);
  Tell(info.status(), error, error_size);
  return static_cast<int>(info.status().code());
}

int feedrate_nvdec_times(void* reader, int64_t frames, double* times,
                         char* error, size_t error_size) {
  const auto found = static_cast<DeviceClipReader*>(reader)->Times();
  if (found.ok()) std::copy_n(found->begin(), frames, times);
  Tell(found.status(), error, error_size);
  return static_cast<int>(found.status().code());
}

int feedrate_nvdec_read(void* reader, const int64_t* frames, int64_t count,
                        uint8_t* rgb, int64_t* cpu_frames, char* error,
                        size_t error_size) {
  auto* const decoder = static_cast<DeviceClipReader*>(reader);
  const absl::Status read = decoder->Read({frames, frames + count}, rgb);
  *cpu_frames = decoder->cpu_frames();
  Tell(read, error, error_size);
  return static_cast<int>(read.code());
}

void feedrate_nvdec_delete(void* reader) {
  delete static_cast<DeviceClipReader*>(reader);
}

#endif
