#include "lib/environment/env_record.h"

#include "lib/base/tool_info.h"
#include "lib/environment/env_id.h"
#include "lib/environment/profile.h"

namespace feedrate {
namespace {

void FillCpu(const MachineInfo& machine, Cpu* record) {
  const CpuInfo& cpu = machine.cpu;
  record->set_model(cpu.model);
  record->set_architecture(cpu.architecture);
  record->set_x86_64_level(cpu.x86_64_level);
  record->set_usable_cores(cpu.usable_cores);
  record->set_online_cores(cpu.online_cores);
  record->set_sockets(cpu.sockets);
  record->set_threads_per_core(cpu.threads_per_core);
  record->set_numa_nodes(cpu.numa_nodes);
  for (const int64_t size : cpu.cache_bytes) record->add_cache_bytes(size);
  record->set_hypervisor(machine.hypervisor);
}

void FillCgroup(const CgroupInfo& cgroup, Cgroup* record) {
  record->set_version(cgroup.version);
  if (cgroup.cpu_quota.has_value()) record->set_cpu_quota(*cgroup.cpu_quota);
  if (cgroup.memory_limit_bytes.has_value()) {
    record->set_memory_limit_bytes(*cgroup.memory_limit_bytes);
  }
  record->set_cpuset_cores(cgroup.cpus.size());
}

void FillGpu(const GpuInfo& gpu, Gpu* record) {
  record->set_name(gpu.name);
  record->set_memory_bytes(gpu.memory_bytes);
  record->set_compute_capability(gpu.compute_capability);
  if (gpu.power_limit_w.has_value()) {
    record->set_power_limit_w(*gpu.power_limit_w);
  }
}

void FillGit(const GitState& git, Git* record) {
  record->set_revision(git.revision);
  if (git.dirty.has_value()) record->set_dirty(*git.dirty);
}

}  // namespace

Env EnvRecord(const MachineInfo& machine, absl::Time collected_at) {
  Env env;
  env.set_env_id(EnvId(machine));
  env.set_machine_profile(MachineProfile(machine));
  env.set_host(machine.os.host);
  FillCpu(machine, env.mutable_cpu());
  env.mutable_memory()->set_total_bytes(machine.memory.total_bytes);
  env.mutable_memory()->set_swap_bytes(machine.memory.swap_bytes);
  FillCgroup(machine.cgroup, env.mutable_cgroup());
  for (const GpuInfo& gpu : machine.gpu.gpus) FillGpu(gpu, env.add_gpus());
  env.set_driver(machine.gpu.driver);
  env.set_cuda(machine.gpu.cuda);
  env.set_kernel(machine.os.kernel);
  env.set_os(machine.os.distribution);
  for (const auto& library : Libraries(machine)) {
    (*env.mutable_libraries())[library.first] = library.second;
  }
  FillGit(machine.git, env.mutable_git());
  env.set_feedrate_version(kVersion);
  env.set_collected_at(absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", collected_at,
                                        absl::UTCTimeZone()));
  return env;
}

EnvCheck EnvCheckRecord(const Check& check) {
  EnvCheck record;
  record.set_name(check.name);
  record.set_status(CheckStatusName(check.status));
  record.set_observed(check.observed);
  record.set_why(check.why);
  record.set_remedy(check.remedy);
  return record;
}

}  // namespace feedrate
