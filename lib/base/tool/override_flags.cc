#include "lib/base/tool/override_flags.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gflags/gflags.h"

DEFINE_int64(num_items, 0, "N: images or clips per pass");
DEFINE_int32(num_runs, 0, "N: runs of each job");
DEFINE_string(device, "", "DEVICE: where transforms run {cpu|cuda}");
DEFINE_int32(workers, 0, "N: number of loader workers; micro accepts only 0");
DEFINE_int32(batch_size, 0, "N: items per batch");
DEFINE_string(libraries, "", "A,B: libraries to measure, in this order");
DEFINE_string(transforms, "",
              "A,B: transforms to measure, from the transform set");
DEFINE_string(transform_set, "", "NAME: transform set {paper|training}");
DEFINE_string(scope, "",
              "SCOPE: what is timed, such as memory_dataloader_augment");
DEFINE_double(min_time, 0,
              "SECONDS: minimum length of the timed part of a row");
DEFINE_string(thread_policy, "",
              "NAME: how many threads the measured code may use "
              "{micro-single|pipeline-single-worker|pipeline-default|default}");
DEFINE_string(params_profile, "",
              "NAME: parameters of the transforms {paper|matched}");
DEFINE_string(env_set, "", "NAME: library versions {paper|current}");
DEFINE_string(subject, "",
              "MODULE:NAME: your own Python code to measure beside the "
              "libraries; repeat it, or separate by commas, for several; with "
              "--jobs: the code that these jobs may run");
DEFINE_string(python, "",
              "PATH: Python interpreter that runs --subject; default: the "
              "python3 in PATH");
DEFINE_string(reference, "",
              "NAME: library or subject that the outputs of --subject are "
              "compared with; default: the reference of the transform with the "
              "same name");
DEFINE_string(dataset, "",
              "WHERE: data set: a folder, a store address or synthetic:…");
DEFINE_double(sample_ratio, 1, "X: fraction of the data set to use, at most 1");
DEFINE_string(sweep, "",
              "AXES: measure every combination of these values, such as "
              "\"workers=0,2,4;batch_size=64,256\"");
DEFINE_int64(seed, 0, "N: seed for all random numbers that feedrate draws");
DEFINE_string(label, "", "TEXT: name of this run, copied to its records");
DEFINE_string(note, "", "TEXT: remark about this run, copied to its records");
DEFINE_string(output, "-", "WHERE: a file, a folder, or - for standard output");

namespace feedrate {
namespace {

// All values of --subject: gflags itself keeps only the last one, but shows
// every one to the validator.
std::vector<std::string>& Subjects() {
  static auto* const subjects = new std::vector<std::string>;
  return *subjects;
}

bool AddSubjects(const char* /*flag*/, const std::string& value) {
  for (const absl::string_view name :
       absl::StrSplit(value, absl::ByAnyChar(", "), absl::SkipEmpty())) {
    if (!absl::c_linear_search(Subjects(), name)) {
      Subjects().emplace_back(name);
    }
  }
  return true;
}
DEFINE_validator(subject, &AddSubjects);

bool IsSet(const char* name) {
  return !gflags::GetCommandLineFlagInfoOrDie(name).is_default;
}

template <typename T>
absl::optional<T> IfSet(const char* name, const T& value) {
  if (!IsSet(name)) return absl::nullopt;
  return value;
}

absl::optional<std::vector<std::string>> ListIfSet(const char* name,
                                                   const std::string& value) {
  if (!IsSet(name)) return absl::nullopt;
  std::vector<std::string> parts =
      absl::StrSplit(value, absl::ByAnyChar(", "), absl::SkipEmpty());
  return parts;
}

}  // namespace

Overrides OverridesFromFlags() {
  Overrides set;
  set.num_items = IfSet<int64_t>("num_items", FLAGS_num_items);
  set.num_runs = IfSet<int32_t>("num_runs", FLAGS_num_runs);
  set.device = IfSet("device", FLAGS_device);
  set.workers = IfSet<int32_t>("workers", FLAGS_workers);
  set.batch_size = IfSet<int32_t>("batch_size", FLAGS_batch_size);
  set.libraries = ListIfSet("libraries", FLAGS_libraries);
  set.transforms = ListIfSet("transforms", FLAGS_transforms);
  set.transform_set = IfSet("transform_set", FLAGS_transform_set);
  set.scope = IfSet("scope", FLAGS_scope);
  set.min_time = IfSet("min_time", FLAGS_min_time);
  set.thread_policy = IfSet("thread_policy", FLAGS_thread_policy);
  set.params_profile = IfSet("params_profile", FLAGS_params_profile);
  set.env_set = IfSet("env_set", FLAGS_env_set);
  if (IsSet("subject")) set.subjects = Subjects();
  set.python = IfSet("python", FLAGS_python);
  set.reference = IfSet("reference", FLAGS_reference);
  set.dataset = IfSet("dataset", FLAGS_dataset);
  set.sample_ratio = IfSet("sample_ratio", FLAGS_sample_ratio);
  set.sweep = IfSet("sweep", FLAGS_sweep);
  set.seed = IfSet<int64_t>("seed", FLAGS_seed);
  set.label = IfSet("label", FLAGS_label);
  set.note = IfSet("note", FLAGS_note);
  set.output = IfSet("output", FLAGS_output);
  return set;
}

}  // namespace feedrate
