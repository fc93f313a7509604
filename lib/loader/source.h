// Items of a loader: where their bytes are.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/unique_fd.h"
#include "lib/loader/source/data_folder.h"
#include "lib/ops/epoch_order.h"

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

class Corpus;
class RemoteSource;

// Items by number. Thread-safe.
class Source {
 public:
  virtual ~Source() = default;

  virtual int64_t size() const = 0;
  // Used in messages: the path of the item, or a similar name.
  virtual std::string name(int64_t item) const = 0;

  // Number of the item's class; -1 if the source does not tell, or kNoNumber.
  virtual int64_t label(int64_t item) const { return -1; }

  // True if items are decoded pixels in memory. Use Pixels then, and Place and
  // Read otherwise.
  virtual bool in_memory() const { return false; }
  virtual PixelView Pixels(int64_t item) const { return {}; }

  virtual ItemPlace Place(int64_t item) const { return {}; }
  // False if the bytes at Place are not the item itself, but what Read makes it
  // of, such as a compressed page.
  virtual bool has_places() const { return true; }
  // Returns itself if items come from an object store. Read works then; Place
  // knows only the size.
  virtual const RemoteSource* remote() const { return nullptr; }
  // Returns the bytes of the item, valid until `buffer` is used again. Error
  // messages do not repeat the item's name.
  virtual absl::StatusOr<absl::string_view> Read(int64_t item,
                                                 ReadBuffer* buffer) const {
    return absl::UnimplementedError("no bytes to read");
  }
  // While it is set, reads from a store end with CANCELLED: those under way and
  // those that begin. Reads of local files end by themselves.
  virtual void SetCancelled(bool cancelled) const {}
};

// Ends the reads of a source as long as it exists, so that a thread that waits
// for a store that does not answer can be joined.
class CancelledReads {
 public:
  explicit CancelledReads(const Source& source) : source_(source) {
    source_.SetCancelled(true);
  }
  ~CancelledReads() { source_.SetCancelled(false); }
  CancelledReads(const CancelledReads&) = delete;
  CancelledReads& operator=(const CancelledReads&) = delete;

 private:
  const Source& source_;
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

// The items of a folder and its subfolders, as ListDataFolder (data_folder.h)
// has them. A link that leads nowhere is an item that cannot be read. NotFound
// if the folder does not exist; InvalidArgument for a device or a pipe.
absl::StatusOr<std::unique_ptr<Source>> FolderSource(
    const std::string& folder, FileAccess access = FileAccess::kRead);
absl::StatusOr<std::unique_ptr<Source>> FolderSource(
    const DataFolder& listing, FileAccess access = FileAccess::kRead);

// Decoded images of one size in memory of the caller, which must outlive the
// source: `count` times 8-bit HWC without gaps.
std::unique_ptr<Source> ArraySource(const uint8_t* data, int64_t count,
                                    int height, int width, int channels);

// A source of decoded images in memory: the items of a corpus, which must
// outlive it. InvalidArgument if they are not 8-bit HWC images.
absl::StatusOr<std::unique_ptr<Source>> MemorySource(const Corpus& corpus);

// Label of an item whose member `.cls` is not a number of a class: an error
// unless labels are not needed, or come from folders.
inline constexpr int64_t kNoNumber = -2;
// The number in a `.cls` member; kNoNumber if it is none, -1 if it says so
// itself. A member of more bytes is none: its first ones may be another number.
inline constexpr int64_t kLabelBytes = 20;
int64_t ParseLabel(absl::string_view text);

// Items in tar files, as written by tar or WebDataset. Reads the headers of
// every shard first, skipping the bodies; later reads go directly to the item.
// In WebDataset naming, the members of a sample share the path up to the first
// dot of the file name and are adjacent. The first member with one of `endings`
// (lower case, no dot) is the item. The member `.cls`, a number as text, is its
// label; captions and others are skipped. Items are named SHARD:MEMBER.
//
// InvalidArgument names a shard that is truncated or not an archive.
absl::StatusOr<std::unique_ptr<Source>> ShardSource(
    const std::vector<std::string>& shards,
    const std::vector<std::string>& endings = ItemNameEndings());

// Items that are parts of files.

struct OpenFile {
  std::string path;
  UniqueFd file;
};

// The open file `path`. NotFound or DataLoss names it.
absl::StatusOr<OpenFile> OpenForParts(const std::string& path);

struct FilePart {
  // Index of its file.
  int file = 0;
  // Items are named PATH:NAME.
  std::string name;
  int64_t offset = 0;
  int64_t bytes = 0;
  int64_t label = -1;
};

std::unique_ptr<Source> PartsSource(std::vector<OpenFile> files,
                                    std::vector<FilePart> parts);

// Only these items of `source`, in this order. REQUIRES: it has them, and its
// items are files or parts of files on this machine.
std::unique_ptr<Source> SelectItems(std::unique_ptr<Source> source,
                                    std::vector<int64_t> items);

}  // namespace feedrate
