#include "lib/loader/python/c_api.h"

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/loader/clips/clip_set.h"
#include "lib/loader/loader.h"
#include "lib/loader/python/clip_settings.h"
#include "lib/loader/python/dlpack_export.h"
#include "lib/loader/python/engine.h"
#include "lib/loader/python/episode_settings.h"
#include "lib/loader/python/settings.h"
#include "lib/loader/source.h"

namespace feedrate {

namespace {

thread_local std::string last_error;  // NOLINT: a C function returns it.

int Code(const absl::Status& status) {
  if (!status.ok()) last_error = PrintableText(status.message());
  return static_cast<int>(status.code());
}

// Calls `work`, which returns a status. Nothing is thrown across C.
template <typename Work>
int Guarded(const Work& work) {
  try {
    return Code(work());
  } catch (const std::bad_alloc&) {
    return Code(absl::ResourceExhaustedError("memory ran out"));
  } catch (const std::exception& error) {
    return Code(absl::InternalError(error.what()));
  }
}

// Memory that the caller gives to the loader, and takes back with each batch.
class ForeignMemory : public BatchMemory {
 public:
  void Give(void* data) { spare_.push_back(data); }

  absl::StatusOr<std::unique_ptr<MemoryBlock>> Allocate(size_t) override {
    if (spare_.empty()) {
      return absl::InternalError("no memory was given for a batch");
    }
    auto block = std::make_unique<Block>(spare_.back());
    spare_.pop_back();
    return block;
  }
  bool is_foreign() const override { return true; }

 private:
  class Block : public MemoryBlock {
   public:
    explicit Block(void* data) : data_(data) {}
    float* data() const override { return static_cast<float*>(data_); }

   private:
    void* const data_;
  };

  std::vector<void*> spare_;
};

class HostEngine : public Engine {
 public:
  explicit HostEngine(std::unique_ptr<Loader> loader)
      : loader_(std::move(loader)) {}

  const Source& source() const override { return loader_->source(); }
  SampleShape shape() const override { return loader_->shape(); }

  absl::Status Start(int64_t epoch, const EpochShare& share) override {
    ASSIGN_OR_RETURN(
        epoch_, loader_->StartShare(loader_->options().seed, epoch, share));
    return absl::OkStatus();
  }
  bool WaitFor(double seconds) override {
    return epoch_ == nullptr || epoch_->WaitFor(seconds);
  }
  absl::StatusOr<std::unique_ptr<KeptBatch>> Next() override {
    if (epoch_ == nullptr) return nullptr;
    return epoch_->NextKept();
  }
  std::vector<ItemFault> End() override {
    if (epoch_ == nullptr) return {};
    epoch_->Stop();
    std::vector<ItemFault> faults = epoch_->faults().all();
    epoch_.reset();
    return faults;
  }
  const FaultList* faults() const override {
    return epoch_ == nullptr ? nullptr : &epoch_->faults();
  }
  std::string index_problem() const override {
    return loader_->index_problem();
  }

 private:
  const std::unique_ptr<Loader> loader_;
  std::unique_ptr<Epoch> epoch_;
};

struct OpenLoader {
  LoaderOptions options;
  int gpu = -1;  // -1: batches are in host memory.
  EpochShare share;
  int64_t samples = 0;  // Of an epoch.
  // Those of LabeledSource.
  std::vector<int64_t> labels;
  std::vector<std::string> classes;
  std::string left_out;

  // The engine's source, if it has episodes; otherwise null.
  EpisodeSet* episodes = nullptr;
  // The same for clips.
  const ClipSet* clips = nullptr;
  // Held by who reads whole episodes, and by who ends all.
  std::shared_mutex reading;

  // Guards what follows: Python lets other threads run during every call.
  std::mutex mutex;
  std::unique_ptr<Engine> engine;   // Null once the loader is closed.
  ForeignMemory* memory = nullptr;  // The engine's; null: it has its own.
  // By item, of epochs that have ended.
  std::map<int64_t, ItemFault> unusable;
};

// The loaders that are open, by number.
class OpenLoaders {
 public:
  static OpenLoaders& All() {
    static auto& all = *new OpenLoaders;
    return all;
  }

  int64_t Add(std::shared_ptr<OpenLoader> loader) {
    const std::lock_guard<std::mutex> lock(mutex_);
    loaders_[++last_] = std::move(loader);
    return last_;
  }
  // Null if it is closed. The result lives for as long as the call has it.
  std::shared_ptr<OpenLoader> Find(int64_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = loaders_.find(number);
    return found == loaders_.end() ? nullptr : found->second;
  }
  std::shared_ptr<OpenLoader> Remove(int64_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = loaders_.find(number);
    if (found == loaders_.end()) return nullptr;
    std::shared_ptr<OpenLoader> removed = std::move(found->second);
    loaders_.erase(found);
    return removed;
  }

