// Items of a loader: where their bytes are, and in which order they are read.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/adapters/worker/params.h"

namespace feedrate {

// A view of decoded pixels: 8-bit HWC, rows `stride` bytes apart. With a
// negative stride the image is stored bottom up, and `data` is the row shown
// first.
struct PixelView {
  const uint8_t* data = nullptr;
  ptrdiff_t stride = 0;
  int height = 0;
  int width = 0;
  int channels = 0;
};

// Memory for the bytes of one file at a time: a block that only grows, or a map
// of the file. Not thread-safe.
class ReadBuffer {
 public:
  ReadBuffer() = default;
  ReadBuffer(const ReadBuffer&) = delete;
  ReadBuffer& operator=(const ReadBuffer&) = delete;
  ~ReadBuffer() { Unmap(); }

  // Returns at least `bytes` bytes of undefined content.
  char* Reserve(size_t bytes) {
    if (bytes > capacity_) {
      // Reserve extra, so that slowly growing files do not each allocate.
      capacity_ = bytes + bytes / 4;
      data_.reset(new char[capacity_]);
    }
    return data_.get();
  }

  // Maps the first `bytes` bytes of the file, valid until the next call.
  // Returns null if the file cannot be mapped.
  const char* Map(int fd, size_t bytes) {
    Unmap();
    // Populated: one page fault per page would cost more than the copy that
    // mapping saves.
    void* map =
        mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (map == MAP_FAILED) return nullptr;
    map_ = map;
    mapped_ = bytes;
    return static_cast<const char*>(map);
  }

 private:
  void Unmap() {
    if (map_ != nullptr) munmap(map_, mapped_);
    map_ = nullptr;
  }

  std::unique_ptr<char[]> data_;
  size_t capacity_ = 0;
  void* map_ = nullptr;
  size_t mapped_ = 0;
};

// Location of an item: `bytes` bytes from `offset`, in the file `path`, or in
// the open file `fd` if `path` is null.
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
  // Used in messages: the path of the item, or a similar name.
  virtual std::string name(int64_t item) const = 0;

  // Number of the item's class, or -1 if the source does not tell.
  virtual int64_t label(int64_t item) const { return -1; }

  // True if items are decoded pixels in memory. Use Pixels then, and Place and
  // Read otherwise.
  virtual bool in_memory() const { return false; }
  virtual PixelView Pixels(int64_t item) const { return {}; }

  virtual ItemPlace Place(int64_t item) const { return {}; }
  // Returns itself if items come from an object store. Read works then, Place
  // does not.
  virtual const RemoteSource* remote() const { return nullptr; }
  // Returns the bytes of the item, valid until `buffer` is used again. Error
  // messages do not repeat the item's name.
  virtual absl::StatusOr<absl::string_view> Read(int64_t item,
                                                 ReadBuffer* buffer) const {
    return absl::UnimplementedError("no bytes to read");
  }
};

// Order of items and seeds of their random draws.

// Combines two numbers, so that neighboring inputs give unrelated results.
inline uint64_t MixSeeds(uint64_t a, uint64_t b) {
  return Random(Random(a).Next() ^ (b * 0xD6E8FEB86659FD93u)).Next();
}

// Seed for the draws of an item. It depends on these three values only, not on
// the thread or on earlier items.
inline uint64_t ItemSeed(uint64_t seed, int64_t epoch, int64_t item) {
  return MixSeeds(MixSeeds(seed, static_cast<uint64_t>(epoch)),
                  static_cast<uint64_t>(item));
}

// Seed for mixing batch `batch`. It differs from every item's seed, and is the
// same for all loaders, so that they mix the same pairs.
inline uint64_t MixSeed(uint64_t seed, int64_t epoch, int64_t batch) {
  constexpr int64_t kMixing = -2;
  return MixSeeds(ItemSeed(seed, epoch, kMixing), static_cast<uint64_t>(batch));
}

// What one of several processes takes of an epoch: of the order of all items,
// positions start + rank, start + rank + world, and so on. After each process
// has taken n items, the first start + n * world positions are done, so that
// another number of processes can continue there.
struct EpochShare {
  int64_t start = 0;
  int64_t rank = 0;
  int64_t world = 1;
  // What becomes of items that do not make a full batch in every process.
  // kKeep: each item is delivered once, and last batches are smaller. kPad: the
  // first items of the epoch again, until all processes have as many. kDrop:
  // only full batches, as many in each process.
  enum class Tail { kKeep, kPad, kDrop };
  Tail tail = Tail::kKeep;

  // Number of items in the share.
  int64_t Count(int64_t num_items, int64_t batch_size) const {
    const int64_t left = num_items > start ? num_items - start : 0;
    switch (tail) {
      case Tail::kKeep:
        return left > rank ? (left - rank + world - 1) / world : 0;
      case Tail::kPad:
        return (left + world - 1) / world;
      case Tail::kDrop:
        return left / (world * batch_size) * batch_size;
    }
    return 0;
  }

