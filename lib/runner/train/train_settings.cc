#include "lib/runner/train/train_settings.h"

#include <functional>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"

namespace feedrate {
namespace {

// Takes a setting's value, or says what is wrong with it.
using Reader =
    std::function<absl::Status(const std::string& name, const std::string&)>;

absl::Status BadNumber(const std::string& name, const std::string& value,
                       int64_t low) {
  return absl::InvalidArgumentError(absl::StrCat(
      "--", name, ": \"", value, "\" is no whole number of at least ", low));
}

template <typename T>
Reader Whole(int64_t low, T* field) {
  return [low, field](const std::string& name, const std::string& value) {
    int64_t number = 0;
    if (!absl::SimpleAtoi(value, &number) || number < low ||
        number > (int64_t{1} << 30)) {
      return BadNumber(name, value, low);
    }
    *field = static_cast<T>(number);
    return absl::OkStatus();
  };
}

Reader OneOf(std::vector<std::string> choices, std::string* field) {
  return [choices, field](const std::string& name, const std::string& value) {
    RETURN_IF_ERROR(CheckChoice(absl::StrCat("--", name), value, choices));
    *field = value;
    return absl::OkStatus();
  };
}

Reader Truth(bool* field) {
  return [field](const std::string& name, const std::string& value) {
    RETURN_IF_ERROR(CheckChoice(absl::StrCat("--", name), value, {"0", "1"}));
    *field = value == "1";
    return absl::OkStatus();
  };
}

absl::Status ReadModel(const std::string& value, ModelSpec* model) {
  RETURN_IF_ERROR(CheckChoice("--model", value, ModelNames()));
  *model = *ModelNamed(value);
  return absl::OkStatus();
}

absl::Status ReadRate(const std::string& value) {
  double rate = 0;
  if (!absl::SimpleAtod(value, &rate) || !(rate > 0 && rate < 100)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--learning_rate: \"", value, "\" is not between 0 and 100"));
  }
  return absl::OkStatus();
}

absl::Status ReadShare(const std::string& value) {
  double share = 0;
  if (!absl::SimpleAtod(value, &share) || !(share > 0 && share <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--sample_ratio: \"", value, "\" is not above 0 and at most 1"));
  }
  return absl::OkStatus();
}

std::map<std::string, Reader> Readers(TrainSettings* s) {
  static std::string ignored_text;
  static int64_t ignored_number;
  return {
      {"model",
       [s](const std::string&, const std::string& value) {
         return ReadModel(value, &s->model);
       }},
      {"precision", OneOf({"fp32", "tf32", "bf16"}, &s->precision)},
      {"optimizer", OneOf({"adamw", "lamb"}, &s->optimizer)},
      {"mixing", OneOf({"mixup", "cutmix", "both"}, &ignored_text)},
      {"learning_rate",
       [](const std::string&, const std::string& value) {
         return ReadRate(value);
       }},
      {"loader", OneOf({kNativeLoader, kMixtureLoader, "torchvision", "dali"},
                       &s->loader)},
      // Checked where it is used: by the loader of mixtures.
      {"mixture",
       [](const std::string&, const std::string&) { return absl::OkStatus(); }},
      {"sample_ratio",
       [](const std::string&, const std::string& value) {
         return ReadShare(value);
       }},
      {"accumulation", Whole(1, &s->accumulation)},
      {"warmup", Whole(0, &s->warmup)},
      {"steps", Whole(1, &s->steps)},
      {"epochs", Whole(1, &ignored_number)},
      {"samples", Whole(1, &ignored_number)},
      {"threads", Whole(1, &ignored_number)},
      {"bucket_bytes", Whole(1, &ignored_number)},
      {"world_size", Whole(1, &s->world_size)},
      {"optimizer_in_step", Truth(&s->optimizer_in_step)},
      {"graphs", Truth(&s->graphs)},
      {"activation_checkpointing", Truth(&s->activation_checkpointing)},
  };
}

