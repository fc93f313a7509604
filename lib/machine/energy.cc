#include "lib/machine/energy.h"

#include <chrono>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace feedrate {
namespace {

constexpr char kPowercap[] = "/sys/class/powercap";
// So that a step more or less is a tenth.
constexpr double kGpuSeconds = 1;

std::optional<double> Difference(const std::optional<double>& before,
                                 const std::optional<double>& after) {
  if (!before.has_value() || !after.has_value()) return std::nullopt;
  return *after - *before;
}

}  // namespace

EnergyUse EnergyBetween(const EnergyUse& before, const EnergyUse& after) {
  EnergyUse used;
  used.cpu_j = Difference(before.cpu_j, after.cpu_j);
  if (after.at_s - before.at_s >= kGpuSeconds) {
    used.gpu_j = Difference(before.gpu_j, after.gpu_j);
  }
  return used;
}

EnergyUse EnergyMeter::Read() {
  EnergyUse energy;
  bool all_known = true;
  energy.at_s = std::chrono::duration<double>(
                    std::chrono::steady_clock::now().time_since_epoch())
                    .count();
  for (const std::string& name : root_.List(kPowercap)) {
    const std::string folder = absl::StrCat(kPowercap, "/", name);
    // Parts of a package are counted in it, and `psys` is more than the
    // processors. AMD's processors have the same names.
    if (!absl::StartsWith(name, "intel-rapl:") ||
        !absl::StartsWith(root_.ReadText(folder + "/name"), "package-")) {
      continue;
    }
    const std::optional<int64_t> now = root_.ReadInt(folder + "/energy_uj");
    if (!now.has_value()) continue;
    const auto [entry, is_new] = packages_.emplace(name, Package{*now, 0});
    Package& package = entry->second;
    int64_t used_uj = *now - package.last_uj;
    if (used_uj < 0) {
      used_uj += root_.ReadInt(folder + "/max_energy_range_uj").value_or(0);
    }
    // It began again, and nobody knows where it ended.
    package.is_known &= used_uj >= 0;
    package.sum_j += static_cast<double>(used_uj) * 1e-6;
    package.last_uj = *now;
    energy.cpu_j = energy.cpu_j.value_or(0) + package.sum_j;
    all_known &= package.is_known;
  }
  if (!all_known) energy.cpu_j.reset();
  if (gpu_ != nullptr) energy.gpu_j = gpu_->Joules();
  return energy;
}

}  // namespace feedrate
