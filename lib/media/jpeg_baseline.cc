#include "lib/media/jpeg_baseline.h"

#include <algorithm>
#include <cstring>

namespace feedrate {
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
  return component.quantisation != nullptr && component.dc.counts != nullptr &&
         component.ac.counts != nullptr;
}

// Factors of 16 bits are multiplied in 16 bits, which differs from what
// libjpeg-turbo does without vectors.
bool SmallFactors(const uint16_t* factors) {
  return *std::max_element(factors, factors + 64) <= 255;
}

}  // namespace

JpegBaselineRegion::JpegBaselineRegion()
    : idct_(ChooseJpegIdct()), rows_(ChooseJpegRows()) {}

bool JpegBaselineRegion::Decode(const JpegBaselinePicture& picture,
                                const JpegRegion& region, uint8_t* rgb,
                                size_t stride_bytes) {
  if (!Prepare(picture, region)) return false;
  bytes_.Assign(picture.codes, picture.codes_bytes, restart_every_ > 0);
  if (!DecodeBlocks()) return false;
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
  first_mcu_x_ = first_mcu_y_ = 1 << 30;
  end_mcu_x_ = end_mcu_y_ = 0;
  for (int c = 0; c < components_; ++c) {
    const JpegBaselineComponent& component = picture.component[c];
    if (!Known(component) || !SmallFactors(component.quantisation)) {
      return false;
    }
    Plane& plane = planes_[c];
    plane.horizontal = c == 0 ? across : 1;
    plane.vertical = c == 0 ? down : 1;
    plane.across = across / plane.horizontal;
    plane.down = down / plane.vertical;
    PlacePlane(picture, region, &plane);
    // libjpeg does not interpolate so few.
    if (plane.across == 2 && plane.width <= 2) return false;
    std::copy_n(component.quantisation, 64, plane.factors);
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
  NeededSamples(region.y, region.y + region.height, plane->down, plane->height,
                &first, &last);
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
  // One MCU may be read past the end, into zeros or the next part; no more.
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
  if (restart_every_ > 0 && end / restart_every_ > mcu_ / restart_every_) {
    // Not even their codes are looked at. BeginMcu starts the part.
    const int64_t part = end / restart_every_;
    if (part >= bytes_.parts()) return false;
    part_ = static_cast<int>(part) - 1;
    mcu_ = part * restart_every_;
  }
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
  return reader_.Within(bytes_.end(part_));
}

// `region.width` samples of a colour, one a pixel.
const uint8_t* JpegBaselineRegion::ColourRow(const JpegRegion& region, int y,
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
    for (std::vector<uint8_t>& row : colour_rows_) row.resize(room);
  }
  for (int y = region.y; y < region.y + region.height; ++y) {
    const uint8_t* const luma = planes_[0].at(region.x, y);
    if (components_ == 1) {
      rows_.grey_to_rgb(luma, region.width, rgb);
    } else {
      rows_.to_rgb(luma,
                   ColourRow(region, y, &planes_[1], colour_rows_[0].data()),
                   ColourRow(region, y, &planes_[2], colour_rows_[1].data()),
                   region.width, rgb);
    }
    rgb += stride_bytes;
  }
}

}  // namespace feedrate
