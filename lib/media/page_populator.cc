#include "lib/media/page_populator.h"

#include <sys/mman.h>
#include <time.h>

#include <algorithm>

namespace feedrate {
namespace {

// Of Linux 5.14 and 6.1; older headers lack them, older kernels refuse them.
constexpr int kPopulateWrite = 23;
constexpr int kCollapse = 25;

// Chunks after which the times mean something.
constexpr int64_t kTrial = 4;

// CPU time, so that other processes do not count.
int64_t ThreadNanoseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

// Has one page written, without which there is nothing to make large, and the
// kernel put a large one in its place.
bool MakeLarge(char* chunk) {
  return madvise(chunk, 4096, kPopulateWrite) == 0 &&
         madvise(chunk, PagePopulator::kChunk, kCollapse) == 0;
}

}  // namespace

void PagePopulator::Populate(char* map, int64_t size, int64_t begin,
                             int64_t end) {
  int64_t at = (begin + kChunk - 1) / kChunk * kChunk;
  for (; at < end && at + kChunk <= size; at += kChunk) {
    if (given_up_.load(std::memory_order_relaxed)) return;
    PopulateChunk(map + at);
  }
}

void PagePopulator::PopulateChunk(char* chunk) {
  const int64_t start = ThreadNanoseconds();
  int64_t unknown = 0;
  if (small_ns_.compare_exchange_strong(unknown, -1)) {
    // The first chunk: what do small pages cost?
    if (madvise(chunk, kChunk, kPopulateWrite) != 0) given_up_ = true;
    small_ns_ = std::max<int64_t>(ThreadNanoseconds() - start, 1);
    return;
  }
  if (!MakeLarge(chunk)) {
    given_up_ = true;
    return;
  }
  const int64_t total = large_ns_ += ThreadNanoseconds() - start;
  const int64_t chunks = ++large_chunks_;
  const int64_t small = small_ns_;
  if (chunks >= kTrial && small > 0 && total > chunks * small) given_up_ = true;
}

}  // namespace feedrate
