// Measures work on clips: decoding, transforms, loaders.
//
//   bazel run //tools/video --
//   --config=$PWD/configs/native/video_decode.textproto
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/status_macros.h"
#include "lib/base/tool/exit_code.h"
#include "lib/base/tool/tool_main.h"
#include "lib/config/override_flags.h"
#include "lib/media/video/load_clips.h"
#include "lib/runner/core/run.h"
#include "lib/runner/core/run_flags.h"
#include "lib/runner/loader/audit_flags.h"
#include "lib/runner/loader/loader_work.h"
#include "lib/runner/micro/transform_work.h"

namespace feedrate {
namespace {

ToolInfo Info() {
  ToolInfo info;
  info.name = "video";
  info.summary = "measure decoders, transforms and loaders on clips";
  info.usage = "[--config=FILE | --jobs=FILE] [flags]";
  info.description =
      "Reads jobs from standard input, --jobs or --config. Writes env, run\n"
      "and row records. Mode decode opens video files and decodes clips of 16\n"
      "frames; mode micro runs one transform at a time on decoded clips; mode\n"
      "pipeline goes from files to batches. Every decoder is asked for the\n"
      "same frames, and its output is compared with FFmpeg's. --audit checks\n"
      "what loaders of clips deliver instead, and writes audit records; it\n"
      "exits with 3 if a loader has a fault.";
  info.examples = {
      "video --config=configs/native/video_decode.textproto",
      "video --config=configs/native/video_decode.textproto "
      "--sweep=clip_rule=uniform,consecutive --dataset=videos",
      "video --config=configs/native/video_micro_cpu.textproto "
      "--transforms=HorizontalFlip",
      "plan --config=configs/paper/gcp_g2_video_smoke.textproto --device=cpu | "
      "video --dataset=ucf101",
      "video --config=configs/native/video_pipeline_cpu.textproto "
      "--libraries=ffmpeg --audit",
  };
  info.flag_files = {kAuditFlagsFile, kRunFlagsFile, kOverrideFlagsFile};
  return info;
}

absl::StatusOr<ExitCode> RunFromFlags(const std::vector<std::string>&) {
  ASSIGN_OR_RETURN(RunOptions options, RunOptionsFromFlags("video"));
  LoaderWorkOptions loader;
  RETURN_IF_ERROR(ApplyAuditFlags(&options, &loader));
  // Without --audit, a subject is a decoder.
  if (options.audit) options.source.subject_config = "clip_loaders";
  options.modes = {MakeTransformMode(), MakeLoaderMode(loader)};
  options.clips = {LoadClips, DecodeLimit};
  return RunJobs(options);
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
