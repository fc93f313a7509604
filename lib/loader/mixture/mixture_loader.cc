#include "lib/loader/mixture/mixture_loader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/base/stopwatch.h"
#include "lib/loader/mixture/episode.h"
#include "lib/media/parallel.h"

namespace feedrate {
namespace {

// Enough for a block with one pair per episode; more only takes memory.
constexpr int kMostAhead = 8;
// Memory of a decoder: tables and a few rows of coefficients.
constexpr int64_t kDecoderBytes = int64_t{2} << 20;

MetadataMode ModeOf(const std::string& name) {
  return name == "full"           ? MetadataMode::kFull
         : name == "dataset_only" ? MetadataMode::kDatasetOnly
                                  : MetadataMode::kNone;
}

// The episode in use, and those that a block may need while no thread has time
// to open more.
int AheadOf(const MixtureSpec& spec) {
  const int pairs = spec.samples_per_episode > 0 ? spec.samples_per_episode
                                                 : spec.mix_block_length;
  return std::clamp(1 + (spec.mix_block_length + pairs - 1) / pairs, 2,
                    kMostAhead);
}

int64_t SampleBytes(const MixtureSpec& spec) {
  return int64_t{2} * 3 * spec.frame_height * spec.frame_width;
}

// The ring counts in floats; a sample is a whole number of them, since its
// sides are even.
BatchRingOptions RingOptions(const MixtureOptions& options) {
  BatchRingOptions ring;
  ring.shape = {1, 1,
                static_cast<int>(SampleBytes(options.spec) / sizeof(float))};
  ring.batch_size = static_cast<int>(options.spec.batch_size);
  ring.count = options.count;
  return ring;
}

int DecodersOf(const MixtureSpec& spec) {
  return spec.decode_parallelism > 0 ? spec.decode_parallelism
                                     : UsableProcessors();
}

}  // namespace

absl::Status MixtureMemory::Reserve(const MixtureSpec& spec) {
  const int64_t bytes = spec.batch_size * SampleBytes(spec);
  // Those in the queue, and the consumer's.
  const auto wanted = static_cast<size_t>(spec.queue_depth) + 1;
  if (bytes == block_bytes_ && blocks_.size() == wanted) {
    return absl::OkStatus();
  }
  blocks_.clear();
  block_bytes_ = bytes;
  const std::unique_ptr<BatchMemory> memory = PageMemory();
  while (blocks_.size() < wanted) {
    ASSIGN_OR_RETURN(blocks_.emplace_back(), memory->Allocate(bytes));
  }
  return absl::OkStatus();
}

MixtureLoader::MixtureLoader(const MixtureOptions& options,
                             const MixtureMemory& memory)
    : options_(options),
      memory_(memory),
      shape_({options.spec.frame_height, options.spec.frame_width}),
      metadata_mode_(ModeOf(options.spec.metadata)),
      ring_(RingOptions(options)) {}

MixtureLoader::~MixtureLoader() { Stop(); }

absl::StatusOr<std::unique_ptr<MixtureLoader>> MixtureLoader::Start(
    const std::vector<MixtureSource>& sources, const MixtureOptions& options,
    const MixtureMemory* memory) {
  RETURN_IF_ERROR(CheckMixtureSpec(options.spec));
  auto loader = absl::WrapUnique(new MixtureLoader(options, *memory));
  RETURN_IF_ERROR(loader->OpenSources(sources));
  RETURN_IF_ERROR(loader->SkipDone());
  RETURN_IF_ERROR(loader->StartThreads());
  return loader;
}

absl::Status MixtureLoader::OpenSources(
    const std::vector<MixtureSource>& sources) {
  const MixtureSpec& spec = options_.spec;
  const bool fail = spec.on_error == "fail";
  const std::vector<StreamPlace>& places = options_.places;
  sources_ = sources.size();
  if (!places.empty() && places.size() != sources_) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", sources_, " data sets, and ", places.size(),
                     " were interrupted; use the same data"));
  }
  std::vector<std::unique_ptr<DatasetStream>> streams;
  for (size_t i = 0; i < sources.size(); ++i) {
    DatasetStreamOptions stream = PlannedStream(spec, options_.seed, i);
    stream.episode.metadata = metadata_mode_;
    stream.ahead = AheadOf(spec);
    stream.fail = fail;
    const auto number = static_cast<int64_t>(i);
    streams.push_back(std::make_unique<DatasetStream>(
        sources[i], stream,
        [this, number](const std::string& name, const std::string& reason) {
          faults_.Add({0, number, name, reason});
        }));
  }
  std::vector<absl::Status> opened(streams.size());
  ParallelFor(streams.size(), spec.pipeline_interleave, [&](int64_t i) {
    if (!places.empty() && places[i].episode < 0) {
      opened[i] =
          absl::FailedPreconditionError("was left out before the interruption");
      return;
    }
    if (!places.empty()) opened[i] = streams[i]->StartAt(places[i]);
    if (opened[i].ok()) opened[i] = OpenFirst(streams[i].get());
  });
  std::vector<double> weights;
  for (size_t i = 0; i < streams.size(); ++i) {
    if (!opened[i].ok()) {
      if (fail || !absl::IsFailedPrecondition(opened[i])) {
        return opened[i];
      }
      left_out_.push_back(sources[i].name);
      faults_.Add({0, static_cast<int64_t>(i), sources[i].name,
                   std::string(opened[i].message())});
      continue;
    }
    weights.push_back(sources[i].weight);
    source_numbers_.push_back(static_cast<int>(i));
    streams_.push_back(std::move(streams[i]));
  }
  if (streams_.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "no data set is left of ", sources.size(),
        "; the first: ", opened.empty() ? "" : opened[0].message()));
  }
  order_ =
      std::make_unique<MixOrder>(PlannedOrder(weights, spec, options_.seed));
  return absl::OkStatus();
}

