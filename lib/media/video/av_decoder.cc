#include "lib/media/video/av_decoder.h"

#include <cstdint>
#include <memory>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/media/video/av.h"

namespace feedrate {
namespace {

absl::Status Failed(absl::string_view what, int result) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": ", AvErrorText(result)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<AvDecoder>> AvDecoder::Open(
    const AVCodecParameters& parameters, int threads) {
  const AVCodec* codec = avcodec_find_decoder(parameters.codec_id);
  if (codec == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no decoder for its codec, ",
                     avcodec_get_name(parameters.codec_id)));
  }
  std::unique_ptr<AvDecoder> decoder = absl::WrapUnique(new AvDecoder());
  AVCodecContext* const context = avcodec_alloc_context3(codec);
  decoder->context_.reset(context);
  decoder->frame_.reset(av_frame_alloc());
  int result = avcodec_parameters_to_context(context, &parameters);
  if (result < 0) return Failed("its codec's parameters are wrong", result);
  context->thread_count = threads;
  context->err_recognition = AV_EF_EXPLODE;
  result = avcodec_open2(context, codec, nullptr);
  if (result < 0) return Failed("its decoder cannot be opened", result);
  return decoder;
}

absl::Status AvDecoder::Receive(FrameSink* sink) {
  while (true) {
    const int received = avcodec_receive_frame(context_.get(), frame_.get());
    if (received == AVERROR(EAGAIN) || received == AVERROR_EOF) {
      return absl::OkStatus();
    }
    if (received < 0) return Failed("a frame is damaged", received);
    absl::Status taken;
    if (sink->Wants(frame_->pts)) {
      DecodedFrame frame;
      frame.width = frame_->width;
      frame.height = frame_->height;
      frame.is_damaged = frame_->flags & AV_FRAME_FLAG_CORRUPT ||
                         frame_->decode_error_flags != 0;
      frame.on_host = frame_.get();
      taken = sink->Take(frame);
    }
    av_frame_unref(frame_.get());
    RETURN_IF_ERROR(taken);
  }
}

absl::Status AvDecoder::Send(const AVPacket& packet, bool wanted,
                             FrameSink* sink) {
  context_->skip_frame = wanted ? AVDISCARD_DEFAULT : AVDISCARD_NONREF;
  const int sent = avcodec_send_packet(context_.get(), &packet);
  if (sent < 0 && sent != AVERROR_EOF) {
    return Failed(absl::StrCat("packet ", packet.dts, " is damaged"), sent);
  }
  return Receive(sink);
}

absl::Status AvDecoder::Drain(FrameSink* sink) {
  if (sink != nullptr) {
    context_->skip_frame = AVDISCARD_DEFAULT;
    const int sent = avcodec_send_packet(context_.get(), nullptr);
    if (sent < 0 && sent != AVERROR_EOF) {
      return Failed("its last frames are damaged", sent);
    }
    RETURN_IF_ERROR(Receive(sink));
  }
  avcodec_flush_buffers(context_.get());
  return absl::OkStatus();
}

}  // namespace feedrate
