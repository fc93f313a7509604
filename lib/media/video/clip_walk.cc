#include "lib/media/video/clip_walk.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/media/video/av.h"
#include "lib/media/video/packet_list.h"

namespace feedrate {
namespace {

// As with images.
constexpr int64_t kMaxPixels = int64_t{1} << 28;

absl::Status Failed(absl::string_view what, int result) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": ", AvErrorText(result)));
}

}  // namespace

absl::StatusOr<AvPtr<AVCodecContext>> OpenDecoder(
    const AVCodecParameters& parameters,
    const std::function<void(AVCodecContext*)>& configure) {
  const AVCodec* codec = avcodec_find_decoder(parameters.codec_id);
  if (codec == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no decoder for its codec, ",
                     avcodec_get_name(parameters.codec_id)));
  }
  if (int64_t{parameters.width} * parameters.height > kMaxPixels) {
    return absl::InvalidArgumentError(
        absl::StrCat("frames of ", parameters.width, "x", parameters.height,
                     " are too large"));
  }
  AvPtr<AVCodecContext> decoder(avcodec_alloc_context3(codec));
  int result = avcodec_parameters_to_context(decoder.get(), &parameters);
  if (result < 0) return Failed("its codec's parameters are wrong", result);
  decoder->thread_count = 1;
  decoder->err_recognition = AV_EF_EXPLODE;
  configure(decoder.get());
  result = avcodec_open2(decoder.get(), codec, nullptr);
  if (result < 0) return Failed("its decoder cannot be opened", result);
  return decoder;
}

absl::StatusOr<std::unique_ptr<ClipWalk>> ClipWalk::Open(
    const VideoPlace& place, const FindDecoder& find_decoder) {
  std::unique_ptr<ClipWalk> walk = absl::WrapUnique(new ClipWalk());
  ASSIGN_OR_RETURN(walk->packets_, PacketList::Open(place));
  const PacketList& packets = *walk->packets_;
  const AVCodecParameters& parameters = packets.parameters();
  ASSIGN_OR_RETURN(walk->decoder_, find_decoder(parameters));
  walk->frame_.reset(av_frame_alloc());
  walk->info_ = {parameters.height, parameters.width, packets.size(),
                 walk->decoder_->codec->name};
  if (!packets.ordered()) return walk;
  walk->shown_as_.resize(packets.size());
  for (int64_t i = 0; i < packets.size(); ++i) {
    walk->shown_as_[packets.PacketOf(i)] = i;
  }
  return walk;
}

bool ClipWalk::Wants(int64_t number) const {
  return std::binary_search(wanted_.begin(), wanted_.end(), number);
}

absl::Status ClipWalk::CheckNumbers(const std::vector<int64_t>& frames) const {
  for (size_t i = 0; i < frames.size(); ++i) {
    if (frames[i] < 0 || frames[i] >= info_.frames ||
        (i > 0 && frames[i] < frames[i - 1])) {
      return absl::InvalidArgumentError(
          absl::StrCat("frame ", frames[i], " was asked for; there are ",
                       info_.frames, ", to be named in order"));
    }
  }
  return absl::OkStatus();
}

absl::Status ClipWalk::Read(const std::vector<int64_t>& frames,
                            const Take& take) {
  RETURN_IF_ERROR(CheckNumbers(frames));
  wanted_ = frames;
  take_ = &take;
  missing_ = static_cast<int64_t>(frames.size());
  got_.assign(frames.size(), false);
  RETURN_IF_ERROR(packets_->ordered() ? ReadOrdered() : ReadCounting());
  if (missing_ == 0) return absl::OkStatus();
  const size_t at = std::find(got_.begin(), got_.end(), false) - got_.begin();
  return absl::InvalidArgumentError(absl::StrCat(
      "frame ", wanted_[at], " of ", info_.frames, " could not be decoded"));
}

absl::Status ClipWalk::Offer(const AVFrame& frame, int64_t number) {
  const auto [first, last] =
      std::equal_range(wanted_.begin(), wanted_.end(), number);
  if (first == last) return absl::OkStatus();
  if (frame.flags & AV_FRAME_FLAG_CORRUPT || frame.decode_error_flags != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame ", number, " is damaged"));
  }
  if (frame.width != info_.width || frame.height != info_.height) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame ", number, " is ", frame.width, "x", frame.height,
                     ", not ", info_.width, "x", info_.height));
  }
  const size_t at = first - wanted_.begin();
  const size_t count = last - first;
  if (got_[at]) return absl::OkStatus();
  RETURN_IF_ERROR((*take_)(frame, at, count));
  std::fill_n(got_.begin() + at, count, true);
  missing_ -= static_cast<int64_t>(count);
  return absl::OkStatus();
}

absl::Status ClipWalk::Feed(const AVPacket* packet) {
  const int sent = avcodec_send_packet(decoder_, packet);
  if (sent < 0 && sent != AVERROR_EOF) {
    return Failed(packet == nullptr
                      ? "its last frames are damaged"
                      : absl::StrCat("packet ", packet->pts, " is damaged"),
                  sent);
  }
  while (true) {
    const int received = avcodec_receive_frame(decoder_, frame_.get());
    if (received == AVERROR(EAGAIN) || received == AVERROR_EOF) {
      return absl::OkStatus();
    }
    if (received < 0) return Failed("a frame is damaged", received);
    const int64_t number = packets_->ordered()
                               ? (frame_->pts >= 0 && frame_->pts < info_.frames
                                      ? shown_as_[frame_->pts]
                                      : -1)
                               : counted_++;
    const absl::Status taken = Offer(*frame_, number);
    av_frame_unref(frame_.get());
    RETURN_IF_ERROR(taken);
  }
}

absl::Status ClipWalk::Decode(const Segment& segment) {
  for (int64_t i = segment.first; i <= segment.last; ++i) {
    ASSIGN_OR_RETURN(AVPacket* const packet, packets_->Get(i));
    // Nothing depends on such a frame, so one that is not wanted is not decoded
    // at all.
    decoder_->skip_frame =
        Wants(shown_as_[i]) ? AVDISCARD_DEFAULT : AVDISCARD_NONREF;
    RETURN_IF_ERROR(Feed(packet));
  }
  // The decoder holds frames back until it has seen what comes between them;
  // all that are wanted are in it, so it may as well let them go.
  decoder_->skip_frame = AVDISCARD_DEFAULT;
  RETURN_IF_ERROR(Feed(nullptr));
  avcodec_flush_buffers(decoder_);
  return absl::OkStatus();
}

absl::Status ClipWalk::ReadOrdered() {
  std::vector<Segment> segments;
  for (const int64_t number : wanted_) {
    const int64_t packet = packets_->PacketOf(number);
    const int64_t key = packets_->KeyBefore(packet);
    if (segments.empty() || key > segments.back().last) {
      segments.push_back({key, packet});
    } else {
      segments.back().first = std::min(segments.back().first, key);
      segments.back().last = std::max(segments.back().last, packet);
    }
  }
  for (const Segment& segment : segments) RETURN_IF_ERROR(Decode(segment));
  return absl::OkStatus();
}

absl::Status ClipWalk::ReadCounting() {
  counted_ = 0;
  for (int64_t i = 0; i < packets_->size() && missing_ > 0; ++i) {
    ASSIGN_OR_RETURN(AVPacket* const packet, packets_->Get(i));
    RETURN_IF_ERROR(Feed(packet));
  }
  if (missing_ > 0) RETURN_IF_ERROR(Feed(nullptr));
  avcodec_flush_buffers(decoder_);
  return absl::OkStatus();
}

}  // namespace feedrate
