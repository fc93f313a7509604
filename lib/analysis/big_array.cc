#include "lib/analysis/big_array.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "glog/logging.h"

namespace feedrate {
namespace {

// Of x86-64, and of arm64 with pages of 4 KB.
constexpr size_t kHugePage = 2 << 20;

}  // namespace

void* MapZeroed(size_t bytes) {
  // Huge pages want an aligned start, which only newer kernels choose.
  const bool huge = bytes >= kHugePage;
  const size_t mapped = bytes + (huge ? kHugePage : 0);
  void* const memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  PCHECK(memory != MAP_FAILED) << "no memory for " << bytes << " bytes";
  if (!huge) return memory;
  char* const start = static_cast<char*>(memory);
  const size_t before =
      (kHugePage - reinterpret_cast<uintptr_t>(start) % kHugePage) % kHugePage;
  // What is cut off in front; the rest behind is never touched, but goes too.
  if (before > 0) PCHECK(munmap(start, before) == 0);
  const size_t page = 4096;
  const size_t used = (bytes + page - 1) / page * page;
  const size_t behind = (mapped + page - 1) / page * page - before - used;
  if (behind > 0) PCHECK(munmap(start + before + used, behind) == 0);
  // A kernel without huge pages says no, which is no harm.
  madvise(start + before, bytes, MADV_HUGEPAGE);
  return start + before;
}

void Unmap(void* memory, size_t bytes) {
  if (memory != nullptr) PCHECK(munmap(memory, bytes) == 0);
}

}  // namespace feedrate
