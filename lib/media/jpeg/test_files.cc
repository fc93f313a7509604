#include "lib/media/jpeg/test_files.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/media/image_file.h"
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

int ChannelsOf(const JpegTestFile& file) {
  return file.gray ? 1 : file.cmyk || file.ycck ? 4 : 3;
}

Image Pixels(const JpegTestFile& file) {
  Image image(file.height, file.width, ChannelsOf(file));
  std::mt19937 random(file.seed);
  for (int y = 0; y < file.height; ++y) {
    for (int x = 0; x < file.width; ++x) {
      for (int c = 0; c < image.channels(); ++c) {
        int value = (3 * x * (c + 1) + 2 * y * std::abs(3 - c)) & 255;
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
  cinfo->input_components = ChannelsOf(file);
  cinfo->in_color_space = file.gray                ? JCS_GRAYSCALE
                          : file.cmyk || file.ycck ? JCS_CMYK
                                                   : JCS_RGB;
  jpeg_set_defaults(cinfo);
  if (file.stored_as_rgb) jpeg_set_colorspace(cinfo, JCS_RGB);
  if (file.ycck) jpeg_set_colorspace(cinfo, JCS_YCCK);
  jpeg_set_quality(cinfo, file.quality, TRUE);
  if (!file.gray) {
    cinfo->comp_info[0].h_samp_factor = file.horizontal;
    cinfo->comp_info[0].v_samp_factor = file.vertical;
  }
  if (file.progressive) jpeg_simple_progression(cinfo);
  if (file.scans > 0) {
    cinfo->num_scans = std::min(cinfo->num_scans, file.scans);
  }
  cinfo->arith_code = file.arithmetic ? TRUE : FALSE;
  cinfo->optimize_coding = file.optimized ? TRUE : FALSE;
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
  ChooseJpegColors(&cinfo);
  cinfo.scale_num = 1;
  cinfo.scale_denom = options.scale;
  cinfo.dct_method = options.exact_dct ? JDCT_ISLOW : JDCT_IFAST;
  cinfo.do_fancy_upsampling = options.smooth_colors ? TRUE : FALSE;
  jpeg_start_decompress(&cinfo);
  Image image(static_cast<int>(cinfo.output_height),
              static_cast<int>(cinfo.output_width), 3);
  std::vector<uint8_t> cmyk(size_t{4} * cinfo.output_width);
  while (cinfo.output_scanline < cinfo.output_height) {
    uint8_t* const out = image.row(static_cast<int>(cinfo.output_scanline));
    JSAMPROW row = cinfo.output_components == 4 ? cmyk.data() : out;
    jpeg_read_scanlines(&cinfo, &row, 1);
    if (row != out) CmykToRgb(row, image.width(), out);
  }
  jpeg_finish_decompress(&cinfo);
  jpeg_destroy_decompress(&cinfo);
  return image;
}

namespace {

// Takes numbers from bytes; zeros when they are used up.
class Draws {
 public:
  explicit Draws(absl::string_view bytes) : bytes_(bytes) {}

  // Below `bound`, which is at most 65536.
  int Below(size_t bound) {
    uint32_t value = 0;
    for (int i = 0; i < 2; ++i) {
      value = value << 8 |
              static_cast<uint8_t>(at_ < bytes_.size() ? bytes_[at_] : 0);
      ++at_;
    }
    return bound == 0 ? 0 : static_cast<int>(value % bound);
  }

 private:
  const absl::string_view bytes_;
  size_t at_ = 0;
};

// Begin and length of a piece of the file.
struct Piece {
  size_t begin = 0;
  size_t length = 0;
};

struct Layout {
  std::vector<Piece> headers;  // Headers of scans, with their markers.
  std::vector<Piece> scans;    // Headers with what follows them.
  std::vector<Piece> codes;    // Codes of scans, with their restart markers.
  std::vector<size_t> restarts;
};

Layout FindLayout(absl::string_view jpeg) {
  Layout layout;
  const auto byte = [&](size_t i) {
    return i < jpeg.size() ? static_cast<uint8_t>(jpeg[i]) : 0;
  };
  size_t at = 2;
  while (at + 4 < jpeg.size()) {
    const size_t length = 2 + 256 * byte(at + 2) + byte(at + 3);
    if (byte(at + 1) != 0xda) {
      at += length;
      continue;
    }
    size_t end = at + length;
    for (; end < jpeg.size(); ++end) {
      if (byte(end) != 0xff || byte(end + 1) == 0) continue;
      if ((byte(end + 1) & 0xf8) != 0xd0) break;
      layout.restarts.push_back(end);
    }
    layout.headers.push_back({at, length});
    layout.codes.push_back({at + length, end - at - length});
    layout.scans.push_back({at, end - at});
    at = end;
  }
  return layout;
}

JpegTestFile DrawFile(Draws* draws) {
  JpegTestFile file;
  file.width = 1 + draws->Below(72);
  file.height = 1 + draws->Below(72);
  file.horizontal = 1 + draws->Below(2);
  file.vertical = 1 + draws->Below(2);
  file.quality = 20 + draws->Below(80);
  file.noise = draws->Below(100);
  file.seed = draws->Below(1000);
  file.gray = draws->Below(8) == 1;
  file.optimized = draws->Below(2) == 1;
  file.progressive = draws->Below(4) == 1;
  if (file.progressive) {
    // The fewest of them have sent the first coefficient of all components.
    file.scans = draws->Below(10);
  }
  if (draws->Below(4) != 0) file.restart_every = 1 + draws->Below(12);
  return file;
}

void DamageRestart(size_t at, Draws* draws, std::string* jpeg) {
  const std::string marker = jpeg->substr(at, 2);
  switch (draws->Below(4)) {
    case 0:
      (*jpeg)[at + 1] = static_cast<char>(0xd0 + draws->Below(8));
      return;
    case 1:
      jpeg->erase(at, 2);
      return;
    case 2:
      jpeg->insert(at, marker);
      return;
    default:
      // Not to where it would become part of another marker.
      jpeg->erase(at, 2);
      jpeg->insert(std::min(jpeg->size(), at + draws->Below(40) - 20), marker);
  }
}

void DamageScan(const Layout& layout, Draws* draws, std::string* jpeg) {
  const int number = draws->Below(layout.scans.size());
  const Piece scan = layout.scans[number];
  switch (draws->Below(3)) {
    case 0:
      jpeg->erase(scan.begin, scan.length);
      return;
    case 1:
      jpeg->insert(scan.begin, jpeg->substr(scan.begin, scan.length));
      return;
    default:
      (*jpeg)[scan.begin + 4 +
              draws->Below(layout.headers[number].length - 4)] =
          static_cast<char>(draws->Below(256));
  }
}

std::string Damage(std::string jpeg, Draws* draws) {
  const Layout layout = FindLayout(jpeg);
  const int kind = draws->Below(8);
  if (kind < 3 && !layout.restarts.empty()) {
    DamageRestart(layout.restarts[draws->Below(layout.restarts.size())], draws,
                  &jpeg);
    return jpeg;
  }
  if (kind == 3) {
    DamageScan(layout, draws, &jpeg);
    return jpeg;
  }
  const Piece codes = layout.codes[draws->Below(layout.codes.size())];
  const size_t at = codes.begin + draws->Below(codes.length);
  const size_t length = 1 + draws->Below(16);
  if (kind == 4) {
    jpeg.erase(at, length);
  } else if (kind == 5) {
    jpeg.insert(at,
                jpeg.substr(codes.begin + draws->Below(codes.length), length));
  } else if (kind == 6) {
    jpeg[at] = static_cast<char>(draws->Below(256));
  } else {
    jpeg[at] ^= static_cast<char>(1 << draws->Below(8));
  }
  return jpeg;
}

bool SamePixels(const std::vector<uint8_t>& part, const JpegRegion& region,
                const Image& whole) {
  const size_t row = size_t{3} * region.width;
  for (int y = 0; y < region.height; ++y) {
    if (std::memcmp(&part[y * row],
                    whole.view().row(region.y + y) + size_t{3} * region.x,
                    row) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

DamagedJpeg DrawDamagedJpeg(absl::string_view draws) {
  Draws numbers(draws);
  const JpegTestFile file = DrawFile(&numbers);
  DamagedJpeg jpeg;
  JpegRegion& region = jpeg.region;
  region.x = numbers.Below(file.width);
  region.y = numbers.Below(file.height);
  region.width = 1 + numbers.Below(file.width - region.x);
  region.height = 1 + numbers.Below(file.height - region.y);
  jpeg.whole = MakeJpeg(file);
  jpeg.damaged = Damage(jpeg.whole, &numbers);
  return jpeg;
}

DamageResult DecodeDamaged(const DamagedJpeg& jpeg) {
  const JpegRegion& region = jpeg.region;
  const size_t row = size_t{3} * region.width;
  const auto decode = [&](auto* decoder, std::vector<uint8_t>* rgb) {
    rgb->assign(row * region.height, 0);
    return decoder->Open(jpeg.damaged).ok() &&
           decoder->Decode(region, {}, rgb->data(), row).ok();
  };
  // Static, so that one picture can affect the next.
  static auto* const decoder = new JpegRegionDecoder;
  JpegTurboRegion turbo;
  std::vector<uint8_t> ours;
  std::vector<uint8_t> theirs;
  const bool we_decode = decode(decoder, &ours);
  const bool they_decode = decode(&turbo, &theirs);
  const absl::StatusOr<Image> damaged = DecodeImage(jpeg.damaged);
  if (damaged.ok()) {
    // What can be decoded whole can be decoded in part.
    if (!we_decode) return DamageResult::kOnlyWeRefuse;
    if (!SamePixels(ours, region, *damaged)) return DamageResult::kOtherPixels;
  }
  if (!we_decode) {
    return they_decode ? DamageResult::kOnlyWeRefuse : DamageResult::kRefused;
  }
  if (they_decode) {
    return ours == theirs ? DamageResult::kSame : DamageResult::kOtherPixels;
  }
  return SamePixels(ours, region, DecodeWhole(jpeg.whole, {}))
             ? DamageResult::kUnharmed
             : DamageResult::kOtherPixels;
}

}  // namespace feedrate
