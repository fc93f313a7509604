#include "lib/config/overrides.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace feedrate {

const std::vector<OverrideFlag>& OverrideFlags() {
  static const auto& flags = *new std::vector<OverrideFlag>{
      {"workers", "execution.workers", FlagType::kInt32, kSwept,
       "N: number of loader workers; micro accepts only 0"},
      {"batch_size", "execution.batch_size", FlagType::kInt32, kSwept,
       "N: items per batch"},
      {"num_items", "data.num_items", FlagType::kInt64, kSwept,
       "N: images or clips per pass"},
      {"seed", "execution.seed", FlagType::kInt64, kSwept,
       "N: seed for all random numbers that feedrate draws"},
      {"device", "execution.device", FlagType::kText, kSwept,
       "DEVICE: where transforms run {cpu|cuda}"},
      {"scope", "execution.scope", FlagType::kText, kSwept,
       "SCOPE: what is timed, such as memory_dataloader_augment"},
      {"thread_policy", "execution.thread_policy", FlagType::kText, kSwept,
       "NAME: how many threads the measured code may use "
       "{micro-single|pipeline-single-worker|pipeline-default|default}"},
      {"params_profile", "selection.params_profile", FlagType::kText, kSwept,
       "NAME: parameters of the transforms {paper|matched}"},
      {"num_runs", "execution.num_runs", FlagType::kInt32, kPlanOnly,
       "N: runs of each job"},
      {"min_time", "execution.min_time", FlagType::kDouble, kPlanOnly,
       "SECONDS: minimum length of the timed part of a row"},
      {"libraries", "selection.libraries", FlagType::kText, kPlanOnly,
       "A,B: libraries to measure, in this order"},
      {"transforms", "selection.transforms", FlagType::kText, kPlanOnly,
       "A,B: transforms to measure, from the transform set"},
      {"transform_set", "selection.transform_set", FlagType::kText, kPlanOnly,
       "NAME: transform set {paper|training}"},
      {"env_set", "selection.env_set", FlagType::kText, kPlanOnly,
       "NAME: library versions {paper|current}"},
      {"subject", "selection.subjects", FlagType::kText, kAllowedLate,
       "MODULE:NAME: your own Python code to measure beside the libraries; "
       "repeat it, or separate by commas, for several; with --jobs: the code "
       "that these jobs may run"},
      {"python", "selection.python", FlagType::kText, kAppliesLate,
       "PATH: Python interpreter that runs --subject; default: the python3 in "
       "PATH"},
      {"reference", "selection.reference", FlagType::kText, kAppliesLate,
       "NAME: library or subject that the outputs of --subject are compared "
       "with; default: the reference of the transform with the same name"},
      {"dataset", "data.dataset", FlagType::kText, kAppliesLate,
       "WHERE: data set: a folder, a store address or synthetic:…"},
      {"sample_ratio", "data.sample_ratio", FlagType::kDouble, kPlanOnly,
       "X: fraction of the data set to use, at most 1"},
      {"sweep", "sweep", FlagType::kText, kPlanOnly,
       "AXES: measure every combination of these values, such as "
       "\"workers=0,2,4;batch_size=64,256\""},
      {"label", "label", FlagType::kText, kAppliesLate,
       "TEXT: name of this run, copied to its records"},
      {"note", "note", FlagType::kText, kAppliesLate,
       "TEXT: remark about this run, copied to its records"},
      {"output", "output.path", FlagType::kText, kAppliesLate,
       "WHERE: a file, a folder, or - for standard output"},
      {"machine_type", "cloud.machine_type", FlagType::kText, kPlanOnly,
       nullptr},
  };
  return flags;
}

namespace {

std::vector<std::string> Split(const std::string& list) {
  return absl::StrSplit(list, absl::ByAnyChar(", "), absl::SkipEmpty());
}

absl::Status WrongNumber(const std::string& value) {
  absl::string_view digits = value;
  absl::ConsumePrefix(&digits, "-");
  const bool whole =
      !digits.empty() &&
      std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit);
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", value, whole ? "\" is out of range" : "\" is not a whole number"));
}

// A message of the list gets the entry as its first field, its name.
void AddEntry(const std::string& entry,
              const google::protobuf::FieldDescriptor* field,
              google::protobuf::Message* message) {
  const google::protobuf::Reflection& reflection = *message->GetReflection();
  if (field->message_type() == nullptr) {
    reflection.AddString(message, field, entry);
    return;
  }
  google::protobuf::Message* const added =
      reflection.AddMessage(message, field);
  added->GetReflection()->SetString(added, field->message_type()->field(0),
                                    entry);
}

}  // namespace

const OverrideFlag* FindSweptFlag(absl::string_view name) {
  for (const OverrideFlag& flag : OverrideFlags()) {
    if ((flag.uses & kSwept) != 0 && name == flag.name) return &flag;
  }
  return nullptr;
}

std::string Overrides::ValueOr(const std::string& flag,
                               absl::string_view otherwise) const {
  const auto found = values_.find(flag);
  return found == values_.end() ? std::string(otherwise) : found->second;
}

std::vector<std::string> Overrides::ListOf(const std::string& flag) const {
  return Split(ValueOr(flag, ""));
}

absl::Status SetConfigField(const OverrideFlag& flag, const std::string& value,
                            RunConfig* config) {
  google::protobuf::Message* message = config;
  std::vector<std::string> names = absl::StrSplit(flag.path, '.');
  const auto field_named = [&](const std::string& name) {
    return message->GetDescriptor()->FindFieldByName(name);
  };
  for (size_t i = 0; i + 1 < names.size(); ++i) {
    message = message->GetReflection()->MutableMessage(message,
                                                       field_named(names[i]));
  }
  const google::protobuf::Reflection& reflection = *message->GetReflection();
  const auto* const field = field_named(names.back());
  if (field->is_repeated()) {
    reflection.ClearField(message, field);
    for (const std::string& entry : Split(value)) {
      AddEntry(entry, field, message);
    }
    return absl::OkStatus();
  }
  int32_t small = 0;
  int64_t large = 0;
  double number = 0;
  switch (flag.type) {
    case FlagType::kInt32:
      if (!absl::SimpleAtoi(value, &small)) return WrongNumber(value);
      reflection.SetInt32(message, field, small);
      break;
    case FlagType::kInt64:
      if (!absl::SimpleAtoi(value, &large)) return WrongNumber(value);
      reflection.SetInt64(message, field, large);
      break;
    case FlagType::kDouble:
      if (!absl::SimpleAtod(value, &number)) {
        return absl::InvalidArgumentError(
            absl::StrCat("\"", value, "\" is not a number"));
      }
      reflection.SetDouble(message, field, number);
      break;
    case FlagType::kText:
      reflection.SetString(message, field, value);
      break;
  }
  return absl::OkStatus();
}

}  // namespace feedrate
