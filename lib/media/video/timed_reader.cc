#include "lib/media/video/timed_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/media/video/clip_walk.h"
#include "lib/media/video/demux.h"
#include "lib/media/video/frame_rgb.h"

namespace feedrate {
namespace {

// Longer than any video.
constexpr double kMaxSeconds = 1e7;

class AvTimedReader : public TimedReader, private FrameSink {
 public:
  static absl::StatusOr<std::unique_ptr<TimedReader>> Open(
      const VideoPlace& place) {
    auto reader = std::make_unique<AvTimedReader>();
    ASSIGN_OR_RETURN(reader->packets_, PacketList::OpenUnread(place));
    if (!reader->packets_->has_times()) {
      return absl::InvalidArgumentError(
          "is an AVI file, which does not say when frames are shown");
    }
    const AVCodecParameters& parameters = reader->packets_->parameters();
    reader->height_ = parameters.height;
    reader->width_ = parameters.width;
    RETURN_IF_ERROR(CheckFrameSize(parameters));
    ASSIGN_OR_RETURN(reader->decoder_,
                     AvDecoder::Open(parameters, /*threads=*/1));
    reader->unit_s_ = av_q2d(reader->packets_->time_base());
    return reader;
  }

  int height() const override { return height_; }
  int width() const override { return width_; }

  absl::Status Read(double seconds, uint8_t* rgb) override {
    if (!(std::abs(seconds) <= kMaxSeconds)) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no time ", seconds));
    }
    wanted_s_ = seconds;
    rgb_ = rgb;
    found_ = false;
    is_past_ = false;
    nearest_s_.reset();
    const auto time = static_cast<int64_t>(std::llround(seconds / unit_s_));
    if (GoesOn(time)) {
      RETURN_IF_ERROR(Walk());
      if (found_) return absl::OkStatus();
    }
    absl::Status read = Search(seconds, /*open_too=*/true);
    // The stream may not keep what it promises at its open entries.
    if (!read.ok() && entry_ == EntryKind::kOpen) {
      read = Search(seconds, /*open_too=*/false);
    }
    RETURN_IF_ERROR(read);
    if (found_) return absl::OkStatus();
    return absl::InvalidArgumentError(
        nearest_s_.has_value()
            ? absl::StrCat("has no frame at ", seconds,
                           " s; the nearest is at ", *nearest_s_, " s")
            : absl::StrCat("has no frame at ", seconds, " s"));
  }

 private:
  // Looks for an entry from which the frame can be decoded, and decodes it. A
  // frame may need an earlier one than the last before it, where frames are
  // stored in another order than they are shown.
  absl::Status Search(double seconds, bool open_too) {
    for (double back_s = 0;; back_s = std::max(0.5, 4 * back_s)) {
      const auto from =
          static_cast<int64_t>(std::llround((seconds - back_s) / unit_s_));
      const bool is_first = seconds - back_s < 0;
      RETURN_IF_ERROR(decoder_->Drain(nullptr));
      RETURN_IF_ERROR(packets_->Seek(is_first ? INT64_MIN / 2 : from));
      ASSIGN_OR_RETURN(const AVPacket* const packet, packets_->Next());
      if (packet == nullptr) break;
      entry_ = packets_->TraitsOf(*packet).entry;
      const bool can_begin = entry_ == EntryKind::kClean ||
                             (open_too && entry_ == EntryKind::kOpen);
      if (!can_begin && !is_first) {
        has_false_keys_ = true;
        continue;
      }
      entry_time_ = packet->pts;
      due_.clear();
      is_lost_ = false;
      begin_s_ = std::numeric_limits<double>::infinity();
      is_past_ = false;
      RETURN_IF_ERROR(decoder_->BeginRun(entry_));
      is_open_ = false;
      RETURN_IF_ERROR(Send(*packet));
      RETURN_IF_ERROR(Walk());
      if (found_ || begin_s_ <= seconds || is_first) break;
    }
    return absl::OkStatus();
  }

