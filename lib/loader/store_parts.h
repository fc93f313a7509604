// Which part of an object in a store a sample needs. For loader.cc.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/strings/string_view.h"
#include "lib/loader/jpeg_index.h"
#include "lib/loader/jpeg_part.h"
#include "lib/loader/sample/sample_maker.h"
#include "lib/loader/source/remote_source.h"
#include "lib/media/jpeg/region.h"

namespace feedrate {

// Thread-safe.
class StoreParts {
 public:
  // `maker` draws the windows of samples. The others must outlive this.
  StoreParts(const RemoteSource& source, JpegIndex* index,
             std::unique_ptr<SampleMaker> maker);

  // Null if the item is to be read whole.
  std::unique_ptr<JpegPart> Find(int64_t item, uint64_t seed);

  // Notes what later reads of an item need, of which these are all bytes. It is
  // a JPEG with entries, whose codes begin at `codes_at`.
  void Add(int64_t item, absl::string_view bytes, const JpegIndex::Key& key,
           size_t codes_at);

  // Notes that a part did not fit the index, so that the item is read whole.
  // After a few, no more parts are read.
  void Misfit() { ++misfits_; }
  // A line about them, or empty.
  std::string Problem() const;

 private:
  const RemoteSource& source_;
  JpegIndex* const index_;
  std::atomic<int64_t> misfits_{0};
  std::mutex mutex_;  // Guards what follows.
  const std::unique_ptr<SampleMaker> maker_;
  JpegRegionDecoder decoder_;
};

}  // namespace feedrate
