#include <csetjmp>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/media/jpeg.h"
#include "lib/media/jpeg_errors.h"

namespace feedrate {
namespace {

struct Encoder {
  jpeg_compress_struct cinfo;
  JpegErrors errors;
  unsigned char* bytes;  // Of malloc, by libjpeg.
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
