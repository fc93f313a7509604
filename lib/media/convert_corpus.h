// The same inputs in another form: floats, channels first, more channels.
#ifndef FEEDRATE_LIB_MEDIA_CONVERT_CORPUS_H_
#define FEEDRATE_LIB_MEDIA_CONVERT_CORPUS_H_

#include "absl/status/statusor.h"
#include "lib/media/corpus.h"
#include "lib/media/corpus_format.h"

namespace feedrate {

struct CorpusForm {
  DType dtype = DType::kUint8;
  Layout layout = Layout::kHwc;
  // 0: as many as the items have. Else a multiple of that: the channels are
  // repeated, so that 9 of an RGB image are R G B R G B R G B.
  int channels = 0;
};

// A new corpus with the items of `corpus` in another form. Floats are value /
// 255, correctly rounded. On `threads` threads (0: as many as there are usable
// processors). REQUIRES: `corpus` is uint8, HWC.
//
// ResourceExhausted when it does not fit into memory; the message names the
// largest num_items that does.
absl::StatusOr<Corpus> ConvertCorpus(const Corpus& corpus,
                                     const CorpusForm& form, int threads);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_CONVERT_CORPUS_H_
