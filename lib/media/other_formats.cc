#include "lib/media/other_formats.h"

#include <webp/decode.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

using View = absl::string_view;

const uint8_t* Data(View bytes) {
  return reinterpret_cast<const uint8_t*>(bytes.data());
}

absl::Status OtherSize(View format) {
  return absl::InvalidArgumentError(
      absl::StrCat(format, ": of another size than expected"));
}

absl::Status CutOff(View format) {
  return absl::InvalidArgumentError(
      absl::StrCat(format, ": the file is cut off"));
}

absl::StatusOr<WebPBitstreamFeatures> WebpFeatures(View bytes) {
  WebPBitstreamFeatures features;
  const VP8StatusCode code =
      WebPGetFeatures(Data(bytes), bytes.size(), &features);
  if (code == VP8_STATUS_NOT_ENOUGH_DATA) {
    return absl::OutOfRangeError("WebP: the file is cut off");
  }
  if (code != VP8_STATUS_OK) {
    return absl::InvalidArgumentError("WebP: the header is damaged");
  }
  if (features.has_animation != 0) {
    return absl::InvalidArgumentError(
        "WebP: is animated; only still images are read");
  }
  return features;
}

}  // namespace

bool IsWebp(View bytes) {
  return absl::StartsWith(bytes, "RIFF") && bytes.size() >= 12 &&
         bytes.substr(8, 4) == "WEBP";
}

absl::StatusOr<ImageInfo> ReadWebpHeader(View bytes) {
  ASSIGN_OR_RETURN(const WebPBitstreamFeatures features, WebpFeatures(bytes));
  return ImageInfo{features.height, features.width,
                   features.has_alpha != 0 ? 4 : 3};
}

absl::Status DecodeWebp(View bytes, int height, int width, uint8_t* rgb) {
  const absl::StatusOr<WebPBitstreamFeatures> features = WebpFeatures(bytes);
  if (!features.ok()) {
    return absl::InvalidArgumentError(features.status().message());
  }
  // Checked before, because libwebp would write as many rows as fit.
  if (features->height != height || features->width != width) {
    return OtherSize("WebP");
  }
  const int stride = 3 * width;
  if (WebPDecodeRGBInto(Data(bytes), bytes.size(), rgb,
                        static_cast<size_t>(stride) * height,
                        stride) == nullptr) {
    return absl::InvalidArgumentError("WebP: is damaged or cut off");
  }
  return absl::OkStatus();
}

