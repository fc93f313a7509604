#include "lib/loader/memory_source.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/media/corpus.h"
#include "lib/media/image.h"

namespace feedrate {
namespace {

class Memory : public Source {
 public:
  explicit Memory(const Corpus& corpus) : corpus_(corpus) {}

  int64_t size() const override { return corpus_.size(); }
  std::string name(int64_t item) const override {
    return absl::StrCat("item ", item);
  }
  bool in_memory() const override { return true; }
  PixelView Pixels(int64_t item) const override {
    const ImageView image = corpus_.image(item);
    PixelView pixels;
    pixels.data = image.data;
    pixels.stride = static_cast<ptrdiff_t>(image.width) * image.channels;
    pixels.height = image.height;
    pixels.width = image.width;
    pixels.channels = image.channels;
    return pixels;
  }

 private:
  const Corpus& corpus_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> MemorySource(const Corpus& corpus) {
  if (corpus.dtype() != DType::kUint8 || corpus.layout() != Layout::kHwc) {
    return absl::InvalidArgumentError("a loader needs a corpus of uint8 HWC");
  }
  for (int64_t i = 0; i < corpus.size(); ++i) {
    if (corpus.item(i).frames != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("a loader needs images; item ", i, " is a clip"));
    }
  }
  return std::make_unique<Memory>(corpus);
}

}  // namespace feedrate
