#include "lib/loader/cuda/testing/recipe_batches.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/catalogue/catalogue.h"
#include "lib/config/transforms.pb.h"
#include "lib/loader/loader.h"
#include "lib/loader/source/source.h"
#include "lib/loader/worker/native_adapter.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

// What a step of a byte becomes: the smallest std of the three.
constexpr double kLevel = 1 / 255.0 / 0.224;

const Implementation* FindEntry(const Transform& transform,
                                const std::string& library) {
  for (const Implementation& entry : transform.implementations()) {
    if (entry.library() == library && entry.params_profile() != "matched") {
      return &entry;
    }
  }
  return nullptr;
}

void SetLoader(int crop, LoaderSpec* loader) {
  loader->scope = kDecodeScope;
  loader->source = "files";
  loader->batch_size = kTestBatch;
  loader->workers = 2;
  loader->prefetch = 2;
  loader->channels = 3;
  loader->crop = crop;
  loader->crop_position = "random";
  loader->mean = {0.485, 0.456, 0.406};
  loader->std = {0.229, 0.224, 0.225};
  loader->input_scale = 255;
  loader->on_error = "fail";
}

}  // namespace

PrepareCommand RecipeSpec(const std::string& transform,
                          const std::vector<std::string>& libraries, int crop) {
  static const Catalogue* const catalogue =
      new Catalogue(Catalogue::Load("configs").value());
  PrepareCommand spec;
  spec.transform = transform;
  LoaderSpec& loader = spec.loader.emplace();
  SetLoader(crop, &loader);
  const auto& crops = catalogue->policy().loader().crop_transforms();
  loader.is_crop =
      std::find(crops.begin(), crops.end(), transform) != crops.end();
  const TransformSet& set =
      **catalogue->Transforms(*catalogue->FindScenario("image-rgb"));
  for (const Transform& one : set.transforms()) {
    if (one.name() != transform) continue;
    loader.batch_transform = one.batch_transform();
    for (const std::string& library : libraries) {
      const Implementation* const entry = FindEntry(one, library);
      if (entry == nullptr) continue;
      spec.library = library;
      spec.native_op = entry->native_op();
      spec.params.assign(entry->params().begin(), entry->params().end());
      spec.wrap = entry->wrap();
      break;
    }
  }
  return spec;
}

TestBatches CpuBatches(const PrepareCommand& spec, const std::string& folder) {
  const LoaderOptions options = NativeOptions(spec).value();
  const auto loader =
      Loader::Create(FolderSource(folder).value(), options).value();
  const auto epoch = loader->StartEpoch(kTestSeed, 0, {0, kTestFiles}).value();
  TestBatches batches;
  for (;;) {
    const LoaderBatch* const batch = epoch->Next().value();
    if (batch == nullptr) return batches;
    batches.emplace_back(batch->data,
                         batch->data + batch->size * batch->shape.values());
  }
}

Levels DifferenceOf(const std::vector<float>& a, const std::vector<float>& b) {
  Levels levels;
  if (a.size() != b.size()) {
    levels.greatest = std::numeric_limits<double>::infinity();
    return levels;
  }
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]) / kLevel;
    levels.greatest = std::max(levels.greatest, difference);
    levels.mean += difference / static_cast<double>(a.size());
  }
  return levels;
}

}  // namespace feedrate