 private:
  std::mutex mutex_;
  int64_t last_ = 0;
  std::map<int64_t, std::shared_ptr<OpenLoader>> loaders_;
};

absl::Status NoEpisodes() {
  return absl::FailedPreconditionError("it has no episodes");
}

absl::Status Closed() {
  return absl::FailedPreconditionError("it is closed; make a new one");
}

// Calls `work` with the loader, with no other thread in it.
template <typename Work>
int WithLoader(int64_t number, const Work& work) {
  return Guarded([&]() -> absl::Status {
    const std::shared_ptr<OpenLoader> loader = OpenLoaders::All().Find(number);
    if (loader == nullptr) return Closed();
    const std::lock_guard<std::mutex> lock(loader->mutex);
    if (loader->engine == nullptr) return Closed();
    return work(loader.get());
  });
}

// `source` is a unique_ptr of a Source or a MadeSource.
template <typename SourcePtr>
absl::StatusOr<std::unique_ptr<Engine>> MakeHostEngine(
    SourcePtr source, std::unique_ptr<BatchMemory> memory,
    const LoaderOptions& options) {
  ASSIGN_OR_RETURN(
      std::unique_ptr<Loader> loader,
      Loader::Create(std::move(source), options, std::move(memory)));
  return std::make_unique<HostEngine>(std::move(loader));
}

void KeepLabels(LabeledSource labeled, OpenLoader* opened) {
  opened->labels = std::move(labeled.labels);
  opened->classes = std::move(labeled.classes);
  opened->left_out = std::move(labeled.left_out);
}

absl::StatusOr<std::unique_ptr<Engine>> MakeImages(
    Settings* settings, const std::vector<std::string>& files,
    const feedrate_array* array, std::unique_ptr<BatchMemory> memory,
    OpenLoader* opened) {
  LoaderGpuSettings gpu;
  ASSIGN_OR_RETURN(gpu.device, GpuOf(settings));
  opened->gpu = gpu.device;
  gpu.nvjpeg = settings->Text("nvjpeg");
  ASSIGN_OR_RETURN(opened->options, OptionsOf(settings, gpu.device >= 0));
  std::unique_ptr<Source> given;
  if (array != nullptr) {
    given = ArraySource(array->data, array->count, array->height, array->width,
                        array->channels);
  }
  ASSIGN_OR_RETURN(LabeledSource labeled,
                   OpenSource(settings, files, std::move(given)));
  std::unique_ptr<Source> source = std::move(labeled.source);
  KeepLabels(std::move(labeled), opened);
  // A caller that waits for a store itself could not be interrupted.
  if (source->remote() != nullptr && gpu.device < 0) {
    opened->options.workers = std::max(1, opened->options.workers);
  }
  opened->samples = source->size();
  return gpu.device >= 0
             ? make_gpu_engine(std::move(source), opened->options, gpu)
             : MakeHostEngine(std::move(source), std::move(memory),
                              opened->options);
}

absl::StatusOr<std::unique_ptr<Engine>> MakeEpisodes(
    Settings* settings, std::unique_ptr<BatchMemory> memory,
    OpenLoader* opened) {
  opened->options = SharedOptionsOf(settings);
  ASSIGN_OR_RETURN(std::unique_ptr<EpisodeSet> set,
                   OpenEpisodes(settings, opened->options));
  opened->episodes = set.get();
  opened->left_out = set->left_out();
  opened->samples = set->samples();
  return MakeHostEngine(std::unique_ptr<MadeSource>(std::move(set)),
                        std::move(memory), opened->options);
}

absl::StatusOr<std::unique_ptr<Engine>> MakeClips(
    Settings* settings, const std::vector<std::string>& files,
    std::unique_ptr<BatchMemory> memory, OpenLoader* opened) {
  ASSIGN_OR_RETURN(opened->gpu, GpuOf(settings));
  ASSIGN_OR_RETURN(opened->options, OptionsOf(settings, opened->gpu >= 0));
  LabeledSource labeled;
  ASSIGN_OR_RETURN(std::unique_ptr<ClipSet> set,
                   OpenClips(settings, files, opened->gpu, &opened->options,
                             &labeled, &memory));
  for (const std::string& text : {set->left_out(), labeled.left_out}) {
    if (!text.empty()) absl::StrAppend(&opened->left_out, "; ", text);
  }
  labeled.left_out = std::string(absl::StripPrefix(opened->left_out, "; "));
  KeepLabels(std::move(labeled), opened);
  opened->clips = set.get();
  opened->samples = set->size();
  return MakeHostEngine(std::unique_ptr<MadeSource>(std::move(set)),
                        std::move(memory), opened->options);
}

absl::Status Open(Settings settings, const std::vector<std::string>& files,
                  const feedrate_array* array, int64_t* loader) {
  auto opened = std::make_shared<OpenLoader>();
  enum class Kind { kImages, kEpisodes, kClips };
  const auto kind =
      settings.Word<Kind>("kind", {"images", "episodes", "clips"});
  opened->share.rank = settings.Integer("rank");
  opened->share.world = settings.Integer("world_size");
  opened->share.tail =
      settings.Word<EpochShare::Tail>("tail", {"keep", "pad", "drop"});
  std::unique_ptr<ForeignMemory> memory;
  if (settings.Word<int>("memory", {"own", "foreign"}) != 0) {
    memory = std::make_unique<ForeignMemory>();
  }
  opened->memory = memory.get();
  ASSIGN_OR_RETURN(
      opened->engine,
      kind == Kind::kEpisodes
          ? MakeEpisodes(&settings, std::move(memory), opened.get())
      : kind == Kind::kClips
          ? MakeClips(&settings, files, std::move(memory), opened.get())
          : MakeImages(&settings, files, array, std::move(memory),
                       opened.get()));
  *loader = OpenLoaders::All().Add(std::move(opened));
  return absl::OkStatus();
}

void Close(int64_t number) {
  // From here on, other calls find nothing.
  const std::shared_ptr<OpenLoader> loader = OpenLoaders::All().Remove(number);
  if (loader == nullptr) return;
  // One that is waiting for a batch has the lock until its time is up.
  const std::lock_guard<std::mutex> lock(loader->mutex);
  const std::lock_guard<std::shared_mutex> reading(loader->reading);
  loader->engine->End();
  loader->episodes = nullptr;
  loader->clips = nullptr;
  loader->engine = nullptr;
}

absl::Status Describe(OpenLoader* loader, feedrate_facts* facts) {
  const SampleShape whole = loader->engine->shape();
  const SampleShape shape =
      loader->clips == nullptr ? whole : loader->clips->shape();
  *facts = feedrate_facts{};
  facts->size = loader->engine->source().size();
  facts->samples = loader->samples;
  facts->batch_bytes = loader->options.batch_size * whole.bytes();
  facts->frames =
      loader->clips == nullptr ? 1 : loader->clips->options().timing.frames;
  facts->channels = shape.channels;
  facts->height = shape.height;
  facts->width = shape.width;
  facts->mixes = loader->options.mix.kind != MixKind::kNone ? 1 : 0;
  return absl::OkStatus();
}

// What feedrate_batch.keep points to.
struct Kept {
  std::shared_ptr<KeptBatch> batch;
  ExportedShape shape;
  int gpu = -1;
};

absl::Status Next(OpenLoader* loader, double seconds, feedrate_batch* batch) {
  *batch = feedrate_batch{};
  if (!loader->engine->WaitFor(seconds)) {
    return absl::DeadlineExceededError("no batch yet");
  }
  ASSIGN_OR_RETURN(std::shared_ptr<KeptBatch> kept, loader->engine->Next());
  if (kept == nullptr) return absl::OkStatus();
  batch->data = kept->batch.data;
  batch->size = kept->batch.size;
  batch->items = kept->batch.items.data();
  batch->own_share = kept->batch.mix.own_share;
  ExportedShape shape = {kept->batch.shape, 0};
  if (loader->clips != nullptr) {
    shape = {loader->clips->shape(), loader->clips->options().timing.frames};
  }
  batch->keep = new Kept{std::move(kept), shape, loader->gpu};
  return absl::OkStatus();
}

void KeepFaults(std::vector<ItemFault> faults, OpenLoader* loader) {
  for (ItemFault& fault : faults) {
    loader->unusable.emplace(fault.item, std::move(fault));
  }
}

absl::Status Faults(OpenLoader* loader, int64_t* items, int64_t* in_epoch,
                    const char** text) {
  thread_local std::string lines;  // NOLINT: the caller reads it.
  lines.clear();
  const FaultList* const faults = loader->engine->faults();
  std::vector<ItemFault> all;
  if (faults != nullptr) all = faults->all();
  *in_epoch = static_cast<int64_t>(all.size());
  std::set<int64_t> listed;
  for (const ItemFault& fault : all) listed.insert(fault.item);
  for (const auto& [item, fault] : loader->unusable) {
    if (listed.insert(item).second) all.push_back(fault);
  }
  for (const ItemFault& fault : all) {
    absl::StrAppend(&lines, PrintableText(fault.name), "\t",
                    PrintableText(fault.reason), "\n");
  }
  *items = static_cast<int64_t>(all.size());
  *text = lines.c_str();
  return absl::OkStatus();
}

// Writes texts, each ending with a zero byte, or with `out` null only counts
// their bytes.
template <typename Text>
void WriteTexts(int64_t count, const Text& text, char* out, int64_t* bytes) {
  *bytes = 0;
  for (int64_t i = 0; i < count; ++i) {
    const std::string one = text(i);
    const auto with_zero = static_cast<int64_t>(one.size() + 1);
    if (out != nullptr) std::copy_n(one.c_str(), with_zero, out + *bytes);
    *bytes += with_zero;
  }
}

}  // namespace
}  // namespace feedrate

