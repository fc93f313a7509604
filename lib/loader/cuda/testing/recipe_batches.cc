#include "lib/loader/cuda/testing/recipe_batches.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/catalogue/catalogue.h"
#include "lib/config/transforms.pb.h"
#include "lib/loader/loader.h"
#include "lib/loader/recipe.h"
#include "lib/loader/source.h"

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

}  // namespace

LoaderOptions TestOptions(const std::string& transform,
                          const std::vector<std::string>& libraries, int crop) {
  static const Catalogue* const catalogue =
      new Catalogue(Catalogue::Load("configs").value());
  LoaderOptions options;
  options.batch_size = kTestBatch;
  options.on_error = OnError::kFail;
  options.recipe.crop = crop;
  const auto& crops = catalogue->policy().loader().crop_transforms();
  options.recipe.first_step_crops =
      std::find(crops.begin(), crops.end(), transform) != crops.end();
  const TransformSet& set =
      **catalogue->Transforms(*catalogue->FindScenario("image-rgb"));
  for (const Transform& one : set.transforms()) {
    if (one.name() != transform) continue;
    for (const std::string& library : libraries) {
      const Implementation* const entry = FindEntry(one, library);
      if (entry == nullptr) continue;
      const TransformSpec spec = {
          transform,
          entry->native_op(),
          {entry->params().begin(), entry->params().end()},
          entry->wrap()};
      options.mix = MixOptionsOf(spec).value();
      if (!IsMixOp(spec.native_op)) {
        options.recipe.steps = StepsOf(spec).value();
      }
      break;
    }
  }
  return options;
}

TestBatches CpuBatches(const LoaderOptions& options,
                       const std::string& folder) {
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
