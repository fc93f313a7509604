// TFRecord files: records of bytes, each with its length and two checksums.
//
//   uint64 length | uint32 checksum of length | data | uint32 checksum of data
//
// Little-endian; checksums are MaskedCrc32c.
#ifndef FEEDRATE_LIB_STORAGE_TFRECORD_H_
#define FEEDRATE_LIB_STORAGE_TFRECORD_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// What a record has before and behind its data.
inline constexpr int64_t kTfRecordHeadBytes = 12;
inline constexpr int64_t kTfRecordTailBytes = 4;

// Appends one record to `out`.
void AppendTfRecord(absl::string_view data, std::string* out);

// Walks over the records of a file that is in memory, or mapped. Nothing is
// copied.
class TfRecordCursor {
 public:
  // `name` is for messages. `bytes` outlives it.
  TfRecordCursor(std::string name, absl::string_view bytes)
      : name_(std::move(name)), bytes_(bytes) {}

  // The next record's data, or nothing at the end of the file. DataLoss names
  // the file, the record, where it starts and what is wrong: cut off, a
  // checksum. After a wrong checksum of data the next call goes on behind it;
  // after anything else there is no telling where a record starts, and
  // can_go_on is false.
  absl::StatusOr<std::optional<absl::string_view>> Next();

  // The same without looking at the data's checksum, for who only wants to
  // know where records are.
  absl::StatusOr<std::optional<absl::string_view>> NextUnchecked();

  bool can_go_on() const { return can_go_on_; }
  // Records that were passed, the damaged among them.
  int64_t count() const { return count_; }
  // Where the next record starts.
  int64_t offset() const { return offset_; }

 private:
  absl::StatusOr<std::optional<absl::string_view>> Advance(bool checks_data);
  absl::Status Damage(absl::string_view what) const;

  std::string name_;
  absl::string_view bytes_;
  int64_t offset_ = 0;
  int64_t count_ = 0;
  bool can_go_on_ = true;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_TFRECORD_H_
