#include "lib/machine/cpuinfo.h"

#include <initializer_list>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/machine/arm_models.h"

namespace feedrate {
namespace {

using Fields = absl::flat_hash_map<absl::string_view, absl::string_view>;
using Flags = absl::flat_hash_set<absl::string_view>;

// Fields up to the first empty line, which ends the first processor.
Fields FirstProcessor(absl::string_view cpuinfo) {
  Fields fields;
  for (absl::string_view line : absl::StrSplit(cpuinfo, '\n')) {
    if (absl::StripAsciiWhitespace(line).empty()) {
      if (fields.empty()) continue;
      break;
    }
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    fields.try_emplace(absl::StripAsciiWhitespace(field.first),
                       absl::StripAsciiWhitespace(field.second));
  }
  return fields;
}

absl::string_view Get(const Fields& fields, absl::string_view name) {
  const auto found = fields.find(name);
  return found == fields.end() ? absl::string_view() : found->second;
}

bool HasAll(const Flags& flags,
            std::initializer_list<absl::string_view> wanted) {
  for (absl::string_view flag : wanted) {
    if (!flags.contains(flag)) return false;
  }
  return true;
}

// The psABI's levels in the kernel's names: `pni` is SSE3, `abm` LZCNT.
int X86Level(const Flags& flags) {
  if (!HasAll(flags,
              {"lm", "cmov", "cx8", "fpu", "fxsr", "mmx", "syscall", "sse2"})) {
    return 0;
  }
  if (!HasAll(flags, {"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2",
                      "ssse3"})) {
    return 1;
  }
  if (!HasAll(flags, {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm",
                      "movbe", "xsave"})) {
    return 2;
  }
  if (!HasAll(flags,
              {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})) {
    return 3;
  }
  return 4;
}

std::string ModelName(const Fields& fields) {
  // `model name` on x86, `cpu` on POWER, `uarch` on RISC-V.
  for (absl::string_view name : {"model name", "cpu", "uarch", "cpu model"}) {
    const absl::string_view model = Get(fields, name);
    if (!model.empty()) return std::string(model);
  }
  return ArmModelName(Get(fields, "CPU implementer"), Get(fields, "CPU part"));
}

// Clouds give different processors one model name; these numbers differ.
std::string Signature(const Fields& fields) {
  static constexpr absl::string_view kX86[] = {"vendor_id", "cpu family",
                                               "model", "stepping"};
  static constexpr absl::string_view kArm[] = {"CPU implementer", "CPU part",
                                               "CPU variant", "CPU revision"};
  std::vector<absl::string_view> numbers;
  for (absl::string_view name :
       Get(fields, "vendor_id").empty() ? kArm : kX86) {
    const absl::string_view number = Get(fields, name);
    if (!number.empty()) numbers.push_back(number);
  }
  return absl::StrJoin(numbers, "-");
}

}  // namespace

CpuIdentity ParseCpuInfo(absl::string_view cpuinfo) {
  const Fields fields = FirstProcessor(cpuinfo);
  CpuIdentity cpu;
  cpu.model = ModelName(fields);
  cpu.signature = Signature(fields);
  if (!Get(fields, "CPU implementer").empty()) cpu.architecture = "aarch64";
  const Flags flags =
      absl::StrSplit(Get(fields, "flags"), ' ', absl::SkipEmpty());
  cpu.x86_64_level = X86Level(flags);
  if (cpu.x86_64_level > 0) cpu.architecture = "x86-64";
  cpu.hypervisor = flags.contains("hypervisor");
  return cpu;
}

}  // namespace feedrate
