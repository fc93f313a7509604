#include "lib/tar/corpus.h"

#include "lib/tar/header.h"

namespace feedrate::tar {
namespace {

// Cut at, just before and just after every block: each boundary of a header or
// a body is one of these. A good archive ends with two blocks of zeros, the
// second of which it can do without.
void AddTruncations(const CorpusCase& whole, std::vector<CorpusCase>* cases) {
  const size_t needed = whole.bytes.size() / kBlockSize * kBlockSize;
  for (size_t block = 0; block + kBlockSize < needed; block += kBlockSize) {
    for (size_t cut : {block, block + 1, block + kBlockSize - 1}) {
      cases->push_back({whole.name + "_cut_at_" + std::to_string(cut),
                        whole.bytes.substr(0, cut), Error::Code::kTruncated,
                        true, "cut short"});
    }
  }
}

}  // namespace

std::vector<CorpusCase> WholeCorpus() {
  std::vector<CorpusCase> cases = GoodCorpus();
  const size_t good = cases.size();
  for (size_t i = 0; i < good; ++i) {
    // Copied: the list moves as it grows.
    const CorpusCase whole = cases[i];
    if (whole.name == "one_zero_block") continue;
    AddTruncations(whole, &cases);
  }
  for (auto& more : {BrokenCorpus(), HostileCorpus()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

}  // namespace feedrate::tar
