// Synthetic photographs: JPEG files made from a seed, the same bytes on every
// machine, for runs without a data set.
//
// They share with photographs what decoders and transforms react to: sizes like
// those of ImageNet's validation set, about 110 KB at 500 x 375, a spectrum
// that falls with frequency, smooth and rough surfaces with edges between them,
// sensor noise. Pixels are computed in integers only, and encoded with
// libjpeg's exact transform.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/media/image.h"

namespace feedrate {

struct SyntheticSpec {
  int64_t n = 0;  // Images. 0 means as many as are requested.
  uint64_t seed = 1;
  // Kind `ids`: pictures that show their number (item_ids.h), not photographs.
  bool ids = false;
};

// True for data sets that begin with `synthetic:`.
bool IsSynthetic(absl::string_view dataset);

// Parses `synthetic:KIND,n=N,seed=S`; n and seed are optional. Kinds are `rgb`
// and `9ch`; both are these photographs, from which a run makes what the
// scenario needs; and `ids`, without a seed.
absl::StatusOr<SyntheticSpec> ParseSynthetic(absl::string_view dataset);

// Size of image `index` of the set with this seed, without making the image.
ImageInfo SyntheticSize(uint64_t seed, int64_t index);
// The image before it is encoded.
Image SyntheticPixels(uint64_t seed, int64_t index);
// The encoded file.
std::string SyntheticJpeg(uint64_t seed, int64_t index);
// File `index` of the data set, of either kind.
std::string SyntheticFile(const SyntheticSpec& spec, int64_t index);
// The file's name, such as `synthetic_00000042.jpg`: sorted by index.
std::string SyntheticName(int64_t index);

}  // namespace feedrate
