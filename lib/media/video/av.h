// FFmpeg's objects with owners. For lib/media/video alone.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_AV_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_AV_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/frame.h>
#include <libswscale/swscale.h>
}

namespace feedrate {

struct AvDeleter {
  void operator()(AVFormatContext* context) const {
    avformat_close_input(&context);
  }
  void operator()(AVCodecContext* context) const {
    avcodec_free_context(&context);
  }
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
  void operator()(SwsContext* context) const { sws_freeContext(context); }
};

template <typename T>
using AvPtr = std::unique_ptr<T, AvDeleter>;

// `Invalid data found when processing input` for a negative result.
std::string AvErrorText(int result);

// FFmpeg writes to standard error what it thinks of a file; the reason of a
// failure is in the status instead. Before anything else, as often as liked.
void SilenceAv();

// Such as `5.1.9-0+deb12u1`: of the libraries that run.
std::string AvVersion();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_AV_H_
