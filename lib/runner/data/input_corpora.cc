#include "lib/runner/data/input_corpora.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/base/private_folder.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/media/synthetic.h"
#include "lib/worker/message.h"
#include "lib/worker/source_list.h"

namespace feedrate {
namespace {

// So many broken files are named at once.
constexpr size_t kSkippedNamed = 5;
// A setting of clip jobs.
constexpr char kClipRule[] = "clip_rule";
constexpr char kDecodeMode[] = "decode";

// Whether the job's process gets files instead of decoded clips.
bool ReadsFiles(const Job& job) {
  return job.mode() == kDecodeMode ||
         (job.mode() == "pipeline" && job.scope() != kMemoryScope);
}

// The fields that select the items of a job and how many of them are kept.
std::string KeyOf(const Job& job) {
  const auto rule = job.settings().find(kClipRule);
  return absl::StrCat(job.dataset(), "\n", job.num_items(), "\n",
                      rule == job.settings().end() ? "" : rule->second, "\n",
                      ReadsFiles(job) ? "files" : "", "\n", job.scenario(),
                      "\n", job.seed());
}

// Writes a line for each skipped file, NAME: REASON. Returns the path.
absl::StatusOr<std::string> ListSkipped(const LoadedImages& images) {
  ASSIGN_OR_RETURN(const std::string cache, CacheFolder());
  const std::string path =
      JoinPath(cache, absl::StrCat("skipped/", images.id, ".txt"));
  std::string lines;
  for (const SkippedFile& file : images.skipped) {
    absl::StrAppend(&lines, file.name, ": ", file.reason, "\n");
  }
  RETURN_IF_ERROR(WriteFileAtomically(path, lines));
  return path;
}

}  // namespace

absl::StatusOr<ClipRule> ClipRuleOf(const Job& job) {
  const auto rule = job.settings().find(kClipRule);
  if (rule == job.settings().end()) return ClipRule::kUniform;
  return ParseClipRule(rule->second);
}

absl::StatusOr<CorpusForm> FormOf(const Catalogue& catalogue, const Job& job) {
  CorpusForm form;
  const Scenario* scenario = catalogue.FindScenario(job.scenario());
  if (scenario == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("scenario \"", job.scenario(), "\" is unknown"));
  }
  form.channels = scenario->channels();
  const InputLayout* layout =
      catalogue.FindInputLayout(job.library(), scenario->media(), job.mode());
  if (layout == nullptr) return form;
  if (layout->dtype() == "float32") form.dtype = DType::kFloat32;
  if (layout->dtype() == "float16") form.dtype = DType::kFloat16;
  // The worker makes PIL images from rows of pixels.
  const bool channels_first =
      layout->layout() == "CHW" || layout->layout() == "TCHW";
  form.layout = channels_first ? Layout::kChw : Layout::kHwc;
  return form;
}

InputCorpora::InputCorpora(const Catalogue& catalogue, std::string dataset,
                           Progress progress, Warn warn, ClipLoader load_clips)
    : catalogue_(catalogue),
      dataset_(std::move(dataset)),
      progress_(std::move(progress)),
      warn_(std::move(warn)),
      load_clips_(std::move(load_clips)) {}

void InputCorpora::WarnOfSkipped(const std::string& dataset,
                                 const LoadedImages& images) {
  for (size_t i = 0; i < images.skipped.size() && i < kSkippedNamed; ++i) {
    warn_(absl::StrCat(dataset, "/", images.skipped[i].name,
                       ": skipped: ", images.skipped[i].reason));
  }
  if (images.skipped.size() <= kSkippedNamed) return;
  const absl::StatusOr<std::string> list = ListSkipped(images);
  warn_(absl::StrCat(dataset, ": skipped ", images.skipped.size(), " files; ",
                     list.ok() ? absl::StrCat("all are in ", *list)
                               : absl::StrCat("they are not listed: ",
                                              list.status().message())));
}

