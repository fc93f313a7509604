#include "lib/catalogue/vocabulary.h"

#include <string>
#include <vector>

namespace feedrate {

// Never destroyed, so that no exit order can bite.
const std::vector<std::string>& KnownModes() {
  static const auto& words = *new std::vector<std::string>{
      "micro", "pipeline", "decode", "mixture", "train"};
  return words;
}

const std::vector<std::string>& KnownMedia() {
  static const auto& words =
      *new std::vector<std::string>{"image", "clip", "sample"};
  return words;
}

const std::vector<std::string>& KnownDevices() {
  static const auto& words = *new std::vector<std::string>{"cpu", "cuda"};
  return words;
}

const std::vector<std::string>& KnownProfiles() {
  static const auto& words = *new std::vector<std::string>{"paper", "matched"};
  return words;
}

const std::vector<std::string>& KnownLabels() {
  static const auto& words = *new std::vector<std::string>{
      "memory_limited", "per_sample_loop", "exploratory", "indicative",  "cold",
      "partly_cold",    "host_cpu",        "optional",    "cpu_fallback"};
  return words;
}

const std::vector<std::string>& KnownSets() {
  static const auto& words = *new std::vector<std::string>{"paper", "training"};
  return words;
}

}  // namespace feedrate
