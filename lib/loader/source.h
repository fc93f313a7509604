// First stage of a loader: where items come from.
#ifndef FEEDRATE_LIB_LOADER_SOURCE_H_
#define FEEDRATE_LIB_LOADER_SOURCE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/loader/pixels.h"
#include "lib/loader/read_buffer.h"

namespace feedrate {

// Where the bytes of an item lie: `bytes` of them from `offset` on, in the file
// `path`, or in an open one when `path` is null.
struct ItemPlace {
  const char* path = nullptr;
  int fd = -1;
  int64_t offset = 0;
  int64_t bytes = 0;
};

class RemoteSource;

// Items by number. Thread-safe.
class Source {
 public:
  virtual ~Source() = default;

  virtual int64_t size() const = 0;
  // For messages: the path, or what stands for it.
  virtual std::string name(int64_t item) const = 0;

  // Whether items are decoded pixels in memory: then there is Pixels, otherwise
  // Place and Read.
  virtual bool in_memory() const { return false; }
  virtual PixelView Pixels(int64_t item) const { return {}; }

  virtual ItemPlace Place(int64_t item) const { return {}; }
  // Itself where items come from a store: then there is Read and no Place.
  virtual const RemoteSource* remote() const { return nullptr; }
  // The bytes of the item, which stay until `buffer` is used again. The message
  // of an error does not repeat the name.
  virtual absl::StatusOr<absl::string_view> Read(int64_t item,
                                                 ReadBuffer* buffer) const {
    return absl::UnimplementedError("no bytes to read");
  }
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_SOURCE_H_
