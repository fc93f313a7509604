#include "lib/gate/verdict_github.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lib/gate/verdict_table.h"

namespace feedrate {
namespace {

std::string Message(const std::string& text) {
  return absl::StrReplaceAll(text,
                             {{"%", "%25"}, {"\r", "%0D"}, {"\n", "%0A"}});
}

std::string Property(const std::string& text) {
  return absl::StrReplaceAll(
      text,
      {{"%", "%25"}, {"\r", "%0D"}, {"\n", "%0A"}, {":", "%3A"}, {",", "%2C"}});
}

const char* CommandOf(const Verdict& verdict) {
  if (verdict.verdict() == "slower" || verdict.verdict() == "invalid") {
    return "error";
  }
  return verdict.verdict() == "faster" ? "notice" : "warning";
}

std::string Line(const char* command, const std::string& title,
                 const std::string& text) {
  return absl::StrCat("::", command, " title=", Property(title),
                      "::", Message(text), "\n");
}

}  // namespace

std::string VerdictGithub(const std::vector<Verdict>& jobs,
                          const Verdict& suite) {
  std::string text;
  for (const Verdict& job : WorstFirst(jobs)) {
    if (job.verdict() == "same" && job.codes().empty()) continue;
    std::string body = absl::StrCat(job.reason());
    if (!job.command().empty()) {
      absl::StrAppend(&body, "\nagain: ", job.command());
    }
    text +=
        Line(CommandOf(job), absl::StrCat(job.job(), " ", job.verdict()), body);
  }
  const char* command = suite.exit_code() == 0   ? "notice"
                        : suite.exit_code() == 4 ? "warning"
                                                 : "error";
  return text +
         Line(command, "feedrate",
              absl::StrCat(CountsText(suite.counts()), ": ", suite.reason()));
}

}  // namespace feedrate
