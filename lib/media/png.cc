#include "lib/media/png.h"

#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace feedrate {
namespace {

constexpr absl::string_view kSignature("\x89PNG\r\n\x1a\n", 8);
// Signature, then the chunk IHDR: length, name, 13 bytes of content, checksum.
constexpr size_t kHeaderBytes = 8 + 8 + 13 + 4;

// Memory that one text or profile may ask for; none of them is used.
constexpr png_alloc_size_t kMostChunkBytes = 8 << 20;

struct Decoder {
  absl::string_view rest;
  png_structp png;
  png_infop info;
  png_bytep* rows;
  char text[128];
};

void OnError(png_structp png, png_const_charp text) {
  auto* decoder = static_cast<Decoder*>(png_get_error_ptr(png));
  std::snprintf(decoder->text, sizeof(decoder->text), "%s", text);
  png_longjmp(png, 1);
}

void OnWarning(png_structp, png_const_charp) {}

void OnRead(png_structp png, png_bytep out, size_t size) {
  auto* decoder = static_cast<Decoder*>(png_get_io_ptr(png));
  if (decoder->rest.size() < size) png_error(png, "the file is cut off");
  std::memcpy(out, decoder->rest.data(), size);
  decoder->rest.remove_prefix(size);
}

void DecodeRows(Decoder* decoder, int height, int width, uint8_t* rgb) {
  png_structp png = decoder->png;
  png_infop info = decoder->info;
  png_read_info(png, info);
  if (png_get_image_height(png, info) != static_cast<png_uint_32>(height) ||
      png_get_image_width(png, info) != static_cast<png_uint_32>(width)) {
    png_error(png, "of another size than expected");
  }
  png_set_expand(png);
  png_set_strip_16(png);
  png_set_strip_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  const size_t stride = static_cast<size_t>(width) * 3;
  if (png_get_rowbytes(png, info) != stride) {
    png_error(png, "not of three channels");
  }
  for (int y = 0; y < height; ++y) decoder->rows[y] = rgb + y * stride;
  png_read_image(png, decoder->rows);
  png_read_end(png, nullptr);
}

// False: `decoder->text` says why. No variable here has a destructor, which
// libpng's jump would not run.
bool Decode(Decoder* decoder, int height, int width, uint8_t* rgb) {
  decoder->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, decoder, OnError,
                                        OnWarning);
  if (decoder->png == nullptr) return false;
  decoder->info = nullptr;
  volatile bool ok = false;  // Written between setjmp and a jump.
  if (setjmp(png_jmpbuf(decoder->png)) == 0) {
    decoder->info = png_create_info_struct(decoder->png);
    if (decoder->info == nullptr) png_error(decoder->png, "out of memory");
    png_set_read_fn(decoder->png, decoder, OnRead);
    png_set_chunk_malloc_max(decoder->png, kMostChunkBytes);
    DecodeRows(decoder, height, width, rgb);
    ok = true;
  }
  png_destroy_read_struct(&decoder->png, &decoder->info, nullptr);
  return ok;
}

uint32_t BigEndian(absl::string_view bytes) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

// 0 for a type that there is not.
int ChannelsOf(int colour_type) {
  switch (colour_type) {
    case PNG_COLOR_TYPE_GRAY:
      return 1;
    case PNG_COLOR_TYPE_GRAY_ALPHA:
      return 2;
    case PNG_COLOR_TYPE_RGB:
    case PNG_COLOR_TYPE_PALETTE:
      return 3;
    case PNG_COLOR_TYPE_RGB_ALPHA:
      return 4;
    default:
      return 0;
  }
}

}  // namespace

bool IsPng(absl::string_view bytes) {
  return absl::StartsWith(bytes, kSignature);
}

absl::StatusOr<ImageInfo> ReadPngHeader(absl::string_view bytes) {
  if (!IsPng(bytes)) return absl::InvalidArgumentError("no PNG");
  if (bytes.size() < kHeaderBytes) {
    return absl::OutOfRangeError("PNG: the file is cut off");
  }
  const uint32_t width = BigEndian(bytes.substr(16));
  const uint32_t height = BigEndian(bytes.substr(20));
  const int channels = ChannelsOf(static_cast<unsigned char>(bytes[25]));
  if (bytes.substr(12, 4) != "IHDR" || channels == 0 || width == 0 ||
      height == 0 || width > PNG_UINT_31_MAX || height > PNG_UINT_31_MAX) {
    return absl::InvalidArgumentError("PNG: the header is damaged");
  }
  return ImageInfo{static_cast<int>(height), static_cast<int>(width), channels};
}

absl::Status DecodePng(absl::string_view bytes, int height, int width,
                       uint8_t* rgb) {
  Decoder decoder;
  decoder.rest = bytes;
  std::strcpy(decoder.text, "out of memory");
  decoder.rows =
      static_cast<png_bytep*>(std::malloc(sizeof(png_bytep) * height));
  const bool ok =
      decoder.rows != nullptr && Decode(&decoder, height, width, rgb);
  std::free(decoder.rows);
  if (ok) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("PNG: ", decoder.text));
}

}  // namespace feedrate
