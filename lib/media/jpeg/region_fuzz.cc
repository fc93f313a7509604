// For any bytes, decoding a part ends, stays within its memory, and gives the
// same pixels as decoding the whole image, or a reason.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/media/image_file.h"
#include "lib/media/jpeg/region.h"

namespace {

using feedrate::ImageInfo;
using feedrate::JpegRegion;

// A part that depends on the bytes, so that the fuzzer can find every part.
JpegRegion SomeRegion(const uint8_t* data, size_t size, const ImageInfo& info) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < size; ++i) hash = (hash ^ data[i]) * 16777619u;
  JpegRegion region;
  region.x = static_cast<int>(hash % info.width);
  region.y = static_cast<int>((hash >> 8) % info.height);
  region.width = 1 + static_cast<int>((hash >> 16) % (info.width - region.x));
  region.height = 1 + static_cast<int>((hash >> 4) % (info.height - region.y));
  return region;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Static, so that one picture can affect the next.
  static auto* const decoder = new feedrate::JpegRegionDecoder;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<ImageInfo> info = decoder->Open(bytes);
  if (!info.ok()) {
    if (info.status().message().empty()) std::abort();
    return 0;
  }
  // Large images are slow and add nothing.
  if (int64_t{info->height} * info->width > 1 << 16) return 0;
  const JpegRegion region = SomeRegion(data, size, *info);
  const size_t row = size_t{3} * region.width;
  std::vector<uint8_t> part(row * region.height);
  const absl::Status status = decoder->Decode(region, {}, part.data(), row);
  if (!status.ok() && status.message().empty()) std::abort();
  // From the middle of the codes, the same pixels.
  if (status.ok() && decoder->Open(bytes).ok()) {
    const std::string entries = decoder->FindEntries();
    decoder->UseEntries(entries);
    std::vector<uint8_t> again(part.size());
    if (!decoder->Decode(region, {}, again.data(), row).ok() || again != part) {
      std::abort();
    }
    // Of a part of the file, the same pixels or a reason.
    const size_t codes_at = decoder->codes_at();
    const feedrate::JpegCodeRange codes =
        decoder->CodesOf(region, entries, size - codes_at);
    if (codes.begin < codes.end) {
      std::string some(size, '\x55');
      std::memcpy(&some[0], data, codes_at);
      std::memcpy(&some[codes_at + codes.begin], data + codes_at + codes.begin,
                  codes.end - codes.begin);
      some += "\xff\xd9";
      if (!decoder->Open(some).ok()) std::abort();
      decoder->UseEntries(entries, /*is_part=*/true);
      if (!decoder->Decode(region, {}, again.data(), row).ok() ||
          again != part) {
        std::abort();
      }
    }
    // Wrong entries give wrong pixels, and nothing worse.
    for (const absl::string_view wrong :
         {bytes, absl::string_view(entries).substr(0, entries.size() / 2)}) {
      if (!decoder->Open(bytes).ok()) std::abort();
      decoder->UseEntries(wrong);
      decoder->Decode(region, {}, again.data(), row).IgnoreError();
    }
    if (!entries.empty() && decoder->Open(bytes).ok()) {
      std::string changed = entries;
      for (size_t i = 1; i < changed.size(); i += 7) changed[i] ^= 1;
      decoder->UseEntries(changed);
      decoder->Decode(region, {}, again.data(), row).IgnoreError();
    }
  }
  std::vector<uint8_t> whole(size_t{3} * info->width * info->height);
  if (info->channels != 3 ||
      !feedrate::DecodeJpeg(bytes, info->height, info->width, whole.data())
           .ok()) {
    return 0;
  }
  // What can be decoded whole can be decoded in part, with the same pixels.
  if (!status.ok()) std::abort();
  for (int y = 0; y < region.height; ++y) {
    const size_t at =
        (size_t{3} * (region.y + y)) * info->width + size_t{3} * region.x;
    if (std::memcmp(&part[y * row], &whole[at], row) != 0) std::abort();
  }
  return 0;
}
