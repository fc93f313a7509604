// Decodes the part of a JPEG that a crop needs, with little extra work: rows
// above it are skipped, columns beside it never become pixels, and reading
// stops after its last row.
//
// The pixels equal those of DecodeJpeg (lib/media/image_file.h), byte for byte,
// at every edge of the region.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/media/image.h"
#include "lib/media/jpeg/entries.h"
#include "lib/media/jpeg/huffman.h"
#include "lib/media/jpeg/reconstruct.h"

namespace feedrate {

// A rectangle in pixels of the decoded image, after `scale`.
struct JpegRegion {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

struct JpegRegionOptions {
  // 1, 2, 4 or 8. The image is decoded at 1/scale of its size, rounded up, for
  // a fraction of the work. See ScaledSize.
  int scale = 1;
  // Use the accurate integer transform; otherwise libjpeg's fast one, which is
  // off by a level or two.
  bool exact_dct = true;
  // Interpolate colors between two samples, as everywhere in lib/media;
  // otherwise repeat them, which is faster and leaves steps at colored edges.
  bool smooth_colors = true;
};

// The length of a side after scaling.
inline int ScaledSize(int size, int scale) {
  return (size + scale - 1) / scale;
}

// InvalidArgument for images that are not decoded: other than gray, color and
// CMYK, and more than kMostPixels.
absl::Status CheckJpegInfo(const ImageInfo& info);

// InvalidArgument unless the region lies within the image and the scale is one
// of those above. `info` has the size before scaling.
absl::Status CheckJpegRegion(const JpegRegion& region,
                             const JpegRegionOptions& options,
                             const ImageInfo& info);

// Bytes [begin, end) of the codes.
struct JpegCodeRange {
  size_t begin = 0;
  size_t end = 0;
};

// Decodes parts of baseline JPEGs faster than libjpeg-turbo, byte for byte the
// same: skips the codes of unneeded blocks several per lookup, and transforms
// only the blocks that are needed. Keeps its memory and its tables between
// pictures. Not thread-safe. Use JpegRegionDecoder instead.
class JpegBaselineRegion {
 public:
  // Processors without the instructions of BMI2 take the way that tests take
  // with false.
  explicit JpegBaselineRegion(bool may_use_bmi2 = true);

  // Writes rows of `region.width` x 3 bytes, `stride_bytes` apart, in full
  // size, with the accurate transform and smooth colors. Returns false when
  // anything is unusual, in the file or in this code: the caller then uses
  // libjpeg-turbo. REQUIRES: the region lies within the picture.
  // With `entries` of the picture (may be null), reads no codes but the
  // region's: damage elsewhere goes unnoticed.
  bool Decode(const JpegBaselinePicture& picture, const JpegRegion& region,
              const JpegEntries* entries, uint8_t* rgb, size_t stride_bytes);

  // The bytes of `picture.codes` that Decode reads with these entries.
  // REQUIRES: the region lies within the picture.
  JpegCodeRange CodesOf(const JpegBaselinePicture& picture,
                        const JpegRegion& region, const JpegEntries& entries);

  // The units of codes that a picture consists of.
  static int64_t CountMcus(const JpegBaselinePicture& picture);

  // Reads all codes. False for pictures that Decode does not decode, and for
  // those with restart markers, at which decoding can start anyway.
  bool FindEntries(const JpegBaselinePicture& picture, size_t file_bytes,
                   JpegEntries* entries);

 private:
  // The samples of one component that are needed, in whole blocks.
  struct Plane {
    int horizontal = 1;  // Blocks per MCU.
    int vertical = 1;
    int across = 1;  // Pixels per sample.
    int down = 1;
    int width = 0;  // Samples of the whole picture.
    int height = 0;
    int first_x = 0, end_x = 0;  // Blocks.
    int first_y = 0, end_y = 0;
    size_t stride = 0;
    std::vector<uint8_t> samples;
    alignas(16) uint16_t factors[64];
    JpegHuffmanTable dc_table, ac_table;
    JpegBlockCodes codes;

    // A sample by its position in the whole picture.
    uint8_t* at(int x, int y) {
      return &samples[kJpegRowMargin + (y - 8 * first_y) * stride] +
             (x - 8 * first_x);
    }
  };

  bool Prepare(const JpegBaselinePicture& picture, const JpegRegion& region);
  // The blocks that are needed; without making room for them.
  void Place(const JpegBaselinePicture& picture, const JpegRegion& region);
  void PlacePlane(const JpegBaselinePicture& picture, const JpegRegion& region,
                  Plane* plane);
  // `entries` may be null.
  bool DecodeBlocks(const JpegBaselinePicture& picture,
                    const JpegEntries* entries);
  // The same, with instructions that not every processor has.
  bool DecodeBlocksBmi2(const JpegBaselinePicture& picture,
                        const JpegEntries* entries);
  bool DecodeAll(const JpegBaselinePicture& picture);
  bool DecodeFrom(const JpegBaselinePicture& picture,
                  const JpegEntries& entries);
  // The entry from which row `y` of MCUs is read, and the bytes of its codes.
  JpegCodeRange CodesOfRow(const JpegBaselinePicture& picture,
                           const JpegEntries& entries, int y,
                           size_t* entry) const;
  // Before which MCUs decoding can start: fills all but the bytes, which are
  // those without stuffed zeros.
  bool WalkCodes(JpegEntries* entries);
  bool WalkCodesBmi2(JpegEntries* entries);
  // Advance by MCUs, also across restart markers.
  bool Skip(int64_t mcus);
  bool SkipTo(int64_t end);
  bool Read(int mcu_x, int mcu_y);
  bool ReadBlock(Plane* plane, int block_x, int block_y);
  bool BeginMcu();
  void StartPart(int part);
  void WriteRows(const JpegRegion& region, uint8_t* rgb, size_t stride_bytes);
  const uint8_t* ColorRow(const JpegRegion& region, int y, Plane* plane,
                          uint8_t* room);

