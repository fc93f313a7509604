// Puts entries into the destination. Creates folders and links; hands files to
// the writer threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "lib/tar/extract/safe_path.h"
#include "lib/tar/extract/writer_pool.h"
#include "lib/tar/reader.h"
#include "lib/tar/status.h"

namespace feedrate::tar {

// Hands files to the writers in batches, and keeps entries with the same name
// in archive order. Used only by the thread that reads the archive.
class Dispatcher {
 public:
  Dispatcher(WriterPool* pool, WrittenPrefix* written)
      : pool_(pool), written_(written) {}

  // Waits for any file at `path` that is still being written.
  void Settle(const std::string& path);

  // Waits for it and notes that an entry depends on its content.
  Status BeforeReading(const std::string& path);

  // Call it before anything but a folder is created at `path`. A file that was
  // read since the last recorded offset is needed again if the run is killed
  // and resumed there; so the offset is recorded before the file is replaced.
  Status BeforeWriting(const std::string& path);

  // Adds a whole file whose entry ends at `end_offset`.
  void Add(WriteJob job, uint64_t end_offset);

  // Adds a part of a large file. The file counts as finished when the span from
  // OpenLarge() and all parts are released.
  WrittenPrefix::SpanRef OpenLarge(const std::string& path,
                                   uint64_t end_offset);
  void AddPart(WriteJob job, WrittenPrefix::SpanRef span);

  // An entry that ends at `end_offset` is finished and needed no writer.
  void Advance(uint64_t end_offset) { end_offset_ = end_offset; }

  // Hands over the current batch.
  void Flush();

  // Waits until everything is written or a write has failed.
  void Drain();

 private:
  Status RecordOffset();

  WriterPool* const pool_;
  WrittenPrefix* const written_;
  // Hashes of the paths that were read since the last recorded offset.
  std::unordered_set<uint64_t> read_;
  std::vector<WriteJob> jobs_;
  std::vector<uint64_t> names_;
  uint64_t bytes_ = 0;
  uint64_t end_offset_ = 0;
  uint64_t flushed_offset_ = 0;
};

// Number of entries found, whether written now or by an earlier run.
struct Counts {
  uint64_t files = 0;
  uint64_t bytes = 0;  // Data in files.
  uint64_t folders = 0;
  uint64_t symlinks = 0;
  uint64_t hard_links = 0;
  uint64_t skipped[kSkipKinds] = {};
  uint64_t xattr_headers = 0;
};

class Placer {
 public:
  // Does not own `root_fd`. `max_bytes` bounds the data of all entries.
  Placer(int root_fd, int strip, uint64_t max_bytes, Dispatcher* dispatcher);

  // Checks and counts the entry. With `write`, creates it if it is a folder or
  // link; if it is a file, sets `*is_target` and fills in `target`, and the
  // caller writes it. Without `write`, an earlier run has written it, and its
  // name is expected to be there. Errors name the entry.
  Status Place(const Entry& entry, bool write, FileTarget* target,
               bool* is_target);

  // Call it after the last entry. Fails when a name that an earlier run has
  // written is gone.
  Status CheckNothingIsLost();

  Counts* counts() { return &counts_; }
  // Whether a failure was because such a name is gone.
  bool lost() const { return lost_; }

 private:
  Status Count(const Entry& entry);
  Status Make(const Entry& entry, const std::string& path,
              const std::string& link, FileTarget* target, bool* is_target);
  Status PlaceFile(const Entry& entry, const std::string& path,
                   FileTarget* target);
  Status PlaceSymlink(const Entry& entry, const std::string& path);
  Status PlaceHardLink(const std::string& path, const std::string& link);
  Status Parent(const std::string& path, FolderRef* folder, size_t* leaf);
  Status CheckWritten(const Entry& entry, const std::string& path);
  Status Lost(const std::string& path);

  const int strip_;
  const uint64_t max_bytes_;
  Dispatcher* const dispatcher_;
  FolderCache folders_;
  Counts counts_;
  // Names from an earlier run that are gone. A kill while a file is replaced
  // leaves no file; the entry that replaces it is then written again.
  std::unordered_set<std::string> gone_;
  bool lost_ = false;
};

}  // namespace feedrate::tar
