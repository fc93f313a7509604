// A corpus of a few small images, for tests.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/media/corpus.h"

namespace feedrate {

// uint8 HWC. Smooth slopes with some structure, different in each channel, so
// that every transform of the sets changes them. Dies on failure.
Corpus SmallCorpus(const std::vector<ItemSize>& sizes);

// Two images of different sizes with this many channels.
Corpus SmallCorpus(int channels);

}  // namespace feedrate
