#include "lib/media/video/clip_walk.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/media/video/av.h"
#include "lib/media/video/frame_decoder.h"
#include "lib/media/video/packet_list.h"

namespace feedrate {
namespace {

// As with images.
constexpr int64_t kMaxPixels = int64_t{1} << 28;

}  // namespace

absl::StatusOr<std::unique_ptr<ClipWalk>> ClipWalk::Open(
    const VideoPlace& place, const FindDecoder& find_decoder) {
  std::unique_ptr<ClipWalk> walk = absl::WrapUnique(new ClipWalk());
  ASSIGN_OR_RETURN(walk->packets_, PacketList::Open(place));
  const PacketList& packets = *walk->packets_;
  const AVCodecParameters& parameters = packets.parameters();
  if (int64_t{parameters.width} * parameters.height > kMaxPixels) {
    return absl::InvalidArgumentError(
        absl::StrCat("frames of ", parameters.width, "x", parameters.height,
                     " are too large"));
  }
  ASSIGN_OR_RETURN(walk->decoder_, find_decoder(parameters));
  walk->info_ = {parameters.height, parameters.width, packets.size(),
                 walk->decoder_->name()};
  return walk;
}

bool ClipWalk::IsWanted(int64_t number) const {
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
                            const Put& put) {
  RETURN_IF_ERROR(CheckNumbers(frames));
  wanted_ = frames;
  put_ = &put;
  missing_ = static_cast<int64_t>(frames.size());
  got_.assign(frames.size(), false);
  RETURN_IF_ERROR(packets_->ordered() ? ReadOrdered() : ReadCounting());
  if (missing_ == 0) return absl::OkStatus();
  const size_t at = std::find(got_.begin(), got_.end(), false) - got_.begin();
  return absl::InvalidArgumentError(absl::StrCat(
      "frame ", wanted_[at], " of ", info_.frames, " could not be decoded"));
}

bool ClipWalk::Wants(int64_t pts) {
  number_ = packets_->ordered() ? pts : counted_++;
  return IsWanted(number_);
}

absl::Status ClipWalk::Take(const DecodedFrame& frame) {
  if (frame.is_damaged) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame ", number_, " is damaged"));
  }
  if (frame.width != info_.width || frame.height != info_.height) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame ", number_, " is ", frame.width, "x", frame.height,
                     ", not ", info_.width, "x", info_.height));
  }
  const auto [first, last] =
      std::equal_range(wanted_.begin(), wanted_.end(), number_);
  const size_t at = first - wanted_.begin();
  const size_t count = last - first;
  if (got_[at]) return absl::OkStatus();
  RETURN_IF_ERROR((*put_)(frame, at, count));
  std::fill_n(got_.begin() + at, count, true);
  missing_ -= static_cast<int64_t>(count);
  return absl::OkStatus();
}

absl::Status ClipWalk::Decode(const Segment& segment) {
  for (int64_t i = segment.first; i <= segment.last; ++i) {
    ASSIGN_OR_RETURN(const AVPacket* const packet, packets_->Get(i));
    RETURN_IF_ERROR(decoder_->Send(*packet, IsWanted(packet->pts), this));
  }
  // The decoder holds frames back until it has seen what comes between them;
  // all that are wanted are in it, so it may as well let them go.
  return decoder_->Drain(this);
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
    ASSIGN_OR_RETURN(const AVPacket* const packet, packets_->Get(i));
    // Left out, a frame would not be counted.
    RETURN_IF_ERROR(decoder_->Send(*packet, /*wanted=*/true, this));
  }
  return decoder_->Drain(missing_ > 0 ? this : nullptr);
}

}  // namespace feedrate
