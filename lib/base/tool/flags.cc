#include "lib/base/tool/flags.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"

namespace feedrate {
namespace {

FileFlags* newest = nullptr;

}  // namespace

FileFlags::FileFlags(const char* file, Definition definition)
    : file_(file), definition_(definition), next_(newest) {
  newest = this;
}

void FileFlags::Register(const std::vector<std::string>& files) {
  for (FileFlags* flags = newest; flags != nullptr; flags = flags->next_) {
    if (flags->definition_ != nullptr &&
        absl::c_any_of(files, [&](const std::string& file) {
          return absl::EndsWith(flags->file_, file);
        })) {
      flags->definition_();
      flags->definition_ = nullptr;
    }
  }
}

}  // namespace feedrate
