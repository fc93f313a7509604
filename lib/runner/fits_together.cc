#include "lib/runner/fits_together.h"

#include <cstdint>
#include <numeric>
#include <vector>

#include "lib/catalogue/catalogue.h"
#include "lib/config/policy.pb.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

// Buffers and outputs of a transform, and what a forked library touches.
constexpr int64_t kOfAnyChild = int64_t{256} << 20;
// Of what is available, left to the rest of the machine.
constexpr double kSpare = 0.1;

}  // namespace

int64_t OwnBytes(const Catalogue& catalogue, const Job& job,
                 int64_t corpus_bytes) {
  for (const InputLayout& layout : catalogue.policy().input_layouts()) {
    if (layout.library() == job.library() && layout.layout() == "PIL") {
      return kOfAnyChild + corpus_bytes;
    }
  }
  return kOfAnyChild;
}

bool FitTogether(const std::vector<int64_t>& own_bytes,
                 int64_t available_bytes) {
  const int64_t needed =
      std::accumulate(own_bytes.begin(), own_bytes.end(), int64_t{0});
  // One alone must run in any case.
  return own_bytes.size() <= 1 ||
         static_cast<double>(needed) <=
             (1 - kSpare) * static_cast<double>(available_bytes);
}

}  // namespace feedrate
