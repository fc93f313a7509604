// Makes a corpus: room first, then the items, by any thread, then the seal.
#ifndef FEEDRATE_LIB_MEDIA_CORPUS_WRITER_H_
#define FEEDRATE_LIB_MEDIA_CORPUS_WRITER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/media/corpus.h"
#include "lib/media/corpus_format.h"
#include "lib/media/page_populator.h"

namespace feedrate {

struct ItemSize {
  int64_t frames = 1;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
};

// What an item of this size takes in a corpus, its entry in the index and the
// gap behind it included. -1 when no such item can be.
int64_t CorpusBytesOf(const ItemSize& size, DType dtype);

//   ASSIGN_OR_RETURN(CorpusWriter writer, CorpusWriter::Create(dtype, layout));
//   RETURN_IF_ERROR(writer.AddRoom(sizes));
//   decode item i into writer.data(i), on as many threads as you like
//   ASSIGN_OR_RETURN(Corpus corpus, std::move(writer).Finish());
class CorpusWriter {
 public:
  static absl::StatusOr<CorpusWriter> Create(DType dtype, Layout layout);
  CorpusWriter(CorpusWriter&& other) noexcept;
  CorpusWriter& operator=(CorpusWriter&&) = delete;
  ~CorpusWriter();

  // Adds items after those that are there, filled with zeros. Addresses got
  // from data() before are no longer good.
  absl::Status AddRoom(const std::vector<ItemSize>& sizes);

  int64_t size() const { return static_cast<int64_t>(items_.size()); }
  // Where item i is to be written. Different items may be written at once.
  void* data(int64_t i) { return map_ + items_[i].offset; }
  const CorpusItem& item(int64_t i) const { return items_[i]; }
  // Gets memory for item i ahead of writing it, which is faster than at each
  // page's first write. To be called by the thread that is about to write it.
  void Populate(int64_t i);

  // Writes item i by way of the file, which takes no page faults: faster than
  // through data() for values that are still in the cache. Different items may
  // be written at once. REQUIRES: `values` has the item's bytes.
  absl::Status Write(int64_t i, const void* values);

  // Takes out the items for which `keep` is false and gives their memory back.
  // REQUIRES: one value an item.
  void Keep(const std::vector<bool>& keep);

  // Writes header and index, and seals.
  absl::StatusOr<Corpus> Finish() &&;

 private:
  CorpusWriter(int fd, DType dtype, Layout layout);
  absl::Status Grow(int64_t bytes);
  void Unmap();

  int fd_;
  DType dtype_;
  Layout layout_;
  char* map_ = nullptr;
  int64_t mapped_bytes_ = 0;
  int64_t end_ = sizeof(CorpusHeader);  // Of the last item, aligned.
  std::vector<CorpusItem> items_;
  std::unique_ptr<PagePopulator> populator_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_CORPUS_WRITER_H_
