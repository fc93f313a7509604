#include "lib/loader/batch_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace feedrate {
namespace {

constexpr size_t kLargePage = size_t{2} << 20;

class Pages : public MemoryBlock {
 public:
  Pages(void* map, size_t mapped) : map_(map), mapped_(mapped) {
    const auto address = reinterpret_cast<uintptr_t>(map);
    aligned_ = static_cast<char*>(map) + (-address & (kLargePage - 1));
  }
  ~Pages() override { munmap(map_, mapped_); }
  float* data() const override { return reinterpret_cast<float*>(aligned_); }

 private:
  void* map_;
  size_t mapped_;
  char* aligned_;
};

class PageAllocator : public BatchMemory {
 public:
  absl::StatusOr<std::unique_ptr<MemoryBlock>> Allocate(size_t bytes) override {
    const size_t mapped = bytes + kLargePage;  // Room to align in.
    void* map = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "no ", bytes, " bytes for a batch; a smaller batch_size needs less"));
    }
    auto pages = std::make_unique<Pages>(map, mapped);
    if (bytes >= kLargePage) madvise(pages->data(), bytes, MADV_HUGEPAGE);
    Touch(reinterpret_cast<char*>(pages->data()), bytes);
    return pages;
  }

 private:
  static void Touch(char* data, size_t bytes) {
#ifdef MADV_POPULATE_WRITE
    if (madvise(data, bytes, MADV_POPULATE_WRITE) == 0) return;
#endif
    // Before Linux 5.14.
    for (size_t i = 0; i < bytes; i += 4096) data[i] = 0;
  }
};

}  // namespace

std::unique_ptr<BatchMemory> PageMemory() {
  return std::make_unique<PageAllocator>();
}

}  // namespace feedrate