int feedrate_loader_abi() { return 8; }

const char* feedrate_error() { return feedrate::last_error.c_str(); }

int feedrate_open(const char* const* settings, int64_t num_settings,
                  const char* const* files, int64_t num_files,
                  const feedrate_array* array, int64_t* loader) {
  return feedrate::Guarded([&] {
    return feedrate::Open(feedrate::Settings(settings, num_settings),
                          {files, files + num_files}, array, loader);
  });
}

void feedrate_close(int64_t loader) { feedrate::Close(loader); }

int feedrate_describe(int64_t loader, feedrate_facts* facts) {
  return feedrate::WithLoader(loader, [&](feedrate::OpenLoader* open) {
    return feedrate::Describe(open, facts);
  });
}

int feedrate_names(int64_t loader, char* names, int64_t* bytes) {
  return feedrate::WithLoader(loader, [&](feedrate::OpenLoader* open) {
    const feedrate::Source& source =
        open->clips == nullptr ? open->engine->source() : open->clips->videos();
    feedrate::WriteTexts(
        source.size(), [&](int64_t i) { return source.name(i); }, names, bytes);
    return absl::OkStatus();
  });
}

int feedrate_classes(int64_t loader, char* names, int64_t* bytes) {
  return feedrate::WithLoader(loader, [&](feedrate::OpenLoader* open) {
    feedrate::WriteTexts(
        static_cast<int64_t>(open->classes.size()),
        [&](int64_t i) { return open->classes[i]; }, names, bytes);
    return absl::OkStatus();
  });
}

