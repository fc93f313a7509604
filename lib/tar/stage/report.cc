#include <string>

#include "lib/tar/stage/json.h"
#include "lib/tar/stage/progress.h"
#include "lib/tar/stage/sentinel.h"
#include "lib/tar/stage/stage.h"

namespace feedrate::tar {
namespace {

double MegabytesPerSecond(const StageReport& report) {
  if (report.already_staged || report.seconds <= 0) return 0;
  return report.counts.bytes / 1e6 / report.seconds;
}

uint64_t SkippedTotal(const Counts& counts) {
  uint64_t total = counts.xattr_headers;
  for (uint64_t count : counts.skipped) total += count;
  return total;
}

}  // namespace

std::string ReportJson(const StageReport& report,
                       const std::string& tool_version) {
  const Counts& counts = report.counts;
  JsonObject json;
  json.Add("schema", 1).Add("record", "stage");
  json.Add("source", report.source).Add("dest", report.dest);
  json.Add("already_staged", report.already_staged);
  json.Add("bytes", counts.bytes).Add("files", counts.files);
  json.Add("folders", counts.folders).Add("symlinks", counts.symlinks);
  json.Add("hard_links", counts.hard_links);
  json.Add("seconds", report.seconds, 6);
  json.Add("mb_per_s", MegabytesPerSecond(report), 3);
  json.Add("skipped", SkippedJson(counts));
  if (report.sha256.empty()) {
    json.AddNull("sha256");
  } else {
    json.Add("sha256", report.sha256);
  }
  json.Add("source_bytes", report.source_bytes);
  json.Add("resumed_from", report.resumed_from);
  json.Add("synced", report.synced).Add("tool_version", tool_version);
  return json.Finish();
}

std::string ReportLine(const StageReport& report) {
  const Counts& counts = report.counts;
  std::string line = std::to_string(counts.files) + " files, " +
                     HumanBytes(static_cast<double>(counts.bytes)) + " in " +
                     report.dest;
  if (report.already_staged) return "already staged: " + line;
  char rate[64];
  snprintf(rate, sizeof(rate), ", %.2f s, %.0f MB/s", report.seconds,
           MegabytesPerSecond(report));
  line += rate;
  const uint64_t skipped = SkippedTotal(counts);
  if (skipped > 0) line += ", " + std::to_string(skipped) + " left out";
  return "staged: " + line;
}

}  // namespace feedrate::tar
