// A folder of made-up /proc and /sys files for tests.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "lib/machine/root.h"

namespace feedrate {

// Owns a new, empty folder in the test's temporary folder. A failure ends the
// test program.
class FakeRoot {
 public:
  FakeRoot();
  ~FakeRoot();
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  // Writes a file, and creates the folders above it.
  void Write(absl::string_view path, absl::string_view contents) const;

  // Writes the files of a machine recorded in lib/machine/testdata, such as
  // "xeon_vm_16", into this folder.
  void CopyMachine(absl::string_view name) const;

  Root root() const { return Root(folder_); }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

// A machine recorded in lib/machine/testdata, for tests that do not change it.
// Its files are written to disk once and removed when the test program ends.
// Not thread-safe.
Root RecordedMachine(absl::string_view name);

}  // namespace feedrate
