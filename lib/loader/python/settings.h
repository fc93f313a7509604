// The settings of feedrate_open (c_api.h), NAME=VALUE each, and what those of
// images stand for: options, recipe and source of a loader.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/loader/loader.h"
#include "lib/loader/source.h"
#include "lib/loader/source/data_folder.h"

namespace feedrate {

// Read name by name; the first that is missing or wrong is in status().
class Settings {
 public:
  Settings(const char* const* settings, int64_t count);

  std::string Text(const std::string& name);
  int64_t Integer(const std::string& name);
  int Count(const std::string& name);
  std::vector<double> Numbers(const std::string& name,
                              bool may_be_none = false);
  // The place of the value in `words`.
  template <typename T>
  T Word(const std::string& name, const std::vector<std::string>& words) {
    const std::string text = Text(name);
    const auto found = std::find(words.begin(), words.end(), text);
    if (found == words.end()) Fail(name, text);
    return static_cast<T>(found - words.begin());
  }

  // All settings of a name that may come several times, or not at all: `step`,
  // PROBABILITY NAME|NAME each; `class`, names of classes by number; `camera`;
  // `number`; `dataset`, WEIGHT tab PATH each.
  const std::vector<std::string>& All(const std::string& name) const;

  // Those that nobody has read: settings of a store.
  const std::map<std::string, std::string>& rest() const { return values_; }

  absl::Status status() const { return status_; }

 private:
  void Fail(const std::string& name, const std::string& text);

  std::map<std::string, std::string> values_;
  std::map<std::string, std::vector<std::string>> lists_;
  absl::Status status_;
};

// What all kinds of loaders have: batches, workers and order.
LoaderOptions SharedOptionsOf(Settings* settings);

// Memory of all batches. As many as wait, or are being made, two that wait to
// be used again, and one of the caller's.
inline int64_t BytesOfBatches(int64_t sample_bytes,
                              const LoaderOptions& options) {
  return sample_bytes * options.batch_size * (options.buffers + 3);
}

// All of that and the recipe, with transforms of `native`, or of `cuda` on a
// GPU.
absl::StatusOr<LoaderOptions> OptionsOf(Settings* settings, bool on_gpu);

// Adds transforms of images and the flip to the recipe, whose crop is known.
absl::Status AddSteps(Settings* settings, bool on_gpu, LoaderOptions* options);

struct LabeledSource {
  std::unique_ptr<Source> source;
  // One per item, -1 for none. Empty if they are not needed.
  std::vector<int64_t> labels;
  // Names of the folders that labels stand for; empty if they do not.
  std::vector<std::string> classes;
  // What is not among the items, in words. May be empty.
  std::string left_out;
};

// Opens the source; call it last, because it takes what is left for settings of
// the store. `files` are those of the sources `files` and `shards`, `array` is
// the source `array`. Items have one of `endings` (lower case, with or without
// the dot). Labels are the numbers that the source has, else those of folders:
// see NumberClasses. NotFound if it has no items.
absl::StatusOr<LabeledSource> OpenSource(
    Settings* settings, const std::vector<std::string>& files,
    std::unique_ptr<Source> array,
    std::vector<std::string> endings = ItemNameEndings());

}  // namespace feedrate
