#include "lib/gate/verdict_sarif.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/tool_info.h"
#include "lib/records/json_writer.h"

namespace feedrate {
namespace {

struct Rule {
  const char* id;
  const char* text;
};

constexpr Rule kRules[] = {
    {"slower", "The candidate is slower, or a metric is past its tolerance."},
    {"cannot_tell", "The measurement cannot tell."},
    {"invalid", "A side did not run, or there is nothing to compare with."},
    {"faster", "The candidate is faster."},
    {"warning", "A metric is past a tolerance that only warns."},
};

std::string RuleOf(const Verdict& job) {
  return job.verdict() == "same" ? "warning" : job.verdict();
}

const char* LevelOf(const Verdict& job) {
  if (job.verdict() == "slower" || job.verdict() == "invalid") return "error";
  return job.verdict() == "faster" ? "note" : "warning";
}

std::string Quoted(const std::string& text) {
  std::string out;
  AppendJsonString(text, &out);
  return out;
}

std::string ResultOf(const Verdict& job) {
  const std::string text =
      absl::StrCat(job.job(), ": ", job.verdict(), ": ", job.reason());
  std::string out = absl::StrCat(
      "{\"ruleId\":", Quoted(RuleOf(job)), ",\"level\":\"", LevelOf(job),
      "\",\"message\":{\"text\":", Quoted(text),
      "},\"locations\":[{\"logicalLocations\":[{\"name\":", Quoted(job.job()),
      ",\"fullyQualifiedName\":",
      Quoted(absl::StrCat(job.mode(), "/", job.job_id(), "/", job.job())),
      ",\"kind\":\"member\"}]}],\"partialFingerprints\":{\"job/v1\":",
      Quoted(job.job_id().empty() ? job.job() : job.job_id()),
      "},\"properties\":{\"codes\":[");
  std::vector<std::string> codes;
  for (const std::string& code : job.codes()) codes.push_back(Quoted(code));
  absl::StrAppend(&out, absl::StrJoin(codes, ","), "]");
  if (job.has_effect()) {
    absl::StrAppend(&out, ",\"change_percent\":");
    AppendJsonDouble(job.effect().percent(), &out);
  }
  if (!job.command().empty()) {
    absl::StrAppend(&out, ",\"command\":", Quoted(job.command()));
  }
  return absl::StrCat(out, "}}");
}

}  // namespace

std::string VerdictSarif(const std::vector<Verdict>& jobs,
                         const Verdict& suite) {
  std::vector<std::string> rules;
  for (const Rule& rule : kRules) {
    rules.push_back(absl::StrCat(
        "{\"id\":\"", rule.id,
        "\",\"shortDescription\":{\"text\":", Quoted(rule.text), "}}"));
  }
  std::vector<std::string> results;
  for (const Verdict& job : jobs) {
    if (job.verdict() == "same" && job.codes().empty()) continue;
    results.push_back(ResultOf(job));
  }
  return absl::StrCat(
      "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\","
      "\"version\":\"2.1.0\",\"runs\":[{\"tool\":{\"driver\":{\"name\":"
      "\"feedrate compare_baseline\",\"version\":\"",
      kVersion, "\",\"rules\":[", absl::StrJoin(rules, ","),
      "]}},\"results\":[\n", absl::StrJoin(results, ",\n"),
      "\n],\"properties\":{\"verdict\":", Quoted(suite.verdict()),
      ",\"reason\":", Quoted(suite.reason()), "}}]}\n");
}

}  // namespace feedrate
