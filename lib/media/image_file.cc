#include "lib/media/image_file.h"

#include <jerror.h>
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/media/jpeg/libjpeg.h"
#include "lib/media/other_formats.h"

namespace feedrate {
namespace {

struct Format {
  bool (*is)(absl::string_view bytes);
  absl::StatusOr<ImageInfo> (*read_header)(absl::string_view bytes);
  absl::Status (*decode)(absl::string_view bytes, int height, int width,
                         uint8_t* rgb);
};

constexpr Format kFormats[] = {
    {IsJpeg, ReadJpegHeader, DecodeJpeg}, {IsPng, ReadPngHeader, DecodePng},
    {IsWebp, ReadWebpHeader, DecodeWebp}, {IsBmp, ReadBmpHeader, DecodeBmp},
    {IsPnm, ReadPnmHeader, DecodePnm},
};

constexpr char kRead[] = "JPEG, PNG, WebP, BMP, PGM and PPM are read";

struct OtherFormat {
  absl::string_view begin;
  const char* name;
};

// What else people keep among their photographs, for the message.
constexpr OtherFormat kOtherFormats[] = {
    {"GIF8", "GIF"},
    {"II*", "TIFF"},
    {"MM", "TIFF"},
    {"RIFF", "a RIFF file"},
};

absl::StatusOr<Format> FormatOf(absl::string_view bytes) {
  for (const Format& format : kFormats) {
    if (format.is(bytes)) return format;
  }
  if (bytes.empty()) return absl::InvalidArgumentError("the file is empty");
  for (const OtherFormat& format : kOtherFormats) {
    if (absl::StartsWith(bytes, format.begin)) {
      return absl::InvalidArgumentError(
          absl::StrCat(format.name, ", where ", kRead));
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("is of an unknown format, where ", kRead));
}

absl::Status CheckDecodable(const ImageInfo& info, bool jpeg) {
  if (jpeg && info.channels != 1 && info.channels != 3 && info.channels != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("a JPEG of ", info.channels, " channels"));
  }
  if (int64_t{info.height} * info.width > kMostPixels) {
    return absl::InvalidArgumentError(
        absl::StrCat(info.width, " x ", info.height,
                     " pixels, more than the limit of ", kMostPixels));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsImageName(absl::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == absl::string_view::npos) return false;
  const std::string ending = absl::AsciiStrToLower(name.substr(dot + 1));
  const auto& endings = ImageEndings();
  return std::find(endings.begin(), endings.end(), ending) != endings.end();
}

const std::vector<std::string>& ImageEndings() {
  static const auto* const endings = new std::vector<std::string>{
      "jpg", "jpeg", "png", "webp", "bmp", "pgm", "ppm"};
  return *endings;
}

absl::StatusOr<ImageInfo> ReadImageHeader(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const Format format, FormatOf(bytes));
  ASSIGN_OR_RETURN(const ImageInfo info, format.read_header(bytes));
  RETURN_IF_ERROR(CheckDecodable(info, format.is == IsJpeg));
  return info;
}

absl::Status DecodeImageInto(absl::string_view bytes, int height, int width,
                             uint8_t* rgb) {
  ASSIGN_OR_RETURN(const Format format, FormatOf(bytes));
  return format.decode(bytes, height, width, rgb);
}

absl::StatusOr<Image> DecodeImage(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const ImageInfo info, ReadImageHeader(bytes));
  Image image(info.height, info.width, 3);
  RETURN_IF_ERROR(
      DecodeImageInto(bytes, info.height, info.width, image.data()));
  return image;
}

namespace {

constexpr absl::string_view kSignature("\x89PNG\r\n\x1a\n", 8);
// Signature, then the chunk IHDR: length, name, 13 bytes of content, checksum.
constexpr size_t kHeaderBytes = 8 + 8 + 13 + 4;

// Limit on the memory for one text or profile; none of them is used.
constexpr png_alloc_size_t kMostChunkBytes = 8 << 20;

struct PngDecoder {
  absl::string_view rest;
  png_structp png;
  png_infop info;
  png_bytep* rows;
  char text[128];
};

void OnError(png_structp png, png_const_charp text) {
  auto* decoder = static_cast<PngDecoder*>(png_get_error_ptr(png));
  std::snprintf(decoder->text, sizeof(decoder->text), "%s", text);
  png_longjmp(png, 1);
}

void OnWarning(png_structp, png_const_charp) {}

void OnRead(png_structp png, png_bytep out, size_t size) {
  auto* decoder = static_cast<PngDecoder*>(png_get_io_ptr(png));
  if (decoder->rest.size() < size) png_error(png, "the file is cut off");
  std::memcpy(out, decoder->rest.data(), size);
  decoder->rest.remove_prefix(size);
}

void DecodeRows(PngDecoder* decoder, int height, int width, uint8_t* rgb) {
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
  png_set_gray_to_rgb(png);
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

// Returns false on failure; `decoder->text` says why. No variable here has a
// destructor, which libpng's jump would not run.
bool Decode(PngDecoder* decoder, int height, int width, uint8_t* rgb) {
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

// 0 for an unknown type.
int ChannelsOf(int color_type) {
  switch (color_type) {
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
  PngDecoder decoder;
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

namespace {

using View = absl::string_view;

constexpr View kMagic("\x93NUMPY\x01\x00", 8);

absl::Status Bad(const char* what) { return absl::InvalidArgumentError(what); }

// The text between `left` and the next `right`.
View Between(View text, View left, View right) {
  const size_t start = text.find(left);
  if (start == View::npos) return View();
  text.remove_prefix(start + left.size());
  return text.substr(0, text.find(right));
}

}  // namespace

bool IsNpy(View bytes) { return absl::StartsWith(bytes, kMagic); }

std::string PrintNpy(const ImageView& image) {
  std::string header = absl::StrCat(
      "{'descr': '|u1', 'fortran_order': False, 'shape': (", image.height, ", ",
      image.width, ", ", image.channels, "), }");
  // Data begins at a multiple of 64 bytes.
  header.resize(128 - 10 - 1, ' ');
  header += '\n';
  std::string file(kMagic);
  file += static_cast<char>(header.size());
  file += '\0';
  file += header;
  file.append(reinterpret_cast<const char*>(image.data), image.size_bytes());
  return file;
}

absl::StatusOr<NpyView> ViewNpy(View file) {
  if (file.size() < 10 || !IsNpy(file)) {
    return Bad("no array of numpy, version 1");
  }
  const size_t header_size =
      static_cast<uint8_t>(file[8]) + 256 * static_cast<uint8_t>(file[9]);
  if (file.size() < 10 + header_size) return Bad("the header is cut off");
  const View header = file.substr(10, header_size);
  if (!absl::StrContains(header, "'fortran_order': False")) {
    return Bad("the array is not in C order");
  }
  NpyView array;
  const View type = Between(header, "'descr': '", "'");
  if (type == "|u1") array.dtype = "uint8";
  if (type == "<f4") array.dtype = "float32";
  if (array.dtype.empty()) return Bad("neither uint8 nor float32");
  int64_t bytes = array.dtype == "uint8" ? 1 : 4;
  const View shape = Between(header, "'shape': (", ")");
  for (View size : absl::StrSplit(shape, ',', absl::SkipWhitespace())) {
    int number = 0;
    if (!absl::SimpleAtoi(size, &number) || number < 0 || number > 1 << 16) {
      return Bad("the shape is not understood");
    }
    array.shape.push_back(number);
    bytes *= number;
    if (bytes > int64_t{1} << 32) return Bad("the array is too large");
  }
  file.remove_prefix(10 + header_size);
  if (static_cast<int64_t>(file.size()) != bytes) {
    return Bad("the data has another size than the shape");
  }
  array.data = file;
  return array;
}

namespace {

struct JpegDecoder {
  jpeg_decompress_struct cinfo;
  JpegErrors errors;
  jpeg_progress_mgr progress;
};

void Start(absl::string_view bytes, JpegDecoder* decoder) {
  jpeg_create_decompress(&decoder->cinfo);
  decoder->cinfo.progress = PrepareJpegProgress(&decoder->progress);
  jpeg_mem_src(&decoder->cinfo,
               reinterpret_cast<const unsigned char*>(bytes.data()),
               bytes.size());
  jpeg_read_header(&decoder->cinfo, TRUE);
}

// Returns false on failure; `decoder->errors` says why. No destructors here:
// see JpegErrors.
bool ReadHeader(absl::string_view bytes, JpegDecoder* decoder,
                ImageInfo* info) {
  decoder->cinfo.err = PrepareJpegErrors(&decoder->errors);
  decoder->cinfo.mem = nullptr;  // For the destroying below.
  volatile bool ok = false;      // Written between setjmp and a jump.
  if (setjmp(decoder->errors.jump) == 0) {
    Start(bytes, decoder);
    info->height = static_cast<int>(decoder->cinfo.image_height);
    info->width = static_cast<int>(decoder->cinfo.image_width);
    info->channels = decoder->cinfo.num_components;
    ok = true;
  }
  jpeg_destroy_decompress(&decoder->cinfo);
  return ok;
}

void DecodeRows(JpegDecoder* decoder, int height, int width, uint8_t* rgb) {
  jpeg_decompress_struct* cinfo = &decoder->cinfo;
  const auto common = reinterpret_cast<j_common_ptr>(cinfo);
  if (cinfo->image_height != static_cast<JDIMENSION>(height) ||
      cinfo->image_width != static_cast<JDIMENSION>(width)) {
    FailJpeg(common, "of another size than expected");
  }
  ChooseJpegColors(cinfo);
  cinfo->dct_method = JDCT_ISLOW;
  jpeg_start_decompress(cinfo);
  const size_t stride = static_cast<size_t>(width) * 3;
  if (cinfo->output_components == 4) {
    JSAMPARRAY cmyk = cinfo->mem->alloc_sarray(common, JPOOL_IMAGE,
                                               cinfo->output_width * 4, 1);
    for (int y = 0; y < height; ++y) {
      jpeg_read_scanlines(cinfo, cmyk, 1);
      CmykToRgb(cmyk[0], width, rgb + y * stride);
    }
  }
  // As many rows as the decoder produces at once.
  constexpr JDIMENSION kRows = 16;
  JSAMPROW rows[kRows];
  while (cinfo->output_scanline < cinfo->output_height) {
    const JDIMENSION first = cinfo->output_scanline;
    JDIMENSION count = 0;
    for (; count < kRows && first + count < cinfo->output_height; ++count) {
      rows[count] = rgb + (first + count) * stride;
    }
    jpeg_read_scanlines(cinfo, rows, count);
  }
  // Reads to the end of the image, which may be truncated too.
  jpeg_finish_decompress(cinfo);
}

// As ReadHeader.
bool Decode(absl::string_view bytes, JpegDecoder* decoder, int height,
            int width, uint8_t* rgb) {
  decoder->cinfo.err = PrepareJpegErrors(&decoder->errors);
  decoder->cinfo.mem = nullptr;
  volatile bool ok = false;  // Written between setjmp and a jump.
  if (setjmp(decoder->errors.jump) == 0) {
    Start(bytes, decoder);
    DecodeRows(decoder, height, width, rgb);
    ok = true;
  }
  jpeg_destroy_decompress(&decoder->cinfo);
  return ok;
}

absl::Status Refused(const JpegDecoder& decoder) {
  const std::string text = absl::StrCat("JPEG: ", decoder.errors.text);
  const int code = decoder.errors.code;
  return code == JWRN_JPEG_EOF || code == JERR_INPUT_EOF
             ? absl::OutOfRangeError(text)
             : absl::InvalidArgumentError(text);
}

}  // namespace

bool IsJpeg(absl::string_view bytes) {
  return absl::StartsWith(bytes, "\xff\xd8\xff");
}

absl::StatusOr<ImageInfo> ReadJpegHeader(absl::string_view bytes) {
  if (!IsJpeg(bytes)) return absl::InvalidArgumentError("no JPEG");
  JpegDecoder decoder;
  ImageInfo info;
  if (!ReadHeader(bytes, &decoder, &info)) return Refused(decoder);
  return info;
}

absl::Status DecodeJpeg(absl::string_view bytes, int height, int width,
                        uint8_t* rgb) {
  if (!IsJpeg(bytes)) return absl::InvalidArgumentError("no JPEG");
  JpegDecoder decoder;
  if (Decode(bytes, &decoder, height, width, rgb)) return absl::OkStatus();
  return absl::InvalidArgumentError(Refused(decoder).message());
}

namespace {

struct Encoder {
  jpeg_compress_struct cinfo;
  JpegErrors errors;
  unsigned char* bytes;  // libjpeg allocates it with malloc.
  unsigned long size;    // NOLINT(google-runtime-int): libjpeg's type.
};

void SetSubsampling(Subsampling subsampling, jpeg_compress_struct* cinfo) {
  cinfo->comp_info[0].h_samp_factor = subsampling == Subsampling::k444 ? 1 : 2;
  cinfo->comp_info[0].v_samp_factor = subsampling == Subsampling::k420 ? 2 : 1;
}

void EncodeRows(const ImageView& image, const JpegOptions& options,
                Encoder* encoder) {
  jpeg_compress_struct* cinfo = &encoder->cinfo;
  jpeg_create_compress(cinfo);
  jpeg_mem_dest(cinfo, &encoder->bytes, &encoder->size);
  cinfo->image_width = image.width;
  cinfo->image_height = image.height;
  cinfo->input_components = 3;
  cinfo->in_color_space = JCS_RGB;
  jpeg_set_defaults(cinfo);
  jpeg_set_quality(cinfo, options.quality, TRUE);
  SetSubsampling(options.subsampling, cinfo);
  cinfo->dct_method = JDCT_ISLOW;
  jpeg_start_compress(cinfo, TRUE);
  while (cinfo->next_scanline < cinfo->image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(image.row(cinfo->next_scanline));
    jpeg_write_scanlines(cinfo, &row, 1);
  }
  jpeg_finish_compress(cinfo);
}

// No destructors here: see JpegErrors.
bool Encode(const ImageView& image, const JpegOptions& options,
            Encoder* encoder) {
  encoder->cinfo.err = PrepareJpegErrors(&encoder->errors);
  encoder->cinfo.mem = nullptr;
  volatile bool ok = false;  // Written between setjmp and a jump.
  if (setjmp(encoder->errors.jump) == 0) {
    EncodeRows(image, options, encoder);
    ok = true;
  }
  jpeg_destroy_compress(&encoder->cinfo);
  return ok;
}

}  // namespace

absl::StatusOr<std::string> EncodeJpeg(const ImageView& image,
                                       const JpegOptions& options) {
  Encoder encoder;
  encoder.bytes = nullptr;
  encoder.size = 0;
  const bool ok = Encode(image, options, &encoder);
  std::string bytes;
  if (ok) {
    bytes.assign(reinterpret_cast<const char*>(encoder.bytes), encoder.size);
  }
  std::free(encoder.bytes);
  if (ok) return bytes;
  return absl::InvalidArgumentError(
      absl::StrCat("cannot encode as JPEG: ", encoder.errors.text));
}

}  // namespace feedrate