absl::Status MixtureLoader::OpenFirst(DatasetStream* stream) {
  for (;;) {
    const std::shared_ptr<DatasetStream::Opening> opening = stream->Begin();
    if (opening != nullptr) {
      opening->Run();
      stream->Opened(opening);
    }
    ASSIGN_OR_RETURN(const bool settled, stream->Settle());
    if (settled) return absl::OkStatus();
  }
}

std::vector<StreamPlace> MixtureLoader::CurrentPlaces() const {
  std::vector<StreamPlace> places(sources_, {-1, 0});
  for (size_t i = 0; i < streams_.size(); ++i) {
    places[source_numbers_[i]] = streams_[i]->place();
  }
  return places;
}

std::vector<StreamPlace> MixtureLoader::Places() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  // If nobody has begun the next batch, nothing was taken for it.
  return places_before_.empty() ? CurrentPlaces()
                                : places_before_.front().second;
}

absl::Status MixtureLoader::SkipDone() {
  if (!options_.places.empty()) return absl::OkStatus();
  for (int64_t i = 0; i < options_.done; ++i) {
    DatasetStream* const stream = streams_[order_->DatasetAt(i)].get();
    RETURN_IF_ERROR(OpenFirst(stream));
    stream->Next();
  }
  return absl::OkStatus();
}

absl::Status MixtureLoader::StartThreads() {
  std::vector<float*> buffers;
  for (const auto& block : memory_.blocks()) buffers.push_back(block->data());
  metadata_.resize(buffers.size());
  if (metadata_mode_ != MetadataMode::kNone) {
    for (auto& samples : metadata_) samples.resize(options_.spec.batch_size);
  }
  if (options_.count > 0) ring_.SetBuffers(buffers);
  requests_ = std::make_unique<BoundedQueue<int>>(streams_.size());
  requested_.assign(streams_.size(), false);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (size_t i = 0; i < streams_.size(); ++i) Request(static_cast<int>(i));
  }
  ASSIGN_OR_RETURN(readers_,
                   WorkerTeam::Make(options_.spec.pipeline_interleave));
  readers_->Start([this](int) { Read(); });
  for (int i = 0; i < DecodersOf(options_.spec); ++i) {
    workers_.push_back(std::make_unique<Worker>());
  }
  ASSIGN_OR_RETURN(decoders_,
                   WorkerTeam::Make(static_cast<int>(workers_.size())));
  decoders_->Start([this](int i) { Decode(workers_[i].get()); });
  return absl::OkStatus();
}

