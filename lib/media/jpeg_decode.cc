#include <jerror.h>

#include <csetjmp>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/media/jpeg.h"
#include "lib/media/jpeg_errors.h"

namespace feedrate {
namespace {

struct Decoder {
  jpeg_decompress_struct cinfo;
  JpegErrors errors;
  jpeg_progress_mgr progress;
};

void Start(absl::string_view bytes, Decoder* decoder) {
  jpeg_create_decompress(&decoder->cinfo);
  decoder->cinfo.progress = PrepareJpegProgress(&decoder->progress);
  jpeg_mem_src(&decoder->cinfo,
               reinterpret_cast<const unsigned char*>(bytes.data()),
               bytes.size());
  jpeg_read_header(&decoder->cinfo, TRUE);
}

// False: `decoder->errors` says why. No destructors here: see JpegErrors.
bool ReadHeader(absl::string_view bytes, Decoder* decoder, ImageInfo* info) {
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

void DecodeRows(Decoder* decoder, int height, int width, uint8_t* rgb) {
  jpeg_decompress_struct* cinfo = &decoder->cinfo;
  const auto common = reinterpret_cast<j_common_ptr>(cinfo);
  if (cinfo->num_components != 3) FailJpeg(common, "not of three channels");
  if (cinfo->image_height != static_cast<JDIMENSION>(height) ||
      cinfo->image_width != static_cast<JDIMENSION>(width)) {
    FailJpeg(common, "of another size than expected");
  }
  cinfo->out_color_space = JCS_RGB;
  cinfo->dct_method = JDCT_ISLOW;
  jpeg_start_decompress(cinfo);
  const size_t stride = static_cast<size_t>(width) * 3;
  // As many rows as the decoder makes in one go.
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
  // Reads to the end of the image, which may be cut off too.
  jpeg_finish_decompress(cinfo);
}

// As ReadHeader.
bool Decode(absl::string_view bytes, Decoder* decoder, int height, int width,
            uint8_t* rgb) {
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

absl::Status Refused(const Decoder& decoder) {
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
  Decoder decoder;
  ImageInfo info;
  if (!ReadHeader(bytes, &decoder, &info)) return Refused(decoder);
  return info;
}

absl::Status DecodeJpeg(absl::string_view bytes, int height, int width,
                        uint8_t* rgb) {
  if (!IsJpeg(bytes)) return absl::InvalidArgumentError("no JPEG");
  Decoder decoder;
  if (Decode(bytes, &decoder, height, width, rgb)) return absl::OkStatus();
  return absl::InvalidArgumentError(Refused(decoder).message());
}

}  // namespace feedrate
