#include "lib/planning/quota_use.h"

#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/config/field_checker.h"
#include "lib/config/quota.pb.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

const std::vector<std::string>& Resources() {
  static const auto& names =
      *new std::vector<std::string>{"vcpus", "gpus", "disk_gb", "machines"};
  return names;
}

bool Counts(const QuotaLimit& limit, const MachineType& machine) {
  if (limit.has_family() && limit.family() != machine.family()) return false;
  return !limit.has_disk_type() || limit.disk_type() == machine.disk_type();
}

int64_t Takes(const QuotaLimit& limit, const MachineType& machine,
              const WaveTask& task) {
  if (!Counts(limit, machine)) return 0;
  if (limit.resource() == "vcpus") return machine.vcpus();
  if (limit.resource() == "gpus") return machine.gpus();
  if (limit.resource() == "disk_gb") return task.disk_size_gb();
  return 1;
}

std::string Words(const QuotaLimit& limit) {
  std::string unit = limit.resource() == "vcpus"     ? "vCPU"
                     : limit.resource() == "gpus"    ? "GPU"
                     : limit.resource() == "disk_gb" ? "GB"
                                                     : "machines";
  std::string text = absl::StrCat(limit.amount(), " ", unit);
  if (limit.has_family()) absl::StrAppend(&text, " of ", limit.family());
  if (limit.has_disk_type()) absl::StrAppend(&text, " of ", limit.disk_type());
  if (limit.per_region()) absl::StrAppend(&text, " in a region");
  return text;
}

absl::Status CheckMachine(const FieldChecker& check, const std::string& path,
                          const MachineType& machine) {
  if (machine.name().empty()) {
    return check.Error(path + ".name",
                       "is missing; write one such as c4-standard-16");
  }
  if (machine.family().empty()) {
    return check.Error(path + ".family", "is missing; write one such as c4");
  }
  RETURN_IF_ERROR(check.AtLeast(path + ".vcpus", machine.vcpus(), 1));
  RETURN_IF_ERROR(check.AtLeast(path + ".gpus", machine.gpus(), 0));
  if (!machine.has_price_per_hour()) return absl::OkStatus();
  return check.AtLeast(path + ".price_per_hour", machine.price_per_hour(), 0);
}

}  // namespace

std::string RegionOfZone(const std::string& zone) {
  return zone.substr(0, zone.rfind('-'));
}

absl::Status CheckQuota(const Quota& quota, const FieldChecker& check) {
  if (quota.name().empty()) {
    return check.Error("name", "is missing; give the quota a name");
  }
  std::vector<std::string> names;
  for (int i = 0; i < quota.machine_types_size(); ++i) {
    RETURN_IF_ERROR(CheckMachine(check, absl::StrCat("machine_types[", i, "]"),
                                 quota.machine_types(i)));
    names.push_back(quota.machine_types(i).name());
  }
  if (names.empty()) {
    return check.Error("machine_types", "is missing; describe at least one");
  }
  RETURN_IF_ERROR(check.Distinct("machine_types", names));
  for (int i = 0; i < quota.limits_size(); ++i) {
    const std::string path = absl::StrCat("limits[", i, "]");
    const QuotaLimit& limit = quota.limits(i);
    RETURN_IF_ERROR(
        check.OneOf(path + ".resource", limit.resource(), Resources()));
    if (!limit.has_amount()) {
      return check.Error(path + ".amount", "is missing; write a number from 0");
    }
    RETURN_IF_ERROR(check.AtLeast(path + ".amount",
                                  static_cast<double>(limit.amount()), 0));
  }
  if (quota.has_setup_s()) {
    RETURN_IF_ERROR(check.AtLeast("setup_s", quota.setup_s(), 0));
  }
  if (!quota.has_max_task_s()) return absl::OkStatus();
  return check.Above("max_task_s", quota.max_task_s(), 0);
}

const MachineType* FindMachineType(const Quota& quota,
                                   const std::string& name) {
  for (const MachineType& machine : quota.machine_types()) {
    if (machine.name() == name) return &machine;
  }
  return nullptr;
}

std::string QuotaUse::TryAdd(const WaveTask& task) {
  const MachineType& machine = *FindMachineType(quota_, task.machine_type());
  const std::string region = RegionOfZone(task.zone());
  for (int i = 0; i < quota_.limits_size(); ++i) {
    const QuotaLimit& limit = quota_.limits(i);
    const int64_t takes = Takes(limit, machine, task);
    const int64_t used = used_[i][limit.per_region() ? region : ""];
    if (takes > 0 && used + takes > limit.amount()) {
      return absl::StrCat(Words(limit), ": ", used, " used, one more ",
                          machine.name(), " needs ", takes);
    }
  }
  for (int i = 0; i < quota_.limits_size(); ++i) {
    const QuotaLimit& limit = quota_.limits(i);
    used_[i][limit.per_region() ? region : ""] += Takes(limit, machine, task);
  }
  return "";
}

}  // namespace feedrate
