#include "lib/media/small_corpus.h"

#include <cmath>
#include <utility>

namespace feedrate {
namespace {

// A slope along each axis, a wave, and a little texture from a hash.
uint8_t Value(int64_t y, int64_t x, int64_t c, const ItemSize& size) {
  const double fy = static_cast<double>(y) / size.height;
  const double fx = static_cast<double>(x) / size.width;
  const uint32_t hash =
      static_cast<uint32_t>(y * 2654435761u ^ x * 40503u ^ c * 97u);
  const double texture = (hash >> 13) % 32;
  const double wave = 40 * std::sin(12 * fx + 7 * fy + c);
  return static_cast<uint8_t>(55 + 70 * fx + 30 * fy + 15 * (c % 3) + wave +
                              texture);
}

}  // namespace

Corpus SmallCorpus(const std::vector<ItemSize>& sizes) {
  CorpusWriter writer =
      CorpusWriter::Create(DType::kUint8, Layout::kHwc).value();
  const absl::Status room = writer.AddRoom(sizes);
  for (size_t i = 0; room.ok() && i < sizes.size(); ++i) {
    auto* out = static_cast<uint8_t*>(writer.data(i));
    for (int64_t y = 0; y < sizes[i].height; ++y) {
      for (int64_t x = 0; x < sizes[i].width; ++x) {
        for (int64_t c = 0; c < sizes[i].channels; ++c) {
          *out++ = Value(y, x, c, sizes[i]);
        }
      }
    }
  }
  return std::move(writer).Finish().value();
}

Corpus SmallCorpus(int channels) {
  return SmallCorpus({{1, 60, 80, channels}, {1, 250, 233, channels}});
}

}  // namespace feedrate
