#include "lib/runner/loader/audit_flags.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gflags/gflags.h"

DEFINE_bool(audit, false,
            "measure nothing; instead check what loaders deliver: each item "
            "once, order, ranks, resume; docs/audit.md explains it");
DEFINE_string(soak, "",
              "DURATION: with --audit, also run epochs for this long, such as "
              "10m, and report whether memory grows");

namespace feedrate {

absl::Status ApplyAuditFlags(RunOptions* options, LoaderWorkOptions* loader) {
  if (!FLAGS_soak.empty()) {
    absl::Duration soak;
    if (!absl::ParseDuration(FLAGS_soak, &soak) ||
        soak <= absl::ZeroDuration()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--soak: \"", FLAGS_soak, "\" is no duration; write 90s or 10m"));
    }
    if (!FLAGS_audit) {
      return absl::InvalidArgumentError("--soak is a part of --audit; add it");
    }
    loader->soak_s = absl::ToDoubleSeconds(soak);
  }
  options->audit = FLAGS_audit;
  JobSource& source = options->source;
  // Jobs name their data themselves.
  if (FLAGS_audit &&
      (!source.config.empty() || source.overrides.Has("subject")) &&
      !source.overrides.Has("dataset")) {
    source.overrides.Set("dataset", "synthetic:ids");
  }
  return absl::OkStatus();
}

}  // namespace feedrate
