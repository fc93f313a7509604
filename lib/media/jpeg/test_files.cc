#include "lib/media/jpeg/test_files.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "lib/media/jpeg/libjpeg.h"

namespace feedrate {
namespace {

void Die(j_common_ptr cinfo) {
  cinfo->err->output_message(cinfo);
  std::abort();
}

void DieOfWarnings(j_common_ptr cinfo, int level) {
  if (level < 0) Die(cinfo);
}

Image Pixels(const JpegTestFile& file) {
  Image image(file.height, file.width, file.grey ? 1 : 3);
  std::mt19937 random(file.seed);
  for (int y = 0; y < file.height; ++y) {
    for (int x = 0; x < file.width; ++x) {
      for (int c = 0; c < image.channels(); ++c) {
        int value = (3 * x * (c + 1) + 2 * y * (3 - c)) & 255;
        value += static_cast<int>(random() % (file.noise + 1)) - file.noise / 2;
        image.row(y)[x * image.channels() + c] =
            static_cast<uint8_t>(std::min(255, std::max(0, value)));
      }
    }
  }
  return image;
}

void Configure(const JpegTestFile& file, jpeg_compress_struct* cinfo) {
  cinfo->image_width = file.width;
  cinfo->image_height = file.height;
  cinfo->input_components = file.grey ? 1 : 3;
  cinfo->in_color_space = file.grey ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(cinfo);
  if (file.stored_as_rgb) jpeg_set_colorspace(cinfo, JCS_RGB);
  jpeg_set_quality(cinfo, file.quality, TRUE);
  if (!file.grey) {
    cinfo->comp_info[0].h_samp_factor = file.horizontal;
    cinfo->comp_info[0].v_samp_factor = file.vertical;
  }
  if (file.progressive) jpeg_simple_progression(cinfo);
  cinfo->arith_code = file.arithmetic ? TRUE : FALSE;
  cinfo->optimize_coding = file.optimised ? TRUE : FALSE;
  cinfo->restart_interval = file.restart_every;
}

}  // namespace

std::string MakeJpeg(const JpegTestFile& file) {
  Image image = Pixels(file);
  jpeg_compress_struct cinfo;
  jpeg_error_mgr errors;
  cinfo.err = jpeg_std_error(&errors);
  errors.error_exit = Die;
  jpeg_create_compress(&cinfo);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): libjpeg's type.
  jpeg_mem_dest(&cinfo, &bytes, &size);
  Configure(file, &cinfo);
  jpeg_start_compress(&cinfo, TRUE);
  while (cinfo.next_scanline < cinfo.image_height) {
    JSAMPROW row = image.row(static_cast<int>(cinfo.next_scanline));
    jpeg_write_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_compress(&cinfo);
  std::string result(reinterpret_cast<const char*>(bytes), size);
  jpeg_destroy_compress(&cinfo);
  std::free(bytes);
  return result;
}

Image DecodeWhole(absl::string_view bytes, const JpegRegionOptions& options) {
  jpeg_decompress_struct cinfo;
  jpeg_error_mgr errors;
  cinfo.err = jpeg_std_error(&errors);
  errors.error_exit = Die;
  errors.emit_message = DieOfWarnings;
  jpeg_create_decompress(&cinfo);
  jpeg_mem_src(&cinfo, reinterpret_cast<const unsigned char*>(bytes.data()),
               bytes.size());
  jpeg_read_header(&cinfo, TRUE);
  cinfo.out_color_space = JCS_RGB;
  cinfo.scale_num = 1;
  cinfo.scale_denom = options.scale;
  cinfo.dct_method = options.exact_dct ? JDCT_ISLOW : JDCT_IFAST;
  cinfo.do_fancy_upsampling = options.smooth_colours ? TRUE : FALSE;
  jpeg_start_decompress(&cinfo);
  Image image(static_cast<int>(cinfo.output_height),
              static_cast<int>(cinfo.output_width), 3);
  while (cinfo.output_scanline < cinfo.output_height) {
    JSAMPROW row = image.row(static_cast<int>(cinfo.output_scanline));
    jpeg_read_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_decompress(&cinfo);
  jpeg_destroy_decompress(&cinfo);
  return image;
}

}  // namespace feedrate
