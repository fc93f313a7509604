#include "lib/gate/duel/allocations/allocation_counter.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/base/private_folder.h"
#include "lib/base/status_macros.h"
#include "lib/base/unique_fd.h"

namespace feedrate {

// The bytes of libpreloaded.so. Defined in a generated file.
extern const unsigned char kPreloadedLibrary[];
extern const size_t kPreloadedLibrarySize;

namespace {

std::string ReasonText(const CountedAllocations& counted) {
  const std::string program = counted.uncounted;
  switch (static_cast<Uncounted>(counted.reason)) {
    case Uncounted::kNone:
      return "the command, or the shell that runs it, is a static program, or "
             "$TMPDIR forbids to run programs (noexec)";
    case Uncounted::kStatic:
      return absl::StrCat(program, " is a static program; link it dynamically");
    case Uncounted::kSetUid:
      return absl::StrCat(program, " runs as another user (setuid)");
    case Uncounted::kOtherProcessor:
      return absl::StrCat(program, " is a program for another processor");
    case Uncounted::kEnvironment:
      return absl::StrCat(program, " is started without LD_PRELOAD and ",
                          kAllocationsVariable, " in its environment");
    case Uncounted::kOwnMalloc:
      return absl::StrCat(program, " has its own malloc");
  }
  return "unknown";
}

}  // namespace

absl::StatusOr<std::unique_ptr<AllocationCounter>> AllocationCounter::Make() {
  ASSIGN_OR_RETURN(const std::string folder,
                   MakeTemporaryFolder("duel_allocations"));
  const std::string library = JoinPath(folder, "libpreloaded.so");
  const std::string counts = JoinPath(folder, "counts");
  std::string preload = absl::StrCat("LD_PRELOAD=", library);
  const char* others = std::getenv("LD_PRELOAD");
  if (others != nullptr && *others != '\0') {
    absl::StrAppend(&preload, ":", others);
  }
  const UniqueFd file(open(counts.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  void* memory = MAP_FAILED;
  if (file.valid() && ftruncate(file.get(), sizeof(CountedAllocations)) == 0) {
    memory = mmap(nullptr, sizeof(CountedAllocations), PROT_READ | PROT_WRITE,
                  MAP_SHARED, file.get(), 0);
  }
  if (memory == MAP_FAILED) {
    const absl::Status status = absl::UnavailableError(
        absl::StrCat(counts, ": cannot map: ", std::strerror(errno)));
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    return status;
  }
  // Removes the folder, whatever happens.
  std::unique_ptr<AllocationCounter> counter(new AllocationCounter(
      folder, static_cast<CountedAllocations*>(memory),
      {std::move(preload), absl::StrCat(kAllocationsVariable, "=", counts)}));
  RETURN_IF_ERROR(WriteFileAtomically(
      library, std::string(reinterpret_cast<const char*>(kPreloadedLibrary),
                           kPreloadedLibrarySize)));
  return counter;
}

AllocationCounter::~AllocationCounter() {
  munmap(counted_, sizeof(*counted_));
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void AllocationCounter::Reset() { std::memset(counted_, 0, sizeof(*counted_)); }

absl::Status AllocationCounter::Read(Usage* usage) const {
  if (counted_->programs == 0 || counted_->reason != 0) {
    return absl::FailedPreconditionError(ReasonText(*counted_));
  }
  uint64_t calls = 0;
  uint64_t bytes = 0;
  for (const CountedAllocations::Slot& slot : counted_->slots) {
    calls += slot.calls;
    bytes += slot.bytes;
  }
  usage->set_allocations(static_cast<int64_t>(calls));
  usage->set_allocated_bytes(static_cast<int64_t>(bytes));
  return absl::OkStatus();
}

}  // namespace feedrate
