// Finds augmentation draws that repeat, the classic fault of seeds in loader
// workers.
#pragma once

#include <string>
#include <vector>

#include "lib/audit/history.h"

namespace feedrate {

// What is wrong with the draws of a run, in words. Empty also if images are not
// augmented, or too little to tell: a repetition counts only if chance makes it
// less than once in a million.
std::vector<std::string> RepeatedDraws(const TrainingRun& run);

}  // namespace feedrate
