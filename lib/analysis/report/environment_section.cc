#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/optional.h"
#include "lib/analysis/report/input.h"
#include "lib/analysis/report/side_sections.h"
#include "lib/draw/document.h"
#include "lib/draw/text.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

void AddLine(const std::string& name, const std::string& value,
             DocumentTable* table) {
  if (!value.empty()) table->rows.push_back({name, value});
}

std::string CpuText(const Cpu& cpu) {
  std::string text = absl::StrCat(cpu.model(), ", ", cpu.architecture(), ", ",
                                  cpu.usable_cores(), " of ",
                                  cpu.online_cores(), " processors usable");
  if (!cpu.hypervisor().empty()) {
    absl::StrAppend(&text, ", guest of ", cpu.hypervisor());
  }
  return text;
}

std::string GpuText(const Env& env) {
  std::vector<std::string> gpus;
  for (const Gpu& gpu : env.gpus()) {
    gpus.push_back(absl::StrCat(gpu.name(), ", ", BytesText(gpu.memory_bytes()),
                                ", compute ", gpu.compute_capability()));
  }
  return absl::StrJoin(gpus, "; ");
}

std::string LimitsText(const Cgroup& cgroup) {
  std::vector<std::string> limits;
  if (cgroup.has_cpu_quota()) {
    limits.push_back(
        absl::StrCat(SignificantText(cgroup.cpu_quota()), " processors"));
  }
  if (cgroup.has_memory_limit_bytes()) {
    limits.push_back(BytesText(cgroup.memory_limit_bytes()));
  }
  return absl::StrJoin(limits, ", ");
}

DocumentTable TableOf(const Env& env) {
  DocumentTable table;
  table.caption = absl::StrCat("`", env.machine_profile(), "`");
  table.header = {"", env.env_id()};
  table.align = {Align::kLeft, Align::kLeft};
  AddLine("processor", CpuText(env.cpu()), &table);
  AddLine("memory", BytesText(env.memory().total_bytes()), &table);
  if (env.memory().swap_bytes() > 0) {
    AddLine("swap", BytesText(env.memory().swap_bytes()), &table);
  }
  AddLine("limits", LimitsText(env.cgroup()), &table);
  AddLine("GPU", GpuText(env), &table);
  AddLine("driver", env.driver(), &table);
  AddLine("CUDA", env.cuda(), &table);
  AddLine("system", absl::StrCat(env.os(), ", kernel ", env.kernel()), &table);
  // A protobuf map has no order.
  const std::map<std::string, std::string> libraries(env.libraries().begin(),
                                                     env.libraries().end());
  std::vector<std::string> versions;
  for (const auto& library : libraries) {
    versions.push_back(absl::StrCat(library.first, " ", library.second));
  }
  AddLine("libraries", absl::StrJoin(versions, ", "), &table);
  AddLine("feedrate",
          absl::StrCat(env.feedrate_version(), ", revision ",
                       env.git().revision().substr(0, 12),
                       env.git().dirty() ? " with changes" : ""),
          &table);
  return table;
}

}  // namespace

absl::optional<Section> EnvironmentSection(const ReportInput& input) {
  if (input.envs.empty()) return absl::nullopt;
  Section section;
  section.id = "environment";
  section.title = "Environment";
  for (const Env& env : input.envs) section.blocks.emplace_back(TableOf(env));
  return section;
}

}  // namespace feedrate
