// Reading the small text files with which a kernel describes itself.
#ifndef FEEDRATE_LIB_MACHINE_ROOT_H_
#define FEEDRATE_LIB_MACHINE_ROOT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace feedrate {

// A file system to look at: this machine's, or a folder that holds a copy of
// another machine's /proc, /sys and /etc. Paths are absolute inside it.
//
// A file that is absent, unreadable or garbled is no error: what a kernel
// shows differs from machine to machine, so each reader has an answer for
// "not known". Thread-safe; holds no open file.
class Root {
 public:
  // More than any file read here has on a machine of a thousand processors.
  static constexpr size_t kMaxFileSize = size_t{4} << 20;

  explicit Root(std::string folder = "/");

  // True when this is the machine itself, so that system calls may be asked.
  bool is_live() const { return folder_.empty(); }

  // Where `path` lies in the file system of this process.
  std::string PathOf(absl::string_view path) const;

  bool Exists(absl::string_view path) const;

  // Contents of a file, at most `limit` bytes of it.
  std::optional<std::string> Read(absl::string_view path,
                                  size_t limit = kMaxFileSize) const;

  // Contents without white space at the ends. Empty when it cannot be read.
  std::string ReadText(absl::string_view path) const;

  // A file that holds one decimal number and nothing else.
  std::optional<int64_t> ReadInt(absl::string_view path) const;

  // Where `path` leads once links are followed, as a path inside this root.
  // `path` itself when it leads nowhere, or out of the root.
  std::string Resolve(absl::string_view path) const;

  // Names in a folder, sorted. Empty when it cannot be read.
  std::vector<std::string> List(absl::string_view folder) const;

 private:
  std::string folder_;  // Without a slash at the end.
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_ROOT_H_