  // Whether the frame comes if decoding goes on, and no key frame is nearer.
  bool GoesOn(int64_t time) const {
    if (!is_open_ || time <= last_) return false;
    // Decoding may have to start far before a packet that is called a key
    // frame.
    if (has_false_keys_) return true;
    const std::optional<int64_t> key = packets_->KeyBeforeTime(time);
    return key.has_value() && *key <= sent_;
  }

  // Decodes until the wanted frame has come, or a later one, or the end.
  absl::Status Walk() {
    // Stays so after an error.
    is_open_ = false;
    while (!found_ && !is_past_) {
      ASSIGN_OR_RETURN(const AVPacket* const packet, packets_->Next());
      if (packet == nullptr) return decoder_->Drain(this);
      RETURN_IF_ERROR(Send(*packet));
    }
    is_open_ = true;
    return absl::OkStatus();
  }

  absl::Status Send(const AVPacket& packet) {
    sent_ = packet.dts == AV_NOPTS_VALUE ? packet.pts : packet.dts;
    // Needs frames before the entry.
    if (entry_ == EntryKind::kOpen && packet.pts < entry_time_) {
      return absl::OkStatus();
    }
    if (!(packet.flags & AV_PKT_FLAG_DISCARD) && packet.pts != AV_NOPTS_VALUE &&
        packets_->TraitsOf(packet).is_reference) {
      due_.insert(packet.pts);
    }
    const absl::Status sent = decoder_->Send(packet, /*wanted=*/true, this);
    if (!sent.ok()) {
      return absl::Status(
          sent.code(),
          absl::StrCat("is damaged near ", wanted_s_, " s: ", sent.message()));
    }
    if (!is_lost_) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("is damaged: its frame at ",
                     static_cast<double>(*due_.begin()) * unit_s_,
                     " s cannot be decoded, and others may need it"));
  }

  bool Wants(int64_t pts) override {
    if (pts == AV_NOPTS_VALUE) return false;
    last_ = pts;
    due_.erase(pts);
    is_lost_ |= !due_.empty() && *due_.begin() < pts;
    const double at_s = static_cast<double>(pts) * unit_s_;
    const double off_s = std::abs(at_s - wanted_s_);
    begin_s_ = std::min(begin_s_, at_s);
    is_past_ |= at_s > wanted_s_;
    if (!nearest_s_.has_value() || off_s < std::abs(*nearest_s_ - wanted_s_)) {
      nearest_s_ = at_s;
    }
    return !found_ && off_s < kToleranceS;
  }

  absl::Status Take(const DecodedFrame& frame) override {
    if (frame.is_damaged || frame.width != width_ || frame.height != height_) {
      return absl::InvalidArgumentError(absl::StrCat("its frame at ", wanted_s_,
                                                     " s is damaged or not ",
                                                     width_, "x", height_));
    }
    found_ = true;
    return converter_.Convert(*frame.on_host, rgb_);
  }

  std::unique_ptr<PacketList> packets_;
  std::unique_ptr<AvDecoder> decoder_;
  FrameRgb converter_;
  int height_ = 0;
  int width_ = 0;
  double unit_s_ = 0;
  // Whether the decoder is between two packets, and which it was sent last.
  bool is_open_ = false;
  int64_t sent_ = 0;
  // Where decoding began.
  EntryKind entry_ = EntryKind::kNone;
  int64_t entry_time_ = 0;
  // Times of frames that others depend on and that have not come yet, and
  // whether a later one has come.
  std::set<int64_t> due_;
  bool is_lost_ = false;
  // Whether decoding cannot start with some packets that the file calls key
  // frames.
  bool has_false_keys_ = false;
  int64_t last_ = 0;  // Time of the last frame that came out.

  // State of the call in progress.
  double wanted_s_ = 0;
  uint8_t* rgb_ = nullptr;
  bool found_ = false;
  bool is_past_ = false;
  double begin_s_ = 0;  // When the first frame is shown.
  std::optional<double> nearest_s_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TimedReader>> TimedReader::Open(
    const std::string& path) {
  return AvTimedReader::Open({path, {}});
}

absl::StatusOr<std::unique_ptr<TimedReader>> TimedReader::OpenBytes(
    absl::string_view bytes) {
  return AvTimedReader::Open({"", bytes});
}

}  // namespace feedrate
