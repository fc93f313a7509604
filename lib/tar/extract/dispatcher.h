// Hands files to the writers in batches, and keeps entries of one name in the
// archive's order.
#ifndef FEEDRATE_LIB_TAR_EXTRACT_DISPATCHER_H_
#define FEEDRATE_LIB_TAR_EXTRACT_DISPATCHER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/tar/extract/finish_line.h"
#include "lib/tar/extract/writer_pool.h"

namespace feedrate::tar {

// One thread: the one that reads the archive.
class Dispatcher {
 public:
  Dispatcher(WriterPool* pool, FinishLine* line) : pool_(pool), line_(line) {}

  // Waits for any file at `path` that is still being written. To be called
  // before anything is made there.
  void Settle(const std::string& path);

  // Adds a whole file whose entry ends at `end_offset`.
  void Add(WriteJob job, uint64_t end_offset);

  // Adds a part of a large file. The file counts as finished when the stretch
  // of OpenLarge() and all its parts have gone.
  FinishLine::StretchRef OpenLarge(const std::string& path,
                                   uint64_t end_offset);
  void AddPart(WriteJob job, FinishLine::StretchRef stretch);

  // An entry that ends at `end_offset` needed no writer, and is finished.
  void Advance(uint64_t end_offset) { end_offset_ = end_offset; }

  // Hands over what is in the batch so far.
  void Flush();

  // Waits until all is written, or something has failed.
  void Drain();

 private:
  WriterPool* const pool_;
  FinishLine* const line_;
  std::vector<WriteJob> jobs_;
  std::vector<uint64_t> names_;
  uint64_t bytes_ = 0;
  uint64_t end_offset_ = 0;
  uint64_t flushed_offset_ = 0;
};

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_EXTRACT_DISPATCHER_H_
