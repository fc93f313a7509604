#include "lib/model/worker/train_data.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <future>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "lib/hash/sha256.h"
#include "lib/model/worker/fed_batches.h"
#include "lib/model/worker/image_files.h"
#include "lib/model/worker/loader_batches.h"

namespace feedrate {
namespace {

// Batches of the synthetic set: enough that no batch comes twice in a row, few
// enough that the loss falls over a few hundred steps.
constexpr int64_t kSyntheticBatches = 4;

// Lines of a checkpoint: what the data is, and the positions of the processes,
// numbers with commas, separated by semicolons.
constexpr char kDataId[] = "data.sha256";
constexpr char kPosition[] = "data.position";

std::string PrintNumbers(const std::vector<int64_t>& numbers) {
  std::string text;
  for (const int64_t number : numbers) {
    text += (text.empty() ? "" : ",") + std::to_string(number);
  }
  return text;
}

// More than any data has.
constexpr int64_t kFarthest = int64_t{1} << 53;

// Position number `rank` of a line.
std::vector<int64_t> ParsePosition(const std::string& line, int rank) {
  std::istringstream positions(line);
  std::string own;
  for (int i = 0; i <= rank; ++i) {
    if (!std::getline(positions, own, ';')) own.clear();
  }
  std::vector<int64_t> numbers;
  std::istringstream words(own);
  bool is_position = !own.empty();
  for (std::string word; std::getline(words, word, ',');) {
    char* end = nullptr;
    const int64_t number = std::strtoll(word.c_str(), &end, 10);
    is_position &=
        !word.empty() && *end == '\0' && number >= -1 && number <= kFarthest;
    numbers.push_back(number);
  }
  if (!is_position) {
    throw std::runtime_error("the checkpoint's \"" + line.substr(0, 60) +
                             "\" is not a position in data");
  }
  return numbers;
}

}  // namespace

TrainData::TrainData(const TrainSpec& spec, const ModelSpec& model,
                     at::Device device,
                     const std::map<std::string, std::string>* checkpoint,
                     const std::function<void()>& alive)
    : spec_(spec),
      model_(model),
      device_(device),
      checkpoint_(checkpoint),
      alive_(alive) {
  if (checkpoint_ != nullptr) resumed_.emplace();
  if (!spec_.loader.empty()) {
    batches_ = FromFolder();
  } else {
    batches_ = spec_.text.empty() ? Synthetic() : FromText();
  }
}

int64_t TrainData::StepsOf(int64_t epochs) const {
  const int64_t parts = HasOneOrder() ? spec_.world_size : 1;
  const int64_t batches = epochs * (files_ / (spec_.batch_size * parts));
  return std::max<int64_t>(1, batches / spec_.accumulation);
}

std::unique_ptr<BatchSource> TrainData::Synthetic() const {
  SyntheticOptions synthetic;
  synthetic.batch_size = spec_.batch_size;
  synthetic.samples = spec_.samples > 0 ? spec_.samples
                                        : kSyntheticBatches * spec_.batch_size *
                                              spec_.world_size;
  synthetic.seed = spec_.seed;
  synthetic.device = device_;
  synthetic.rank = spec_.rank;
  synthetic.world_size = spec_.world_size;
  return MakeSyntheticBatches(model_, synthetic);
}

std::unique_ptr<BatchSource> TrainData::FromText() const {
  if (model_.kind != ModelKind::kByteLm) {
    throw std::runtime_error("text is for byte language models");
  }
  TextOptions text;
  text.file = spec_.text;
  text.batch_size = spec_.batch_size;
  text.context = spec_.context > 0 ? std::min(spec_.context, model_.context)
                                   : model_.context;
  // Each process reads different parts.
  text.seed = spec_.seed + 7919 * spec_.rank;
  return MakeTextBatches(text);
}

std::unique_ptr<BatchSource> TrainData::FromFolder() {
  if (model_.kind != ModelKind::kVit) {
    throw std::runtime_error("images do not feed " + model_.name);
  }
  if (spec_.loader == "mixture") return FromMixture();
  ImageData data = ListData();
  NoteFiles(data.files, data.local);
  if (HasOneOrder()) return FromOurs(std::move(data));
  if (resumed_.has_value()) {
    resumed_->set_restarted("loader " + spec_.loader +
                            " cannot start in the middle of its data");
  }
  return FromFeeder(data.files);
}

bool TrainData::HasOneOrder() const {
  return spec_.loader == "native" || spec_.loader == "cuda";
}

void TrainData::NoteFiles(const std::vector<ImageFile>& files,
                          const std::vector<ImageFile>& local) {
  if (spec_.objects.empty()) {
    storage_ =
        PrepareStorage(spec_.folder, local, spec_.cold, alive_, &resident_);
  } else {
    storage_ = spec_.folder.substr(0, spec_.folder.find(':'));
  }
  files_ = static_cast<int64_t>(files.size());
  for (const ImageFile& file : files) {
    bytes_of_.push_back(file.bytes);
    file_bytes_ += file.bytes;
  }
}

std::vector<int64_t> TrainData::PositionIn(
    const std::vector<ImageFile>& files) {
  const bool is_mixture = spec_.loader == "mixture";
  std::string text = is_mixture ? "mixture " + spec_.mixture + " of " +
                                      std::to_string(spec_.world_size)
                                : "files";
  text += " seed " + std::to_string(spec_.seed) + "\n";
  for (const ImageFile& file : files) {
    text += std::to_string(file.label) + "\t" + file.folder + "/" +
            file.path.substr(file.path.rfind('/') + 1) + "\t" +
            std::to_string(file.bytes) + "\n";
  }
  id_ = Sha256Hex(text);
  if (!resumed_.has_value()) return {};
  const auto id = checkpoint_->find(kDataId);
  const auto line = checkpoint_->find(kPosition);
  if (id == checkpoint_->end() || line == checkpoint_->end()) {
    resumed_->set_restarted("the checkpoint does not say where its data was");
    return {};
  }
  if (id->second != id_) {
    resumed_->set_restarted(
        is_mixture ? "the checkpoint is of another mixture, seed or number of "
                     "processes"
                   : "the checkpoint is of other files or another seed");
    return {};
  }
  const std::vector<int64_t> position =
      ParsePosition(line->second, is_mixture ? spec_.rank : 0);
  if (is_mixture && !position.empty()) {
    resumed_->set_sample(position[0] * spec_.world_size);
  } else if (position.size() == 2) {
    resumed_->set_epoch(position[0]);
    resumed_->set_sample(position[1]);
  }
  return position;
}

std::unique_ptr<BatchSource> TrainData::FromMixture() {
  MixtureBatchOptions options;
  options.folder = spec_.folder;
  options.settings = spec_.mixture;
  options.batch_size = spec_.batch_size;
  options.image_size = model_.image_size;
  options.classes = model_.classes;
  // Processes that train together get different samples of the same mixture.
  options.seed = spec_.seed * spec_.world_size + spec_.rank;
  const std::vector<ImageFile> shards = ShardsOfMixture(options.folder);
  NoteFiles(shards, shards);
  options.position = PositionIn(shards);
  return MakeMixtureBatches(options);
}

ImageData TrainData::ListData() {
  ImageFolder folder;
  folder.path = spec_.folder;
  folder.sample_ratio = spec_.sample_ratio;
  folder.classes = model_.classes;
  if (!HasOneOrder()) {
    folder.rank = spec_.rank;
    folder.world_size = spec_.world_size;
  }
  auto listing = std::async(std::launch::async, [this, &folder] {
    return OpenImageData(folder, spec_.objects);
  });
  while (listing.wait_for(std::chrono::seconds(1)) !=
         std::future_status::ready) {
    alive_();
  }
  ImageData data = LoaderValue(listing.get());
  class_names_ = data.classes;
  note_ = data.note;
  // Of all processes together, so the first one tells.
  if (spec_.rank == 0) {
    listed_.total = static_cast<int64_t>(data.special.size());
    for (const std::string& path : data.special) {
      listed_.first.push_back({-1, path, "is not a regular file"});
    }
  }
  const int64_t step =
      spec_.batch_size * (HasOneOrder() ? spec_.world_size : 1);
  if (static_cast<int64_t>(data.files.size()) < step) {
    throw std::runtime_error(
        spec_.folder + ": has " + std::to_string(data.files.size()) +
        " images for a batch of " + std::to_string(step) +
        (step == spec_.batch_size ? "" : " in all processes"));
  }
  return data;
}

std::unique_ptr<BatchSource> TrainData::FromOurs(ImageData data) {
  LoaderBatchOptions options;
  options.batch_size = spec_.batch_size;
  options.image_size = model_.image_size;
  options.workers = spec_.workers;
  options.recipe = spec_.recipe;
  options.prefetch = spec_.prefetch;
  options.seed = spec_.seed;
  options.to_gpu = spec_.device == "cuda";
  options.rank = spec_.rank;
  options.world_size = spec_.world_size;
  options.position = PositionIn(data.files);
  source_ = data.source.get();
  return spec_.loader == "cuda"
             ? MakeGpuBatches(data.files, std::move(data.source), options)
             : MakeLoaderBatches(data.files, std::move(data.source), options);
}

std::unique_ptr<BatchSource> TrainData::FromFeeder(
    const std::vector<ImageFile>& files) const {
  if (spec_.feeder.empty() || spec_.feeder_script.empty()) {
    throw std::runtime_error("loader \"" + spec_.loader +
                             "\" is a process of its own; name it with "
                             "feeder and feeder_script");
  }
  FeederOptions options;
  options.command = {spec_.feeder, spec_.feeder_script};
  options.loader = spec_.loader;
  options.batch_size = spec_.batch_size;
  options.image_size = model_.image_size;
  options.workers = spec_.workers;
  options.seed = spec_.seed;
  options.to_gpu = spec_.device == "cuda";
  options.on_gpu = spec_.loader == "dali_gpu";
  options.recipe = spec_.recipe;
  options.fused_decode = spec_.fused_decode;
  if (spec_.prefetch > 0) options.slots = spec_.prefetch + 1;
  return MakeFedBatches(files, options);
}

std::map<std::string, std::string> TrainData::Meta(GradientSync* sync) const {
  std::map<std::string, std::string> meta = MetaOfClasses(class_names_);
  const std::vector<int64_t> own = batches_->Position();
  if (own.empty()) return meta;
  meta[kDataId] = id_;
  meta[kPosition] = PrintNumbers(own);
  if (sync == nullptr || HasOneOrder()) return meta;
  // Each process adds its own position to those of the others.
  const auto numbers = static_cast<int64_t>(own.size());
  at::Tensor all = at::zeros({spec_.world_size, numbers}, at::kDouble);
  for (int64_t i = 0; i < numbers; ++i) {
    all.mutable_data_ptr<double>()[spec_.rank * numbers + i] =
        static_cast<double>(own[i]);
  }
  all = all.to(device_);
  sync->Average(all);
  all = all.to(at::kCPU);
  std::string& line = meta[kPosition];
  line.clear();
  for (int rank = 0; rank < spec_.world_size; ++rank) {
    std::vector<int64_t> position;
    for (int64_t i = 0; i < numbers; ++i) {
      position.push_back(std::llround(
          all.const_data_ptr<double>()[rank * numbers + i] * spec_.world_size));
    }
    line += (rank == 0 ? "" : ";") + PrintNumbers(position);
  }
  return meta;
}

void TrainData::LeaveOut(const SkippedFiles& skipped, TrainReply* reply) const {
  reply->set_files(files_);
  reply->set_file_bytes(file_bytes_);
  if (spec_.loader == "mixture") return;
  reply->set_files(files_ - skipped.total);
  for (const SkippedFiles::File& file : skipped.first) {
    reply->set_file_bytes(reply->file_bytes() - bytes_of_[file.item]);
  }
}

void TrainData::Describe(TrainReply* reply) const {
  SkippedFiles skipped = batches_->skipped();
  LeaveOut(skipped, reply);
  reply->set_storage(storage_ + note_);
  if (resident_ >= 0) reply->set_resident(resident_);
  // These were never counted as data.
  skipped.first.insert(skipped.first.end(), listed_.first.begin(),
                       listed_.first.end());
  reply->set_skipped_files(skipped.total + listed_.total);
  for (const SkippedFiles::File& from : skipped.first) {
    SkippedItem* const file = reply->add_skipped();
    if (from.item >= 0) file->set_item(from.item);
    file->set_path(from.path);
    file->set_reason(from.reason);
  }
  if (spec_.world_size > 1) {
    const bool is_synthetic = spec_.loader.empty() && spec_.text.empty();
    reply->set_sharing(is_synthetic || HasOneOrder() ? "one_order"
                                                     : "own_orders");
  }
  if (resumed_.has_value()) *reply->mutable_resumed() = *resumed_;
}

}  // namespace feedrate
