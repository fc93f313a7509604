// The mixture's part of a prepare, for message_*.cc.
#ifndef FEEDRATE_LIB_WORKER_MIXTURE_MESSAGE_JSON_H_
#define FEEDRATE_LIB_WORKER_MIXTURE_MESSAGE_JSON_H_

#include <string>

#include "absl/status/status.h"
#include "lib/worker/json_object.h"
#include "lib/worker/mixture_message.h"

namespace feedrate {

// The object, without a newline.
std::string MixtureSpecJson(const MixtureSpec& spec);
absl::Status ReadMixtureSpec(const JsonFields& json, MixtureSpec* spec);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_WORKER_MIXTURE_MESSAGE_JSON_H_
