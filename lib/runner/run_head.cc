#include "lib/runner/run_head.h"

#include <string>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "lib/base/text.h"
#include "lib/config/run_config.pb.h"
#include "lib/config/text_proto.h"
#include "lib/environment/env_record.h"
#include "lib/machine/machine.h"
#include "lib/machine/root.h"
#include "lib/runner/new_run_id.h"
#include "lib/runner/row_builder.h"

namespace feedrate {

RunHead MakeRunHead(const MachineInfo& machine, const RunConfig& config,
                    double copy_bytes_per_s, absl::Time now) {
  RunHead head;
  head.env = EnvRecord(machine, now);
  head.run.set_run_id(NewRunId());
  head.run.set_config(WithoutQueries(PrintTextProto(config)));
  for (const absl::string_view word :
       absl::StrSplit(Root().Read("/proc/self/cmdline").value_or(""), '\0',
                      absl::SkipEmpty())) {
    head.run.add_command(WithoutQueries(word));
  }
  head.run.set_label(config.label());
  head.run.set_note(config.note());
  head.run.set_copy_bytes_per_s(copy_bytes_per_s);
  head.run.set_env_id(head.env.env_id());
  head.run.set_started_at(TimeText(now));
  head.identity.run_id = head.run.run_id();
  head.identity.env_id = head.env.env_id();
  head.identity.machine_profile = head.env.machine_profile();
  head.identity.hardware = head.env.cpu().model();
  if (!machine.gpu.gpus.empty()) {
    head.identity.gpu = machine.gpu.gpus[0].name;
    head.identity.gpu_memory_bytes = machine.gpu.gpus[0].memory_bytes;
  }
  return head;
}

}  // namespace feedrate
