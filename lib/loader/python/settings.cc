#include "lib/loader/python/settings.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/catalogue/catalogue.h"
#include "lib/loader/recipe.h"
#include "lib/loader/source/data_folder.h"
#include "lib/loader/source/remote_source.h"
#include "lib/storage/remote/dialect.h"

namespace feedrate {

namespace {

constexpr const char* kLists[] = {"step", "class", "camera", "number",
                                  "dataset"};

}  // namespace

Settings::Settings(const char* const* settings, int64_t count) {
  for (const char* const name : kLists) lists_[name];
  for (int64_t i = 0; i < count; ++i) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(settings[i], absl::MaxSplits('=', 1));
    const auto list = lists_.find(parts.first);
    if (list != lists_.end()) {
      list->second.push_back(parts.second);
    } else {
      values_[parts.first] = parts.second;
    }
  }
}

const std::vector<std::string>& Settings::All(const std::string& name) const {
  return lists_.at(name);
}

std::string Settings::Text(const std::string& name) {
  const auto found = values_.find(name);
  if (found == values_.end()) {
    Fail(name, "");
    return "";
  }
  std::string text = std::move(found->second);
  values_.erase(found);
  return text;
}

int64_t Settings::Integer(const std::string& name) {
  const std::string text = Text(name);
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value)) Fail(name, text);
  return value;
}

int Settings::Count(const std::string& name) {
  const std::string text = Text(name);
  int value = 0;
  if (!absl::SimpleAtoi(text, &value)) Fail(name, text);
  return value;
}

std::vector<double> Settings::Numbers(const std::string& name,
                                      bool may_be_none) {
  const std::string text = Text(name);
  std::vector<double> numbers;
  if (text.empty() && may_be_none) return numbers;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    if (!absl::SimpleAtod(part, &numbers.emplace_back())) Fail(name, text);
  }
  return numbers;
}

void Settings::Fail(const std::string& name, const std::string& text) {
  if (!status_.ok()) return;
  status_ = absl::InvalidArgumentError(
      absl::StrCat(name, "=", text, " is not possible"));
}

namespace {

// Where items come from.

absl::StatusOr<std::unique_ptr<Source>> SourceOfShards(
    const std::vector<std::string>& patterns,
    const std::vector<std::string>& endings) {
  std::vector<std::string> shards;
  for (const std::string& pattern : patterns) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names,
                     ExpandBraceLists(pattern));
    shards.insert(shards.end(), names.begin(), names.end());
  }
  return ShardSource(shards, endings);
}

// `folders` gets those of the classes.
absl::StatusOr<std::unique_ptr<Source>> SourceOfFolder(
    const std::string& folder, const std::vector<std::string>& endings,
    bool needs_labels, std::vector<std::string>* folders,
    std::string* left_out) {
  ASSIGN_OR_RETURN(DataFolder listing, ListDataFolder(folder, endings));
  if (listing.paths.empty()) {
    ASSIGN_OR_RETURN(const std::vector<std::string> shards,
                     ListFiles(folder, ".tar", /*recursive=*/true));
    return ShardSource(shards, endings);
  }
  if (needs_labels) KeepClassified(folder, &listing);
  *folders = listing.folders;
  *left_out = listing.left_out.Text();
  return FolderSource(listing);
}

absl::StatusOr<std::unique_ptr<Source>> SourceOfStore(
    const std::map<std::string, std::string>& fields,
    const std::vector<std::string>& endings, bool needs_labels,
    std::string* left_out) {
  ASSIGN_OR_RETURN(StoreListing listing,
                   ListStore(fields, needs_labels, endings));
  *left_out = listing.left_out.Text();
  return OpenRemoteSource(listing.store, listing.items,
                          std::move(listing.labels));
}

// Sets labels and classes.
absl::Status LabelItems(const std::string& root,
                        const std::vector<std::string>& folders,
                        const std::vector<std::string>& known,
                        LabeledSource* opened) {
  const Source& source = *opened->source;
  bool has_labels = false;
  int64_t wrong = -1;
  std::vector<std::string> class_of;
  for (int64_t i = 0; i < source.size(); ++i) {
    opened->labels.push_back(source.label(i));
    has_labels = has_labels || opened->labels.back() >= 0;
    if (wrong < 0 && opened->labels.back() == kNoNumber) wrong = i;
    class_of.push_back(ClassFolder(source.name(i), root));
  }
  ItemClasses classes;
  if (!has_labels || !known.empty()) {
    ASSIGN_OR_RETURN(classes, NumberClasses(root, class_of, folders, known));
  }
  if (classes.names.empty() && wrong >= 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        source.name(wrong),
        ": its member .cls is not a number of a class; pass labels"));
  }
  if (has_labels && known.empty()) return absl::OkStatus();
  opened->labels = std::move(classes.labels);
  opened->classes = std::move(classes.names);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Source>> SourceOfFiles(
    const std::vector<std::string>& files) {
  std::vector<ListedFile> listed;
  listed.reserve(files.size());
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(const int64_t bytes, PlainFileBytes(file));
    listed.push_back({file, bytes});
  }
  return ListSource(std::move(listed));
}

