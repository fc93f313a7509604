// The loader's part of a prepare and of the commands, for message_*.cc.
#ifndef FEEDRATE_LIB_WORKER_LOADER_MESSAGE_JSON_H_
#define FEEDRATE_LIB_WORKER_LOADER_MESSAGE_JSON_H_

#include <string>

#include "absl/status/status.h"
#include "lib/worker/json_object.h"
#include "lib/worker/loader_message.h"

namespace feedrate {

// The object, without a newline.
std::string LoaderSpecJson(const LoaderSpec& spec);
absl::Status ReadLoaderSpec(const JsonFields& json, LoaderSpec* spec);
absl::Status ReadEpoch(const JsonFields& json, EpochCommand* command);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_WORKER_LOADER_MESSAGE_JSON_H_
