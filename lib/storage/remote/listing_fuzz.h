// Pages of a listing that are right or wrong in a known way, for the fuzzers of
// the two dialects.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/allowed_sizes.h"
#include "lib/storage/remote/dialect.h"
#include "third_party/fuzz/decisions.h"

namespace feedrate {

struct FuzzedObject {
  std::string name;    // Printable ASCII, with everything that is special.
  std::string size;    // As the listing writes it.
  int64_t bytes = -1;  // What it means; -1 if it is not allowed.
  std::string version;
};

struct FuzzedPage {
  std::vector<FuzzedObject> objects;
  std::string next;
};

inline std::string FuzzedText(uint32_t bound, Decisions* decisions) {
  std::string text = decisions->Bytes(bound);
  for (char& c : text)
    c = static_cast<char>(' ' + static_cast<uint8_t>(c) % 95);
  return text;
}

inline FuzzedObject NewFuzzedObject(Decisions* decisions) {
  static constexpr const char* kWrong[] = {"70368744177665",
                                           "1152921504606846976",
                                           "4611686018427387904",
                                           "9223372036854775807",
                                           "9223372036854775808",
                                           "18446744073709551616",
                                           "-1",
                                           "-9223372036854775808",
                                           "1e3",
                                           "0x10",
                                           "",
                                           "1.5",
                                           "five",
                                           "1 1"};
  static constexpr int64_t kRight[] = {0, 1, int64_t{1} << 31, int64_t{1} << 40,
                                       kMaxObjectBytes};
  FuzzedObject object;
  object.name = "k" + FuzzedText(40, decisions);
  object.version = std::to_string(decisions->Below(100000));
  switch (decisions->Below(8)) {
    case 7:
      object.size = kWrong[decisions->Below(std::size(kWrong))];
      return object;
    case 6:
      object.bytes = kRight[decisions->Below(std::size(kRight))];
      break;
    default:
      object.bytes = decisions->Below(1 << 24);
  }
  object.size = std::to_string(object.bytes);
  return object;
}

inline FuzzedPage NewFuzzedPage(Decisions* decisions) {
  FuzzedPage page;
  for (uint32_t left = decisions->Below(6); left > 0; --left) {
    page.objects.push_back(NewFuzzedObject(decisions));
  }
  if (decisions->Yes()) page.next = "t" + FuzzedText(20, decisions);
  return page;
}

// Aborts unless `parsed` is what `page` says, or an error if that has a size
// that is not allowed.
inline void CheckFuzzedPage(const FuzzedPage& page,
                            const absl::StatusOr<ListPage>& parsed) {
  bool right = true;
  for (const FuzzedObject& object : page.objects) {
    right = right && object.bytes >= 0;
  }
  if (parsed.ok() != right) std::abort();
  if (!right) return;
  if (parsed->next != page.next) std::abort();
  if (parsed->objects.size() != page.objects.size()) std::abort();
  for (size_t i = 0; i < page.objects.size(); ++i) {
    const ObjectInfo& read = parsed->objects[i];
    const FuzzedObject& written = page.objects[i];
    if (read.name != written.name || read.bytes != written.bytes ||
        read.version != written.version) {
      std::abort();
    }
  }
}

}  // namespace feedrate
