#include "lib/media/jpeg/region.h"

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/media/image_file.h"
#include "lib/media/jpeg/libjpeg.h"
#include "lib/media/parallel.h"

namespace feedrate {
absl::StatusOr<ImageInfo> JpegRegionDecoder::Open(absl::string_view bytes) {
  ASSIGN_OR_RETURN(info_, turbo_.Open(bytes));
  is_baseline_ = turbo_.GetBaseline(&picture_);
  bytes_ = bytes;
  has_entries_ = is_part_ = false;
  return info_;
}

void JpegRegionDecoder::UseEntries(absl::string_view packed, bool is_part) {
  is_part_ = is_part;
  has_entries_ = is_baseline_ && picture_.restart_every == 0 &&
                 !packed.empty() &&
                 UnpackJpegEntries(packed, picture_.components,
                                   JpegBaselineRegion::CountMcus(picture_),
                                   picture_.codes_bytes, &entries_);
}

JpegCodeRange JpegRegionDecoder::CodesOf(const JpegRegion& region,
                                         absl::string_view packed,
                                         size_t codes_bytes) {
  if (!is_baseline_ || packed.empty() ||
      !UnpackJpegEntries(packed, picture_.components,
                         JpegBaselineRegion::CountMcus(picture_), codes_bytes,
                         &entries_)) {
    return {};
  }
  JpegBaselinePicture picture = picture_;
  picture.codes_bytes = codes_bytes;
  return baseline_.CodesOf(picture, region, entries_);
}

std::string JpegRegionDecoder::FindEntries() {
  JpegEntries entries;
  return is_baseline_ &&
                 baseline_.FindEntries(picture_, bytes_.size(), &entries)
             ? PackJpegEntries(entries)
             : "";
}

absl::Status JpegRegionDecoder::Decode(const JpegRegion& region,
                                       const JpegRegionOptions& options,
                                       uint8_t* rgb, size_t stride_bytes) {
  RETURN_IF_ERROR(CheckJpegRegion(region, options, info_));
  if (is_baseline_ && options.scale == 1 && options.exact_dct &&
      options.smooth_colors && has_entries_ >= is_part_ &&
      baseline_.Decode(picture_, region, has_entries_ ? &entries_ : nullptr,
                       rgb, stride_bytes)) {
    return absl::OkStatus();
  }
  if (is_part_) {
    return absl::DataLossError(
        "JPEG: the part that was read does not fit the index");
  }
  // The tables in `picture_` may become invalid.
  is_baseline_ = false;
  return turbo_.Decode(region, options, rgb, stride_bytes);
}

absl::Status CheckJpegInfo(const ImageInfo& info) {
  if (info.channels != 1 && info.channels != 3 && info.channels != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("JPEG: of ", info.channels,
                     " channels; only gray, color and CMYK are decoded"));
  }
  if (int64_t{info.height} * info.width > kMostPixels) {
    return absl::InvalidArgumentError(
        absl::StrCat("JPEG: ", info.width, "x", info.height,
                     " is larger than any photograph"));
  }
  return absl::OkStatus();
}

absl::Status CheckJpegRegion(const JpegRegion& region,
                             const JpegRegionOptions& options,
                             const ImageInfo& info) {
  const int scale = options.scale;
  if (scale != 1 && scale != 2 && scale != 4 && scale != 8) {
    return absl::InvalidArgumentError(absl::StrCat(
        "JPEG: cannot decode at 1/", scale, ", only at 1, 1/2, 1/4 and 1/8"));
  }
  const int width = ScaledSize(info.width, scale);
  const int height = ScaledSize(info.height, scale);
  if (region.x < 0 || region.y < 0 || region.width < 1 || region.height < 1 ||
      region.width > width - region.x || region.height > height - region.y) {
    return absl::InvalidArgumentError(
        absl::StrCat("JPEG: the region of ", region.width, "x", region.height,
                     " at ", region.x, ",", region.y,
                     " is not within the image of ", width, "x", height));
  }
  return absl::OkStatus();
}

