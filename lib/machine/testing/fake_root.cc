#include "lib/machine/testing/fake_root.h"

#include <glog/logging.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace feedrate {
namespace fs = std::filesystem;

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
  const std::string recording =
      absl::StrCat("lib/machine/testdata/", name, ".txt");
  std::ifstream in(recording);
  CHECK(in.good()) << recording << " is not in the test's data";
  std::map<std::string, std::string> files;
  std::string* contents = nullptr;
  for (std::string line; std::getline(in, line);) {
    absl::string_view path = line;
    if (absl::ConsumePrefix(&path, "=== ")) {
      contents = &files[std::string(path)];
      continue;
    }
    CHECK(contents != nullptr) << recording << " starts without a path";
    absl::StrAppend(contents, line, "\n");
  }
  for (const auto& [path, text] : files) Write(path, text);
}

Root RecordedMachine(absl::string_view name) {
  static std::map<std::string, FakeRoot> machines;
  const auto [machine, added] = machines.try_emplace(std::string(name));
  if (added) machine->second.CopyMachine(name);
  return machine->second.root();
}

}  // namespace feedrate
