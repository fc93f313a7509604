#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/media/video/av.h"
#include "lib/media/video/moving_scene.h"
#include "lib/media/video/synthetic_video.h"

extern "C" {
#include <libavutil/display.h>
#include <libavutil/mem.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
}

namespace feedrate {
namespace {

constexpr int kFramesPerSecond = 25;
constexpr int kBufferBytes = 1 << 15;

absl::Status Failed(absl::string_view what, int result) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": ", AvErrorText(result)));
}

absl::Status Check(absl::string_view what, int result) {
  return result < 0 ? Failed(what, result) : absl::OkStatus();
}

struct MuxerDeleter {
  void operator()(AVFormatContext* muxer) const {
    muxer->pb = nullptr;
    avformat_free_context(muxer);
  }
};

// A file in memory that FFmpeg writes, forwards and backwards.
class MemoryFile {
 public:
  MemoryFile() {
    auto* buffer = static_cast<unsigned char*>(av_malloc(kBufferBytes));
    io_ =
        avio_alloc_context(buffer, kBufferBytes, 1, this, nullptr, Write, Seek);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() {
    av_freep(&io_->buffer);
    avio_context_free(&io_);
  }
  AVIOContext* io() { return io_; }
  std::string Finish() {
    avio_flush(io_);
    return std::move(bytes_);
  }

 private:
  static int Write(void* opaque, uint8_t* data, int size) {
    auto* self = static_cast<MemoryFile*>(opaque);
    const size_t end = self->at_ + size;
    if (end > self->bytes_.size()) self->bytes_.resize(end);
    std::memcpy(&self->bytes_[self->at_], data, size);
    self->at_ = end;
    return size;
  }
  static int64_t Seek(void* opaque, int64_t offset, int whence) {
    auto* self = static_cast<MemoryFile*>(opaque);
    const auto size = static_cast<int64_t>(self->bytes_.size());
    if (whence == AVSEEK_SIZE) return size;
    if (whence == SEEK_CUR) offset += static_cast<int64_t>(self->at_);
    if (whence == SEEK_END) offset += size;
    if (offset < 0) return AVERROR(EINVAL);
    self->at_ = static_cast<size_t>(offset);
    return offset;
  }

  AVIOContext* io_ = nullptr;
  std::string bytes_;
  size_t at_ = 0;
};

// One video on its way into a file in memory.
class Encoder {
 public:
  Encoder(const EncodeOptions& options, uint64_t seed)
      : options_(options), scene_(seed, options.width, options.height) {}

  absl::StatusOr<std::string> Run() {
    RETURN_IF_ERROR(OpenCodec());
    RETURN_IF_ERROR(OpenMuxer());
    for (int64_t i = 0; i < options_.frames; ++i) {
      RETURN_IF_ERROR(PaintFrame(i));
      RETURN_IF_ERROR(Encode(frame_.get()));
    }
    RETURN_IF_ERROR(Encode(nullptr));
    RETURN_IF_ERROR(Check("trailer", av_write_trailer(muxer_.get())));
    return file_.Finish();
  }

 private:
  absl::Status OpenCodec() {
    const AVCodec* codec = avcodec_find_encoder_by_name(options_.codec.c_str());
    if (codec == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("this FFmpeg has no encoder ", options_.codec));
    }
    codec_.reset(avcodec_alloc_context3(codec));
    codec_->width = options_.width;
    codec_->height = options_.height;
    codec_->pix_fmt = av_get_pix_fmt(options_.pixel_format.c_str());
    codec_->time_base = {1, kFramesPerSecond};
    codec_->framerate = {kFramesPerSecond, 1};
    codec_->gop_size = options_.key_interval;
    codec_->max_b_frames = options_.b_frames;
    // Rate control and threads make bytes depend on the machine.
    codec_->thread_count = 1;
    codec_->flags |= AV_CODEC_FLAG_BITEXACT;
    const bool is_x264 = options_.codec == "libx264";
    if (is_x264) {
      av_opt_set(codec_->priv_data, "crf", "23", 0);
      av_opt_set(codec_->priv_data, "preset", "veryfast", 0);
    } else {
      codec_->flags |= AV_CODEC_FLAG_QSCALE;
      codec_->global_quality = FF_QP2LAMBDA * 5;
    }
    if (options_.container == "mp4" || options_.container == "mov" ||
        options_.container == "mkv") {
      codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    }
    return Check(absl::StrCat("encoder ", options_.codec),
                 avcodec_open2(codec_.get(), codec, nullptr));
  }