struct JpegTurboRegion::State {
  // Reads the header of `bytes`. On failure, this and Decode return false, and
  // `errors` says why.
  bool Begin();
  bool Decode(const JpegRegion& region, const JpegRegionOptions& options,
              uint8_t* rgb, size_t stride_bytes);

  JpegArena arena;
  jpeg_decompress_struct cinfo;
  JpegErrors errors;
  jpeg_progress_mgr progress;
  absl::string_view bytes;
  ImageInfo info;
  // The header of `bytes` has been read, and no row yet.
  bool at_first_row = false;
};

namespace {

void ReadSource(jpeg_decompress_struct* cinfo, absl::string_view bytes) {
  jpeg_mem_src(cinfo, reinterpret_cast<const unsigned char*>(bytes.data()),
               bytes.size());
}

void SetOptions(const JpegRegionOptions& options,
                jpeg_decompress_struct* cinfo) {
  ChooseJpegColors(cinfo);
  cinfo->scale_num = 1;
  cinfo->scale_denom = options.scale;
  cinfo->dct_method = options.exact_dct ? JDCT_ISLOW : JDCT_IFAST;
  cinfo->do_fancy_upsampling = options.smooth_colors ? TRUE : FALSE;
}

// Whether libjpeg smooths the picture across the borders of blocks, as it does
// for progressive files that lack scans.
bool SmoothsBlocks(const jpeg_decompress_struct& cinfo) {
  if (!cinfo.progressive_mode || cinfo.coef_bits == nullptr) return false;
  for (int c = 0; c < cinfo.num_components; ++c) {
    const int* const bits = cinfo.coef_bits[c];
    if (std::any_of(bits, bits + DCTSIZE2, [](int b) { return b != 0; })) {
      return true;
    }
  }
  return false;
}

// Limits the columns to those of the region and one more on each side, since
// colors at an edge depend on their neighbors. libjpeg starts at a block
// boundary; ending at one is free. Returns the first column.
JDIMENSION Crop(const JpegRegion& region, jpeg_decompress_struct* cinfo) {
  // Blocks at the edge would be smoothed as those at the edge of the picture.
  if (SmoothsBlocks(*cinfo)) return 0;
  const int block = cinfo->max_h_samp_factor * cinfo->min_DCT_scaled_size;
  const int margin = cinfo->max_h_samp_factor;
  const int end = region.x + region.width + margin;
  JDIMENSION x = std::max(0, region.x - margin);
  JDIMENSION width = std::min<JDIMENSION>(cinfo->output_width,
                                          (end + block - 1) / block * block) -
                     x;
  jpeg_crop_scanline(cinfo, &x, &width);
  return x;
}

// No destructors, since libjpeg may jump out of it.
void DecodeRows(const JpegRegion& region, jpeg_decompress_struct* cinfo,
                JDIMENSION first_column, uint8_t* row, uint8_t* rgb,
                size_t stride_bytes) {
  const JDIMENSION top = region.y;
  if (top > 0) jpeg_skip_scanlines(cinfo, top);
  const bool is_cmyk = cinfo->output_components == 4;
  const uint8_t* source =
      row + (region.x - first_column) * size_t{is_cmyk ? 4u : 3u};
  for (int y = 0; y < region.height; ++y) {
    JSAMPROW rows[] = {row};
    jpeg_read_scanlines(cinfo, rows, 1);
    uint8_t* const out = rgb + y * stride_bytes;
    if (is_cmyk) {
      CmykToRgb(source, region.width, out);
    } else {
      std::memcpy(out, source, region.width * size_t{3});
    }
  }
}

// One scan that has all components, in order, and nothing unusual about it.
bool IsPlainScan(const jpeg_decompress_struct& cinfo) {
  if (cinfo.progressive_mode || cinfo.arith_code || cinfo.data_precision != 8 ||
      cinfo.comps_in_scan != cinfo.num_components || cinfo.Ss != 0 ||
      cinfo.Se != DCTSIZE2 - 1 || cinfo.Ah != 0 || cinfo.Al != 0) {
    return false;
  }
  for (int c = 0; c < cinfo.num_components; ++c) {
    if (cinfo.cur_comp_info[c] != &cinfo.comp_info[c]) return false;
  }
  return true;
}

bool IsPlainSampling(const jpeg_decompress_struct& cinfo) {
  const jpeg_component_info* info = cinfo.comp_info;
  if (cinfo.num_components == 1) {
    return info[0].h_samp_factor == 1 && info[0].v_samp_factor == 1;
  }
  return cinfo.jpeg_color_space == JCS_YCbCr && info[0].h_samp_factor <= 2 &&
         info[0].v_samp_factor <= 2 && info[1].h_samp_factor == 1 &&
         info[1].v_samp_factor == 1 && info[2].h_samp_factor == 1 &&
         info[2].v_samp_factor == 1;
}

template <int kTables>
JpegHuffmanCodes GetCodes(JHUFF_TBL* const (&tables)[kTables], int number) {
  if (number < 0 || number >= kTables || tables[number] == nullptr) return {};
  return {tables[number]->bits, tables[number]->huffval};
}

JpegBaselineComponent GetComponent(const jpeg_decompress_struct& cinfo,
                                   const jpeg_component_info& info) {
  JpegBaselineComponent component;
  component.horizontal = info.h_samp_factor;
  component.vertical = info.v_samp_factor;
  const int table = info.quant_tbl_no;
  if (table >= 0 && table < NUM_QUANT_TBLS &&
      cinfo.quant_tbl_ptrs[table] != nullptr) {
    component.quantization = cinfo.quant_tbl_ptrs[table]->quantval;
  }
  component.dc = GetCodes(cinfo.dc_huff_tbl_ptrs, info.dc_tbl_no);
  component.ac = GetCodes(cinfo.ac_huff_tbl_ptrs, info.ac_tbl_no);
  return component;
}

// Whether the end of the image is anywhere behind the headers. Codes cannot
// contain this marker, so a file that is cut off has none, and mostly it is the
// file's last two bytes.
bool HasEnd(const jpeg_source_mgr& source) {
  const absl::string_view rest(
      reinterpret_cast<const char*>(source.next_input_byte),
      source.bytes_in_buffer);
  return rest.rfind("\xff\xd9") != absl::string_view::npos;
}

absl::Status Refused(const JpegErrors& errors) {
  return absl::InvalidArgumentError(absl::StrCat("JPEG: ", errors.text));
}

}  // namespace