  const bool uses_bmi2_;
  const JpegIdct idct_;
  const JpegRows rows_;
  int components_ = 0;
  Plane planes_[3];
  int mcus_across_ = 0;
  int64_t mcus_ = 0;
  int first_mcu_x_ = 0, end_mcu_x_ = 0;
  int first_mcu_y_ = 0, end_mcu_y_ = 0;
  int restart_every_ = 0;

  JpegCodeBytes bytes_;
  JpegBitReader reader_;
  int64_t mcu_ = 0;  // The next one.
  int part_ = 0;

  std::vector<uint16_t> sums_;
  std::vector<uint8_t> color_rows_[2];
};

// Decodes parts of JPEGs by libjpeg-turbo, for every kind of file that it
// reads, with the interface of JpegRegionDecoder, which callers should use
// instead. On its own it measures what a machine can decode.
class JpegTurboRegion {
 public:
  JpegTurboRegion();
  ~JpegTurboRegion();
  JpegTurboRegion(const JpegTurboRegion&) = delete;
  JpegTurboRegion& operator=(const JpegTurboRegion&) = delete;

  absl::StatusOr<ImageInfo> Open(absl::string_view bytes);
  absl::Status Decode(const JpegRegion& region,
                      const JpegRegionOptions& options, uint8_t* rgb,
                      size_t stride_bytes);

  // Gets what libjpeg read from the headers, when the file is a baseline one of
  // the common kinds; valid until the next call. Returns false for others.
  // REQUIRES: Open was the last call and returned OK.
  bool GetBaseline(JpegBaselinePicture* picture) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Decodes one picture after the other. After the largest picture it allocates
// no more memory, except for progressive files. Not thread-safe: use one per
// thread.
class JpegRegionDecoder {
 public:
  // Size and channels of a picture. Gray (1), color (3) and CMYK (4) can be
  // decoded, all to RGB; others and more than kMostPixels are InvalidArgument,
  // and so is a file whose end is missing, whatever region is wanted.
  // Decode uses `bytes`, which must stay valid and unchanged until then.
  absl::StatusOr<ImageInfo> Open(absl::string_view bytes);

  // Uses what FindEntries returned for the same bytes. It is not checked
  // whether they are the same: others give wrong pixels or an error. With
  // `is_part`, the file has only the headers and the codes of CodesOf in their
  // places: Decode is DataLoss if it would need others. REQUIRES: Open was the
  // last call and returned OK.
  void UseEntries(absl::string_view packed, bool is_part = false);

  // The bytes of the codes that Decode reads of the region with these entries,
  // of a file with the headers of the open one and `codes_bytes` of codes.
  // Empty if it reads all of them. REQUIRES: the region lies within the
  // picture; Open was the last call and returned OK.
  JpegCodeRange CodesOf(const JpegRegion& region, absl::string_view packed,
                        size_t codes_bytes);

  // Where in the open file its codes begin; 0 if FindEntries finds nothing.
  size_t codes_at() const {
    return is_baseline_ ? bytes_.size() - picture_.codes_bytes : 0;
  }

  // Where decoding of the open file can start; empty if nowhere but at its
  // beginning. Takes as long as reading all its codes.
  std::string FindEntries();

  // Writes rows of `region.width` x 3 bytes, `stride_bytes` apart, to `rgb`.
  // May be called again for another region. Damage up to the region's last row
  // is InvalidArgument; what follows is not read, nor are restart intervals
  // that lie well above the region or between its rows. An
  // EXIF orientation is not applied. On failure `rgb` may have been written to.
  // REQUIRES: the last Open returned OK.
  absl::Status Decode(const JpegRegion& region,
                      const JpegRegionOptions& options, uint8_t* rgb,
                      size_t stride_bytes);

 private:
  JpegTurboRegion turbo_;
  JpegBaselineRegion baseline_;
  ImageInfo info_;
  // Valid for `baseline_` until `turbo_` starts to decode.
  JpegBaselinePicture picture_;
  bool is_baseline_ = false;
  absl::string_view bytes_;
  JpegEntries entries_;
  bool has_entries_ = false;
  bool is_part_ = false;
};

// Decodes a region of one picture on several threads: each reads the codes of
// its own rows, from entries of the picture. Not thread-safe itself.
class JpegBandDecoder {
 public:
  // As JpegRegionDecoder::Decode of the picture in full size, to the bit.
  // `entries` are those of FindEntries; without any, one thread does it all.
  // REQUIRES: JpegRegionDecoder opens the file, and has this region.
  absl::Status Decode(absl::string_view bytes, absl::string_view entries,
                      const JpegRegion& region, int threads, uint8_t* rgb,
                      size_t stride_bytes);

 private:
  std::vector<std::unique_ptr<JpegRegionDecoder>> decoders_;  // One per band.
};

}  // namespace feedrate
