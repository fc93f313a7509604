#include "lib/runner/input_corpora.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/media/convert_corpus.h"
#include "lib/media/corpus.h"
#include "lib/media/load_images.h"
#include "lib/media/synthetic.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

// A folder of thousands of broken files is told by its first few.
constexpr size_t kSkippedNamed = 5;

const InputLayout* FindLayout(const Catalogue& catalogue, const Job& job,
                              const std::string& media) {
  for (const InputLayout& layout : catalogue.policy().input_layouts()) {
    if (layout.library() == job.library() && layout.media() == media &&
        (!layout.has_mode() || layout.mode() == job.mode())) {
      return &layout;
    }
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<CorpusForm> FormOf(const Catalogue& catalogue, const Job& job) {
  CorpusForm form;
  const Scenario* scenario = catalogue.FindScenario(job.scenario());
  if (scenario == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("scenario \"", job.scenario(), "\" is unknown"));
  }
  form.channels = scenario->channels();
  const InputLayout* layout = FindLayout(catalogue, job, scenario->media());
  if (layout == nullptr) return form;
  if (layout->dtype() == "float32") form.dtype = DType::kFloat32;
  if (layout->dtype() == "float16") form.dtype = DType::kFloat16;
  // PIL images are made from rows of pixels, by the worker.
  const bool channels_first =
      layout->layout() == "CHW" || layout->layout() == "TCHW";
  form.layout = channels_first ? Layout::kChw : Layout::kHwc;
  return form;
}

InputCorpora::InputCorpora(const Catalogue& catalogue, std::string dataset,
                           Progress progress, Warn warn)
    : catalogue_(catalogue),
      dataset_(std::move(dataset)),
      progress_(std::move(progress)),
      warn_(std::move(warn)) {}

absl::StatusOr<InputCorpora::Loaded*> InputCorpora::Load(const Job& job) {
  std::unique_ptr<Loaded>& loaded = loaded_[{job.dataset(), job.num_items()}];
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
  ASSIGN_OR_RETURN(LoadedImages images, LoadImages(request));
  for (size_t i = 0; i < images.skipped.size() && i < kSkippedNamed; ++i) {
    warn_(absl::StrCat(request.dataset, "/", images.skipped[i].name,
                       ": skipped: ", images.skipped[i].reason));
  }
  if (images.skipped.size() > kSkippedNamed) {
    warn_(absl::StrCat(request.dataset, ": skipped ",
                       images.skipped.size() - kSkippedNamed, " more files"));
  }
  if (images.corpus.size() < job.num_items()) {
    return absl::InvalidArgumentError(absl::StrCat(
        request.dataset, ": has ", images.corpus.size(), " usable images, not ",
        job.num_items(), "; ask for --num_items=", images.corpus.size()));
  }
  loaded.reset(new Loaded{std::move(images), {}});
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
  CorpusForm plain;
  plain.channels = form.channels;
  ASSIGN_OR_RETURN(input.plain, Form(plain, loaded));
  input.dataset.set_id(job.dataset());
  input.dataset.set_files(loaded->images.files);
  input.dataset.set_bytes(loaded->images.bytes);
  input.dataset.set_sha256(loaded->images.sha256);
  return input;
}

}  // namespace feedrate