void MixtureLoader::Stop() {
  if (requests_ == nullptr) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  ring_.End(absl::OkStatus());
  requests_->Close();
  opened_.notify_all();
  readers_.reset();
  decoders_.reset();
  requests_.reset();
  for (const auto& worker : workers_) worker->tasks.clear();
  for (const auto& stream : streams_) stream->Close();
}

// REQUIRES: mutex_ is held.
void MixtureLoader::Request(int dataset) {
  if (requested_[dataset]) return;
  requested_[dataset] = true;
  // Does not wait: there is room for each data set once.
  requests_->Push(dataset);
}

void MixtureLoader::Read() {
  while (const std::optional<int> dataset = requests_->Pop()) {
    std::unique_lock<std::mutex> lock(mutex_);
    requested_[*dataset] = false;
    while (!ended_ && OpenOne(streams_[*dataset].get(), &lock)) {
    }
  }
}

bool MixtureLoader::OpenOne(DatasetStream* stream,
                            std::unique_lock<std::mutex>* lock) {
  const std::shared_ptr<DatasetStream::Opening> opening = stream->Begin();
  if (opening == nullptr) return false;
  lock->unlock();
  const int64_t begin = MonotonicNs();
  opening->Run();
  const int64_t took = MonotonicNs() - begin;
  lock->lock();
  read_ns_ += took;
  stream->Opened(opening);
  opened_.notify_all();
  return true;
}

absl::StatusOr<const MixtureBatch*> MixtureLoader::Next() {
  ASSIGN_OR_RETURN(const LoaderBatch* const batch, ring_.Next());
  if (batch == nullptr) return nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++delivered_;
    while (!places_before_.empty() &&
           places_before_.front().first < delivered_) {
      places_before_.pop_front();
    }
  }
  batch_.index = batch->index;
  batch_.size = batch->size;
  batch_.frames = reinterpret_cast<const uint8_t*>(batch->data);
  batch_.shape = shape_;
  batch_.datasets = &batch->items;
  batch_.metadata = metadata_mode_ == MetadataMode::kNone
                        ? nullptr
                        : metadata_[batch->index % metadata_.size()].data();
  return &batch_;
}

std::vector<StageReport> MixtureLoader::stages() const {
  const auto s = [](int64_t ns) { return static_cast<double>(ns) * 1e-9; };
  StageReport decode;
  decode.name = "decode";
  for (const auto& worker : workers_) {
    decode.busy_s += s(worker->decode_ns);
    decode.wait_in_s += s(worker->wait_in_ns);
    decode.wait_out_s += s(worker->wait_out_ns);
  }
  decode.queue_fill = ring_.MeanFill();
  StageReport read;
  read.name = "read";
  const std::lock_guard<std::mutex> lock(mutex_);
  read.busy_s = s(read_ns_);
  return {read, decode};
}

int64_t MixtureLoader::memory_bound_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto decoders = static_cast<int64_t>(workers_.size());
  const int ahead = AheadOf(options_.spec);
  int64_t bytes = memory_.bytes() + decoders * kDecoderBytes;
  for (const auto& worker : workers_) bytes += worker->decoder.video_bytes();
  int64_t largest = 0;
  for (const auto& stream : streams_) {
    bytes += ahead * stream->largest_bytes();
    largest = std::max(largest, stream->largest_bytes());
  }
  // Frames of the episodes in use, and of those still being decoded.
  const auto kept_frames =
      static_cast<int64_t>(KeptFrames::kMost * (streams_.size() + decoders));
  bytes += kept_frames * static_cast<int64_t>(shape_.bytes());
  // Decoders may still use an episode that its stream has finished.
  return bytes + decoders * largest;
}

// The decoding threads of a MixtureLoader.

void MixtureLoader::Decode(Worker* worker) {
  while (TakeTasks(worker)) {
    const absl::Status made = Make(worker);
    if (!made.ok()) Fail(made);
    // Frees finished episodes here, not under the lock.
    worker->tasks.clear();
  }
}

