// Protobuf's wire format, read in place.
#ifndef FEEDRATE_LIB_STORAGE_WIRE_H_
#define FEEDRATE_LIB_STORAGE_WIRE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace feedrate {

// One field of a message.
struct WireField {
  enum Type { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  uint32_t number = 0;
  Type type = kVarint;
  // kVarint, kFixed64, kFixed32.
  uint64_t value = 0;
  // kBytes.
  absl::string_view bytes;
};

// Walks over the fields of a message.
class WireCursor {
 public:
  explicit WireCursor(absl::string_view message) : rest_(message) {}

  // False at the end, and where the bytes are no field: then is_broken. Groups,
  // which proto3 does not have, count as broken.
  bool Next(WireField* field);
  // The next number of a packed list.
  bool NextVarint(uint64_t* value);

  bool at_end() const { return rest_.empty(); }
  bool is_broken() const { return is_broken_; }

 private:
  bool Break() {
    is_broken_ = true;
    rest_ = absl::string_view();
    return false;
  }

  absl::string_view rest_;
  bool is_broken_ = false;
};

void AppendVarint(uint64_t value, std::string* out);
// A field of type kBytes.
void AppendBytesField(uint32_t number, absl::string_view bytes,
                      std::string* out);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_WIRE_H_
