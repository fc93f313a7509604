#include "lib/gate/verdict_junit.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/gate/suite.h"

namespace feedrate {
namespace {

TEST(VerdictJunitTest, OneCaseAJob) {
  std::vector<Verdict> jobs(4);
  const char* words[] = {"same", "slower", "cannot_tell", "invalid"};
  for (int i = 0; i < 4; ++i) {
    jobs[i].set_job("j<" + std::to_string(i));
    jobs[i].set_verdict(words[i]);
    jobs[i].set_mode("paired");
    jobs[i].set_reason("a & b");
  }
  const std::string xml =
      VerdictJunit(jobs, SuiteVerdict(jobs, {}), "2026-01-02T03:04:05");
  for (const char* part :
       {"tests=\"4\" failures=\"1\" errors=\"1\"", "skipped=\"1\"",
        "name=\"j&lt;0\" classname=\"feedrate.paired\" time=\"0.000000000\"/>",
        "<failure message=\"a &amp; b\"", "<skipped message=\"a &amp; b\"/>",
        "<error message", "timestamp=\"2026-01-02T03:04:05\""}) {
    EXPECT_NE(xml.find(part), std::string::npos) << part << "\n" << xml;
  }
}

TEST(XmlTextTest, NothingGetsOut) {
  EXPECT_EQ(XmlText("<a href=\"x\">&\n\x01\xff"),
            "&lt;a href=&quot;x&quot;&gt;&amp;&#10;\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(XmlText("é"), "é");
}

}  // namespace
}  // namespace feedrate
