// Where encoded images come from: a folder, or a generator.
#ifndef FEEDRATE_LIB_MEDIA_IMAGE_SOURCE_H_
#define FEEDRATE_LIB_MEDIA_IMAGE_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/media/image_info.h"

namespace feedrate {

// Encoded images by number, in an order that does not change. Not all need be
// images. Thread-safe.
class ImageSource {
 public:
  virtual ~ImageSource() = default;

  virtual int64_t size() const = 0;
  // Unlike all others, and without what differs between machines.
  virtual std::string name(int64_t i) const = 0;
  // What the header says, if it can be decoded to RGB.
  virtual absl::StatusOr<ImageInfo> ReadHeader(int64_t i) const = 0;
  // Replaces `bytes` by the whole file. Its memory is used again.
  virtual absl::Status Read(int64_t i, std::string* bytes) const = 0;
};

// Opens `synthetic:…`, or a folder: every file in it and below, by sorted path.
// `extensions` such as {".jpg"}, in any case, leave out others; none: no limit.
// `num_items` is how many synthetic images there are where the name does not
// say.
absl::StatusOr<std::unique_ptr<ImageSource>> OpenImages(
    const std::string& dataset, const std::vector<std::string>& extensions,
    int64_t num_items);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_IMAGE_SOURCE_H_