  // With kKeep, true if some processes have one sample more than full batches,
  // and the others can split their last batch to have as many batches: its last
  // sample is then a batch. Not possible in batches of one, or if the others
  // have no sample at all.
  bool Splits(int64_t num_items, int64_t batch_size) const {
    const int64_t left = num_items > start ? num_items - start : 0;
    return tail == Tail::kKeep && batch_size > 1 && left > world &&
           left % world > 0 && left / world % batch_size == 0;
  }

  // Number of batches in the share.
  int64_t Batches(int64_t num_items, int64_t batch_size) const {
    const int64_t count = Count(num_items, batch_size);
    const bool has_one_more =
        Splits(num_items, batch_size) && count % batch_size == 0;
    return (count + batch_size - 1) / batch_size + (has_one_more ? 1 : 0);
  }

  // Where another share continues after each process has taken `batches`
  // batches, at least one of them and not all.
  int64_t StartAfter(int64_t batches, int64_t num_items,
                     int64_t batch_size) const {
    const int64_t after = start + batches * batch_size * world;
    return Splits(num_items, batch_size) ? std::min(after, num_items - world)
                                         : after;
  }
};

// Order of an epoch: maps positions 0 to count - 1 to items.
class ItemOrder {
 public:
  // Items first, first + 1, ..., wrapping at `num_items`. With `shuffle`, the
  // same items in an order that depends on seed and epoch. REQUIRES: first and
  // count are not negative, num_items > 0 unless count is 0.
  ItemOrder(int64_t first, int64_t count, int64_t num_items, bool shuffle,
            uint64_t seed, int64_t epoch)
      : first_(first), count_(count), modulus_(num_items) {
    if (!shuffle) return;
    shuffled_.resize(count);
    for (int64_t i = 0; i < count; ++i) shuffled_[i] = (first + i) % num_items;
    Shuffle(seed, epoch);
    first_ = 0;
    modulus_ = count;
  }

  // The first `count` items of a share; beyond the last item follow the first
  // of the epoch again. With `shuffle`, all items are shuffled before they are
  // shared. REQUIRES: as above.
  ItemOrder(const EpochShare& share, int64_t count, int64_t num_items,
            bool shuffle, uint64_t seed, int64_t epoch)
      : first_(share.start + share.rank),
        stride_(share.world),
        count_(count),
        modulus_(num_items) {
    if (!shuffle) return;
    shuffled_.resize(num_items);
    std::iota(shuffled_.begin(), shuffled_.end(), int64_t{0});
    Shuffle(seed, epoch);
  }

  int64_t count() const { return count_; }
  // Ends after `count` items.
  void Cut(int64_t count) { count_ = std::min(count_, count); }
  int64_t Item(int64_t position) const {
    const int64_t place = (first_ + position * stride_) % modulus_;
    return shuffled_.empty() ? place : shuffled_[place];
  }

 private:
  void Shuffle(uint64_t seed, int64_t epoch) {
    // Differs from the seed of every item.
    Random random(ItemSeed(~seed, epoch, -1));
    random.Shuffle(&shuffled_);
  }

  int64_t first_;
  int64_t stride_ = 1;
  int64_t count_;
  int64_t modulus_;
  std::vector<int64_t> shuffled_;
};

// Local files, one per item: images or numpy arrays.

struct ListedFile {
  std::string path;
  int64_t bytes = -1;  // Negative: looked up when the source is made.
};

// How file bytes reach the decoder.
enum class FileAccess { kRead, kMap };

// The files in the given order. A file that cannot be looked up is still an
// item; reading it returns the error.
std::unique_ptr<Source> ListSource(std::vector<ListedFile> files,
                                   FileAccess access = FileAccess::kRead);

// Images and arrays (names ending in .jpg, .jpeg, .png or .npy, in any case) in
// `folder` and its subfolders, sorted by path. NotFound if the folder does not
// exist.
absl::StatusOr<std::unique_ptr<Source>> FolderSource(
    const std::string& folder, FileAccess access = FileAccess::kRead);

// Decoded images of one size in memory of the caller, which must outlive the
// source: `count` times 8-bit HWC without gaps.
std::unique_ptr<Source> ArraySource(const uint8_t* data, int64_t count,
                                    int height, int width, int channels);

// The number in a `.cls` member, of which at most kLabelBytes are read; -1 if
// it is none.
inline constexpr size_t kLabelBytes = 20;
int64_t ParseLabel(absl::string_view text);

// True if the name ends like that of an image or array.
bool IsItemName(absl::string_view name);

// Items in tar files, as written by tar or WebDataset. Reads the headers of
// every shard first, skipping the bodies; later reads go directly to the item.
// In WebDataset naming, the members of a sample share the path up to the first
// dot of the file name and are adjacent. The first member that is an image or
// an array is the item. The member `.cls`, a number as text, is its label;
// captions and others are skipped. Items are named SHARD:MEMBER.
//
// InvalidArgument names a shard that is truncated or not an archive.
absl::StatusOr<std::unique_ptr<Source>> ShardSource(
    const std::vector<std::string>& shards);

}  // namespace feedrate