namespace {

// Little-endian. REQUIRES: they are there.
uint32_t Read16(View bytes, size_t at) {
  return Data(bytes)[at] | Data(bytes)[at + 1] << 8;
}
uint32_t Read32(View bytes, size_t at) {
  return Read16(bytes, at) | Read16(bytes, at + 2) << 16;
}

constexpr size_t kFileHeader = 14;
constexpr uint32_t kCoreHeader = 12;  // OS/2's, with sizes of 16 bits.
constexpr uint32_t kInfoHeader = 40;
constexpr uint32_t kMostHeader = 124;
constexpr uint32_t kPlain = 0;
constexpr uint32_t kBitFields = 3;

struct BmpHeader {
  ImageInfo info;
  bool is_top_down = false;
  int bits = 0;
  size_t pixels = 0;  // Where they begin.
  // Where the palette begins. An entry is blue, green, red and, unless `entry`
  // is 3, a fourth byte.
  size_t palette = 0;
  uint32_t colors = 0;
  uint32_t entry = 4;
  // Of 16 and 32 bits: where red, green and blue are.
  uint32_t masks[3] = {};
};

absl::Status BadBmp(View what) {
  return absl::InvalidArgumentError(absl::StrCat("BMP: ", what));
}

// Colors of 16 bits have five or six each, of 32 bits eight.
bool IsKnownMask(uint32_t mask, int bits) {
  const int ones = __builtin_popcount(mask);
  if (bits == 32 ? ones != 8 : ones != 5 && ones != 6) return false;
  const uint32_t low = mask >> __builtin_ctz(mask);
  return (low & (low + 1)) == 0 && (bits == 32 || mask <= 0xffff);
}

absl::Status ReadColors(View bytes, uint32_t header, uint32_t compression,
                        BmpHeader* bmp) {
  if (bmp->bits == 16 || bmp->bits == 32) {
    const bool has_masks = compression == kBitFields;
    const uint32_t usual[2][3] = {{0x7c00, 0x03e0, 0x001f},
                                  {0xff0000, 0x00ff00, 0x0000ff}};
    // They follow a header of 40 bytes, and are part of larger ones.
    if (has_masks && bytes.size() < kFileHeader + kInfoHeader + 12) {
      return absl::OutOfRangeError("BMP: the file is cut off");
    }
    for (int c = 0; c < 3; ++c) {
      bmp->masks[c] =
          has_masks ? Read32(bytes, kFileHeader + kInfoHeader + size_t{4} * c)
                    : usual[bmp->bits / 32][c];
      if (!IsKnownMask(bmp->masks[c], bmp->bits)) {
        return BadBmp("its colors have unusual bits");
      }
    }
    return absl::OkStatus();
  }
  if (compression != kPlain) return BadBmp("is compressed; save it plain");
  if (bmp->bits == 24) return absl::OkStatus();
  if (bmp->bits != 1 && bmp->bits != 4 && bmp->bits != 8) {
    return BadBmp(absl::StrCat("of ", bmp->bits, " bits per pixel"));
  }
  const uint32_t most = 1u << bmp->bits;
  if (header >= kInfoHeader) bmp->colors = Read32(bytes, kFileHeader + 32);
  if (bmp->colors == 0) bmp->colors = most;
  if (bmp->colors > most) return BadBmp("the palette is too large");
  bmp->palette = kFileHeader + header;
  return absl::OkStatus();
}

absl::StatusOr<BmpHeader> ParseBmp(View bytes) {
  if (bytes.size() < kFileHeader + kCoreHeader) {
    return absl::OutOfRangeError("BMP: the file is cut off");
  }
  BmpHeader bmp;
  bmp.pixels = Read32(bytes, 10);
  const uint32_t header = Read32(bytes, kFileHeader);
  uint32_t compression = kPlain;
  int64_t height = 0;
  int64_t width = 0;
  if (header == kCoreHeader) {
    width = Read16(bytes, 18);
    height = Read16(bytes, 20);
    bmp.bits = static_cast<int>(Read16(bytes, 24));
    bmp.entry = 3;
  } else if (header >= kInfoHeader && header <= kMostHeader) {
    if (bytes.size() < kFileHeader + kInfoHeader) {
      return absl::OutOfRangeError("BMP: the file is cut off");
    }
    width = static_cast<int32_t>(Read32(bytes, 18));
    height = static_cast<int32_t>(Read32(bytes, 22));
    bmp.bits = static_cast<int>(Read16(bytes, 28));
    compression = Read32(bytes, 30);
  } else {
    return BadBmp("the header is of an unknown kind");
  }
  bmp.is_top_down = height < 0;
  if (bmp.is_top_down) height = -height;
  // A side of 2^31 would not fit into an int.
  if (width < 1 || height < 1 || height > INT32_MAX) {
    return BadBmp("the header is damaged");
  }
  if (compression != kPlain && compression != kBitFields) {
    return BadBmp("is compressed; save it plain");
  }
  bmp.info = {static_cast<int>(height), static_cast<int>(width), 3};
  RETURN_IF_ERROR(ReadColors(bytes, header, compression, &bmp));
  return bmp;
}

// A value of the bits in `mask` as 8 bits, in Pillow's way.
uint8_t FieldOf(uint32_t pixel, uint32_t mask) {
  const int shift = __builtin_ctz(mask);
  return static_cast<uint8_t>(((pixel & mask) >> shift) * 255 /
                              (mask >> shift));
}

// False for a color that the palette does not have.
bool ReadPaletteRow(View bytes, const BmpHeader& bmp, const uint8_t* row,
                    uint8_t* rgb) {
  const int per_byte = 8 / bmp.bits;
  const uint32_t mask = (1u << bmp.bits) - 1;
  for (int x = 0; x < bmp.info.width; ++x, rgb += 3) {
    const int shift = 8 - bmp.bits * (1 + x % per_byte);
    const uint32_t index = row[x / per_byte] >> shift & mask;
    if (index >= bmp.colors) return false;
    const uint8_t* const color =
        Data(bytes) + bmp.palette + size_t{index} * bmp.entry;
    std::reverse_copy(color, color + 3, rgb);
  }
  return true;
}

void ReadColorRow(const BmpHeader& bmp, const uint8_t* row, uint8_t* rgb) {
  for (int x = 0; x < bmp.info.width; ++x, rgb += 3) {
    if (bmp.bits == 24) {
      std::reverse_copy(row, row + 3, rgb);
      row += 3;
      continue;
    }
    uint32_t pixel = 0;
    for (int shift = 0; shift < bmp.bits; shift += 8) {
      pixel |= uint32_t{*row++} << shift;
    }
    for (int c = 0; c < 3; ++c) rgb[c] = FieldOf(pixel, bmp.masks[c]);
  }
}

}  // namespace

