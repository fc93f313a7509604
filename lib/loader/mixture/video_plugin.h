// The functions of libfeedrate_frames.so: a TimedReader
// (lib/media/video/timed_reader.h) for programs that do not link FFmpeg. An
// error is a text, cut to the size of its buffer.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// Null on failure.
void* feedrate_video_open(const char* path, int* height, int* width,
                          char* error, size_t error_size);
// Writes height x width x 3 bytes. False on failure.
bool feedrate_video_read(void* video, double seconds, uint8_t* rgb, char* error,
                         size_t error_size);
void feedrate_video_close(void* video);

}  // extern "C"
