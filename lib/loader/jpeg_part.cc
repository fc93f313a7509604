#include "lib/loader/jpeg_part.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/storage/checksum.h"

namespace feedrate {
namespace {

// A sum for so many bytes of codes: a thousandth of them.
constexpr int64_t kPieceBytes = 4096;
constexpr size_t kMostHeaderBytes = 4096;
constexpr char kEndOfImage[] = "\xff\xd9";
constexpr int kStartOfScan = 0xda;

// An outline: this, the header, and a sum of 32 bits per piece. Little-endian,
// as on every processor that this runs on.
struct OutlineHead {
  uint64_t checksum;  // Of the whole item: see JpegIndex::Key.
  uint32_t codes_at;
  uint32_t header_bytes;
};
static_assert(sizeof(OutlineHead) == 16, "written as it is");

// Comments, EXIF and the like. JFIF (0) and Adobe (14) name the colors.
bool IsDropped(int marker) {
  return marker == 0xfe ||
         (marker >= 0xe0 && marker <= 0xef && marker != 0xe0 && marker != 0xee);
}

// The headers before the codes without what does not matter for pixels. Empty
// if they are not the usual run of segments.
std::string HeaderOf(absl::string_view before_codes) {
  std::string header(before_codes.substr(0, 2));
  for (size_t at = 2; at + 4 <= before_codes.size();) {
    const auto byte = [&](size_t i) {
      return static_cast<int>(static_cast<uint8_t>(before_codes[at + i]));
    };
    const int marker = byte(1);
    const size_t length = static_cast<size_t>(byte(2) << 8 | byte(3)) + 2;
    if (byte(0) != 0xff || marker < 0xc0 || length < 4 ||
        length > before_codes.size() - at) {
      return "";
    }
    if (!IsDropped(marker)) {
      absl::StrAppend(&header, before_codes.substr(at, length));
    }
    at += length;
    if (at == before_codes.size()) {
      return marker == kStartOfScan ? header : "";
    }
  }
  return "";
}

int64_t PiecesOf(int64_t bytes) {
  return (bytes + kPieceBytes - 1) / kPieceBytes;
}

uint32_t SumOf(absl::string_view codes, int64_t piece) {
  return Crc32c(codes.substr(piece * kPieceBytes, kPieceBytes));
}

}  // namespace

std::string PackJpegOutline(absl::string_view jpeg, size_t codes_at,
                            const JpegIndex::Key& key) {
  const std::string header = HeaderOf(jpeg.substr(0, codes_at));
  if (header.empty() || header.size() > kMostHeaderBytes) return "";
  const absl::string_view codes = jpeg.substr(codes_at);
  const OutlineHead head = {key.checksum, static_cast<uint32_t>(codes_at),
                            static_cast<uint32_t>(header.size())};
  std::string packed(reinterpret_cast<const char*>(&head), sizeof(head));
  packed += header;
  for (int64_t i = 0; i < PiecesOf(codes.size()); ++i) {
    const uint32_t sum = SumOf(codes, i);
    packed.append(reinterpret_cast<const char*>(&sum), sizeof(sum));
  }
  return packed;
}

size_t JpegPart::room() const {
  // Whatever end the file has lies outside most parts.
  return header_.size() + codes_bytes_ + 2;
}

char* JpegPart::place(char* memory) const {
  return memory + header_.size() + (begin_ - codes_at_);
}

absl::StatusOr<absl::string_view> JpegPart::Finish(char* memory) const {
  const absl::string_view part(place(memory), end_ - begin_);
  for (size_t i = 0; i < sums_.size(); ++i) {
    if (SumOf(part, static_cast<int64_t>(i)) == sums_[i]) continue;
    return absl::DataLossError("its bytes are not those of the index");
  }
  std::memcpy(memory, header_.data(), header_.size());
  std::memcpy(memory + room() - 2, kEndOfImage, 2);
  return absl::string_view(memory, room());
}

std::unique_ptr<JpegPart> FindJpegPart(
    const JpegIndex& index, const std::string& outline, int64_t item_bytes,
    const std::function<JpegRegion(const ImageInfo&)>& region_of,
    JpegRegionDecoder* decoder) {
  OutlineHead head;
  if (outline.size() < sizeof(head)) return nullptr;
  std::memcpy(&head, outline.data(), sizeof(head));
  const int64_t codes_bytes = item_bytes - int64_t{head.codes_at};
  const size_t sums_at = sizeof(head) + size_t{head.header_bytes};
  if (codes_bytes <= 0 ||
      outline.size() != sums_at + PiecesOf(codes_bytes) * sizeof(uint32_t)) {
    return nullptr;
  }
  std::unique_ptr<JpegPart> part(new JpegPart);
  part->header_ = outline.substr(sizeof(head), head.header_bytes);
  absl::optional<std::string> entries =
      index.Find({head.checksum, static_cast<uint64_t>(item_bytes)});
  const std::string opened = part->header_ + kEndOfImage;
  const absl::StatusOr<ImageInfo> info = decoder->Open(opened);
  if (!entries.has_value() || !info.ok()) return nullptr;
  const JpegCodeRange codes =
      decoder->CodesOf(region_of(*info), *entries, codes_bytes);
  if (codes.begin >= codes.end) return nullptr;
  const int64_t first = static_cast<int64_t>(codes.begin) / kPieceBytes;
  const int64_t last = PiecesOf(static_cast<int64_t>(codes.end));
  if (last - first == PiecesOf(codes_bytes)) return nullptr;
  part->entries_ = *std::move(entries);
  part->codes_bytes_ = codes_bytes;
  part->codes_at_ = head.codes_at;
  part->begin_ = head.codes_at + first * kPieceBytes;
  part->end_ =
      std::min(item_bytes, int64_t{head.codes_at} + last * kPieceBytes);
  part->sums_.resize(last - first);
  std::memcpy(part->sums_.data(), &outline[sums_at + first * sizeof(uint32_t)],
              part->sums_.size() * sizeof(uint32_t));
  return part;
}

}  // namespace feedrate
