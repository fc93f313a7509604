#include "lib/runner/loader/audit_flags.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "lib/base/tool/flags.h"
#include "lib/runner/core/audit.h"

DEFINE_bool(audit, false,
            "measure nothing; instead check what loaders deliver: each item "
            "once, order, ranks, resume; docs/audit.md explains it");
DEFINE_string(soak, "",
              "DURATION: with --audit, also run epochs for this long, such as "
              "10m, and report whether memory grows");

DEFINE_int32(resumes, 1,
             "N: with --audit, how often an epoch is interrupted and continued "
             "by its own state, one after the other");

namespace feedrate {

absl::Status ApplyAuditFlags(RunOptions* options, LoaderWorkOptions* loader) {
  if (!FLAGS_soak.empty()) {
    absl::Duration soak;
    if (!absl::ParseDuration(FLAGS_soak, &soak) ||
        soak <= absl::ZeroDuration()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--soak: \"", FLAGS_soak, "\" is not a duration; write 90s or 10m"));
    }
    if (!FLAGS_audit) {
      return absl::InvalidArgumentError("--soak is a part of --audit; add it");
    }
    loader->soak_s = absl::ToDoubleSeconds(soak);
  }
  RETURN_IF_ERROR(CheckResumes(FLAGS_resumes, FLAGS_audit));
  loader->resumes = FLAGS_resumes;
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