int feedrate_left_out(int64_t loader, const char** text) {
  return feedrate::WithLoader(loader, [&](feedrate::OpenLoader* open) {
    thread_local std::string line;  // NOLINT: the caller reads it.
    const std::string problem = open->engine->index_problem();
    line = feedrate::PrintableText(absl::StrCat(
        open->left_out, open->left_out.empty() || problem.empty() ? "" : "; ",
        problem));
    *text = line.c_str();
    return absl::OkStatus();
  });
}

int feedrate_about(int64_t loader, const char** json) {
  return feedrate::WithLoader(loader, [&](feedrate::OpenLoader* open) {
    thread_local std::string text;  // NOLINT: the caller reads it.
    if (open->clips != nullptr) {
      ASSIGN_OR_RETURN(text,
                       feedrate::DescribeClips(*open->clips, open->options));
    } else if (open->engine->source().remote() != nullptr) {
      text = feedrate::DescribeTransfers(*open->engine->source().remote());
    } else {
      if (open->episodes == nullptr) return feedrate::NoEpisodes();
      text = feedrate::DescribeEpisodes(*open->episodes, open->options);
    }
    *json = text.c_str();
    return absl::OkStatus();
  });
}

int feedrate_entries(int64_t loader, int64_t* rows, int64_t* count) {
  return feedrate::WithLoader(loader, [&](feedrate::OpenLoader* open) {
    if (const feedrate::ClipSet* const clips = open->clips) {
      *count = clips->videos().size();
      for (int64_t i = 0; rows != nullptr && i < *count; ++i) {
        const int64_t first = clips->first_clip(i);
        *rows++ = first;
        *rows++ = clips->first_clip(i + 1) - first;
        rows = std::fill_n(rows, 2, 0);
      }
      return absl::OkStatus();
    }
    if (open->episodes == nullptr) return feedrate::NoEpisodes();
    const auto& entries = open->episodes->entries();
    *count = static_cast<int64_t>(entries.size());
    if (rows == nullptr) return absl::OkStatus();
    for (const auto& entry : entries) {
      *rows++ = entry.dataset;
      *rows++ = entry.number;
      *rows++ = entry.steps;
      *rows++ = entry.text;
    }
    return absl::OkStatus();
  });
}

