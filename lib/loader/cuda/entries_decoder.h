// Decodes JPEG files on the device from the entries of an index: see
// JpegRegionDecoder and docs/jpeg_region.md. The pixels are those of the CPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/media/jpeg/entries.h"
#include "lib/media/jpeg/region.h"
#include "lib/ops/cuda/cuda_device.h"
#include "lib/ops/cuda/kernels/jpeg.h"

namespace feedrate {

// Several files at a time. Not thread-safe.
class EntriesDecoder {
 public:
  // Some 300 MiB of device memory in all: more files should wait.
  static constexpr int64_t kManyBlocks = 1 << 20;
  static constexpr int64_t kManyBytes = 64 << 20;
  // At most so many rows more than are wanted.
  static constexpr int kMoreRows = 32;

  // The rows of pixels that Add makes.
  struct Rows {
    int top = 0;
    int height = 0;
  };

  // Adds a file, of which pixels of rows [top, end) are wanted. False if it is
  // of another kind or size, or the entries do not fit.
  bool Add(absl::string_view file, absl::string_view entries, int width,
           int height, int top, int end, Rows* rows);
  bool IsFull() const {
    return work_.blocks > kManyBlocks || codes_bytes_ > kManyBytes;
  }

  // Decodes all files, waits by `done` for it, and forgets them. `rgb` has one
  // place per file, for rows->height rows of the picture's width without gaps.
  // Returns which files are wrong, whose pixels are: codes are damaged, or
  // entries are those of other codes.
  absl::StatusOr<std::vector<int>> Decode(const std::vector<uint8_t*>& rgb,
                                          cudaStream_t stream,
                                          cudaEvent_t done);

  int64_t device_bytes() const {
    return input_.bytes() + coefficients_.bytes() + planes_.bytes();
  }

 private:
  void Clear();
  absl::Status Enqueue(const std::vector<uint8_t*>& rgb, cudaStream_t stream);
  int TableOf(const JpegHuffmanCodes& codes);
  void PlacePicture(const JpegBaselinePicture& picture, int first_row,
                    int end_row);

  JpegTurboRegion headers_;
  JpegBaselinePicture picture_;
  JpegEntries entries_;
  fused::JpegWork work_;
  std::vector<fused::JpegTable> tables_;
  std::vector<std::string> table_codes_;  // Of these, as in the file.
  std::vector<fused::JpegRows> pictures_;
  std::vector<fused::JpegStart> starts_;
  PinnedBlock codes_;
  int64_t codes_bytes_ = 0;
  int64_t plane_bytes_ = 0;
  // Tables, pictures and starts, to be copied; on the device before the codes.
  PinnedBlock lists_;
  PinnedBlock wrong_;
  DeviceBlock input_;
  DeviceBlock coefficients_;
  DeviceBlock planes_;
};

}  // namespace feedrate
