// Threads that write files.
#ifndef FEEDRATE_LIB_TAR_EXTRACT_WRITER_POOL_H_
#define FEEDRATE_LIB_TAR_EXTRACT_WRITER_POOL_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lib/tar/extract/file_writer.h"
#include "lib/tar/extract/finish_line.h"
#include "lib/tar/status.h"

namespace feedrate::tar {

// A file too large to wait for: open, and written part by part.
struct PartialFile {
  ~PartialFile();

  FileTarget target;
  int fd = -1;
  std::atomic<uint64_t> left{0};  // Bytes; whoever writes the last finishes it.
};

// One file, or one part of a large one.
struct WriteJob {
  FileTarget target;

  // Its data, if it came as a stream; or else the file that holds it, either
  // open already or by its name in a folder, and from where on.
  std::vector<Piece> pieces;
  int source_fd = -1;
  FolderRef source_folder;
  std::string source_leaf;
  uint64_t source_offset = 0;

  // Set for a part: `pieces` go to `part_offset` of it, and target is unused.
  std::shared_ptr<PartialFile> partial;
  uint64_t part_offset = 0;
};

// Jobs in a row that one thread does: a lock for each empty file would cost
// more than the file.
struct WriteBatch {
  std::vector<WriteJob> jobs;
  FinishLine::StretchRef stretch;
};

class WriterPool {
 public:
  // `source_name` is for messages; `line` is frozen when a job fails.
  WriterPool(int threads, std::string source_name, FinishLine* line);
  // Finishes what was added.
  ~WriterPool();
  WriterPool(const WriterPool&) = delete;
  WriterPool& operator=(const WriterPool&) = delete;

  // Waits while the queue is full. After a failure batches are dropped.
  void Add(WriteBatch batch);

  // The first failure so far. Cheap while there is none.
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
  FinishLine* const line_;
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

#endif  // FEEDRATE_LIB_TAR_EXTRACT_WRITER_POOL_H_