absl::Status CheckMixture(const Job& job, const TrainSettings& s) {
  if (s.loader != kMixtureLoader) {
    return job.settings().count("mixture") == 0
               ? absl::OkStatus()
               : absl::InvalidArgumentError(
                     "--mixture: settings of --loader=mixture; leave it out");
  }
  if (job.settings().count("epochs") > 0) {
    return absl::InvalidArgumentError(
        "--epochs: a mixture has no end; use --measured_steps");
  }
  if (job.batch_size() % 2 != 0) {
    return absl::InvalidArgumentError(
        "--batch_size: samples of a mixture have two frames; use an even "
        "number");
  }
  return absl::OkStatus();
}

absl::Status CheckTogether(const Job& job, const TrainSettings& s) {
  if (s.graphs && job.device() != "cuda") {
    return absl::InvalidArgumentError(
        "--graphs: CUDA graphs need --device=cuda");
  }
  if (s.graphs && s.world_size > 1) {
    return absl::InvalidArgumentError(
        "--graphs: a graph is of one process; leave --world_size out");
  }
  if (s.graphs && !s.optimizer_in_step) {
    return absl::InvalidArgumentError(
        "--graphs has the optimiser inside; leave --no-optimizer-in-step out");
  }
  if (s.precision == "tf32" && job.device() != "cuda") {
    return absl::InvalidArgumentError(
        "--precision: tf32 is CUDA's; use fp32 or bf16 on the CPU");
  }
  const bool is_e2e = job.scope() == "e2e";
  if (is_e2e != (job.settings().count("loader") > 0)) {
    return absl::InvalidArgumentError(
        "--scope=e2e needs a --loader and --dataset, the folder of images; "
        "scope synthetic has neither");
  }
  if (!is_e2e && job.settings().count("epochs") > 0) {
    return absl::InvalidArgumentError(
        "--epochs: only --scope=e2e has data to pass over");
  }
  RETURN_IF_ERROR(CheckMixture(job, s));
  if (is_e2e &&
      (s.model.kind != ModelKind::kVit || job.library() != kTrainLibrary)) {
    return absl::InvalidArgumentError(
        "--scope=e2e: images feed a ViT of library feedrate");
  }
  if (s.model.kind != ModelKind::kVit && job.settings().count("mixing") > 0) {
    return absl::InvalidArgumentError(
        "--mixing: only images are mixed; leave it out for text");
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> TrainLibraries() {
  return {kTrainLibrary, "torch_eager", "torch_compile", "torch_max_autotune"};
}

std::vector<std::string> TrainSettingNames() {
  TrainSettings unused;
  std::vector<std::string> names;
  for (const auto& reader : Readers(&unused)) names.push_back(reader.first);
  return names;
}

absl::StatusOr<TrainSettings> TrainSettingsOf(const Job& job) {
  RETURN_IF_ERROR(CheckChoice("--libraries", job.library(), TrainLibraries()));
  RETURN_IF_ERROR(CheckChoice("--scope", job.scope(), {"synthetic", "e2e"}));
  RETURN_IF_ERROR(CheckChoice("--device", job.device(), {"cpu", "cuda"}));
  if (job.batch_size() < 1) {
    return BadNumber("batch_size", absl::StrCat(job.batch_size()), 1);
  }
  TrainSettings settings;
  settings.model = *ModelNamed("vit5_tiny");
  const std::map<std::string, Reader> readers = Readers(&settings);
  settings.words = {absl::StrCat("batch_size=", job.batch_size()),
                    absl::StrCat("device=", job.device()),
                    absl::StrCat("seed=", job.seed())};
  std::map<std::string, std::string> sorted(job.settings().begin(),
                                            job.settings().end());
  for (const auto& setting : sorted) {
    const auto reader = readers.find(setting.first);
    if (reader == readers.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("setting \"", setting.first, "\" is unknown",
                       DidYouMean(setting.first, TrainSettingNames())));
    }
    RETURN_IF_ERROR(reader->second(setting.first, setting.second));
    if (setting.first == "world_size") continue;
    settings.words.push_back(absl::StrCat(setting.first, "=", setting.second));
  }
  if (job.scope() == "e2e") {
    settings.words.push_back(absl::StrCat("workers=", job.workers()));
  }
  RETURN_IF_ERROR(CheckTogether(job, settings));
  return settings;
}

}  // namespace feedrate
