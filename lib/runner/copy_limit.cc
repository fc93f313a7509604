#include "lib/runner/copy_limit.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "lib/catalogue/catalogue.h"
#include "lib/media/corpus.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

// More items than the caches hold, in a few milliseconds.
constexpr int64_t kItems = 64;
// The first touches the buffer's pages.
constexpr int kPasses = 4;

double Measure(const Corpus& corpus) {
  const int64_t items = std::min(corpus.size(), kItems);
  int64_t largest = 1;
  for (int64_t i = 0; i < items; ++i) {
    largest = std::max(largest, corpus.item(i).bytes);
  }
  const std::unique_ptr<char[]> buffer(new char[largest]);
  double best_s = 1e9;
  for (int pass = 0; pass < kPasses; ++pass) {
    const auto start = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < items; ++i) {
      const ItemView item = corpus.item(i);
      std::memcpy(buffer.get(), item.data, item.bytes);
      // The copy is not to be left out.
      asm volatile("" : : "r"(buffer.get()) : "memory");
    }
    const std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    best_s = std::min(best_s, elapsed.count());
  }
  return static_cast<double>(items) / std::max(best_s, 1e-9);
}

}  // namespace

std::optional<double> CopyLimit::Of(const Job& job, const Corpus& corpus) {
  for (const std::string& partial :
       catalogue_.policy().coverage().partial_transforms()) {
    if (job.transform() == partial) return std::nullopt;
  }
  const auto [entry, is_new] = known_.emplace(&corpus, 0);
  if (is_new) entry->second = Measure(corpus);
  return entry->second;
}

}  // namespace feedrate
