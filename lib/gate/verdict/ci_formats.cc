#include "lib/gate/verdict/ci_formats.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "lib/base/text.h"
#include "lib/base/tool/tool_info.h"
#include "lib/gate/verdict/verdict_formats.h"
#include "lib/gate/verdict/verdicts.h"
#include "nlohmann/json.hpp"

namespace feedrate {
namespace {

using Json = nlohmann::ordered_json;

const char* CommandOf(const Verdict& verdict, const Verdict& suite) {
  if (verdict.verdict() == "slower" || IsError(verdict, suite)) return "error";
  const bool is_good = verdict.verdict() == "faster" ||
                       (verdict.verdict() == "same" && verdict.codes().empty());
  return is_good ? "notice" : "warning";
}

// `text` is escaped already.
std::string Line(const char* command, const std::string& title,
                 const std::string& text) {
  return absl::StrCat("::", command, " title=", GithubProperty(title),
                      "::", text, "\n");
}

}  // namespace

std::string VerdictGithub(const std::vector<Verdict>& jobs,
                          const Verdict& suite) {
  std::string text;
  for (const Verdict& job : WorstFirst(jobs)) {
    if (IsPlain(job)) continue;
    std::string body = GithubMessage(job.reason());
    for (const std::string& moved : MovedMetrics(job)) {
      absl::StrAppend(&body, "%0A", GithubMessage(moved));
    }
    if (!job.command().empty()) {
      absl::StrAppend(&body, "%0Aagain: ", GithubMessage(job.command()));
    }
    text += Line(CommandOf(job, suite),
                 absl::StrCat(job.job(), " ", job.verdict()), body);
  }
  const char* command = suite.exit_code() == 0   ? "notice"
                        : suite.exit_code() == 4 ? "warning"
                                                 : "error";
  return text + Line(command, "feedrate",
                     GithubMessage(absl::StrCat(CountsText(suite.counts()),
                                                ": ", suite.reason())));
}

namespace {

struct Rule {
  const char* id;
  const char* text;
};

constexpr Rule kRules[] = {
    {"slower", "The candidate is slower, or a metric is past its tolerance."},
    {"cannot_tell", "The measurement cannot tell."},
    {"invalid", "A side did not run, or there is nothing to compare with."},
    {"faster", "The candidate is faster, or a metric got better."},
    {"warning", "A metric is past a tolerance that only warns."},
};

// A job whose time is the same and whose metrics only got better.
bool IsOnlyBetter(const Verdict& job) {
  return job.verdict() == "same" && job.codes().empty();
}

std::string RuleOf(const Verdict& job) {
  if (IsOnlyBetter(job)) return "faster";
  return job.verdict() == "same" ? "warning" : job.verdict();
}

const char* LevelOf(const Verdict& job, const Verdict& suite) {
  if (job.verdict() == "slower" || IsError(job, suite)) return "error";
  return job.verdict() == "faster" || IsOnlyBetter(job) ? "note" : "warning";
}

Json ResultOf(const Verdict& job, const Verdict& suite) {
  std::string text =
      absl::StrCat(job.job(), ": ", job.verdict(), ": ", job.reason());
  for (const std::string& moved : MovedMetrics(job)) {
    absl::StrAppend(&text, "\n", moved);
  }
  const Json location = {
      {"name", job.job()},
      {"fullyQualifiedName",
       absl::StrCat(job.mode(), "/", job.job_id(), "/", job.job())},
      {"kind", "member"}};
  Json properties = {{"codes", std::vector<std::string>(job.codes().begin(),
                                                        job.codes().end())}};
  if (job.has_effect()) {
    properties["change_percent"] = job.effect().percent();
  }
  if (!job.command().empty()) properties["command"] = job.command();
  return {{"ruleId", RuleOf(job)},
          {"level", LevelOf(job, suite)},
          {"message", {{"text", text}}},
          {"locations",
           Json::array({{{"logicalLocations", Json::array({location})}}})},
          {"partialFingerprints",
           {{"job/v1", job.job_id().empty() ? job.job() : job.job_id()}}},
          {"properties", properties}};
}

}  // namespace

std::string VerdictSarif(const std::vector<Verdict>& jobs,
                         const Verdict& suite) {
  Json rules = Json::array();
  for (const Rule& rule : kRules) {
    rules.push_back(
        {{"id", rule.id}, {"shortDescription", {{"text", rule.text}}}});
  }
  Json results = Json::array();
  for (const Verdict& job : jobs) {
    if (!IsPlain(job)) results.push_back(ResultOf(job, suite));
  }
  const Json tool = {{"driver",
                      {{"name", "feedrate compare_baseline"},
                       {"version", kVersion},
                       {"rules", rules}}}};
  const Json run = {
      {"tool", tool},
      {"results", results},
      {"properties",
       {{"verdict", suite.verdict()}, {"reason", suite.reason()}}}};
  const Json sarif = {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs", Json::array({run})}};
  // Text of rows may have anything in it; all but ASCII is escaped.
  // No "##[", which is a command of some CI systems; "#" stands in strings
  // only.
  return absl::StrReplaceAll(sarif.dump(-1, ' ', /*ensure_ascii=*/true,
                                        Json::error_handler_t::replace) +
                                 "\n",
                             {{"##", "#\\u0023"}});
}

namespace {

std::string Element(const char* name, const Verdict& job) {
  return absl::StrCat("      <", name, " message=\"", XmlText(job.reason()),
                      "\" type=\"", XmlText(absl::StrJoin(job.codes(), " ")),
                      "\">", XmlText(job.command()), "</", name, ">\n");
}

std::string TestCase(const Verdict& job, const Verdict& suite) {
  // The candidate's seconds, if the verdict is about seconds.
  const bool has_time = job.mode() == "paired" && job.metric() == "time";
  const double seconds = has_time ? job.effect().b() : 0;
  std::string text =
      absl::StrFormat("    <testcase name=\"%s\" classname=\"feedrate.%s\"",
                      XmlText(job.job()), XmlText(job.mode()));
  // The formats have no word for what is not finite.
  if (std::isfinite(seconds)) {
    absl::StrAppendFormat(&text, " time=\"%.9f\"", seconds);
  }
  std::string inner;
  if (job.verdict() == "slower") inner = Element("failure", job);
  if (IsError(job, suite)) {
    inner = Element("error", job);
  } else if (job.verdict() == "cannot_tell" || job.verdict() == "invalid") {
    inner = absl::StrCat("      <skipped message=\"", XmlText(job.reason()),
                         "\"/>\n");
  }
  const std::vector<std::string> moved = MovedMetrics(job);
  if (!moved.empty()) {
    absl::StrAppend(&inner, "      <system-out>",
                    XmlText(absl::StrJoin(moved, "\n")), "</system-out>\n");
  }
  return inner.empty() ? absl::StrCat(text, "/>\n")
                       : absl::StrCat(text, ">\n", inner, "    </testcase>\n");
}

}  // namespace

std::string VerdictJunit(const std::vector<Verdict>& jobs, const Verdict& suite,
                         const std::string& timestamp) {
  const VerdictCounts& counts = suite.counts();
  const int64_t errors = std::count_if(
      jobs.begin(), jobs.end(),
      [&suite](const Verdict& job) { return IsError(job, suite); });
  const std::string numbers =
      absl::StrCat("tests=\"", jobs.size(), "\" failures=\"", counts.slower(),
                   "\" errors=\"", errors, "\"");
  std::string text = absl::StrCat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\""
      "feedrate\" ",
      numbers, " time=\"0\">\n  <testsuite name=\"compare_baseline\" ", numbers,
      " skipped=\"", counts.cannot_tell() + counts.invalid() - errors,
      "\" time=\"0\" timestamp=\"", timestamp, "\" hostname=\"",
      XmlText(suite.machine_profile().empty() ? "unknown"
                                              : suite.machine_profile()),
      "\">\n    <properties>\n      <property name=\"verdict\" value=\"",
      XmlText(suite.verdict()),
      "\"/>\n      <property name=\"reason\" value=\"", XmlText(suite.reason()),
      "\"/>\n    </properties>\n");
  for (const Verdict& job : jobs) text += TestCase(job, suite);
  return absl::StrCat(text, "  </testsuite>\n</testsuites>\n");
}

}  // namespace feedrate
