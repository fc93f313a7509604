// Language models that others saved as TorchScript.
#ifndef FEEDRATE_LIB_MODEL_WORKER_SCRIPT_MODEL_H_
#define FEEDRATE_LIB_MODEL_WORKER_SCRIPT_MODEL_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>

namespace feedrate {

struct ScriptModel {
  int64_t parameters = 0;
  // int64 bytes, 1 x length, to logits, 1 x length x vocabulary.
  std::function<at::Tensor(const at::Tensor&)> forward;
};

// c10::Error when it is none.
ScriptModel LoadScriptModel(const std::string& path);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_WORKER_SCRIPT_MODEL_H_
