#include "lib/media/video/entry_points.h"

#include <cstddef>
#include <optional>
#include <string>

namespace feedrate {
namespace {

uint8_t ByteAt(absl::string_view bytes, size_t at) {
  return static_cast<uint8_t>(bytes[at]);
}

// Takes the next unit of a packet; nothing at the end, or where the packet is
// damaged.
std::optional<absl::string_view> NextUnit(int length_bytes,
                                          absl::string_view* packet) {
  constexpr absl::string_view kStart("\0\0\1", 3);
  if (length_bytes == 0) {
    const size_t start = packet->find(kStart);
    if (start == absl::string_view::npos) return std::nullopt;
    packet->remove_prefix(start + kStart.size());
    const absl::string_view unit = packet->substr(0, packet->find(kStart));
    packet->remove_prefix(unit.size());
    return unit;
  }
  const auto head = static_cast<size_t>(length_bytes);
  if (packet->size() < head) return std::nullopt;
  size_t length = 0;
  for (size_t i = 0; i < head; ++i) length = length << 8 | ByteAt(*packet, i);
  packet->remove_prefix(head);
  if (length > packet->size()) return std::nullopt;
  const absl::string_view unit = packet->substr(0, length);
  packet->remove_prefix(length);
  return unit;
}

// The unit without the bytes that keep start codes out of it.
std::string Unescaped(absl::string_view unit) {
  std::string bytes;
  int zeros = 0;
  for (const char c : unit) {
    if (zeros >= 2 && c == 3) {
      zeros = 0;
      continue;
    }
    zeros = c == 0 ? zeros + 1 : 0;
    bytes += c;
  }
  return bytes;
}

// Reads Exp-Golomb codes; zeros beyond the end.
class BitReader {
 public:
  explicit BitReader(absl::string_view bytes) : bytes_(bytes) {}
  bool Bit() {
    const size_t byte = at_ / 8;
    const int shift = 7 - static_cast<int>(at_ % 8);
    ++at_;
    return byte < bytes_.size() && (ByteAt(bytes_, byte) >> shift & 1);
  }
  uint32_t Golomb() {
    int zeros = 0;
    while (!Bit()) {
      if (++zeros == 32) return UINT32_MAX;
    }
    uint32_t value = 1;
    for (; zeros > 0; --zeros) value = value << 1 | (Bit() ? 1 : 0);
    return value - 1;
  }

 private:
  const absl::string_view bytes_;
  size_t at_ = 0;
};

// Whether supplemental information says that all frames from this one on are
// exact.
bool HasExactRecoveryPoint(absl::string_view unit) {
  constexpr uint32_t kRecoveryPoint = 6;
  const std::string bytes = Unescaped(unit.substr(1));
  absl::string_view left = bytes;
  // Numbers have a byte 255 for each 255 that they contain.
  const auto number = [&left] {
    uint32_t value = 0;
    while (!left.empty()) {
      const uint8_t byte = ByteAt(left, 0);
      left.remove_prefix(1);
      value += byte;
      if (byte != 255) break;
    }
    return value;
  };
  while (left.size() > 2) {
    const uint32_t type = number();
    const uint32_t size = number();
    if (size > left.size()) return false;
    if (type == kRecoveryPoint) {
      BitReader bits(left.substr(0, size));
      const bool is_at_once = bits.Golomb() == 0;
      const bool is_exact = bits.Bit();
      const bool is_broken = bits.Bit();
      return is_at_once && is_exact && !is_broken;
    }
    left.remove_prefix(size);
  }
  return false;
}

absl::string_view Extradata(const AVCodecParameters& parameters) {
  return {reinterpret_cast<const char*>(parameters.extradata),
          static_cast<size_t>(parameters.extradata_size)};
}

}  // namespace

EntryPoints::EntryPoints(const AVCodecParameters& parameters)
    : codec_(parameters.codec_id) {
  const absl::string_view extra = Extradata(parameters);
  if (codec_ == AV_CODEC_ID_H264 && extra.size() > 4 && extra[0] == 1) {
    length_bytes_ = (ByteAt(extra, 4) & 3) + 1;
  }
  if (codec_ == AV_CODEC_ID_HEVC && extra.size() > 21 &&
      (extra[0] != 0 || extra[1] != 0 || ByteAt(extra, 2) > 1)) {
    length_bytes_ = (ByteAt(extra, 21) & 3) + 1;
  }
}

PacketTraits EntryPoints::OfH264(absl::string_view packet) const {
  constexpr int kSlice = 1, kIdrSlice = 5, kInformation = 6;
  PacketTraits traits;
  bool recovers = false;
  bool is_intra = true;
  bool has_slice = false;
  while (const auto unit = NextUnit(length_bytes_, &packet)) {
    if (unit->empty()) continue;
    const int type = ByteAt(*unit, 0) & 31;
    if (type == kInformation) recovers |= HasExactRecoveryPoint(*unit);
    if (type != kSlice && type != kIdrSlice) continue;
    has_slice = true;
    traits.is_reference |= (ByteAt(*unit, 0) & 0x60) != 0;
    if (type == kIdrSlice) {
      traits.entry = EntryKind::kClean;
      return traits;
    }
    BitReader bits(unit->substr(1, 16));
    bits.Golomb();  // The first macroblock.
    const uint32_t slice = bits.Golomb();
    is_intra &= slice % 5 == 2;
    // From 5 on, all slices are of this type.
    if (!recovers || slice >= 5) break;
  }
  if (has_slice && recovers && is_intra) traits.entry = EntryKind::kOpen;
  return traits;
}

PacketTraits EntryPoints::OfHevc(absl::string_view packet) const {
  constexpr int kRaslN = 8, kRaslR = 9, kFirstEntry = 16, kLastEntry = 21;
  constexpr int kFirstOther = 32;
  PacketTraits traits;
  while (const auto unit = NextUnit(length_bytes_, &packet)) {
    if (unit->empty()) continue;
    const int type = ByteAt(*unit, 0) >> 1 & 63;
    if (type >= kFirstOther) continue;
    if (type >= kFirstEntry && type <= kLastEntry) {
      traits.entry = EntryKind::kClean;
    }
    traits.skips_entry = type == kRaslN || type == kRaslR;
    break;
  }
  return traits;
}

PacketTraits EntryPoints::Of(const AVPacket& packet) const {
  const absl::string_view bytes(reinterpret_cast<const char*>(packet.data),
                                static_cast<size_t>(packet.size));
  if (codec_ == AV_CODEC_ID_H264) return OfH264(bytes);
  if (codec_ == AV_CODEC_ID_HEVC) return OfHevc(bytes);
  PacketTraits traits;
  if (packet.flags & AV_PKT_FLAG_KEY) traits.entry = EntryKind::kClean;
  return traits;
}

}  // namespace feedrate
