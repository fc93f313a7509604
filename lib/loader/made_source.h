// A source whose samples are more than the pixels of one file, such as steps of
// robot episodes and clips of videos: it makes them itself, some in an order of
// their own. The loader does everything else: workers, batches, ranks,
// replacements and the end.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/loader/source.h"

namespace feedrate {

// Makes samples on one thread.
class ItemMaker {
 public:
  virtual ~ItemMaker() = default;

  // Writes the sample of `item` to its place in a batch, whose memory is laid
  // out as the source likes. `bytes` are those of the item, unless the source
  // is in_memory(). Errors are faults of the item.
  virtual absl::Status Make(int64_t item, uint64_t seed,
                            absl::string_view bytes, void* batch,
                            int place) = 0;
};

// Thread-safe.
class MadeSource : public Source {
 public:
  // Nothing is read ahead: it reads for itself.
  bool in_memory() const override { return true; }

  // Samples of an epoch.
  virtual int64_t samples() const { return size(); }
  // False: items come in the loader's order, shuffled or not, and ItemAt is not
  // called.
  virtual bool has_order() const { return true; }
  // The item at a place of an epoch, from 0 to samples() - 1.
  virtual int64_t ItemAt(int64_t epoch, int64_t place) const { return place; }
  // The item that takes the place of one that cannot be used, and of the
  // replacements before this one, which counts from 1. Depends on these two
  // numbers alone.
  virtual int64_t Replacement(int64_t item, int64_t attempt) const = 0;

  // Bytes of a sample. A batch has as many times that as it may have samples.
  virtual int64_t sample_bytes() const = 0;
  // A maker for each thread, which must not outlive the source.
  virtual std::unique_ptr<ItemMaker> NewMaker() = 0;
};

}  // namespace feedrate