absl::StatusOr<std::unique_ptr<InputCorpora::Loaded>>
InputCorpora::LoadClipItems(const LoadRequest& request, const Job& job,
                            const Scenario& scenario) {
  if (load_clips_ == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "job ", job.job_id(), " is about clips; run it with video"));
  }
  ClipRequest clips;
  clips.files = request;
  clips.clip_length = scenario.clip_length();
  ASSIGN_OR_RETURN(clips.rule, ClipRuleOf(job));
  clips.seed = static_cast<uint64_t>(job.seed());
  ASSIGN_OR_RETURN(clips.cache_folder, CacheFolder());
  if (ReadsFiles(job)) {
    clips.kept = catalogue_.policy().measuring().compared_items();
  }
  ASSIGN_OR_RETURN(LoadedClips loaded, load_clips_(clips));
  std::vector<SourceFile> list;
  for (const ClipFile& file : loaded.files) {
    list.push_back({file.path, file.bytes, file.frames});
  }
  ASSIGN_OR_RETURN(UniqueFd fd, WriteSourceList(list));
  return std::unique_ptr<Loaded>(new Loaded{
      std::move(loaded.clips), {}, std::move(loaded.files), std::move(fd)});
}

absl::StatusOr<std::unique_ptr<InputCorpora::Loaded>> InputCorpora::LoadItems(
    const LoadRequest& request, const Job& job) {
  const Scenario* scenario = catalogue_.FindScenario(job.scenario());
  if (scenario != nullptr && scenario->media() == "clip") {
    return LoadClipItems(request, job, *scenario);
  }
  ASSIGN_OR_RETURN(LoadedImages images, LoadImages(request));
  return std::unique_ptr<Loaded>(
      new Loaded{std::move(images), {}, {}, UniqueFd()});
}

absl::StatusOr<InputCorpora::Loaded*> InputCorpora::Load(const Job& job) {
  std::unique_ptr<Loaded>& loaded = loaded_[KeyOf(job)];
  if (loaded != nullptr) return loaded.get();
  LoadRequest request;
  request.dataset = dataset_.empty() ? job.dataset() : dataset_;
  if (dataset_.empty() && !IsSynthetic(request.dataset)) {
    return absl::InvalidArgumentError(
        absl::StrCat("job ", job.job_id(), " is for the data set \"",
                     job.dataset(), "\"; say where it is with --dataset=DIR"));
  }
  request.num_items = job.num_items();
  request.progress = progress_;
  ASSIGN_OR_RETURN(std::unique_ptr<Loaded> items, LoadItems(request, job));
  WarnOfSkipped(request.dataset, items->images);
  if (items->images.files < job.num_items()) {
    return absl::InvalidArgumentError(absl::StrCat(
        request.dataset, ": has ", items->images.files, " usable ",
        items->files.empty() ? "images" : "videos", ", not ", job.num_items(),
        "; ask for --num_items=", items->images.files));
  }
  loaded = std::move(items);
  return loaded.get();
}

absl::StatusOr<const Corpus*> InputCorpora::Form(const CorpusForm& form,
                                                 Loaded* loaded) {
  const Corpus& decoded = loaded->images.corpus;
  const bool as_decoded = form.dtype == DType::kUint8 &&
                          form.layout == Layout::kHwc &&
                          form.channels == decoded.item(0).channels;
  if (as_decoded) return &decoded;
  const FormKey key{form.dtype, form.layout, form.channels};
  const auto known = loaded->forms.find(key);
  if (known != loaded->forms.end()) return &known->second;
  ASSIGN_OR_RETURN(Corpus converted, ConvertCorpus(decoded, form, 0));
  return &loaded->forms.emplace(key, std::move(converted)).first->second;
}

absl::StatusOr<InputCorpora::Input> InputCorpora::Get(const Job& job) {
  ASSIGN_OR_RETURN(const CorpusForm form, FormOf(catalogue_, job));
  ASSIGN_OR_RETURN(Loaded* const loaded, Load(job));
  Input input;
  ASSIGN_OR_RETURN(input.corpus, Form(form, loaded));
  input.original = &loaded->images.corpus;
  input.dataset.set_id(job.dataset());
  input.dataset.set_files(loaded->images.files);
  input.dataset.set_bytes(loaded->images.bytes);
  input.dataset.set_sha256(loaded->images.sha256);
  input.dataset.set_skipped_files(
      static_cast<int64_t>(loaded->images.skipped.size()));
  input.fd = input.corpus->fd();
  input.size = input.corpus->size();
  if (loaded->files.empty()) return input;
  input.files = &loaded->files;
  if (!ReadsFiles(job)) return input;
  input.fd = loaded->list.get();
  input.size = static_cast<int64_t>(loaded->files.size());
  return input;
}

}  // namespace feedrate