bool IsBmp(View bytes) {
  // Text may begin with these letters, too; the next bytes are the size.
  return absl::StartsWith(bytes, "BM") && bytes.size() >= kFileHeader + 4 &&
         Read32(bytes, kFileHeader) <= kMostHeader;
}

absl::StatusOr<ImageInfo> ReadBmpHeader(View bytes) {
  ASSIGN_OR_RETURN(const BmpHeader bmp, ParseBmp(bytes));
  return bmp.info;
}

absl::Status DecodeBmp(View bytes, int height, int width, uint8_t* rgb) {
  const absl::StatusOr<BmpHeader> bmp = ParseBmp(bytes);
  if (!bmp.ok()) return absl::InvalidArgumentError(bmp.status().message());
  if (bmp->info.height != height || bmp->info.width != width) {
    return OtherSize("BMP");
  }
  // Rows begin at multiples of four bytes.
  const int64_t stride = (int64_t{width} * bmp->bits + 31) / 32 * 4;
  const auto size = static_cast<int64_t>(bytes.size());
  const int64_t palette_end =
      static_cast<int64_t>(bmp->palette) + int64_t{bmp->colors} * bmp->entry;
  if (palette_end > size ||
      static_cast<int64_t>(bmp->pixels) > size - stride * height) {
    return CutOff("BMP");
  }
  for (int y = 0; y < height; ++y) {
    const int64_t place = bmp->is_top_down ? y : height - 1 - y;
    const uint8_t* const row = Data(bytes) + bmp->pixels + place * stride;
    uint8_t* const out = rgb + size_t{3} * width * y;
    if (bmp->bits > 8) {
      ReadColorRow(*bmp, row, out);
    } else if (!ReadPaletteRow(bytes, *bmp, row, out)) {
      return BadBmp("a color is not in its palette");
    }
  }
  return absl::OkStatus();
}

namespace {

struct PnmHeader {
  ImageInfo info;
  size_t pixels = 0;  // Where they begin.
};

absl::StatusOr<PnmHeader> ParsePnm(View bytes) {
  PnmHeader pnm;
  size_t at = 2;
  int64_t numbers[3];
  for (int64_t& number : numbers) {
    bool in_comment = false;
    while (at < bytes.size() &&
           (in_comment || bytes[at] == '#' || absl::ascii_isspace(bytes[at]))) {
      if (bytes[at] == '#') in_comment = true;
      if (bytes[at] == '\n') in_comment = false;
      ++at;
    }
    const size_t begin = at;
    number = 0;
    for (; at < bytes.size() && absl::ascii_isdigit(bytes[at]); ++at) {
      number = 10 * number + (bytes[at] - '0');
      if (number > INT32_MAX) break;
    }
    if (at >= bytes.size()) {
      return absl::OutOfRangeError("PNM: the file is cut off");
    }
    if (at == begin || number < 1 || !absl::ascii_isspace(bytes[at])) {
      return absl::InvalidArgumentError("PNM: the header is damaged");
    }
  }
  if (numbers[2] != 255) {
    return absl::InvalidArgumentError(absl::StrCat(
        "PNM: its largest value is ", numbers[2], "; only 255 is read"));
  }
  pnm.info = {static_cast<int>(numbers[1]), static_cast<int>(numbers[0]),
              bytes[1] == '5' ? 1 : 3};
  pnm.pixels = at + 1;
  return pnm;
}

}  // namespace

bool IsPnm(View bytes) {
  return bytes.size() > 2 && bytes[0] == 'P' &&
         (bytes[1] == '5' || bytes[1] == '6') && absl::ascii_isspace(bytes[2]);
}

absl::StatusOr<ImageInfo> ReadPnmHeader(View bytes) {
  ASSIGN_OR_RETURN(const PnmHeader pnm, ParsePnm(bytes));
  return pnm.info;
}

absl::Status DecodePnm(View bytes, int height, int width, uint8_t* rgb) {
  const absl::StatusOr<PnmHeader> pnm = ParsePnm(bytes);
  if (!pnm.ok()) return absl::InvalidArgumentError(pnm.status().message());
  if (pnm->info.height != height || pnm->info.width != width) {
    return OtherSize("PNM");
  }
  const size_t pixels = static_cast<size_t>(height) * width;
  if (bytes.size() - pnm->pixels < pixels * pnm->info.channels) {
    return CutOff("PNM");
  }
  const uint8_t* const data = Data(bytes) + pnm->pixels;
  if (pnm->info.channels == 3) {
    std::copy_n(data, 3 * pixels, rgb);
  } else {
    for (size_t i = 0; i < pixels; ++i) std::fill_n(rgb + 3 * i, 3, data[i]);
  }
  return absl::OkStatus();
}

}  // namespace feedrate
