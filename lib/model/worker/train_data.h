// What a training reads: synthetic samples, a text, images, or a mixture.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/loader/source.h"
#include "lib/model/flops.h"
#include "lib/model/torch/batches.h"
#include "lib/model/torch/distributed.h"
#include "lib/model/worker/image_data.h"
#include "lib/model/worker/train_spec.h"
#include "lib/records/train_worker.pb.h"

namespace feedrate {

class TrainData {
 public:
  // `checkpoint` is the meta data of the one to continue from; null: none.
  // Calls `alive` now and then, because a store may have millions of objects.
  // std::runtime_error says what is wrong with the data.
  TrainData(const TrainSpec& spec, const ModelSpec& model, at::Device device,
            const std::map<std::string, std::string>* checkpoint,
            const std::function<void()>& alive);

  BatchSource* batches() const { return batches_.get(); }
  // What the batches are read from. Null for other libraries' loaders.
  const Source* source() const { return source_; }
  // Folders of the classes by number. Empty if the data has none.
  const std::vector<std::string>& classes() const { return class_names_; }
  // Steps of `epochs` passes over the files.
  int64_t StepsOf(int64_t epochs) const;

  // Lines for a checkpoint: the classes, and where the next batch starts. All
  // processes must call this together; `sync` is null for one.
  std::map<std::string, std::string> Meta(GradientSync* sync) const;

  // Sets storage, files, skipped files, and how the data is shared and
  // continued.
  void Describe(TrainReply* reply) const;

 private:
  std::unique_ptr<BatchSource> Synthetic() const;
  std::unique_ptr<BatchSource> FromText() const;
  std::unique_ptr<BatchSource> FromFolder();
  std::unique_ptr<BatchSource> FromMixture();
  std::unique_ptr<BatchSource> FromOurs(ImageData data);
  std::unique_ptr<BatchSource> FromFeeder(
      const std::vector<ImageFile>& files) const;
  ImageData ListData();
  // `local` are the files on this machine that have the images.
  void NoteFiles(const std::vector<ImageFile>& files,
                 const std::vector<ImageFile>& local);
  // Whether all processes have the same order of all files.
  bool HasOneOrder() const;
  // Sets `id_`, and returns the position of the checkpoint if it is of the same
  // data. Otherwise `resumed_` says why not.
  std::vector<int64_t> PositionIn(const std::vector<ImageFile>& files);
  // Files that could not be used are not data. In a mixture, episodes are left
  // out, and its files are shards.
  void LeaveOut(const SkippedFiles& skipped, TrainReply* reply) const;

  const TrainSpec spec_;
  const ModelSpec model_;
  const at::Device device_;
  const std::map<std::string, std::string>* const checkpoint_;
  const std::function<void()> alive_;

  const Source* source_ = nullptr;
  std::string storage_, note_;
  int64_t files_ = 0;
  int64_t file_bytes_ = 0;
  std::vector<int64_t> bytes_of_;  // Each of the files.
  double resident_ = -1;
  // Files that have the name of an image but cannot be read as one.
  SkippedFiles listed_;
  std::vector<std::string> class_names_;
  // SHA-256 of the data and of what decides on its order. Empty for sources
  // without positions.
  std::string id_;
  std::optional<TrainResume> resumed_;
  std::unique_ptr<BatchSource> batches_;
};

}  // namespace feedrate