// What is done to them.

struct FoundTransform {
  TransformSpec spec;
  // It replaces the recipe's crop.
  bool is_crop = false;
};

// Finds transforms by name, in the catalogue of `configs`.
class Transforms {
 public:
  // Those of `library`: native or cuda.
  static absl::StatusOr<Transforms> Load(const std::string& configs,
                                         int channels,
                                         const std::string& library) {
    Transforms found;
    found.library_ = library;
    ASSIGN_OR_RETURN(Catalogue catalogue, Catalogue::Load(configs));
    found.catalogue_ = std::make_unique<Catalogue>(std::move(catalogue));
    const Scenario* const scenario = found.catalogue_->FindScenario(
        channels == 9 ? "image-9ch" : "image-rgb");
    if (scenario == nullptr) {
      return absl::NotFoundError(
          absl::StrCat(configs, ": has no scenario of images"));
    }
    ASSIGN_OR_RETURN(found.set_, found.catalogue_->Transforms(*scenario));
    return found;
  }

  // The transform as `pipeline` gives it to the native loader.
  absl::StatusOr<FoundTransform> Find(const std::string& name) const {
    std::vector<std::string> known;
    for (const Transform& transform : set_->transforms()) {
      const Implementation* const how =
          catalogue_->ImplementationOf(transform, library_, "paper");
      if (how == nullptr) {
        if (transform.name() == name && library_ == "cuda") {
          return absl::InvalidArgumentError(
              absl::StrCat("transforms: \"", name,
                           "\" is not made on a GPU; pass device=\"cpu\""));
        }
        continue;
      }
      known.push_back(transform.name());
      if (transform.name() != name) continue;
      FoundTransform found;
      TransformSpec& spec = found.spec;
      spec.transform = name;
      spec.native_op = how->native_op();
      spec.params.assign(how->params().begin(), how->params().end());
      spec.wrap = how->wrap();
      const auto& crops = catalogue_->policy().loader().crop_transforms();
      found.is_crop =
          std::find(crops.begin(), crops.end(), name) != crops.end();
      return found;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "transforms: \"", name, "\" is unknown", DidYouMean(name, known)));
  }

 private:
  std::string library_;
  std::unique_ptr<Catalogue> catalogue_;
  const TransformSet* set_ = nullptr;
};

absl::Status BadTransform(const std::string& name, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("transforms: \"", name, "\" ", what));
}

// Adds one step of the list to the options.
absl::Status AddStep(const Transforms& transforms, const std::string& text,
                     LoaderOptions* options) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(text, absl::MaxSplits(' ', 1));
  RecipeStep step;
  if (!absl::SimpleAtod(parts.first, &step.probability) ||
      !(step.probability >= 0 && step.probability <= 1)) {
    return BadTransform(parts.second, "needs a probability from 0 to 1");
  }
  Recipe& recipe = options->recipe;
  const std::vector<std::string> names = absl::StrSplit(parts.second, '|');
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(FoundTransform found, transforms.Find(name));
    TransformSpec& spec = found.spec;
    const bool is_mix = IsMixOp(spec.native_op);
    if (!is_mix && !found.is_crop && spec.native_op != kStepsOp) {
      step.one_of.push_back(std::move(spec));
      continue;
    }
    if (names.size() > 1 || step.probability < 1) {
      return BadTransform(name, "is always applied: name it alone");
    }
    if (is_mix) {
      ASSIGN_OR_RETURN(options->mix, MixOptionsOf(spec));
      return absl::OkStatus();
    }
    if (spec.native_op == kStepsOp) {
      ASSIGN_OR_RETURN(const std::vector<RecipeStep> steps, StepsOf(spec));
      recipe.steps.insert(recipe.steps.end(), steps.begin(), steps.end());
      return absl::OkStatus();
    }
    if (!recipe.steps.empty()) {
      return BadTransform(name, "is a crop and must come first");
    }
    for (std::string& param : spec.params) {
      if (absl::StartsWith(param, "size=")) {
        param = absl::StrCat("size=(", recipe.crop, ",", recipe.width(), ")");
      }
    }
    recipe.first_step_crops = true;
    step.one_of.push_back(std::move(spec));
  }
  recipe.steps.push_back(std::move(step));
  return absl::OkStatus();
}

}  // namespace