JpegTurboRegion::JpegTurboRegion() : state_(std::make_unique<State>()) {
  state_->cinfo.err = PrepareJpegErrors(&state_->errors);
  state_->cinfo.mem = nullptr;  // For the destructor.
}

JpegTurboRegion::~JpegTurboRegion() {
  if (state_->cinfo.mem != nullptr) jpeg_destroy_decompress(&state_->cinfo);
}

// Functions that call setjmp have no variables with destructors: see
// JpegErrors. After a jump the next Begin resets libjpeg.
bool JpegTurboRegion::State::Begin() {
  volatile bool ok = false;  // Written between setjmp and a jump.
  at_first_row = false;
  if (setjmp(errors.jump) == 0) {
    if (cinfo.mem == nullptr) {
      jpeg_create_decompress(&cinfo);
      cinfo.progress = PrepareJpegProgress(&progress);
      ReadSource(&cinfo, bytes);
      arena.Serve(&cinfo);
    }
    jpeg_abort_decompress(&cinfo);
    arena.Reset(&cinfo);
    ReadSource(&cinfo, bytes);
    jpeg_read_header(&cinfo, TRUE);
    ok = true;
  }
  at_first_row = ok;
  return ok;
}

bool JpegTurboRegion::State::Decode(const JpegRegion& region,
                                    const JpegRegionOptions& options,
                                    uint8_t* rgb, size_t stride_bytes) {
  volatile bool ok = false;
  at_first_row = false;
  if (setjmp(errors.jump) == 0) {
    SetOptions(options, &cinfo);
    jpeg_start_decompress(&cinfo);
    const JDIMENSION x = Crop(region, &cinfo);
    auto* row =
        static_cast<uint8_t*>(arena.Allocate(size_t{4} * cinfo.output_width));
    if (row == nullptr) {
      FailJpeg(reinterpret_cast<j_common_ptr>(&cinfo), "out of memory");
    }
    DecodeRows(region, &cinfo, x, row, rgb, stride_bytes);
    ok = true;
  }
  return ok;
}

