#include "lib/storage/cache/temp_space.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

constexpr absl::string_view kOwner = ".owner";

std::string RandomName() {
  std::random_device random;
  return absl::StrFormat("%08x%08x", random(), random());
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator file(folder, error), end;
       !error && file != end; file.increment(error)) {
    names.push_back(file->path().filename().string());
  }
  return names;
}

// What `owner` has in `folder`, but not its lock.
void RemoveOf(absl::string_view owner, const std::string& folder,
              const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!absl::StartsWith(name, owner) || absl::EndsWith(name, kOwner)) {
      continue;
    }
    std::error_code ignored;
    std::filesystem::remove_all(JoinPath(folder, name), ignored);
  }
}

}  // namespace

TempSpace::~TempSpace() {
  if (owner_.empty()) return;
  RemoveOf(owner_, folder_, NamesIn(folder_));
  unlink(JoinPath(folder_, absl::StrCat(owner_, kOwner)).c_str());
}

void TempSpace::SweepOrphans() const {
  const std::vector<std::string> names = NamesIn(folder_);
  for (const std::string& name : names) {
    if (!absl::EndsWith(name, kOwner)) continue;
    const std::string path = JoinPath(folder_, name);
    const UniqueFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!fd.valid() || flock(fd.get(), LOCK_EX | LOCK_NB) != 0) continue;
    RemoveOf(name.substr(0, name.size() - kOwner.size()), folder_, names);
    // Last: a sweeper that is killed leaves it to the next.
    unlink(path.c_str());
  }
}

absl::Status TempSpace::TakeOwnership() {
  // A sweeper may take the file for an orphan before it is locked; then it is
  // gone, and another is tried.
  for (int tries = 0; tries < 10; ++tries) {
    std::string owner = RandomName();
    const std::string path = JoinPath(folder_, absl::StrCat(owner, kOwner));
    UniqueFd fd(
        open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!fd.valid()) {
      return absl::UnavailableError(
          absl::StrCat(path, ": ", std::strerror(errno)));
    }
    struct stat info;
    if (flock(fd.get(), LOCK_EX) == 0 && fstat(fd.get(), &info) == 0 &&
        info.st_nlink > 0) {
      owner_ = std::move(owner);
      owner_lock_ = std::move(fd);
      return absl::OkStatus();
    }
  }
  return absl::UnavailableError(
      absl::StrCat(folder_, ": files cannot be locked here"));
}

absl::StatusOr<std::string> TempSpace::NewPath() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (owner_.empty()) RETURN_IF_ERROR(TakeOwnership());
  return JoinPath(folder_, absl::StrCat(owner_, ".", paths_++));
}

}  // namespace feedrate
