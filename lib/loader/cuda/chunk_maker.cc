#include "lib/loader/cuda/chunk_maker.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/worker/timing_loop.h"
#include "lib/base/status_macros.h"
#include "lib/base/unique_fd.h"
#include "lib/loader/cuda/gpu_recipe.h"
#include "lib/loader/cuda/jpeg_head.h"
#include "lib/loader/cuda/launch_plan.h"

namespace feedrate {
namespace {

using fused::ByteImage;
using fused::Recipe;

// Kernels read whole words around an image; nvJPEG likes more.
constexpr int64_t kAlign = 256;
// So many bad files in a row are no accident, but a data set of another kind.
constexpr int64_t kMostTries = 100;

int64_t Aligned(int64_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

// Adds the time until it goes out of scope.
class Stopwatch {
 public:
  explicit Stopwatch(double* to) : to_(to), start_(MonotonicNs()) {}
  ~Stopwatch() { *to_ += static_cast<double>(MonotonicNs() - start_) * 1e-9; }

 private:
  double* const to_;
  const int64_t start_;
};

absl::Status ReadWhole(const SourceFile& file, std::string* bytes) {
  const UniqueFd fd(open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) {
    return absl::NotFoundError(
        absl::StrCat("cannot be opened: ", std::strerror(errno)));
  }
  bytes->resize(file.bytes);
  int64_t done = 0;
  while (done < file.bytes) {
    const ssize_t got = read(fd.get(), &(*bytes)[done], file.bytes - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += got;
  }
  if (done == file.bytes) return absl::OkStatus();
  return absl::DataLossError("is shorter than it was");
}

// The part of the window that the image has.
fused::Window Within(const fused::Window& window, FusedSize size) {
  fused::Window part;
  part.top = std::max(window.top, 0);
  part.left = std::max(window.left, 0);
  part.height = std::min(window.top + window.height, size.height) - part.top;
  part.width = std::min(window.left + window.width, size.width) - part.left;
  return part;
}

// Of what a launch is told about its samples.
int64_t HeadBytes(const Chunk& chunk) {
  return Aligned(chunk.piece.samples() *
                 static_cast<int64_t>(sizeof(ByteImage) + sizeof(Recipe)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChunkMaker>> ChunkMaker::Create(
    const ChunkContext& context, std::unique_ptr<NvJpegDecoder> decoder) {
  std::unique_ptr<ChunkMaker> maker = absl::WrapUnique(new ChunkMaker(context));
  maker->decoder_ = std::move(decoder);
  RETURN_IF_ERROR(CudaStatus(
      cudaStreamCreateWithFlags(&maker->stream_, cudaStreamNonBlocking),
      "cudaStreamCreateWithFlags"));
  return maker;
}

ChunkMaker::~ChunkMaker() {
  if (stream_ == nullptr) return;
  cudaStreamSynchronize(stream_);
  cudaStreamDestroy(stream_);
}

absl::Status ChunkMaker::Open(int64_t item, uint64_t seed, Sample* sample) {
  {
    const Stopwatch watch(&times_.read_s);
    RETURN_IF_ERROR(ReadWhole(context_.files[item], &sample->file));
  }
  const Stopwatch watch(&times_.decode_s);
  const std::optional<JpegHead> head =
      by_engine_ ? ReadJpegHead(sample->file) : std::nullopt;
  sample->on_device = head.has_value() && EngineDecodes(*head);
  if (sample->on_device) {
    sample->size = {head->height, head->width};
  } else {
    ASSIGN_OR_RETURN(const ImageInfo info, items_.Open(sample->file));
    if (info.channels != 3) {
      return absl::InvalidArgumentError("is not of three channels");
    }
    sample->size = {info.height, info.width};
  }
  Random random = ItemRandom(seed, item);
  sample->recipe = context_.recipe.Draw(sample->size, &random);
  return sample->on_device ? absl::OkStatus() : DecodeOnHost(sample);
}

absl::Status ChunkMaker::DecodeOnHost(Sample* sample) {
  fused::Window& window = sample->recipe.window;
  const fused::Window part = Within(window, sample->size);
  ASSIGN_OR_RETURN(
      const PixelView pixels,
      items_.Decode({part.left, part.top, part.width, part.height}));
  sample->size = {part.height, part.width};
  window.top -= part.top;
  window.left -= part.left;
  const int64_t row = int64_t{3} * part.width;
  // The file is no longer needed; its memory holds the pixels.
  std::string packed(row * part.height, '\0');
  for (int y = 0; y < part.height; ++y) {
    std::memcpy(&packed[y * row], pixels.data + y * pixels.stride, row);
  }
  sample->file = std::move(packed);
  return absl::OkStatus();
}

absl::Status ChunkMaker::OpenUsable(const Chunk& chunk, int i) {
  const auto count = static_cast<int64_t>(context_.files.size());
  const int64_t item = chunk.items[i];
  const int64_t tries = std::min(kMostTries, count);
  for (int64_t k = 0; k < tries; ++k) {
    const int64_t at = (item + k) % count;
    const absl::Status opened = Open(at, chunk.seed, &samples_[i]);
    if (opened.ok()) return opened;
    const SourceFile& file = context_.files[at];
    if (!context_.skip_faults) {
      return absl::Status(opened.code(),
                          absl::StrCat(file.path, ": ", opened.message()));
    }
    // Those behind it are told at their own places.
    if (k > 0) continue;
    faults_.push_back(
        {chunk.positions[i], at, file.path, std::string(opened.message())});
  }
  return absl::InvalidArgumentError(
      absl::StrCat(context_.files[item].path, ": it and the ", tries - 1,
                   " files behind it cannot be used"));
}

// Images and recipes of a launch, in its order.
void ChunkMaker::Describe(const LaunchPlan& plan, const MixPlan& mix,
                          uint8_t* to) const {
  auto* const images = reinterpret_cast<ByteImage*>(to);
  auto* const recipes = reinterpret_cast<Recipe*>(images + plan.samples.size());
  for (size_t i = 0; i < plan.samples.size(); ++i) {
    const Sample& sample = samples_[plan.samples[i]];
    images[i] = sample.image;
    recipes[i] = sample.recipe;
    recipes[i].mix = MixOfPlan(mix, plan.partners[i]);
  }
}

// Lays out pixels, decodes on the device what is to be decoded there, and sends
// the rest with the descriptions in one copy.
absl::Status ChunkMaker::Upload(const Chunk& chunk,
                                const std::vector<LaunchPlan>& plans) {
  const Stopwatch watch(&times_.augment_s);
  const int count = chunk.piece.samples();
  const int64_t head_bytes = HeadBytes(chunk);
  int64_t host_bytes = head_bytes * static_cast<int64_t>(plans.size());
  int64_t device_bytes = 0;
  for (int i = 0; i < count; ++i) {
    Sample& sample = samples_[i];
    int64_t* const bytes = sample.on_device ? &device_bytes : &host_bytes;
    sample.offset = *bytes;
    *bytes += Aligned(int64_t{3} * sample.size.height * sample.size.width);
  }
  RETURN_IF_ERROR(host_.Reserve(host_bytes));
  RETURN_IF_ERROR(device_.Reserve(host_bytes + kAlign));
  RETURN_IF_ERROR(decoded_.Reserve(device_bytes + kAlign));
  files_.clear();
  images_.clear();
  for (int i = 0; i < count; ++i) {
    Sample& sample = samples_[i];
    uint8_t* const base = sample.on_device ? decoded_.data() : device_.data();
    sample.image = {base + sample.offset, sample.size.height, sample.size.width,
                    int64_t{3} * sample.size.width};
    if (sample.on_device) {
      files_.push_back(sample.file);
      images_.push_back(sample.image);
    } else {
      std::memcpy(host_.data() + sample.offset, sample.file.data(),
                  sample.file.size());
    }
  }
  for (size_t i = 0; i < plans.size(); ++i) {
    Describe(plans[i], chunk.mix, host_.data() + i * head_bytes);
  }
  if (by_engine_) {
    RETURN_IF_ERROR(decoder_->Decode(files_, images_, stream_));
  }
  return CudaStatus(cudaMemcpyAsync(device_.data(), host_.data(), host_bytes,
                                    cudaMemcpyHostToDevice, stream_),
                    "cudaMemcpyAsync");
}

absl::Status ChunkMaker::Launch(const Chunk& chunk,
                                const std::vector<LaunchPlan>& plans) {
  const Stopwatch watch(&times_.augment_s);
  fused::RecipeBatch batch = context_.recipe.batch();
  const int64_t values = int64_t{3} * batch.height * batch.width;
  for (size_t i = 0; i < plans.size(); ++i) {
    const LaunchPlan& plan = plans[i];
    batch.images = reinterpret_cast<const ByteImage*>(device_.data() +
                                                      i * HeadBytes(chunk));
    batch.recipes =
        reinterpret_cast<const Recipe*>(batch.images + plan.samples.size());
    batch.count = plan.count;
    batch.out = chunk.batch + plan.at * values;
    RETURN_IF_ERROR(
        CudaStatus(RunRecipe(batch, stream_), "the recipe's launch"));
  }
  return CudaStatus(cudaStreamSynchronize(stream_), "the recipe");
}

absl::Status ChunkMaker::TryToMake(const Chunk& chunk, bool by_engine) {
  by_engine_ = by_engine;
  faults_.clear();
  for (int i = 0; i < chunk.piece.samples(); ++i) {
    RETURN_IF_ERROR(OpenUsable(chunk, i));
  }
  const std::vector<LaunchPlan> plans = LaunchesOf(chunk.piece);
  absl::Status made = Upload(chunk, plans);
  if (made.ok()) made = Launch(chunk, plans);
  // What was enqueued before it failed still reads our memory.
  if (!made.ok()) cudaStreamSynchronize(stream_);
  return made;
}

absl::Status ChunkMaker::Make(const Chunk& chunk, FaultList* faults) {
  samples_.resize(std::max<size_t>(samples_.size(), chunk.piece.samples()));
  absl::Status made = TryToMake(chunk, /*by_engine=*/decoder_ != nullptr);
  // The engine says of a batch that something in it is wrong, and not in which
  // file. The CPU knows, and decodes the others. It also says at times that it
  // has no memory while there is plenty; where there is none, the second try
  // finds that out.
  if (decoder_ != nullptr &&
      (absl::IsDataLoss(made) || absl::IsResourceExhausted(made))) {
    made = TryToMake(chunk, /*by_engine=*/false);
  }
  if (!made.ok()) return made;
  for (ItemFault& fault : faults_) faults->Add(std::move(fault));
  return absl::OkStatus();
}

}  // namespace feedrate