void MixtureLoader::Fail(const absl::Status& status) {
  ring_.End(status);
  // After this, threads that saw the flag unset are waiting.
  { const std::lock_guard<std::mutex> lock(mutex_); }
  opened_.notify_all();
}

absl::Status MixtureLoader::WaitFor(int64_t position, DatasetStream* stream,
                                    std::unique_lock<std::mutex>* lock) {
  while (!ended_ && !ring_.ended()) {
    if (position != next_position_) return absl::OkStatus();
    if (stream->ready()) {
      ASSIGN_OR_RETURN(const bool settled, stream->Settle());
      if (settled) return absl::OkStatus();
      continue;
    }
    // Nobody has opened it yet: opening it here is better than waiting for a
    // reader that gets no processor while all decode.
    if (OpenOne(stream, lock)) continue;
    opened_.wait(*lock);
  }
  return absl::CancelledError("stopped");
}

bool MixtureLoader::TakeTasks(Worker* worker) {
  const int64_t begin = MonotonicNs();
  std::unique_lock<std::mutex> lock(mutex_);
  // While this thread waits, another may take the sample and advance the
  // position.
  for (;;) {
    if (ended_ || ring_.ended() || next_position_ >= options_.count) {
      return false;
    }
    const int64_t position = next_position_;
    const int dataset = order_->DatasetAt(options_.done + position);
    const absl::Status ready =
        WaitFor(position, streams_[dataset].get(), &lock);
    if (!ready.ok()) {
      lock.unlock();
      if (!absl::IsCancelled(ready)) Fail(ready);
      return false;
    }
    if (position != next_position_) continue;
    TakeRun(dataset, worker);
    worker->wait_in_ns += MonotonicNs() - begin;
    return true;
  }
}

void MixtureLoader::TakeRun(int dataset, Worker* worker) {
  DatasetStream* const stream = streams_[dataset].get();
  // Pairs of one episode share frames. Not beyond the batch: a thread that
  // waits for the next batch's buffer must not hold up this batch.
  const int64_t batch = options_.spec.batch_size;
  const int64_t batch_end = (next_position_ / batch + 1) * batch;
  if (next_position_ % batch == 0) {
    places_before_.emplace_back(next_position_ / batch, CurrentPlaces());
  }
  const int64_t block_end =
      order_->BlockEnd(options_.done + next_position_) - options_.done;
  const int64_t end = std::min({batch_end, options_.count, block_end});
  const int64_t run = std::min(end - next_position_, stream->left_in_episode());
  for (int64_t i = 0; i < run; ++i) {
    worker->tasks.push_back(
        {next_position_++, source_numbers_[dataset], stream->Next()});
  }
  if (stream->left_in_episode() == 0) Request(dataset);
}

absl::Status MixtureLoader::Make(Worker* worker) {
  worker->places.clear();
  for (const Task& task : worker->tasks) {
    void* const place = ring_.Slot(task.position, &worker->wait_out_ns);
    if (place == nullptr) return absl::OkStatus();
    worker->places.push_back(static_cast<uint8_t*>(place));
  }
  const int64_t begin = MonotonicNs();
  for (size_t i = 0; i < worker->tasks.size(); ++i) {
    RETURN_IF_ERROR(MakePair(worker, i));
    if (metadata_mode_ != MetadataMode::kNone) {
      WriteMetadata(worker->tasks[i]);
    }
  }
  KeepShared(worker);
  worker->decode_ns += MonotonicNs() - begin;
  int64_t unused = 0;
  for (const Task& task : worker->tasks) {
    ring_.Done(task.position, task.dataset, &unused);
  }
  return absl::OkStatus();
}

absl::Status MixtureLoader::MakePair(Worker* worker, size_t at) {
  Task& task = worker->tasks[at];
  uint8_t* const out = worker->places[at];
  const int step = task.sample.step;
  absl::Status made = MakeFrame(worker, at, step, out);
  if (made.ok()) {
    made = MakeFrame(worker, at, step + options_.spec.pair_offset,
                     out + shape_.bytes());
  }
  return made.ok() ? made : Replace(worker, &task, out, made);
}

