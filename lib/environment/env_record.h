// A machine as the `env` record that programs write, with its id and short
// name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "lib/machine/machine.h"
#include "lib/machine/timing_checks.h"
#include "lib/records/env.pb.h"

namespace feedrate {

// Returns the words of a processor's model name that distinguish it from
// others, in lower case and joined by hyphens. Only letters, digits, dots and
// hyphens:
//
//   Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz  xeon-8481c
//   AMD EPYC 9B45 64-Core Processor                epyc-9b45
//   Intel Xeon Processor (SapphireRapids)          xeon-sapphirerapids
//   Intel(R) Xeon(R) CPU @ 2.20GHz                 xeon-2.20ghz
//
// `cpu` if nothing is left.
std::string ShortCpuName(absl::string_view model);

// The same for NVIDIA's product names: `NVIDIA H200` gives h200, `Tesla T4` t4,
// `NVIDIA A100-SXM4-40GB` a100-sxm4-40gb. `gpu` if nothing is left.
std::string ShortGpuName(absl::string_view name);

// Returns the size of the machine or container in processors: those online,
// those that its control group may use, or the group's quota rounded up,
// whichever is least. This process's own affinity does not count, because
// `taskset` does not make it a different machine. 0 if unknown.
int MachineCores(const MachineInfo& machine);

// Returns the short name of a machine, such as `xeon-8481c_16c_x86-64`, or with
// NVIDIA GPUs `h200x1_driver580_cuda13.0_torch2.11_sm90`. Rows are grouped by
// it. Unknown parts, such as torch if it is not installed, are left out. Does
// not depend on clocks, load, affinity, user or host name.
std::string MachineProfile(const MachineInfo& machine);

// Returns the versions of the libraries in use: `glibc`, `torch` if installed,
// and those that a runner measures.
std::map<std::string, std::string> Libraries(const MachineInfo& machine);

// Returns the text that the id is the hash of, one `name=value` per line:
// hardware, kernel, driver and library versions. Does not contain host name,
// git revision, clocks, load, affinity, power limits or the distribution's
// name.
std::string EnvIdText(const MachineInfo& machine);

// Returns the id of a machine's hardware and software: the first 16 hexadecimal
// digits of the SHA-256 of EnvIdText.
std::string EnvId(const MachineInfo& machine);

// Returns the `env` record, which collect_env writes, and every runner as its
// first record.
Env EnvRecord(const MachineInfo& machine, absl::Time collected_at);

EnvCheck EnvCheckRecord(const Check& check);

}  // namespace feedrate
