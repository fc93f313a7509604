// A folder of made-up /proc and /sys files for tests.
#ifndef FEEDRATE_LIB_MACHINE_TESTING_FAKE_ROOT_H_
#define FEEDRATE_LIB_MACHINE_TESTING_FAKE_ROOT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "lib/machine/root.h"

namespace feedrate {

// Owns a new empty folder below the test's own; failures end the test program.
class FakeRoot {
 public:
  FakeRoot();
  ~FakeRoot();
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  // Writes a file, and the folders it needs.
  void Write(absl::string_view path, absl::string_view contents) const;

  // Copies a machine of lib/machine/testdata into this folder.
  void CopyMachine(absl::string_view name) const;

  Root root() const { return Root(folder_); }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

// A recorded machine of lib/machine/testdata, such as "xeon_vm_16".
Root RecordedMachine(absl::string_view name);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_TESTING_FAKE_ROOT_H_
