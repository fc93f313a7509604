// The list of archive offsets up to which everything is written.
#ifndef FEEDRATE_LIB_TAR_STAGE_JOURNAL_H_
#define FEEDRATE_LIB_TAR_STAGE_JOURNAL_H_

#include <cstdint>
#include <string>

#include "lib/tar/extract/finish_line.h"
#include "lib/tar/status.h"

namespace feedrate::tar {

inline constexpr char kJournalName[] = ".stage_dataset.journal";

// A file of lines: what is being staged, then one offset a line. A kill can cut
// the last line short; one without its newline does not count. It holds for one
// source and one boot: after a crash of the machine the data may be gone even
// where the journal is not.
class Journal : public FinishListener {
 public:
  ~Journal() override;

  // Opens the folder's journal for `identity`. `*resume_offset` is where an
  // earlier run came to; 0 without one, or with `fresh`, or when `identity` is
  // empty: then nothing could tell that it was of the same source.
  Status Open(int folder_fd, const std::string& identity, bool fresh,
              uint64_t* resume_offset);

  // Adds an offset. A line that cannot be written only costs work later.
  void OnFinished(uint64_t offset) override;

  // Removes the file: the sentinel speaks now.
  void Remove(int folder_fd);

 private:
  bool Load(int folder_fd, const std::string& header, uint64_t* offset);

  int fd_ = -1;
};

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_STAGE_JOURNAL_H_
