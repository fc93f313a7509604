#include "lib/media/video/clip_reader.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/media/video/av.h"
#include "lib/media/video/frame_rgb.h"
#include "lib/media/video/packet_list.h"

namespace feedrate {
namespace {

// As with images.
constexpr int64_t kMaxPixels = int64_t{1} << 28;

// Packets that are decoded in a row, from a key frame on.
struct Segment {
  int64_t first = 0;
  int64_t last = 0;
};

absl::Status Failed(absl::string_view what, int result) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": ", AvErrorText(result)));
}

class AvClipReader : public ClipReader {
 public:
  static absl::StatusOr<std::unique_ptr<ClipReader>> Open(
      const VideoPlace& place, int threads) {
    auto reader = std::make_unique<AvClipReader>();
    ASSIGN_OR_RETURN(reader->packets_, PacketList::Open(place));
    RETURN_IF_ERROR(reader->OpenDecoder(threads));
    return reader;
  }

  const VideoInfo& info() const override { return info_; }

  absl::Status Read(const std::vector<int64_t>& frames, uint8_t* rgb) override {
    for (size_t i = 0; i < frames.size(); ++i) {
      if (frames[i] < 0 || frames[i] >= info_.frames ||
          (i > 0 && frames[i] < frames[i - 1])) {
        return absl::InvalidArgumentError(
            absl::StrCat("frame ", frames[i], " was asked for; there are ",
                         info_.frames, ", to be named in order"));
      }
    }
    wanted_ = frames;
    rgb_ = rgb;
    missing_ = static_cast<int64_t>(frames.size());
    got_.assign(frames.size(), false);
    RETURN_IF_ERROR(packets_->ordered() ? ReadOrdered() : ReadCounting());
    if (missing_ == 0) return absl::OkStatus();
    const size_t at = std::find(got_.begin(), got_.end(), false) - got_.begin();
    return absl::InvalidArgumentError(absl::StrCat(
        "frame ", wanted_[at], " of ", info_.frames, " could not be decoded"));
  }

 private:
  absl::Status OpenDecoder(int threads);
  absl::Status ReadOrdered();
  absl::Status ReadCounting();
  absl::Status Decode(const Segment& segment);
  // Lets the decoder have a packet, or null for the end, and takes its frames.
  absl::Status Feed(const AVPacket* packet);
  // A frame that is shown as number `number`.
  absl::Status Take(const AVFrame& frame, int64_t number);
  bool Wants(int64_t number) const {
    return std::binary_search(wanted_.begin(), wanted_.end(), number);
  }

  std::unique_ptr<PacketList> packets_;
  VideoInfo info_;
  AvPtr<AVCodecContext> decoder_;
  AvPtr<AVFrame> frame_;
  FrameRgb converter_;
  // Numbers of the frames whose packets are 0, 1, …
  std::vector<int64_t> shown_as_;

  // Of the call in progress.
  std::vector<int64_t> wanted_;
  std::vector<bool> got_;
  int64_t missing_ = 0;
  int64_t counted_ = 0;
  uint8_t* rgb_ = nullptr;
};

absl::Status AvClipReader::OpenDecoder(int threads) {
  const AVCodecParameters& parameters = packets_->parameters();
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
  decoder_.reset(avcodec_alloc_context3(codec));
  frame_.reset(av_frame_alloc());
  int result = avcodec_parameters_to_context(decoder_.get(), &parameters);
  if (result < 0) return Failed("its codec's parameters are wrong", result);
  decoder_->thread_count = threads;
  // What a lenient decoder would make of damaged frames is no frame of the
  // video.
  decoder_->err_recognition = AV_EF_EXPLODE;
  result = avcodec_open2(decoder_.get(), codec, nullptr);
  if (result < 0) return Failed("its decoder cannot be opened", result);
  info_ = {parameters.height, parameters.width, packets_->size(), codec->name};
  if (!packets_->ordered()) return absl::OkStatus();
  shown_as_.resize(packets_->size());
  for (int64_t i = 0; i < packets_->size(); ++i) {
    shown_as_[packets_->PacketOf(i)] = i;
  }
  return absl::OkStatus();
}

absl::Status AvClipReader::Take(const AVFrame& frame, int64_t number) {
  const auto first = std::lower_bound(wanted_.begin(), wanted_.end(), number);
  if (first == wanted_.end() || *first != number) return absl::OkStatus();
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
  if (got_[at]) return absl::OkStatus();
  uint8_t* const out = rgb_ + static_cast<int64_t>(at) * FrameBytes();
  RETURN_IF_ERROR(converter_.Convert(frame, out));
  for (size_t i = at; i < wanted_.size() && wanted_[i] == number; ++i) {
    if (i > at) std::memcpy(out + (i - at) * FrameBytes(), out, FrameBytes());
    got_[i] = true;
    --missing_;
  }
  return absl::OkStatus();
}

absl::Status AvClipReader::Feed(const AVPacket* packet) {
  const int sent = avcodec_send_packet(decoder_.get(), packet);
  if (sent < 0 && sent != AVERROR_EOF) {
    return Failed(packet == nullptr
                      ? "its last frames are damaged"
                      : absl::StrCat("packet ", packet->pts, " is damaged"),
                  sent);
  }
  while (true) {
    const int received = avcodec_receive_frame(decoder_.get(), frame_.get());
    if (received == AVERROR(EAGAIN) || received == AVERROR_EOF) {
      return absl::OkStatus();
    }
    if (received < 0) return Failed("a frame is damaged", received);
    const int64_t number = packets_->ordered()
                               ? (frame_->pts >= 0 && frame_->pts < info_.frames
                                      ? shown_as_[frame_->pts]
                                      : -1)
                               : counted_++;
    const absl::Status taken = Take(*frame_, number);
    av_frame_unref(frame_.get());
    RETURN_IF_ERROR(taken);
  }
}

absl::Status AvClipReader::Decode(const Segment& segment) {
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
  avcodec_flush_buffers(decoder_.get());
  return absl::OkStatus();
}

absl::Status AvClipReader::ReadOrdered() {
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

absl::Status AvClipReader::ReadCounting() {
  counted_ = 0;
  for (int64_t i = 0; i < packets_->size() && missing_ > 0; ++i) {
    ASSIGN_OR_RETURN(AVPacket* const packet, packets_->Get(i));
    RETURN_IF_ERROR(Feed(packet));
  }
  if (missing_ > 0) RETURN_IF_ERROR(Feed(nullptr));
  avcodec_flush_buffers(decoder_.get());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ClipReader>> ClipReader::Open(
    const std::string& path, int threads) {
  return AvClipReader::Open({path, {}}, threads);
}

absl::StatusOr<std::unique_ptr<ClipReader>> ClipReader::OpenBytes(
    absl::string_view bytes, int threads) {
  return AvClipReader::Open({"", bytes}, threads);
}

std::string ClipReaderVersion() { return AvVersion(); }

}  // namespace feedrate
