// TFRecord files, and tf.train.Example, the message that most of them contain.
//
// A record is bytes with their length and two checksums:
//
//   uint64 length | uint32 checksum of length | data | uint32 checksum of data
//
// Numbers are little-endian; checksums are MaskedCrc32c.
//
// An Example has named lists of bytes, floats or integers. It is read without
// copying: a frame of an episode stays where it is in the file until it is
// decoded. Only valid wire format is accepted, and each list is parsed when it
// is requested.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Bytes of a record before and after its data.
inline constexpr int64_t kTfRecordHeadBytes = 12;
inline constexpr int64_t kTfRecordTailBytes = 4;

// Appends one record to `out`.
void AppendTfRecord(absl::string_view data, std::string* out);

// Iterates over the records of a file that is in memory or mapped. Does not
// copy the data.
class TfRecordCursor {
 public:
  // `name` is for messages. `bytes` must outlive the cursor.
  TfRecordCursor(std::string name, absl::string_view bytes)
      : name_(std::move(name)), bytes_(bytes) {}

  // The next record's data, or nothing at the end of the file. DataLoss names
  // the file, the record, its offset and the problem: truncated, or a wrong
  // checksum. After a wrong data checksum, the next call continues with the
  // next record; after any other error it is unknown where the next record
  // starts, and can_go_on is false.
  absl::StatusOr<std::optional<absl::string_view>> Next();

  // The same without verifying the data checksum, for callers that only need to
  // know where the records are.
  absl::StatusOr<std::optional<absl::string_view>> NextUnchecked();

  bool can_go_on() const { return can_go_on_; }
  // Number of records so far, including damaged ones.
  int64_t count() const { return count_; }
  // Offset of the next record.
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

// Little-endian numbers at any address. Compilers turn each of these into one
// load or store.
inline uint64_t LittleEndian(const char* bytes, int size) {
  uint64_t value = 0;
  for (int i = size - 1; i >= 0; --i) {
    value = value << 8 | static_cast<uint8_t>(bytes[i]);
  }
  return value;
}

inline uint32_t LittleEndian32(const char* bytes) {
  return static_cast<uint32_t>(LittleEndian(bytes, 4));
}
inline uint64_t LittleEndian64(const char* bytes) {
  return LittleEndian(bytes, 8);
}

inline void AppendLittleEndian(uint64_t value, int size, std::string* out) {
  for (int i = 0; i < size; ++i) {
    out->push_back(static_cast<char>(value >> (8 * i)));
  }
}

inline void AppendLittleEndian32(uint32_t value, std::string* out) {
  AppendLittleEndian(value, 4, out);
}
inline void AppendLittleEndian64(uint64_t value, std::string* out) {
  AppendLittleEndian(value, 8, out);
}

// A view of one serialized Example.
class ExampleView {
 public:
  // Finds the features. `bytes` must outlive the view. InvalidArgument when
  // they are not an Example. Memory is reused by the next Parse.
  absl::Status Parse(absl::string_view bytes);

  // Feature names in message order. If a name occurs twice, the last one
  // counts, as in protobuf.
  const std::vector<absl::string_view>& names() const { return names_; }

  // Replace `out` by the values of a feature. NotFound names the missing
  // feature and those that exist; InvalidArgument a feature of another kind, or
  // a broken list.
  absl::Status Bytes(absl::string_view name,
                     std::vector<absl::string_view>* out) const;
  absl::Status Floats(absl::string_view name, std::vector<float>* out) const;
  absl::Status Integers(absl::string_view name,
                        std::vector<int64_t>* out) const;

  bool Has(absl::string_view name) const { return Find(name) != nullptr; }

 private:
  // Values are field numbers of the message Feature.
  enum class Kind { kNone = 0, kBytes = 1, kFloats = 2, kIntegers = 3 };
  struct Feature {
    Kind kind = Kind::kNone;
    // The serialized list.
    absl::string_view list;
  };

  absl::Status AddFeature(absl::string_view entry);
  const Feature* Find(absl::string_view name) const;
  absl::StatusOr<absl::string_view> ListOf(absl::string_view name,
                                           Kind kind) const;

  std::vector<absl::string_view> names_;
  std::vector<Feature> features_;
};

// Builds a serialized Example, one feature at a time.
class ExampleBuilder {
 public:
  void AddBytes(absl::string_view name,
                const std::vector<absl::string_view>& values);
  void AddFloats(absl::string_view name, const std::vector<float>& values);
  void AddIntegers(absl::string_view name, const std::vector<int64_t>& values);

  // The message so far.
  std::string Serialized() const;

 private:
  void Add(absl::string_view name, int kind, absl::string_view list);

  std::string features_;
};

}  // namespace feedrate
