#include "lib/gate/verdict_junit.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/text.h"

namespace feedrate {
namespace {

std::string Element(const char* name, const Verdict& job) {
  return absl::StrCat("      <", name, " message=\"", XmlText(job.reason()),
                      "\" type=\"", XmlText(absl::StrJoin(job.codes(), " ")),
                      "\">", XmlText(job.command()), "</", name, ">\n");
}

std::string TestCase(const Verdict& job) {
  // The candidate's own seconds, where the verdict is about seconds.
  const double seconds = job.mode() == "paired" ? job.effect().b() : 0;
  std::string text = absl::StrFormat(
      "    <testcase name=\"%s\" classname=\"feedrate.%s\" time=\"%.9f\"",
      XmlText(job.job()), XmlText(job.mode()), seconds);
  std::string inner;
  if (job.verdict() == "slower") inner = Element("failure", job);
  if (job.verdict() == "invalid") inner = Element("error", job);
  if (job.verdict() == "cannot_tell") {
    inner = absl::StrCat("      <skipped message=\"", XmlText(job.reason()),
                         "\"/>\n");
  }
  return inner.empty() ? absl::StrCat(text, "/>\n")
                       : absl::StrCat(text, ">\n", inner, "    </testcase>\n");
}

}  // namespace

std::string XmlText(const std::string& text) {
  std::string out;
  absl::string_view rest = text;
  while (!rest.empty()) {
    const size_t length = Utf8Length(rest);
    const unsigned char c = rest[0];
    if (length == 0 || (c < 0x20 && c != '\t' && c != '\n')) {
      out += "\xEF\xBF\xBD";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\n') {
      out += "&#10;";
    } else {
      absl::StrAppend(&out, rest.substr(0, length));
    }
    rest.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string VerdictJunit(const std::vector<Verdict>& jobs, const Verdict& suite,
                         const std::string& timestamp) {
  const VerdictCounts& counts = suite.counts();
  const std::string numbers =
      absl::StrCat("tests=\"", jobs.size(), "\" failures=\"", counts.slower(),
                   "\" errors=\"", counts.invalid(), "\"");
  std::string text = absl::StrCat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\""
      "feedrate\" ",
      numbers, " time=\"0\">\n  <testsuite name=\"compare_baseline\" ", numbers,
      " skipped=\"", counts.cannot_tell(), "\" time=\"0\" timestamp=\"",
      timestamp, "\" hostname=\"",
      XmlText(suite.machine_profile().empty() ? "unknown"
                                              : suite.machine_profile()),
      "\">\n    <properties>\n      <property name=\"verdict\" value=\"",
      XmlText(suite.verdict()),
      "\"/>\n      <property name=\"reason\" value=\"", XmlText(suite.reason()),
      "\"/>\n    </properties>\n");
  for (const Verdict& job : jobs) text += TestCase(job);
  return absl::StrCat(text, "  </testsuite>\n</testsuites>\n");
}

}  // namespace feedrate
