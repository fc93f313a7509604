// Threads that write files, with their buffers, and the prefix of the archive
// that is completely written.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "lib/tar/extract/safe_path.h"
#include "lib/tar/header.h"
#include "lib/tar/status.h"

namespace feedrate::tar {

// A megabyte: a pipe's largest buffer; holds several photographs.
inline constexpr size_t kPoolBlockBytes = 1 << 20;

// Sixteen blocks limit the memory to 16 MB, whatever the archive contains.
inline constexpr size_t kPoolBlocks = 16;

// One buffer; it returns to its pool when the last reference is released.
using BlockRef = std::shared_ptr<char>;

// A fixed number of buffers that the reader fills and the writers empty.
// Thread-safe. Must outlive its blocks.
class BlockPool {
 public:
  BlockPool() = default;
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // Returns a free block, or null when all are in use.
  BlockRef TryTake();

  // Returns a free block. Waits if there is none.
  BlockRef Take();

 private:
  BlockRef Wrap(char* block);
  void GiveBack(char* block);

  std::mutex mutex_;
  std::condition_variable given_back_;
  std::vector<char*> free_;
  size_t made_ = 0;
};

// Where a file goes, and its metadata.
struct FileTarget {
  FolderRef folder;
  std::string path;  // Below DIR, for messages.
  size_t leaf = 0;   // Offset in `path` of the name within `folder`.
  uint32_t mode =
      0644;  // Minus the umask; setuid and similar bits are removed.
  Time mtime;
  uint64_t size = 0;

  const char* leaf_name() const { return path.c_str() + leaf; }
};

// Bytes within a block, which stays alive as long as this.
struct Piece {
  BlockRef block;
  const char* data = nullptr;
  size_t size = 0;
};

// Removes what is at `leaf` unless it is a folder. Returns true when nothing is
// there afterwards; otherwise errno has the reason.
bool RemoveLeaf(int folder_fd, const char* leaf);

// Creates the file. An old file with that name is removed, never opened, so
// that nothing is written through a hard or symbolic link.
Status CreateFile(const FileTarget& target, int* fd);

// Called when the written prefix has grown by a worthwhile step. Calls come
// from many threads, one at a time, with increasing offsets.
class WrittenPrefixListener {
 public:
  virtual ~WrittenPrefixListener() = default;
  // Returns false when the offset could not be recorded.
  virtual bool OnFinished(uint64_t offset) = 0;
};

// Limits what must be written again after a kill. A line in the journal takes
// about 2 us: at most one per 4 MB of data, or per 16 spans of small files, is
// negligible. Tests use smaller steps.
struct TellingStep {
  uint64_t bytes = 4 << 20;
  uint64_t spans = 16;
};

// Tracks up to which offset the archive is completely written. Writers finish
// out of order; the prefix ends before the first span that is still open. It
// also knows the names that are being written, so that two entries with the
// same name are never written at the same time.
class WrittenPrefix {
 public:
  // A span of the archive whose entries are being written. It counts as
  // finished when the last reference is released, unless the prefix was frozen.
  class Span {
   public:
    Span(WrittenPrefix* written, uint64_t index)
        : written_(written), index_(index) {}
    ~Span() { written_->Finish(index_); }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    WrittenPrefix* const written_;
    const uint64_t index_;
  };
  using SpanRef = std::shared_ptr<Span>;

  // `listener` may be null.
  explicit WrittenPrefix(WrittenPrefixListener* listener,
                         const TellingStep& step = TellingStep())
      : listener_(listener), step_(step) {}

  // Opens the span that ends at `end_offset`. Spans are opened in archive
  // order. `names` are hashes of the entries' names.
  SpanRef Open(uint64_t end_offset, std::vector<uint64_t> names);

  // Whether a name may be in an open span.
  bool IsOpen(uint64_t name);

  // Waits until no span is open.
  void WaitUntilClear();

  // Calls the listener with the end of the prefix, if it does not know it yet.
  // Returns false when that is not recorded: the listener failed, or the prefix
  // is frozen. REQUIRES: no span is open.
  bool Tell();

  // Nothing counts as finished any more, because something failed.
  void Freeze();

 private:
  struct Pending {
    uint64_t end_offset;
    std::vector<uint64_t> names;
    bool finished = false;
  };

  void Finish(uint64_t index);
  bool TellLocked();

  WrittenPrefixListener* const listener_;
  const TellingStep step_;
  std::mutex mutex_;
  std::condition_variable clear_;
  std::deque<Pending> pending_;  // In archive order.
  uint64_t first_index_ = 0;     // The index of pending_.front().
  std::unordered_map<uint64_t, int> names_;
  uint64_t open_ = 0;
  uint64_t offset_ = 0;  // The end of the prefix.
  uint64_t told_offset_ = 0;
  uint64_t untold_ = 0;  // Spans since the listener was called.
  bool frozen_ = false;
};

// A file too large to collect in memory: open, and written part by part.
struct PartialFile {
  ~PartialFile();

  FileTarget target;
  int fd = -1;
  std::atomic<uint64_t> left{
      0};  // Bytes. The writer of the last byte finishes the file.
};

// One file, or one part of a large file.
struct WriteJob {
  FileTarget target;

  // The data, if it came as a stream. Otherwise the file that holds it, either
  // open already or by its name in a folder, and the offset of the data.
  std::vector<Piece> pieces;
  int source_fd = -1;
  FolderRef source_folder;
  std::string source_leaf;
  uint64_t source_offset = 0;

  // Set for a part: `pieces` go to offset `part_offset`, and `target` is
  // unused.
  std::shared_ptr<PartialFile> partial;
  uint64_t part_offset = 0;
};

// Consecutive jobs for one thread: taking a lock for each empty file would cost
// more than the file.
struct WriteBatch {
  std::vector<WriteJob> jobs;
  WrittenPrefix::SpanRef span;
};

class WriterPool {
 public:
  // `source_name` is for messages. `written` is frozen when a job fails.
  WriterPool(int threads, std::string source_name, WrittenPrefix* written);
  // Finishes all added batches.
  ~WriterPool();
  WriterPool(const WriterPool&) = delete;
  WriterPool& operator=(const WriterPool&) = delete;

  // Waits while the queue is full. After a failure batches are dropped.
  void Add(WriteBatch batch);

  // The first failure so far. Cheap as long as there is none.
  Status status();

  // Bytes written so far.
  uint64_t bytes_written() const { return bytes_written_; }

 private:
  void Run();
  Status Do(const WriteJob& job, char* buffer);
  Status DoPart(const WriteJob& job);
  Status Fill(const WriteJob& job, int fd, char* buffer);
  Status FillFromFolder(const WriteJob& job, int fd, char* buffer);
  void Fail(Status status);

  const std::string source_name_;
  WrittenPrefix* const written_;
  std::mutex mutex_;
  std::condition_variable added_;
  std::condition_variable taken_;
  std::deque<WriteBatch> queue_;
  bool closing_ = false;
  Status status_;
  std::atomic<bool> failed_{false};
  std::atomic<uint64_t> bytes_written_{0};
  std::vector<std::thread> threads_;
};

}  // namespace feedrate::tar
