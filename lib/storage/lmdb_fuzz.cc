// The bytes are decisions that make an LMDB with known entries, then damage. An
// intact file gives back its entries. Whatever is damaged, reading ends, and
// every entry lies within the file.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "lib/storage/lmdb.h"
#include "third_party/fuzz/decisions.h"

namespace feedrate {
namespace {

// Keys are as long as the numbers in them and `key_bytes` make them.
std::string FileOf(const std::vector<std::string>& values, int key_bytes) {
  const int fd = memfd_create("lmdb", MFD_CLOEXEC);
  LmdbWriter writer(fd, "memory");
  for (size_t i = 0; i < values.size(); ++i) {
    if (!writer.Add(absl::StrFormat("%0*d", key_bytes, i), values[i]).ok()) {
      std::abort();
    }
  }
  if (!writer.Finish().ok()) std::abort();
  std::string file(lseek(fd, 0, SEEK_END), '\0');
  if (pread(fd, file.data(), file.size(), 0) !=
      static_cast<ssize_t>(file.size())) {
    std::abort();
  }
  close(fd);
  return file;
}

void CheckWithin(absl::string_view file, absl::string_view part) {
  if (part.data() < file.data() ||
      part.data() + part.size() > file.data() + file.size()) {
    std::abort();
  }
}

void Run(Decisions* decisions) {
  std::vector<std::string> values(decisions->Below(64));
  const int key_bytes = decisions->Yes() ? 500 : 4;
  for (std::string& value : values) {
    value.assign(decisions->Below(decisions->Yes() ? 9000 : 100), 'v');
  }
  std::string file = FileOf(values, key_bytes);
  const bool is_damaged = !decisions->empty();
  for (int left = 8; left > 0 && !decisions->empty(); --left) {
    // Heads of pages, where numbers are, more often than the rest.
    const size_t page = decisions->Below(file.size() / 4096) * 4096;
    const size_t at = page + decisions->Below(decisions->Yes() ? 4096 : 160);
    const size_t bytes = 1 + decisions->Below(8);
    for (size_t i = at; i < std::min(at + bytes, file.size()); ++i) {
      file[i] = static_cast<char>(decisions->Below(256));
    }
  }
  if (is_damaged && decisions->Yes()) file.resize(file.size() / 2);
  const auto entries = ReadLmdb(file);
  if (!entries.ok()) {
    if (!is_damaged || entries.status().message().empty()) std::abort();
    return;
  }
  if (!is_damaged && entries->size() != values.size()) std::abort();
  for (size_t i = 0; i < entries->size(); ++i) {
    const LmdbEntry& entry = (*entries)[i];
    CheckWithin(file, entry.key);
    CheckWithin(file, entry.value);
    if (!is_damaged && entry.value != values[i]) std::abort();
  }
}

}  // namespace
}  // namespace feedrate

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  feedrate::ReadLmdb({reinterpret_cast<const char*>(data), size}).IgnoreError();
  feedrate::Decisions decisions(data, size);
  feedrate::Run(&decisions);
  return 0;
}