  absl::Status OpenMuxer() {
    AVFormatContext* muxer = nullptr;
    const std::string name = absl::StrCat("video.", options_.container);
    RETURN_IF_ERROR(Check(absl::StrCat("container ", options_.container),
                          avformat_alloc_output_context2(
                              &muxer, nullptr, nullptr, name.c_str())));
    muxer_.reset(muxer);
    muxer->flags |= AVFMT_FLAG_BITEXACT;
    muxer->pb = file_.io();
    stream_ = avformat_new_stream(muxer, nullptr);
    RETURN_IF_ERROR(Check("stream", avcodec_parameters_from_context(
                                        stream_->codecpar, codec_.get())));
    stream_->time_base = codec_->time_base;
    stream_->avg_frame_rate = codec_->framerate;
    if (options_.rotation != 0) {
      auto* matrix = reinterpret_cast<int32_t*>(av_stream_new_side_data(
          stream_, AV_PKT_DATA_DISPLAYMATRIX, 9 * sizeof(int32_t)));
      av_display_rotation_set(matrix, options_.rotation);
    }
    RETURN_IF_ERROR(Check("header", avformat_write_header(muxer, nullptr)));
    frame_.reset(av_frame_alloc());
    packet_.reset(av_packet_alloc());
    return absl::OkStatus();
  }

  absl::Status PaintFrame(int64_t number) {
    // A new one each time: the encoder may hold the last.
    av_frame_unref(frame_.get());
    frame_->format = codec_->pix_fmt;
    frame_->width = options_.width;
    frame_->height = options_.height;
    RETURN_IF_ERROR(Check("frame", av_frame_get_buffer(frame_.get(), 0)));
    frame_->pts = options_.variable_rate ? number + number / 2 : number;
    const AVPixFmtDescriptor* format = av_pix_fmt_desc_get(codec_->pix_fmt);
    for (int plane = 0; plane < 3; ++plane) PaintPlane(*format, number, plane);
    return absl::OkStatus();
  }

  void PaintPlane(const AVPixFmtDescriptor& format, int64_t number, int plane) {
    const int shift_x = plane == 0 ? 0 : format.log2_chroma_w;
    const int shift_y = plane == 0 ? 0 : format.log2_chroma_h;
    const int depth = format.comp[plane].depth;
    const int columns = -((-options_.width) >> shift_x);
    const int rows = -((-options_.height) >> shift_y);
    for (int row = 0; row < rows; ++row) {
      uint8_t* line = frame_->data[plane] + row * frame_->linesize[plane];
      for (int column = 0; column < columns; ++column) {
        const MovingScene::Yuv pixel =
            scene_.At(number, column << shift_x, row << shift_y);
        const uint8_t value = plane == 0   ? pixel.y
                              : plane == 1 ? pixel.u
                                           : pixel.v;
        if (depth == 8) {
          line[column] = value;
        } else {
          reinterpret_cast<uint16_t*>(line)[column] =
              static_cast<uint16_t>(value << (depth - 8));
        }
      }
    }
  }

  // Null: the end.
  absl::Status Encode(AVFrame* frame) {
    if (frame != nullptr && codec_->flags & AV_CODEC_FLAG_QSCALE) {
      frame->quality = codec_->global_quality;
    }
    RETURN_IF_ERROR(Check("encoding", avcodec_send_frame(codec_.get(), frame)));
    while (true) {
      const int received = avcodec_receive_packet(codec_.get(), packet_.get());
      if (received == AVERROR(EAGAIN) || received == AVERROR_EOF) {
        return absl::OkStatus();
      }
      RETURN_IF_ERROR(Check("encoding", received));
      av_packet_rescale_ts(packet_.get(), codec_->time_base,
                           stream_->time_base);
      packet_->stream_index = stream_->index;
      RETURN_IF_ERROR(Check(
          "writing", av_interleaved_write_frame(muxer_.get(), packet_.get())));
    }
  }

  const EncodeOptions& options_;
  const MovingScene scene_;
  AvPtr<AVCodecContext> codec_;
  MemoryFile file_;
  std::unique_ptr<AVFormatContext, MuxerDeleter> muxer_;
  AVStream* stream_ = nullptr;
  AvPtr<AVFrame> frame_;
  AvPtr<AVPacket> packet_;
};

}  // namespace

absl::StatusOr<std::string> EncodeVideo(const EncodeOptions& options,
                                        uint64_t seed) {
  SilenceAv();
  return Encoder(options, seed).Run();
}

}  // namespace feedrate
