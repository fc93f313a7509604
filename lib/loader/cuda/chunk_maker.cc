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
#include "lib/loader/cuda/decode_cost.h"
#include "lib/loader/cuda/gpu_recipe.h"
#include "lib/loader/cuda/jpeg_head.h"

namespace feedrate {
namespace {

using fused::ByteImage;
using fused::Recipe;

// Kernels read whole words around an image; nvJPEG likes more.
constexpr int64_t kAlign = 256;
// More than that is not taken before it is needed.
constexpr int64_t kMostAhead = int64_t{32} << 20;
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

// What a launch is told about its samples, one after the other in memory.
struct Head {
  Head(uint8_t* at, int samples)
      : images(reinterpret_cast<ByteImage*>(at)),
        recipes(reinterpret_cast<Recipe*>(images + samples)),
        places(reinterpret_cast<int*>(recipes + samples)) {}

  static int64_t Bytes(int samples) {
    constexpr size_t kOne = sizeof(ByteImage) + sizeof(Recipe) + sizeof(int);
    return Aligned(samples * static_cast<int64_t>(kOne));
  }

  ByteImage* images;
  Recipe* recipes;
  int* places;
};

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
  const bool is_new = !context_.cost.Knows(item);
  std::optional<JpegHead> head;
  if (by_engine_ || is_new) head = ReadJpegHead(sample->file);
  const bool engine_decodes = head.has_value() && EngineDecodes(*head);
  sample->on_device = by_engine_ && engine_decodes;
  if (sample->on_device) {
    sample->size = {head->height, head->width};
  } else {
    ASSIGN_OR_RETURN(const ImageInfo info, items_.Open(sample->file));
    if (info.channels != 3) {
      return absl::InvalidArgumentError("is not of three channels");
    }
    sample->size = {info.height, info.width};
  }
  if (is_new) context_.cost.Learn(item, sample->size, engine_decodes);
  Random random = ItemRandom(seed, item);
  sample->recipe = context_.recipe.Draw(sample->size, &random);
  return sample->on_device ? absl::OkStatus() : DecodeOnHost(sample);
}

// All that windows as large as the image would need at once: memory that grows
// stops every stream, and chunks of small windows are followed by larger ones
// for as long as an epoch lasts.
absl::Status ChunkMaker::ReserveHost(int64_t bytes, FusedSize image) {
  if (bytes <= host_.bytes()) return absl::OkStatus();
  const int64_t whole = Aligned(int64_t{3} * image.height * image.width);
  // Beside an engine few are the CPU's.
  const int64_t windows = by_cpu() ? chunk() : 1;
  return host_.ReserveKeeping(
      std::max(bytes + bytes / 2,
               std::min(host_bytes_ + windows * whole, kMostAhead)),
      host_bytes_);
}

// Behind what is there already to be copied.
absl::Status ChunkMaker::DecodeOnHost(Sample* sample) {
  fused::Window& window = sample->recipe.window;
  const fused::Window part = Within(window, sample->size);
  const int64_t bytes = Aligned(int64_t{3} * part.height * part.width);
  RETURN_IF_ERROR(ReserveHost(host_bytes_ + bytes, sample->size));
  RETURN_IF_ERROR(
      items_.DecodeInto({part.left, part.top, part.width, part.height},
                        host_.data() + host_bytes_));
  sample->offset = host_bytes_;
  host_bytes_ += bytes;
  sample->size = {part.height, part.width};
  window.top -= part.top;
  window.left -= part.left;
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
    // No memory is no fault of the file.
    if (!context_.skip_faults || absl::IsResourceExhausted(opened)) {
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

// What the engine decodes, to memory of its own; what it refuses is the CPU's,
// which also knows what is wrong with a file.
absl::Status ChunkMaker::DecodeOnDevice(const Chunk& chunk) {
  engine_samples_.clear();
  int64_t bytes = 0;
  for (int i = 0; i < chunk.piece.samples(); ++i) {
    Sample& sample = samples_[i];
    if (!sample.on_device) continue;
    engine_samples_.push_back(i);
    sample.offset = bytes;
    bytes += Aligned(int64_t{3} * sample.size.height * sample.size.width);
  }
  const absl::Status room = decoded_.Reserve(bytes + kAlign);
  if (absl::IsResourceExhausted(room)) return UseCpu(chunk, engine_samples_);
  RETURN_IF_ERROR(room);
  files_.clear();
  images_.clear();
  for (const int i : engine_samples_) {
    const Sample& sample = samples_[i];
    files_.push_back(sample.file);
    images_.push_back({decoded_.data() + sample.offset, sample.size.height,
                       sample.size.width, int64_t{3} * sample.size.width});
  }
  const int64_t start = MonotonicNs();
  ASSIGN_OR_RETURN(std::vector<int> refused,
                   decoder_->Decode(files_, images_, stream_));
  times_.decode_s += static_cast<double>(MonotonicNs() - start) * 1e-9;
  if (refused.empty()) return absl::OkStatus();
  // It may have begun with one before it refused it.
  RETURN_IF_ERROR(CudaStatus(cudaStreamSynchronize(stream_), "the engine"));
  for (int& i : refused) i = engine_samples_[i];
  return UseCpu(chunk, refused);
}

// Decodes samples of the chunk again, on the host.
absl::Status ChunkMaker::UseCpu(const Chunk& chunk,
                                const std::vector<int>& samples) {
  by_engine_ = false;
  for (const int i : samples) {
    // What was wrong before is found again.
    const int64_t position = chunk.positions[i];
    faults_.erase(std::remove_if(faults_.begin(), faults_.end(),
                                 [&](const ItemFault& fault) {
                                   return fault.position == position;
                                 }),
                  faults_.end());
    RETURN_IF_ERROR(OpenUsable(chunk, i));
  }
  return absl::OkStatus();
}

// Images, recipes and places, as they will be on the device.
void ChunkMaker::Describe(const Chunk& chunk) {
  const int count = chunk.piece.samples();
  const Head head(host_.data(), count);
  for (int i = 0; i < count; ++i) {
    const Sample& sample = samples_[i];
    uint8_t* const base = sample.on_device ? decoded_.data() : device_.data();
    head.images[i] = {base + sample.offset, sample.size.height,
                      sample.size.width, int64_t{3} * sample.size.width};
    head.recipes[i] = sample.recipe;
    head.recipes[i].mix = MixOfPlan(chunk.mix, chunk.piece.PartnerOf(i));
    head.places[i] = chunk.piece.places[i];
  }
}

// What the CPU decoded and the descriptions, in one copy.
absl::Status ChunkMaker::Upload(const Chunk& chunk) {
  const Stopwatch watch(&times_.augment_s);
  RETURN_IF_ERROR(device_.ReserveExactly(host_.bytes() + kAlign));
  Describe(chunk);
  return CudaStatus(cudaMemcpyAsync(device_.data(), host_.data(), host_bytes_,
                                    cudaMemcpyHostToDevice, stream_),
                    "cudaMemcpyAsync");
}

absl::Status ChunkMaker::Launch(const Chunk& chunk) {
  const Stopwatch watch(&times_.augment_s);
  const Head head(device_.data(), chunk.piece.samples());
  fused::RecipeBatch batch = context_.recipe.batch();
  batch.images = head.images;
  batch.recipes = head.recipes;
  batch.places = head.places;
  batch.count = chunk.piece.samples();
  batch.out = chunk.batch;
  RETURN_IF_ERROR(CudaStatus(RunRecipe(batch, stream_), "the recipe's launch"));
  return CudaStatus(cudaStreamSynchronize(stream_), "the recipe");
}

absl::Status ChunkMaker::TryToMake(const Chunk& chunk) {
  by_engine_ = !by_cpu();
  faults_.clear();
  host_bytes_ = Head::Bytes(chunk.piece.samples());
  RETURN_IF_ERROR(host_.Reserve(host_bytes_));
  for (int i = 0; i < chunk.piece.samples(); ++i) {
    RETURN_IF_ERROR(OpenUsable(chunk, i));
  }
  if (by_engine_) RETURN_IF_ERROR(DecodeOnDevice(chunk));
  RETURN_IF_ERROR(Upload(chunk));
  return Launch(chunk);
}

absl::Status ChunkMaker::Make(const Chunk& chunk, FaultList* faults) {
  samples_.resize(std::max<size_t>(samples_.size(), chunk.piece.samples()));
  const absl::Status made = TryToMake(chunk);
  if (!made.ok()) {
    // What was enqueued before it failed still reads our memory.
    cudaStreamSynchronize(stream_);
    return made;
  }
  for (ItemFault& fault : faults_) faults->Add(std::move(fault));
  return absl::OkStatus();
}

}  // namespace feedrate
