// Our own decoder of baseline JPEGs.
#include <algorithm>
#include <cstring>
#include <limits>

#include "lib/media/jpeg/region.h"

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

int64_t JpegBaselineRegion::CountMcus(const JpegBaselinePicture& picture) {
  const bool is_gray = picture.components == 1;
  const int across = is_gray ? 1 : picture.component[0].horizontal;
  const int down = is_gray ? 1 : picture.component[0].vertical;
  return int64_t{DivideUp(picture.width, 8 * across)} *
         DivideUp(picture.height, 8 * down);
}

JpegBaselineRegion::JpegBaselineRegion(bool may_use_bmi2)
    : uses_bmi2_(may_use_bmi2 && HasBmi2()),
      idct_(ChooseJpegIdct()),
      rows_(ChooseJpegRows()) {}

bool JpegBaselineRegion::Decode(const JpegBaselinePicture& picture,
                                const JpegRegion& region,
                                const JpegEntries* entries, uint8_t* rgb,
                                size_t stride_bytes) {
  if (!Prepare(picture, region)) return false;
  if (!(uses_bmi2_ ? DecodeBlocksBmi2(picture, entries)
                   : DecodeBlocks(picture, entries))) {
    return false;
  }
  WriteRows(region, rgb, stride_bytes);
  return true;
}

void JpegBaselineRegion::Place(const JpegBaselinePicture& picture,
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
  mcus_ = CountMcus(picture);
  first_mcu_x_ = first_mcu_y_ = 1 << 30;
  end_mcu_x_ = end_mcu_y_ = 0;
  for (int c = 0; c < components_; ++c) {
    Plane& plane = planes_[c];
    plane.horizontal = c == 0 ? across : 1;
    plane.vertical = c == 0 ? down : 1;
    plane.across = across / plane.horizontal;
    plane.down = down / plane.vertical;
    PlacePlane(picture, region, &plane);
  }
}

