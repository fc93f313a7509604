// The part of a JPEG in a store that a crop needs, by an index. See
// docs/jpeg_region.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/loader/jpeg_index.h"
#include "lib/media/jpeg/region.h"

namespace feedrate {

// What an index keeps of a JPEG for who has not read its bytes: its headers, as
// far as they matter for pixels, and sums of its codes, piece by piece. Empty
// if it has more headers than pay. REQUIRES: its codes begin at `codes_at`,
// which is not 0; it has the key.
std::string PackJpegOutline(absl::string_view jpeg, size_t codes_at,
                            const JpegIndex::Key& key);

// A part of an item that is a JPEG. It is checked by sums of all its bytes that
// were made when the index was, so that it has the pixels of those bytes,
// whatever a server delivers.
class JpegPart {
 public:
  // Where in the item the part is.
  int64_t begin() const { return begin_; }
  int64_t end() const { return end_; }
  // See JpegIndex::Find.
  absl::string_view entries() const { return entries_; }

  // Memory for it, and where in this memory the bytes from begin() to end()
  // have to be.
  size_t room() const;
  char* place(char* memory) const;
  // Makes a file of it that has only this part. DataLoss if these are other
  // bytes than those of the index.
  absl::StatusOr<absl::string_view> Finish(char* memory) const;

 private:
  friend std::unique_ptr<JpegPart> FindJpegPart(
      const JpegIndex& index, const std::string& outline, int64_t item_bytes,
      const std::function<JpegRegion(const ImageInfo&)>& region_of,
      JpegRegionDecoder* decoder);
  JpegPart() = default;

  std::string header_;
  std::string entries_;
  int64_t codes_bytes_ = 0;
  int64_t codes_at_ = 0;  // In the item.
  int64_t begin_ = 0;
  int64_t end_ = 0;
  std::vector<uint32_t> sums_;  // Of the pieces from begin_ to end_.
};

// The part of an item of that many bytes that a region needs. `outline` is that
// of PackJpegOutline. Null if it is damaged, the index does not have the
// picture, or the region needs the whole item.
std::unique_ptr<JpegPart> FindJpegPart(
    const JpegIndex& index, const std::string& outline, int64_t item_bytes,
    const std::function<JpegRegion(const ImageInfo&)>& region_of,
    JpegRegionDecoder* decoder);

}  // namespace feedrate
