// Reads the small text files in which a kernel describes the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace feedrate {

// The file system of a machine: this machine's, or a folder with a copy of
// another machine's /proc, /sys and /etc. Paths are absolute inside it.
//
// A missing, unreadable or garbled file is not an error: what a kernel shows
// differs from machine to machine, so each reader has a value for "not known".
// Thread-safe; holds no open file.
class Root {
 public:
  // More than any file read here has, even on a machine with a thousand
  // processors.
  static constexpr size_t kMaxFileSize = size_t{4} << 20;

  explicit Root(std::string folder = "/");

  // True if this is the running machine, so that system calls can be used too.
  bool is_live() const { return folder_.empty(); }

  // Returns the path of `path` in the file system of this process.
  std::string PathOf(absl::string_view path) const;

  bool Exists(absl::string_view path) const;

  // Returns the contents of a file, at most `limit` bytes.
  std::optional<std::string> Read(absl::string_view path,
                                  size_t limit = kMaxFileSize) const;

  // Returns the contents without leading and trailing white space. Empty if the
  // file cannot be read.
  std::string ReadText(absl::string_view path) const;

  // Reads a file that contains one decimal number and nothing else.
  std::optional<int64_t> ReadInt(absl::string_view path) const;

  // Resolves symbolic links and returns a path inside this root. Returns `path`
  // itself if it leads nowhere or out of the root.
  std::string Resolve(absl::string_view path) const;

  // Returns the sorted names in a folder. Empty if it cannot be read.
  std::vector<std::string> List(absl::string_view folder) const;

 private:
  std::string folder_;  // Without a trailing slash.
};

// Parses the kernel's notation for sets of processors, such as `0-3,8-11`, into
// increasing numbers without duplicates. Returns an empty list if `text` is
// empty or malformed: part of a set would be worse than none.
std::vector<int> ParseCpuList(absl::string_view text);

}  // namespace feedrate