bool JpegBaselineRegion::Prepare(const JpegBaselinePicture& picture,
                                 const JpegRegion& region) {
  Place(picture, region);
  for (int c = 0; c < components_; ++c) {
    const JpegBaselineComponent& component = picture.component[c];
    if (!Known(component) || !SmallFactors(component.quantization)) {
      return false;
    }
    Plane& plane = planes_[c];
    const size_t size = plane.stride * 8 * (plane.end_y - plane.first_y);
    if (plane.samples.size() < size + 2 * kJpegRowMargin) {
      plane.samples.resize(size + 2 * kJpegRowMargin);
    }
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

bool JpegBaselineRegion::DecodeAll(const JpegBaselinePicture& picture) {
  bytes_.Assign(picture.codes, picture.codes_bytes, restart_every_ > 0);
  // With a marker too many or too few, the parts are not those of the picture.
  if (restart_every_ > 0 && bytes_.parts() != (mcus_ + restart_every_ - 1) /
                                                  int64_t{restart_every_}) {
    return false;
  }
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

JpegCodeRange JpegBaselineRegion::CodesOfRow(const JpegBaselinePicture& picture,
                                             const JpegEntries& entries, int y,
                                             size_t* entry) const {
  const int64_t every = entries.every;
  const int64_t row = int64_t{y} * mcus_across_;
  *entry = static_cast<size_t>((row + first_mcu_x_) / every);
  const auto to = static_cast<size_t>((row + end_mcu_x_ + every - 1) / every);
  // The byte in which the next entry begins may be a stuffed one.
  const size_t end =
      to < entries.entries.size()
          ? std::min<size_t>(entries.entries[to].byte + 2, picture.codes_bytes)
          : picture.codes_bytes;
  return {entries.entries[*entry].byte, end};
}

JpegCodeRange JpegBaselineRegion::CodesOf(const JpegBaselinePicture& picture,
                                          const JpegRegion& region,
                                          const JpegEntries& entries) {
  Place(picture, region);
  size_t entry;
  return {CodesOfRow(picture, entries, first_mcu_y_, &entry).begin,
          CodesOfRow(picture, entries, end_mcu_y_ - 1, &entry).end};
}

bool JpegBaselineRegion::DecodeFrom(const JpegBaselinePicture& picture,
                                    const JpegEntries& entries) {
  for (int y = first_mcu_y_; y < end_mcu_y_; ++y) {
    const int64_t row = int64_t{y} * mcus_across_;
    size_t from;
    const JpegCodeRange range = CodesOfRow(picture, entries, y, &from);
    const JpegEntry& entry = entries.entries[from];
    bytes_.Assign(picture.codes + range.begin, range.end - range.begin, false);
    StartPart(0);
    reader_.Discard(entry.bit);
    for (int c = 0; c < components_; ++c) {
      planes_[c].codes.last_dc = static_cast<uint32_t>(entry.last_dc[c]);
    }
    mcu_ = static_cast<int64_t>(from) * entries.every;
    if (!SkipTo(row + first_mcu_x_)) return false;
    for (int x = first_mcu_x_; x < end_mcu_x_; ++x) {
      if (!Read(x, y)) return false;
    }
    if (!reader_.Within(bytes_.end(0))) return false;
  }
  return true;
}

bool JpegBaselineRegion::DecodeBlocks(const JpegBaselinePicture& picture,
                                      const JpegEntries* entries) {
  return entries == nullptr ? DecodeAll(picture)
                            : DecodeFrom(picture, *entries);
}

bool JpegBaselineRegion::WalkCodes(JpegEntries* entries) {
  mcu_ = 0;
  StartPart(0);
  for (int64_t mcu = 0; mcu < mcus_; mcu += entries->every) {
    if (!SkipTo(mcu)) return false;
    const int64_t bits = reader_.BitsAfter(bytes_.begin(0));
    JpegEntry& entry = entries->entries.emplace_back();
    entry.byte = static_cast<uint32_t>(bits / 8);
    entry.bit = bits % 8;
    for (int c = 0; c < components_; ++c) {
      const auto dc = static_cast<int32_t>(planes_[c].codes.last_dc);
      if (dc != static_cast<int16_t>(dc)) return false;
      entry.last_dc[c] = static_cast<int16_t>(dc);
    }
  }
  return SkipTo(mcus_) && reader_.Within(bytes_.end(0));
}

bool JpegBaselineRegion::FindEntries(const JpegBaselinePicture& picture,
                                     size_t file_bytes, JpegEntries* entries) {
  if (picture.restart_every > 0 || !Prepare(picture, {0, 0, 1, 1}) ||
      picture.codes_bytes > std::numeric_limits<uint32_t>::max() - 2) {
    return false;
  }
  bytes_.Assign(picture.codes, picture.codes_bytes, false);
  entries->components = components_;
  entries->mcus = mcus_;
  entries->every = JpegEntryDistance(mcus_, file_bytes);
  entries->entries.clear();
  if (!(uses_bmi2_ ? WalkCodesBmi2(entries) : WalkCodes(entries))) return false;
  // Each stuffed zero before an entry moves it by one.
  const uint8_t* next = picture.codes;
  uint32_t plain = 0;
  for (JpegEntry& entry : entries->entries) {
    while (plain < entry.byte) {
      const uint32_t rest = entry.byte - plain;
      const void* const found = std::memchr(next, 0xff, rest);
      const uint32_t count =
          found == nullptr
              ? rest
              : static_cast<const uint8_t*>(found) - next + uint32_t{1};
      plain += count;
      next += found == nullptr ? count : count + 1;
    }
    entry.byte = static_cast<uint32_t>(next - picture.codes);
  }
  return true;
}

// Reading codes is a chain of shifts by numbers that are not known before. x86
// has these as single operations only since 2013. Everything that these call is
// compiled into them.
#if defined(__x86_64__)
#define FEEDRATE_BMI2 __attribute__((target("bmi2"), flatten))
#else
#define FEEDRATE_BMI2
#endif

FEEDRATE_BMI2
bool JpegBaselineRegion::DecodeBlocksBmi2(const JpegBaselinePicture& picture,
                                          const JpegEntries* entries) {
  return DecodeBlocks(picture, entries);
}

FEEDRATE_BMI2
bool JpegBaselineRegion::WalkCodesBmi2(JpegEntries* entries) {
  return WalkCodes(entries);
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

}  // namespace feedrate