absl::StatusOr<ImageInfo> JpegTurboRegion::Open(absl::string_view bytes) {
  State* state = state_.get();
  state->bytes = bytes;
  if (!IsJpeg(bytes)) return absl::InvalidArgumentError("no JPEG");
  if (!state->Begin()) return Refused(state->errors);
  ImageInfo& info = state->info;
  info.height = static_cast<int>(state->cinfo.image_height);
  info.width = static_cast<int>(state->cinfo.image_width);
  info.channels = state->cinfo.num_components;
  RETURN_IF_ERROR(CheckJpegInfo(info));
  if (!HasEnd(*state->cinfo.src)) {
    return absl::InvalidArgumentError("JPEG: Premature end of JPEG file");
  }
  return info;
}

bool JpegTurboRegion::GetBaseline(JpegBaselinePicture* picture) const {
  const jpeg_decompress_struct& cinfo = state_->cinfo;
  if (!state_->at_first_row || !IsPlainScan(cinfo) || !IsPlainSampling(cinfo)) {
    return false;
  }
  picture->width = state_->info.width;
  picture->height = state_->info.height;
  picture->components = cinfo.num_components;
  for (int c = 0; c < cinfo.num_components; ++c) {
    picture->component[c] = GetComponent(cinfo, cinfo.comp_info[c]);
  }
  picture->restart_every = static_cast<int>(cinfo.restart_interval);
  picture->codes = cinfo.src->next_input_byte;
  picture->codes_bytes = cinfo.src->bytes_in_buffer;
  return true;
}

absl::Status JpegTurboRegion::Decode(const JpegRegion& region,
                                     const JpegRegionOptions& options,
                                     uint8_t* rgb, size_t stride_bytes) {
  State* state = state_.get();
  RETURN_IF_ERROR(CheckJpegRegion(region, options, state->info));
  // Another region of the same picture, or one after a failure.
  if (!state->at_first_row && !state->Begin()) return Refused(state->errors);
  if (!state->Decode(region, options, rgb, stride_bytes)) {
    return Refused(state->errors);
  }
  return absl::OkStatus();
}

absl::Status JpegBandDecoder::Decode(absl::string_view bytes,
                                     absl::string_view entries,
                                     const JpegRegion& region, int threads,
                                     uint8_t* rgb, size_t stride_bytes) {
  // Blocks at both sides of a border are decoded twice.
  constexpr int kLeastRows = 64;
  const int bands = entries.empty() ? 1
                                    : std::clamp(region.height / kLeastRows, 1,
                                                 std::max(1, threads));
  while (static_cast<int>(decoders_.size()) < bands) {
    decoders_.push_back(std::make_unique<JpegRegionDecoder>());
  }
  std::vector<absl::Status> results(bands);
  ParallelFor(bands, bands, [&](int64_t band) {
    JpegRegionDecoder& decoder = *decoders_[band];
    results[band] = decoder.Open(bytes).status();
    if (!results[band].ok()) return;
    decoder.UseEntries(entries);
    // Borders between rows of MCUs.
    const auto border = [&](int64_t i) {
      if (i == bands) return region.height;
      const auto y =
          static_cast<int>(region.y + region.height * i / bands) / 16 * 16;
      return std::max(0, y - region.y);
    };
    const int begin = border(band);
    const JpegRegion rows = {region.x, region.y + begin, region.width,
                             border(band + 1) - begin};
    results[band] =
        decoder.Decode(rows, {}, rgb + begin * stride_bytes, stride_bytes);
  });
  for (const absl::Status& result : results) RETURN_IF_ERROR(result);
  return absl::OkStatus();
}

}  // namespace feedrate