absl::Status MixtureLoader::MakeFrame(Worker* worker, size_t at, int step,
                                      uint8_t* out) {
  // All tasks belong to one episode. A replaced task has the step of its
  // replacement.
  for (size_t i = 0; i < at; ++i) {
    const int first = worker->tasks[i].sample.step;
    const bool is_second = first + options_.spec.pair_offset == step;
    if (first != step && !is_second) continue;
    std::memcpy(out, worker->places[i] + (is_second ? shape_.bytes() : 0),
                shape_.bytes());
    return absl::OkStatus();
  }
  const Episode& episode = *worker->tasks[at].sample.episode;
  if (episode.kept().Take(step, shape_.bytes(), out)) return absl::OkStatus();
  return worker->decoder.Decode(episode.frames()[step], shape_, out);
}

void MixtureLoader::KeepShared(Worker* worker) {
  const PlannedSample& last = worker->tasks.back().sample;
  const std::vector<int>& pairs = last.episode->pairs();
  const int offset = options_.spec.pair_offset;
  const auto is_needed = [&](int step) {
    return std::any_of(pairs.begin() + last.next_pair, pairs.end(),
                       [step, offset](int first) {
                         return first == step || first + offset == step;
                       });
  };
  for (size_t i = 0; i < worker->tasks.size(); ++i) {
    const int step = worker->tasks[i].sample.step;
    const uint8_t* const pixels = worker->places[i];
    const size_t bytes = shape_.bytes();
    if (is_needed(step)) last.episode->kept().Keep(step, pixels, bytes);
    if (is_needed(step + offset)) {
      last.episode->kept().Keep(step + offset, pixels + bytes, bytes);
    }
  }
}

// Another pair of the episode replaces one that cannot be decoded. The choice
// depends on the data alone.
absl::Status MixtureLoader::Replace(Worker* worker, Task* task, uint8_t* out,
                                    const absl::Status& first) {
  const Episode& episode = *task->sample.episode;
  const std::string what =
      absl::StrCat("step ", task->sample.step, ": ", first.message());
  if (options_.spec.on_error == "fail") {
    return absl::Status(first.code(), absl::StrCat(episode.name(), ": ", what));
  }
  faults_.Add({task->position, task->dataset, episode.name(), what});
  const std::vector<absl::string_view>& frames = episode.frames();
  const int offset = options_.spec.pair_offset;
  const int pairs = static_cast<int>(frames.size()) - offset;
  for (int i = 1; i < pairs; ++i) {
    const int step = (task->sample.step + i) % pairs;
    if (worker->decoder.Decode(frames[step], shape_, out).ok() &&
        worker->decoder
            .Decode(frames[step + offset], shape_, out + shape_.bytes())
            .ok()) {
      task->sample.step = step;
      return absl::OkStatus();
    }
  }
  return absl::DataLossError(
      absl::StrCat(episode.name(), ": ", what,
                   "; and none of its other pairs can be decoded either"));
}

void MixtureLoader::WriteMetadata(const Task& task) {
  const int64_t batch = options_.spec.batch_size;
  SampleMetadata& metadata = metadata_[task.position / batch % metadata_.size()]
                                      [task.position % batch];
  metadata.dataset = task.dataset;
  if (metadata_mode_ != MetadataMode::kFull) return;
  const Episode& episode = *task.sample.episode;
  const int step = task.sample.step;
  metadata.step = step;
  metadata.episode_id.assign(episode.id().data(), episode.id().size());
  metadata.instruction = std::string(episode.instruction(step));
  const int last = static_cast<int>(episode.frames().size()) - 1;
  const int chunk = options_.spec.action_chunk;
  metadata.action.clear();
  for (int i = 0; i < chunk; ++i) {
    const float* const action = episode.action(std::min(step + i, last));
    metadata.action.insert(metadata.action.end(), action,
                           action + episode.action_width());
  }
  metadata.action_padded = std::clamp(step + chunk - 1 - last, 0, chunk);
  const float* const state = episode.state(step);
  metadata.state.assign(state, state + episode.state_width());
}

}  // namespace feedrate
