#include <algorithm>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/media/video/demux.h"

namespace feedrate {
namespace {

// FFmpeg's names. The first two do not change packets that already have start
// codes.
const char* FilterOf(AVCodecID codec) {
  switch (codec) {
    case AV_CODEC_ID_H264:
      return "h264_mp4toannexb";
    case AV_CODEC_ID_HEVC:
      return "hevc_mp4toannexb";
    case AV_CODEC_ID_MPEG4:
      return "mpeg4_unpack_bframes";
    default:
      return "null";
  }
}

absl::Status Failed(absl::string_view what, int result) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": ", AvErrorText(result)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<PacketFilter>> PacketFilter::Create(
    const AVCodecParameters& parameters) {
  std::unique_ptr<PacketFilter> filter = absl::WrapUnique(new PacketFilter());
  const char* const name = FilterOf(parameters.codec_id);
  const AVBitStreamFilter* const kind = av_bsf_get_by_name(name);
  if (kind == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("this FFmpeg has no bitstream filter ", name));
  }
  AVBSFContext* context = nullptr;
  int result = av_bsf_alloc(kind, &context);
  if (result < 0) return absl::ResourceExhaustedError(AvErrorText(result));
  filter->context_.reset(context);
  result = avcodec_parameters_copy(context->par_in, &parameters);
  if (result < 0) return absl::ResourceExhaustedError(AvErrorText(result));
  result = av_bsf_init(context);
  if (result < 0) return Failed("its codec's parameters are wrong", result);
  filter->in_.reset(av_packet_alloc());
  filter->out_.reset(av_packet_alloc());
  return filter;
}

absl::string_view PacketFilter::header() const {
  const AVCodecParameters& parameters = *context_->par_out;
  absl::string_view header(reinterpret_cast<const char*>(parameters.extradata),
                           parameters.extradata_size);
  // For AV1, containers put four bytes before the data of the stream.
  constexpr size_t kAv1Head = 4;
  switch (parameters.codec_id) {
    case AV_CODEC_ID_H264:
    case AV_CODEC_ID_HEVC:
    case AV_CODEC_ID_MPEG4:
      return header;
    case AV_CODEC_ID_AV1:
      return header.substr(std::min(kAv1Head, header.size()));
    default:
      return {};
  }
}

absl::Status PacketFilter::Receive(const Emit& emit) {
  while (true) {
    const int received = av_bsf_receive_packet(context_.get(), out_.get());
    if (received == AVERROR(EAGAIN) || received == AVERROR_EOF) {
      return absl::OkStatus();
    }
    if (received < 0) return Failed("a packet is damaged", received);
    const absl::Status emitted = emit(*out_);
    av_packet_unref(out_.get());
    RETURN_IF_ERROR(emitted);
  }
}

absl::Status PacketFilter::Send(const AVPacket& packet, const Emit& emit) {
  // The filter takes over the packet that it gets, so give it a reference.
  int result = av_packet_ref(in_.get(), &packet);
  if (result < 0) return absl::ResourceExhaustedError(AvErrorText(result));
  result = av_bsf_send_packet(context_.get(), in_.get());
  if (result < 0) {
    av_packet_unref(in_.get());
    return Failed(absl::StrCat("packet ", packet.dts, " is damaged"), result);
  }
  return Receive(emit);
}

absl::Status PacketFilter::Drain(const Emit& emit) {
  const int result = av_bsf_send_packet(context_.get(), nullptr);
  if (result < 0) return Failed("its last frames are damaged", result);
  RETURN_IF_ERROR(Receive(emit));
  av_bsf_flush(context_.get());
  return absl::OkStatus();
}

}  // namespace feedrate
