#include "lib/media/jpeg/region.h"

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/media/image_file.h"
#include "lib/media/jpeg/libjpeg.h"

namespace feedrate {

absl::StatusOr<ImageInfo> JpegRegionDecoder::Open(absl::string_view bytes) {
  ASSIGN_OR_RETURN(info_, turbo_.Open(bytes));
  is_baseline_ = turbo_.GetBaseline(&picture_);
  return info_;
}

absl::Status JpegRegionDecoder::Decode(const JpegRegion& region,
                                       const JpegRegionOptions& options,
                                       uint8_t* rgb, size_t stride_bytes) {
  RETURN_IF_ERROR(CheckJpegRegion(region, options, info_));
  if (is_baseline_ && options.scale == 1 && options.exact_dct &&
      options.smooth_colors &&
      baseline_.Decode(picture_, region, rgb, stride_bytes)) {
    return absl::OkStatus();
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

namespace {

int DivideUp(int a, int b) { return (a + b - 1) / b; }

// The samples along one side that pixels [begin, end) need.
void NeededSamples(int begin, int end, int pixels_per_sample, int samples,
                   int* first, int* last) {
  if (pixels_per_sample == 1) {
    *first = begin;
    *last = end - 1;
    return;
  }
  // A pixel lies between its own sample and the next one on its side.
  *first = std::max(0, (begin - 1) >> 1);
  *last = std::min(samples - 1, end >> 1);
}

// Codes and factors of which a component has its own.
bool Known(const JpegBaselineComponent& component) {
  return component.quantization != nullptr && component.dc.counts != nullptr &&
         component.ac.counts != nullptr;
}

// Factors of 16 bits are multiplied in 16 bits, which differs from
// libjpeg-turbo without vectors.
bool SmallFactors(const uint16_t* factors) {
  return *std::max_element(factors, factors + 64) <= 255;
}

bool HasBmi2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("bmi2");
#else
  return false;
#endif
}

}  // namespace

JpegBaselineRegion::JpegBaselineRegion(bool may_use_bmi2)
    : uses_bmi2_(may_use_bmi2 && HasBmi2()),
      idct_(ChooseJpegIdct()),
      rows_(ChooseJpegRows()) {}

bool JpegBaselineRegion::Decode(const JpegBaselinePicture& picture,
                                const JpegRegion& region, uint8_t* rgb,
                                size_t stride_bytes) {
  if (!Prepare(picture, region)) return false;
  bytes_.Assign(picture.codes, picture.codes_bytes, restart_every_ > 0);
  // With a marker too many or too few, the parts are not those of the picture.
  if (restart_every_ > 0 && bytes_.parts() != (mcus_ + restart_every_ - 1) /
                                                  int64_t{restart_every_}) {
    return false;
  }
  if (!(uses_bmi2_ ? DecodeBlocksBmi2() : DecodeBlocks())) return false;
  WriteRows(region, rgb, stride_bytes);
  return true;
}

bool JpegBaselineRegion::Prepare(const JpegBaselinePicture& picture,
                                 const JpegRegion& region) {
  components_ = picture.components;
  restart_every_ = picture.restart_every;
  int across = 1;
  int down = 1;
  if (components_ == 3) {
    across = picture.component[0].horizontal;
    down = picture.component[0].vertical;
  }
  mcus_across_ = DivideUp(picture.width, 8 * across);
  mcus_ = int64_t{mcus_across_} * DivideUp(picture.height, 8 * down);
  first_mcu_x_ = first_mcu_y_ = 1 << 30;
  end_mcu_x_ = end_mcu_y_ = 0;
  for (int c = 0; c < components_; ++c) {
    const JpegBaselineComponent& component = picture.component[c];
    if (!Known(component) || !SmallFactors(component.quantization)) {
      return false;
    }
    Plane& plane = planes_[c];
    plane.horizontal = c == 0 ? across : 1;
    plane.vertical = c == 0 ? down : 1;
    plane.across = across / plane.horizontal;
    plane.down = down / plane.vertical;
    PlacePlane(picture, region, &plane);
    // libjpeg does not interpolate this few samples.
    if (plane.across == 2 && plane.width <= 2) return false;
    std::copy_n(component.quantization, 64, plane.factors);
    if (!plane.dc_table.Prepare(component.dc, /*is_dc=*/true) ||
        !plane.ac_table.Prepare(component.ac, /*is_dc=*/false)) {
      return false;
    }
    plane.codes.dc = &plane.dc_table;
    plane.codes.ac = &plane.ac_table;
  }
  return true;
}

void JpegBaselineRegion::PlacePlane(const JpegBaselinePicture& picture,
                                    const JpegRegion& region, Plane* plane) {
  plane->width = DivideUp(picture.width, plane->across);
  plane->height = DivideUp(picture.height, plane->down);
  int first;
  int last;
  NeededSamples(region.x, region.x + region.width, plane->across, plane->width,
                &first, &last);
  plane->first_x = first / 8;
  plane->end_x = last / 8 + 1;
  int end = region.y + region.height;
  // libjpeg makes two rows at once, so that it reads the colors of both.
  if (plane->down == 2) end += end % 2;
  NeededSamples(region.y, end, plane->down, plane->height, &first, &last);
  plane->first_y = first / 8;
  plane->end_y = last / 8 + 1;
  plane->stride = 8 * (plane->end_x - plane->first_x);
  const size_t size = plane->stride * 8 * (plane->end_y - plane->first_y);
  if (plane->samples.size() < size + 2 * kJpegRowMargin) {
    plane->samples.resize(size + 2 * kJpegRowMargin);
  }
  first_mcu_x_ = std::min(first_mcu_x_, plane->first_x / plane->horizontal);
  end_mcu_x_ = std::max(end_mcu_x_, DivideUp(plane->end_x, plane->horizontal));
  first_mcu_y_ = std::min(first_mcu_y_, plane->first_y / plane->vertical);
  end_mcu_y_ = std::max(end_mcu_y_, DivideUp(plane->end_y, plane->vertical));
}

void JpegBaselineRegion::StartPart(int part) {
  part_ = part;
  reader_.Start(bytes_.begin(part));
  for (Plane& plane : planes_) plane.codes.last_dc = 0;
}

bool JpegBaselineRegion::BeginMcu() {
  // At most one MCU may be read past the end, into zeros or the next part.
  if (!reader_.Within(bytes_.end(part_))) return false;
  if (restart_every_ == 0 || mcu_ == 0 || mcu_ % restart_every_ != 0) {
    return true;
  }
  if (part_ + 1 >= bytes_.parts()) return false;
  StartPart(part_ + 1);
  return true;
}

bool JpegBaselineRegion::Skip(int64_t mcus) {
  const int64_t end = mcu_ + mcus;
  if (restart_every_ > 0) {
    // Jumps over whole parts without reading their codes. The part that was
    // begun is read to its end, and so is the part before the one needed:
    // otherwise codes that were read from the wrong place would go unnoticed.
    const int64_t begun_end =
        (mcu_ + restart_every_ - 1) / restart_every_ * restart_every_;
    const int64_t part = end / restart_every_ - 1;
    if (part * restart_every_ > begun_end) {
      if (!SkipTo(begun_end) || !reader_.Within(bytes_.end(part_))) {
        return false;
      }
      // BeginMcu starts the part.
      part_ = static_cast<int>(part) - 1;
      mcu_ = part * restart_every_;
    }
  }
  return SkipTo(end);
}

bool JpegBaselineRegion::SkipTo(int64_t end) {
  for (; mcu_ < end; ++mcu_) {
    if (!BeginMcu()) return false;
    for (int c = 0; c < components_; ++c) {
      Plane& plane = planes_[c];
      for (int i = plane.horizontal * plane.vertical; i > 0; --i) {
        if (reader_.SkipBlock(&plane.codes) == 0) return false;
      }
    }
  }
  return true;
}

bool JpegBaselineRegion::ReadBlock(Plane* plane, int block_x, int block_y) {
  if (block_x < plane->first_x || block_x >= plane->end_x ||
      block_y < plane->first_y || block_y >= plane->end_y) {
    return reader_.SkipBlock(&plane->codes) != 0;
  }
  // One more for what comes after the end of a block.
  alignas(16) int16_t coefficients[64 + 8];
  std::memset(coefficients, 0, sizeof(coefficients));
  const int end = reader_.ReadBlock(&plane->codes, coefficients);
  if (end == 0) return false;
  uint8_t* const out = plane->at(8 * block_x, 8 * block_y);
  if (end == 1 + JpegCode::kEnd) {
    const uint8_t sample = JpegFlatSample(coefficients[0], plane->factors[0]);
    for (int y = 0; y < 8; ++y) {
      std::memset(out + y * plane->stride, sample, 8);
    }
  } else {
    idct_(coefficients, plane->factors, out, plane->stride);
  }
  return true;
}

bool JpegBaselineRegion::Read(int mcu_x, int mcu_y) {
  if (!BeginMcu()) return false;
  for (int c = 0; c < components_; ++c) {
    Plane& plane = planes_[c];
    for (int y = 0; y < plane.vertical; ++y) {
      for (int x = 0; x < plane.horizontal; ++x) {
        if (!ReadBlock(&plane, mcu_x * plane.horizontal + x,
                       mcu_y * plane.vertical + y)) {
          return false;
        }
      }
    }
  }
  ++mcu_;
  return true;
}

bool JpegBaselineRegion::DecodeBlocks() {
  mcu_ = 0;
  StartPart(0);
  for (int y = first_mcu_y_; y < end_mcu_y_; ++y) {
    const int64_t first = int64_t{y} * mcus_across_ + first_mcu_x_;
    if (!Skip(first - mcu_)) return false;
    for (int x = first_mcu_x_; x < end_mcu_x_; ++x) {
      if (!Read(x, y)) return false;
    }
  }
  // As far as libjpeg reads: the rest of the row may show that codes before it
  // are damaged.
  return Skip(int64_t{end_mcu_y_} * mcus_across_ - mcu_) &&
         reader_.Within(bytes_.end(part_));
}

// Reading codes is a chain of shifts by numbers that are not known before. x86
// has these as single operations only since 2013. Everything that this calls is
// compiled into it.
#if defined(__x86_64__)
__attribute__((target("bmi2"), flatten))
#endif
bool JpegBaselineRegion::DecodeBlocksBmi2() {
  return DecodeBlocks();
}

// `region.width` samples of a color, one per pixel.
const uint8_t* JpegBaselineRegion::ColorRow(const JpegRegion& region, int y,
                                            Plane* plane, uint8_t* room) {
  const int own = y / plane->down;
  int other = own;
  if (plane->down == 2) {
    other = std::min(plane->height - 1, std::max(0, own + (y % 2 ? 1 : -1)));
  }
  const int first = region.x / plane->across;
  const uint8_t* const near = plane->at(first, own);
  const uint8_t* const far = plane->at(first, other);
  if (plane->across == 1) {
    if (plane->down == 1) return near;
    rows_.blend(near, far, region.width, y % 2 == 1, room);
    return room;
  }
  const int count = (region.x + region.width - 1) / 2 - first + 1;
  const JpegEdges edges = {first == 0, first + count == plane->width};
  rows_.widen(near, plane->down == 2 ? far : nullptr, count, edges,
              sums_.data(), room);
  return room + region.x % 2;
}

void JpegBaselineRegion::WriteRows(const JpegRegion& region, uint8_t* rgb,
                                   size_t stride_bytes) {
  const size_t room = region.width + 2 * kJpegRowMargin;
  if (sums_.size() < room) {
    sums_.resize(room);
    for (std::vector<uint8_t>& row : color_rows_) row.resize(room);
  }
  for (int y = region.y; y < region.y + region.height; ++y) {
    const uint8_t* const luma = planes_[0].at(region.x, y);
    if (components_ == 1) {
      rows_.gray_to_rgb(luma, region.width, rgb);
    } else {
      rows_.to_rgb(luma,
                   ColorRow(region, y, &planes_[1], color_rows_[0].data()),
                   ColorRow(region, y, &planes_[2], color_rows_[1].data()),
                   region.width, rgb);
    }
    rgb += stride_bytes;
  }
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

}  // namespace feedrate
