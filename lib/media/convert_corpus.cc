#include "lib/media/convert_corpus.h"

#include <array>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/media/parallel.h"

namespace feedrate {
namespace {

uint8_t To(uint8_t value, uint8_t) { return value; }
float To(uint8_t value, float) { return static_cast<float>(value) / 255.0f; }

uint16_t To(uint8_t value, uint16_t) {
  static const std::array<uint16_t, 256>* const kHalves = [] {
    auto* halves = new std::array<uint16_t, 256>;
    for (int i = 0; i < 256; ++i) {
      (*halves)[i] = HalfOf255th(static_cast<uint8_t>(i));
    }
    return halves;
  }();
  return (*kHalves)[value];
}

// One plane of an image whose channels are side by side. The number of channels
// is a constant where it is 3, so that the compiler can use its vector loads.
template <typename T, int kChannels>
void TakePlane(const uint8_t* in, int64_t pixels, int channels, T* out) {
  const int step = kChannels > 0 ? kChannels : channels;
  for (int64_t i = 0; i < pixels; ++i) out[i] = To(in[i * step], T());
}

template <typename T>
void ToPlanes(const uint8_t* in, int64_t pixels, int channels, int repeats,
              T* out) {
  for (int c = 0; c < channels * repeats; ++c) {
    const uint8_t* from = in + c % channels;
    T* to = out + c * pixels;
    if (channels == 3) {
      TakePlane<T, 3>(from, pixels, channels, to);
    } else {
      TakePlane<T, 0>(from, pixels, channels, to);
    }
  }
}

template <typename T, int kChannels, int kRepeats>
void RepeatPixels(const uint8_t* in, int64_t pixels, int channels, int repeats,
                  T* out) {
  if (kChannels > 0) channels = kChannels;
  if (kRepeats > 0) repeats = kRepeats;
  for (int64_t i = 0; i < pixels; ++i) {
    for (int r = 0; r < repeats; ++r) {
      for (int c = 0; c < channels; ++c) *out++ = To(in[c], T());
    }
    in += channels;
  }
}

template <typename T>
void ToPixels(const uint8_t* in, int64_t pixels, int channels, int repeats,
              T* out) {
  if (repeats == 1) {
    TakePlane<T, 1>(in, pixels * channels, 1, out);
  } else if (channels == 3 && repeats == 3) {
    RepeatPixels<T, 3, 3>(in, pixels, channels, repeats, out);
  } else {
    RepeatPixels<T, 0, 0>(in, pixels, channels, repeats, out);
  }
}

template <typename T>
void ConvertItem(const ItemView& item, Layout layout, int repeats, T* out) {
  const int64_t pixels = int64_t{item.height} * item.width;
  const auto* in = static_cast<const uint8_t*>(item.data);
  for (int frame = 0; frame < item.frames; ++frame) {
    if (layout == Layout::kChw) {
      ToPlanes(in, pixels, item.channels, repeats, out);
    } else {
      ToPixels(in, pixels, item.channels, repeats, out);
    }
    in += pixels * item.channels;
    out += pixels * item.channels * repeats;
  }
}

void Convert(const ItemView& item, const CorpusForm& form, int repeats,
             void* out) {
  switch (form.dtype) {
    case DType::kUint8:
      ConvertItem(item, form.layout, repeats, static_cast<uint8_t*>(out));
      break;
    case DType::kFloat16:
      ConvertItem(item, form.layout, repeats, static_cast<uint16_t*>(out));
      break;
    case DType::kFloat32:
      ConvertItem(item, form.layout, repeats, static_cast<float*>(out));
      break;
  }
}

absl::StatusOr<std::vector<ItemSize>> SizesIn(const Corpus& corpus,
                                              const CorpusForm& form) {
  std::vector<ItemSize> sizes;
  sizes.reserve(corpus.size());
  for (int64_t i = 0; i < corpus.size(); ++i) {
    const ItemView item = corpus.item(i);
    const int channels = form.channels > 0 ? form.channels : item.channels;
    if (channels % item.channels != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("item ", i, " has ", item.channels,
                       " channels, which cannot be repeated to ", channels));
    }
    sizes.push_back({item.frames, item.height, item.width, channels});
  }
  return sizes;
}

absl::Status CheckMemory(const std::vector<ItemSize>& sizes, DType dtype) {
  std::vector<int64_t> bytes;
  bytes.reserve(sizes.size());
  for (const ItemSize& size : sizes)
    bytes.push_back(CorpusBytesOf(size, dtype));
  return CheckFitsMemory("inputs in another form", bytes, MemoryToUse());
}

}  // namespace

absl::StatusOr<Corpus> ConvertCorpus(const Corpus& corpus,
                                     const CorpusForm& form, int threads) {
  if (corpus.dtype() != DType::kUint8 || corpus.layout() != Layout::kHwc) {
    return absl::InvalidArgumentError("only uint8 HWC inputs can be converted");
  }
  ASSIGN_OR_RETURN(const std::vector<ItemSize> sizes, SizesIn(corpus, form));
  RETURN_IF_ERROR(CheckMemory(sizes, form.dtype));
  ASSIGN_OR_RETURN(CorpusWriter writer,
                   CorpusWriter::Create(form.dtype, form.layout));
  RETURN_IF_ERROR(writer.AddRoom(sizes));
  ParallelFor(corpus.size(), threads, [&](int64_t i) {
    const ItemView item = corpus.item(i);
    const int repeats = static_cast<int>(sizes[i].channels / item.channels);
    writer.Populate(i);
    Convert(item, form, repeats, writer.data(i));
  });
  return std::move(writer).Finish();
}

}  // namespace feedrate