absl::Status AddSteps(Settings* settings, bool on_gpu, LoaderOptions* options) {
  const std::string configs = settings->Text("configs");
  if (!settings->All("step").empty()) {
    ASSIGN_OR_RETURN(const Transforms transforms,
                     Transforms::Load(configs, options->recipe.channels,
                                      on_gpu ? "cuda" : "native"));
    for (const std::string& step : settings->All("step")) {
      RETURN_IF_ERROR(AddStep(transforms, step, options));
    }
  }
  if (settings->Integer("flip") == 0) return absl::OkStatus();
  TransformSpec flip;
  flip.native_op = on_gpu ? "flip" : "cv::flip";
  flip.params = {on_gpu ? "axis=horizontal" : "flip_code=1"};
  options->recipe.steps.push_back({{flip}, 0.5});
  return absl::OkStatus();
}

LoaderOptions SharedOptionsOf(Settings* settings) {
  LoaderOptions options;
  options.batch_size = settings->Count("batch_size");
  options.workers = settings->Count("workers");
  options.buffers = settings->Count("prefetch");
  options.persistent = true;
  options.shuffle = settings->Integer("shuffle") != 0;
  options.seed = static_cast<uint64_t>(settings->Integer("seed"));
  options.on_error = settings->Word<OnError>("on_error", {"skip", "fail"});
  return options;
}

absl::StatusOr<LoaderOptions> OptionsOf(Settings* settings, bool on_gpu) {
  LoaderOptions options = SharedOptionsOf(settings);
  options.read_ahead.method = settings->Word<ReadMethod>(
      "read_ahead", {"inline", "threads", "io_uring", "auto"});
  options.jpeg_index = settings->Text("jpeg_index");
  Recipe& recipe = options.recipe;
  recipe.channels = settings->Count("channels");
  recipe.crop = settings->Count("crop");
  recipe.crop_width = settings->Count("crop_width");
  recipe.position =
      settings->Word<CropPosition>("crop_position", {"random", "center"});
  recipe.format = settings->Word<SampleFormat>(
      "format", {"float32 first", "float32 last", "uint8 first", "uint8 last"});
  recipe.mean = settings->Numbers("mean");
  recipe.std = settings->Numbers("std");
  RETURN_IF_ERROR(AddSteps(settings, on_gpu, &options));
  return options;
}

absl::StatusOr<LabeledSource> OpenSource(Settings* settings,
                                         const std::vector<std::string>& files,
                                         std::unique_ptr<Source> array,
                                         std::vector<std::string> endings) {
  for (std::string& ending : endings) {
    ending = std::string(absl::StripPrefix(ending, "."));
  }
  const std::string kind = settings->Text("source");
  const std::string path = settings->Text("path");
  const bool needs_labels = settings->Integer("needs_labels") != 0;
  RETURN_IF_ERROR(settings->status());
  LabeledSource opened;
  std::vector<std::string> folders;
  const auto open = [&]() -> absl::StatusOr<std::unique_ptr<Source>> {
    if (kind == "array") return std::move(array);
    if (kind == "store") {
      std::map<std::string, std::string> store = settings->rest();
      store["url"] = path;
      return SourceOfStore(store, endings, needs_labels, &opened.left_out);
    }
    if (kind == "shards") return SourceOfShards(files, endings);
    if (kind == "folder") {
      return SourceOfFolder(path, endings, needs_labels, &folders,
                            &opened.left_out);
    }
    return SourceOfFiles(files);
  };
  ASSIGN_OR_RETURN(opened.source, open());
  if (opened.source->size() == 0) {
    return absl::NotFoundError(absl::StrCat(
        path, ": has no .", absl::StrJoin(endings, ", ."),
        " files, and no .tar files of them",
        opened.left_out.empty() ? "" : absl::StrCat("; ", opened.left_out)));
  }
  if (needs_labels) {
    RETURN_IF_ERROR(LabelItems(path, folders, settings->All("class"), &opened));
  }
  return opened;
}

}  // namespace feedrate
