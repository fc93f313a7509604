#include "lib/machine/testing/fake_root.h"

#include <glog/logging.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace feedrate {
namespace fs = std::filesystem;
namespace {

std::string TestdataFolder(absl::string_view name) {
  const std::string folder = absl::StrCat("lib/machine/testdata/", name);
  CHECK(fs::is_directory(folder)) << folder << " is not in the test's data";
  return folder;
}

}  // namespace

FakeRoot::FakeRoot() {
  const char* parent = getenv("TEST_TMPDIR");
  folder_ = absl::StrCat(parent != nullptr ? parent : "/tmp", "/root_XXXXXX");
  CHECK(mkdtemp(&folder_[0]) != nullptr) << "cannot make " << folder_;
}

FakeRoot::~FakeRoot() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void FakeRoot::Write(absl::string_view path, absl::string_view contents) const {
  const fs::path full = root().PathOf(path);
  fs::create_directories(full.parent_path());
  std::ofstream out(full, std::ios::binary | std::ios::trunc);
  out << contents;
  out.close();
  CHECK(out.good()) << "cannot write " << full;
}

void FakeRoot::CopyMachine(absl::string_view name) const {
  const fs::path from = TestdataFolder(name);
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(from)) {
    // Runfiles are links: copy what they point to.
    if (entry.is_directory()) continue;
    const fs::path to =
        fs::path(folder_) / entry.path().lexically_relative(from);
    fs::create_directories(to.parent_path());
    fs::copy_file(fs::canonical(entry.path()), to);
    fs::permissions(to, fs::perms::owner_write, fs::perm_options::add);
  }
}

Root RecordedMachine(absl::string_view name) {
  return Root(TestdataFolder(name));
}

}  // namespace feedrate
