#include "lib/loader/cuda/chunk_maker.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/base/stopwatch.h"

namespace feedrate {
namespace {

using fused::ByteImage;
using fused::Recipe;

// Kernels read whole words around an image; nvJPEG prefers more.
constexpr int64_t kAlign = 256;
// Not more than this is allocated before it is needed.
constexpr int64_t kMostAhead = int64_t{32} << 20;
// This many bad files in a row mean that the data set is of another kind.
constexpr int64_t kMostTries = 100;

int64_t Aligned(int64_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

// Adds the time until it goes out of scope.
class TimedSpan {
 public:
  explicit TimedSpan(double* to) : to_(to), start_(MonotonicNs()) {}
  ~TimedSpan() { *to_ += static_cast<double>(MonotonicNs() - start_) * 1e-9; }

 private:
  double* const to_;
  const int64_t start_;
};

// The part of the window that lies within the image.
fused::Window Within(const fused::Window& window, FusedSize size) {
  fused::Window part;
  part.top = std::max(window.top, 0);
  part.left = std::max(window.left, 0);
  part.height = std::min(window.top + window.height, size.height) - part.top;
  part.width = std::min(window.left + window.width, size.width) - part.left;
  return part;
}

// Description of the samples for a launch, contiguous in memory.
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
  if (context.index != nullptr && maker->decoder_ == nullptr) {
    maker->entries_ = std::make_unique<EntriesDecoder>();
  }
  RETURN_IF_ERROR(CudaStatus(
      cudaStreamCreateWithFlags(&maker->stream_, cudaStreamNonBlocking),
      "cudaStreamCreateWithFlags"));
  // Waiting for it leaves the processor to threads that decode, however the
  // process uses the device.
  RETURN_IF_ERROR(CudaStatus(
      cudaEventCreateWithFlags(&maker->done_,
                               cudaEventBlockingSync | cudaEventDisableTiming),
      "cudaEventCreateWithFlags"));
  return maker;
}

ChunkMaker::~ChunkMaker() {
  if (stream_ == nullptr) return;
  cudaStreamSynchronize(stream_);
  if (done_ != nullptr) cudaEventDestroy(done_);
  cudaStreamDestroy(stream_);
}

absl::Status ChunkMaker::Open(int64_t item, const GpuChunk& chunk,
                              Sample* sample) {
  {
    const TimedSpan watch(&times_.read_s);
    ASSIGN_OR_RETURN(sample->file, context_.source.Read(item, &sample->buffer));
  }
  sample->item = item;
  const TimedSpan watch(&times_.decode_s);
  const bool is_new = !context_.cost.Knows(item);
  std::optional<JpegHead> head;
  if (by_engine_ || is_new) head = ReadJpegHead(sample->file);
  const bool engine_decodes = head.has_value() && EngineDecodes(*head);
  // The CPU judges what may be cut off.
  sample->on_device =
      by_engine_ && engine_decodes &&
      (entries_ != nullptr ? FindEntries(sample)
                           : absl::EndsWith(sample->file, "\xff\xd9"));
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
  Random random = ItemRandom(chunk.seed, item, chunk.epoch);
  sample->recipe = context_.recipe.Draw(sample->size, &random);
  if (sample->on_device) return absl::OkStatus();
  RETURN_IF_ERROR(DecodeOnHost(sample));
  if (context_.index != nullptr) {
    const JpegIndex::Key key = JpegIndex::KeyOf(sample->file);
    if (!context_.index->Find(key).has_value()) {
      context_.index->Add(key, items_.FindEntries());
    }
  }
  return absl::OkStatus();
}

bool ChunkMaker::FindEntries(Sample* sample) const {
  sample->entries =
      context_.index->Find(JpegIndex::KeyOf(sample->file)).value_or("");
  return !sample->entries.empty();
}

// Reserves at once what windows as large as the image would need: growing
// memory stops every stream, and throughout an epoch chunks of small windows
// are followed by larger ones.
absl::Status ChunkMaker::ReserveHost(int64_t bytes, FusedSize image) {
  if (bytes <= host_.bytes()) return absl::OkStatus();
  const int64_t whole = Aligned(int64_t{3} * image.height * image.width);
  // Next to an engine, the CPU decodes few.
  const int64_t windows = by_cpu() ? chunk() : 1;
  return host_.ReserveKeeping(
      std::max(bytes + bytes / 2,
               std::min(host_bytes_ + windows * whole, kMostAhead)),
      host_bytes_);
}

// Appends to what is already there to be copied.
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

absl::Status ChunkMaker::OpenUsable(const GpuChunk& chunk, int i) {
  const int64_t count = context_.source.size();
  const int64_t item = chunk.items[i];
  const int64_t tries = std::min(kMostTries, count);
  for (int64_t k = 0; k < tries; ++k) {
    const int64_t at = (item + k) % count;
    const absl::Status opened = Open(at, chunk, &samples_[i]);
    // Cancelled: the epoch has ended.
    if (opened.ok() || absl::IsCancelled(opened)) return opened;
    const std::string name = context_.source.name(at);
    // Lack of memory is not a fault of the file.
    if (!context_.skip_faults || absl::IsResourceExhausted(opened)) {
      return absl::Status(opened.code(),
                          absl::StrCat(name, ": ", opened.message()));
    }
    // Faults of the following items are reported at their own positions.
    if (k > 0) continue;
    faults_.push_back(
        {chunk.positions[i], at, name, std::string(opened.message())});
  }
  return absl::InvalidArgumentError(
      absl::StrCat(context_.source.name(item), ": it and the ", tries - 1,
                   " files behind it cannot be used"));
}

// Decodes files of the index, of each the rows that its window needs.
absl::Status ChunkMaker::DecodeEntries(const GpuChunk& chunk) {
  std::vector<int> refused;
  {
    const TimedSpan watch(&times_.decode_s);
    int64_t bytes = kAlign;
    for (int i = 0; i < chunk.piece.samples(); ++i) {
      Sample& sample = samples_[i];
      if (!sample.on_device) continue;
      const int height = Within(sample.recipe.window, sample.size).height;
      sample.offset = bytes - kAlign;
      bytes += Aligned(int64_t{3} * sample.size.width *
                       (height + EntriesDecoder::kMoreRows));
    }
    const absl::Status room = decoded_.Reserve(bytes);
    if (!room.ok() && !absl::IsResourceExhausted(room)) return room;
    engine_samples_.clear();
    for (int i = 0; i < chunk.piece.samples(); ++i) {
      if (!samples_[i].on_device) continue;
      if (!room.ok() || !AddEntries(&samples_[i])) {
        refused.push_back(i);
        continue;
      }
      engine_samples_.push_back(i);
      if (entries_->IsFull()) RETURN_IF_ERROR(DecodeAdded(&refused));
    }
    RETURN_IF_ERROR(DecodeAdded(&refused));
  }
  return refused.empty() ? absl::OkStatus() : UseCpu(chunk, refused);
}

// False if the CPU must decode it.
bool ChunkMaker::AddEntries(Sample* sample) {
  fused::Window& window = sample->recipe.window;
  const fused::Window part = Within(window, sample->size);
  EntriesDecoder::Rows rows;
  if (!entries_->Add(sample->file, sample->entries, sample->size.width,
                     sample->size.height, part.top, part.top + part.height,
                     &rows)) {
    return false;
  }
  window.top -= rows.top;
  sample->size.height = rows.height;
  return true;
}

// Decodes `engine_samples_`, and adds those to `refused` that the CPU must
// decode.
absl::Status ChunkMaker::DecodeAdded(std::vector<int>* refused) {
  std::vector<uint8_t*> places;
  for (const int i : engine_samples_) {
    places.push_back(decoded_.data() + samples_[i].offset);
  }
  const absl::StatusOr<std::vector<int>> wrong =
      entries_->Decode(places, stream_, done_);
  if (wrong.ok()) {
    for (const int i : *wrong) refused->push_back(engine_samples_[i]);
  } else if (absl::IsResourceExhausted(wrong.status())) {
    refused->insert(refused->end(), engine_samples_.begin(),
                    engine_samples_.end());
  } else {
    return wrong.status();
  }
  engine_samples_.clear();
  return absl::OkStatus();
}

// Decodes what the engine can, to memory of its own. The CPU gets what the
// engine refuses, and also finds out what is wrong with a file.
absl::Status ChunkMaker::DecodeOnDevice(const GpuChunk& chunk) {
  if (entries_ != nullptr) return DecodeEntries(chunk);
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
  // It may have started on a file before refusing it.
  {
    const TimedSpan waits(&times_.sync_s);
    RETURN_IF_ERROR(CudaStatus(cudaStreamSynchronize(stream_), "the engine"));
  }
  for (int& i : refused) i = engine_samples_[i];
  return UseCpu(chunk, refused);
}

// Decodes samples of the chunk again, on the host.
absl::Status ChunkMaker::UseCpu(const GpuChunk& chunk,
                                const std::vector<int>& samples) {
  by_engine_ = false;
  for (const int i : samples) {
    // Earlier faults are found again.
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

// Describes images, recipes and places as they will be on the device.
void ChunkMaker::Describe(const GpuChunk& chunk) {
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

// Copies what the CPU decoded and the descriptions at once.
absl::Status ChunkMaker::Upload(const GpuChunk& chunk) {
  const TimedSpan watch(&times_.augment_s);
  RETURN_IF_ERROR(device_.ReserveExactly(host_.bytes() + kAlign));
  Describe(chunk);
  return CudaStatus(cudaMemcpyAsync(device_.data(), host_.data(), host_bytes_,
                                    cudaMemcpyHostToDevice, stream_),
                    "cudaMemcpyAsync");
}

absl::Status ChunkMaker::Launch(const GpuChunk& chunk) {
  const TimedSpan watch(&times_.augment_s);
  const Head head(device_.data(), chunk.piece.samples());
  fused::RecipeBatch batch = context_.recipe.batch();
  batch.images = head.images;
  batch.recipes = head.recipes;
  batch.places = head.places;
  batch.count = chunk.piece.samples();
  batch.out = chunk.batch;
  RETURN_IF_ERROR(CudaStatus(RunRecipe(batch, stream_), "the recipe's launch"));
  const TimedSpan waits(&times_.sync_s);
  RETURN_IF_ERROR(
      CudaStatus(cudaEventRecord(done_, stream_), "cudaEventRecord"));
  return CudaStatus(cudaEventSynchronize(done_), "the recipe");
}

absl::Status ChunkMaker::TryToMake(const GpuChunk& chunk) {
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

absl::Status ChunkMaker::Make(const GpuChunk& chunk, FaultList* faults,
                              int64_t* items) {
  samples_.resize(std::max<size_t>(samples_.size(), chunk.piece.samples()));
  const absl::Status made = TryToMake(chunk);
  if (!made.ok()) {
    // Work that was enqueued before the failure still reads this memory.
    cudaStreamSynchronize(stream_);
    return made;
  }
  for (ItemFault& fault : faults_) faults->Add(std::move(fault));
  for (int i = 0; items != nullptr && i < chunk.piece.samples(); ++i) {
    items[chunk.piece.places[i]] = samples_[i].item;
  }
  return absl::OkStatus();
}

namespace {

std::vector<std::string> Libraries() {
  std::vector<std::string> libraries;
  const char* given = std::getenv("NVJPEG_LIBRARY");
  if (given != nullptr) libraries.push_back(given);
  libraries.insert(libraries.end(),
                   {"libnvjpeg.so.13", "/usr/local/cuda/lib64/libnvjpeg.so.13",
                    "libnvjpeg.so.12", "libnvjpeg.so"});
  return libraries;
}

template <typename Fn>
absl::Status Find(void* handle, const char* name, Fn* function) {
  *function = reinterpret_cast<Fn>(dlsym(handle, name));
  if (*function != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("nvJPEG has no function ", name, "; CUDA 12 or later has"));
}

absl::Status Check(NvjpegStatus code, const char* call) {
  if (code == 0) return absl::OkStatus();
  // 5: out of memory. 7 and 9: not supported by this device.
  const std::string text = absl::StrCat("nvJPEG: ", call, ": status ", code);
  if (code == 5) {
    return absl::ResourceExhaustedError(absl::StrCat(text, ", out of memory"));
  }
  if (code == 7 || code == 9) return absl::UnavailableError(text);
  return absl::InternalError(text);
}

}  // namespace

absl::StatusOr<std::unique_ptr<NvJpeg>> NvJpeg::Load() {
  for (const std::string& library : Libraries()) {
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) continue;
    std::unique_ptr<NvJpeg> found = absl::WrapUnique(new NvJpeg(handle));
    RETURN_IF_ERROR(Find(handle, "nvjpegCreateEx", &found->create));
    RETURN_IF_ERROR(Find(handle, "nvjpegDestroy", &found->destroy));
    RETURN_IF_ERROR(
        Find(handle, "nvjpegJpegStateCreate", &found->state_create));
    RETURN_IF_ERROR(
        Find(handle, "nvjpegJpegStateDestroy", &found->state_destroy));
    RETURN_IF_ERROR(Find(handle, "nvjpegDecodeBatchedInitialize",
                         &found->batched_initialize));
    RETURN_IF_ERROR(
        Find(handle, "nvjpegDecodeBatched", &found->decode_batched));
    Find(handle, "nvjpegGetHardwareDecoderInfo", &found->engines).IgnoreError();
    return found;
  }
  return absl::NotFoundError(
      "nvJPEG is not here; install CUDA's toolkit or the Python package "
      "nvidia-nvjpeg, and name libnvjpeg.so.13 in $NVJPEG_LIBRARY");
}

NvJpeg::~NvJpeg() { dlclose(handle_); }

absl::StatusOr<std::unique_ptr<NvJpegDecoder>> NvJpegDecoder::Create(
    const NvJpeg& library, NvjpegBackend backend) {
  std::unique_ptr<NvJpegDecoder> decoder =
      absl::WrapUnique(new NvJpegDecoder(library));
  RETURN_IF_ERROR(
      Check(library.create(backend, nullptr, nullptr, 0, &decoder->handle_),
            "nvjpegCreateEx"));
  RETURN_IF_ERROR(
      Check(library.state_create(decoder->handle_, &decoder->state_),
            "nvjpegJpegStateCreate"));
  unsigned engines = 0;
  unsigned cores = 0;
  if (backend == kNvjpegHardware && library.engines != nullptr &&
      library.engines(decoder->handle_, &engines, &cores) == 0) {
    decoder->engines_ = static_cast<int>(engines);
  }
  return decoder;
}

NvJpegDecoder::~NvJpegDecoder() {
  if (state_ != nullptr) library_.state_destroy(state_);
  if (handle_ != nullptr) library_.destroy(handle_);
}

absl::StatusOr<std::vector<int>> NvJpegDecoder::Decode(
    const std::vector<absl::string_view>& files,
    const std::vector<fused::ByteImage>& images, cudaStream_t stream) {
  const int count = static_cast<int>(files.size());
  data_.resize(count);
  lengths_.resize(count);
  destinations_.assign(count, NvjpegImage());
  for (int i = 0; i < count; ++i) {
    data_[i] = reinterpret_cast<const unsigned char*>(files[i].data());
    lengths_[i] = files[i].size();
    destinations_[i].channel[0] = images[i].data;
    destinations_[i].pitch[0] = static_cast<size_t>(images[i].stride);
  }
  bool is_first = true;
  return DecodeInParts(count, [&](int first, int size) -> absl::Status {
    // Parts share the memory of the state.
    if (!is_first) {
      RETURN_IF_ERROR(
          CudaStatus(cudaStreamSynchronize(stream), "cudaStreamSynchronize"));
    }
    is_first = false;
    return DecodeSome(first, size, stream);
  });
}

absl::Status NvJpegDecoder::DecodeSome(int first, int count,
                                       cudaStream_t stream) {
  if (count != batch_size_) {
    // A failed preparation leaves the state unusable.
    batch_size_ = 0;
    RETURN_IF_ERROR(Check(library_.batched_initialize(handle_, state_, count, 1,
                                                      kNvjpegInterleavedRgb),
                          "nvjpegDecodeBatchedInitialize"));
    batch_size_ = count;
  }
  const absl::Status decoded =
      Check(library_.decode_batched(handle_, state_, data_.data() + first,
                                    lengths_.data() + first,
                                    destinations_.data() + first, stream),
            "nvjpegDecodeBatched");
  if (decoded.ok()) return decoded;
  // A file is broken, truncated, or of a kind or size that the engine does not
  // support. Or, with status 5, the files together need more than its memory,
  // although the device has memory left. Start with a new state.
  batch_size_ = 0;
  if (absl::IsResourceExhausted(decoded)) return decoded;
  return absl::DataLossError(decoded.message());
}

}  // namespace feedrate