int feedrate_keep(int64_t loader, const uint8_t* kept, int64_t count) {
  return feedrate::WithLoader(loader, [&](feedrate::OpenLoader* open) {
    if (open->episodes == nullptr) return feedrate::NoEpisodes();
    if (count != static_cast<int64_t>(open->episodes->entries().size())) {
      return absl::InternalError("needs a byte for each episode");
    }
    RETURN_IF_ERROR(
        open->episodes->Keep(std::vector<bool>(kept, kept + count)));
    open->samples = open->episodes->samples();
    return absl::OkStatus();
  });
}

int feedrate_episode(int64_t loader, int64_t entry, void* out) {
  return feedrate::Guarded([&]() -> absl::Status {
    // Several threads read at a time; closing waits for them.
    const auto open = feedrate::OpenLoaders::All().Find(loader);
    if (open == nullptr) return feedrate::Closed();
    const std::shared_lock<std::shared_mutex> reading(open->reading);
    if (open->episodes == nullptr) return feedrate::NoEpisodes();
    const auto count = static_cast<int64_t>(open->episodes->entries().size());
    if (entry < 0 || entry >= count) {
      return absl::InternalError(absl::StrCat("has no episode ", entry));
    }
    return open->episodes->ReadEpisode(entry, out);
  });
}

int feedrate_texts(int64_t loader, int64_t first, const char** texts,
                   int64_t* bytes) {
  return feedrate::WithLoader(loader, [&](feedrate::OpenLoader* open) {
    if (open->episodes == nullptr) return feedrate::NoEpisodes();
    thread_local std::string joined;  // NOLINT: the caller reads it.
    joined.clear();
    for (const std::string& text : open->episodes->TextsFrom(first)) {
      // A zero byte would be the end.
      joined.append(text.c_str()).push_back('\0');
    }
    *texts = joined.data();
    *bytes = static_cast<int64_t>(joined.size());
    return absl::OkStatus();
  });
}

int feedrate_labels(int64_t loader, int64_t* labels) {
  return feedrate::WithLoader(loader, [&](feedrate::OpenLoader* open) {
    std::copy(open->labels.begin(), open->labels.end(), labels);
    return absl::OkStatus();
  });
}

int feedrate_count(int64_t loader, int64_t start, int64_t* count) {
  return feedrate::Guarded([&]() -> absl::Status {
    const auto open = feedrate::OpenLoaders::All().Find(loader);
    if (open == nullptr) return feedrate::Closed();
    feedrate::EpochShare share = open->share;
    share.start = start;
    *count = share.Count(open->samples, open->options.batch_size);
    return absl::OkStatus();
  });
}

int feedrate_give(int64_t loader, void* data) {
  return feedrate::WithLoader(loader, [&](feedrate::OpenLoader* open) {
    if (open->memory == nullptr) {
      return absl::InternalError("the loader has memory of its own");
    }
    open->memory->Give(data);
    return absl::OkStatus();
  });
}

int feedrate_start(int64_t loader, int64_t epoch, int64_t start) {
  return feedrate::WithLoader(loader, [&](feedrate::OpenLoader* open) {
    feedrate::KeepFaults(open->engine->End(), open);
    feedrate::EpochShare share = open->share;
    share.start = start;
    return open->engine->Start(epoch, share);
  });
}

int feedrate_next(int64_t loader, double seconds, feedrate_batch* batch) {
  return feedrate::WithLoader(loader, [&](feedrate::OpenLoader* open) {
    return feedrate::Next(open, seconds, batch);
  });
}

void feedrate_release(void* keep) { delete static_cast<feedrate::Kept*>(keep); }

void* feedrate_dlpack(const void* keep, void* stream) {
  const auto& kept = *static_cast<const feedrate::Kept*>(keep);
  return feedrate::ExportBatch(kept.batch, kept.shape, kept.gpu, stream);
}

void feedrate_drop_capsule(void* capsule) { feedrate::DropCapsule(capsule); }

int feedrate_faults(int64_t loader, int64_t* items, int64_t* in_epoch,
                    const char** text) {
  return feedrate::WithLoader(loader, [&](feedrate::OpenLoader* open) {
    return feedrate::Faults(open, items, in_epoch, text);
  });
}
