// Where decoding of a stream can start, as its packets tell. Containers call
// more packets key frames than decoders can start with. For lib/media/video
// only.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace feedrate {

enum class EntryKind : uint8_t {
  // Decoding cannot start here.
  kNone,
  // A recovery point of H.264 (open GOP): the frame and all that are shown
  // after it are exact, but later packets may name frames before it that they
  // do not need.
  kOpen,
  // Nothing that is decoded from here on names an earlier frame, except frames
  // that lead.
  kClean,
};

struct PacketTraits {
  EntryKind entry = EntryKind::kNone;
  // HEVC: the frame cannot be decoded if decoding starts with the entry that it
  // follows (RASL).
  bool skips_entry = false;
  // H.264: other frames may depend on it.
  bool is_reference = false;
};

class EntryPoints {
 public:
  explicit EntryPoints(const AVCodecParameters& parameters);

  PacketTraits Of(const AVPacket& packet) const;
  AVCodecID codec() const { return codec_; }

 private:
  PacketTraits OfH264(absl::string_view packet) const;
  PacketTraits OfHevc(absl::string_view packet) const;

  const AVCodecID codec_;
  // Bytes of the length before each unit of H.264 and HEVC; 0 means that start
  // codes separate them.
  int length_bytes_ = 0;
};

}  // namespace feedrate
