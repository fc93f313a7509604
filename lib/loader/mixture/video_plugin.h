// The functions of libfeedrate_frames.so: a TimedReader and a ClipReader
// (lib/media/video/timed_reader.h and clip_reader.h) for programs that do not
// link FFmpeg. An error is a text, cut to the size of its buffer.
#pragma once

#include <cstddef>
#include <cstdint>

// A CUDA stream, by the name that the driver and the runtime share.
struct CUstream_st;

extern "C" {

// Null on failure.
void* feedrate_video_open(const char* path, int* height, int* width,
                          char* error, size_t error_size);
// Writes height x width x 3 bytes. False on failure.
bool feedrate_video_read(void* video, double seconds, uint8_t* rgb, char* error,
                         size_t error_size);
void feedrate_video_close(void* video);

struct feedrate_clip_facts {
  int32_t height;
  int32_t width;
  int64_t frames;
  char codec[32];
};

// Opens the file `path` or, if `path` is null, the one in memory, which must
// outlive the reader. Null on failure.
void* feedrate_clip_open(const char* path, const char* bytes, size_t size,
                         feedrate_clip_facts* facts, char* error,
                         size_t error_size);
// As ClipReader::Times: writes a number for each frame. False on failure.
bool feedrate_clip_times(void* clip, double* times, char* error,
                         size_t error_size);
// As ClipReader::ReadEach; `window` is x, y, width and height. False on
// failure.
bool feedrate_clip_read(void* clip, const int64_t* frames, int64_t count,
                        const int32_t* window,
                        void (*take)(void* self, int64_t first, int64_t count,
                                     const uint8_t* rgb),
                        void* self, char* error, size_t error_size);
void feedrate_clip_close(void* clip);

// In a library that was built with --config=cuda: a DeviceClipReader
// (lib/media/video/nvdec/nvdec_reader.h). Functions return 0, or the number of
// an absl::StatusCode.

int feedrate_nvdec_new(int device, CUstream_st* stream, void** reader,
                       char* error, size_t error_size);
int feedrate_nvdec_open(void* reader, const char* path, const char* bytes,
                        size_t size, feedrate_clip_facts* facts, char* error,
                        size_t error_size);
int feedrate_nvdec_times(void* reader, int64_t frames, double* times,
                         char* error, size_t error_size);
int feedrate_nvdec_read(void* reader, const int64_t* frames, int64_t count,
                        uint8_t* rgb, int64_t* cpu_frames, char* error,
                        size_t error_size);
void feedrate_nvdec_delete(void* reader);

}  // extern "C"
