// Short names of processors and GPUs.
#ifndef FEEDRATE_LIB_ENVIRONMENT_SHORT_NAME_H_
#define FEEDRATE_LIB_ENVIRONMENT_SHORT_NAME_H_

#include <string>

#include "absl/strings/string_view.h"

namespace feedrate {

// Lower-case words of a kernel's model name that tell processors apart, joined
// by hyphens; only letters, digits, dots and hyphens:
//
//   Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz  xeon-8481c
//   AMD EPYC 9B45 64-Core Processor                epyc-9b45
//   Intel Xeon Processor (SapphireRapids)          xeon-sapphirerapids
//   Intel(R) Xeon(R) CPU @ 2.20GHz                 xeon-2.20ghz
//
// `cpu` when nothing is left.
std::string ShortCpuName(absl::string_view model);

// The same for NVIDIA's product names: `NVIDIA H200` is h200, `Tesla T4` t4,
// `NVIDIA A100-SXM4-40GB` a100-sxm4-40gb. `gpu` when nothing is left.
std::string ShortGpuName(absl::string_view name);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ENVIRONMENT_SHORT_NAME_H_
