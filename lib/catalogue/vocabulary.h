// The words that matrix, policy and transform sets share.
#ifndef FEEDRATE_LIB_CATALOGUE_VOCABULARY_H_
#define FEEDRATE_LIB_CATALOGUE_VOCABULARY_H_

#include <string>
#include <vector>

namespace feedrate {

const std::vector<std::string>& KnownModes();
const std::vector<std::string>& KnownMedia();
const std::vector<std::string>& KnownDevices();
const std::vector<std::string>& KnownProfiles();
// What a row may be labelled.
const std::vector<std::string>& KnownLabels();
// Sets of transforms that can be chosen from.
const std::vector<std::string>& KnownSets();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_CATALOGUE_VOCABULARY_H_
