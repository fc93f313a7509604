#include "lib/draw/testing/xml_check.h"

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(XmlCheckTest, AcceptsWhatIsWellFormed) {
  EXPECT_TRUE(CheckXml("<a/>").ok());
  EXPECT_TRUE(
      CheckXml("<?xml version=\"1.0\"?>\n<a b=\"1\"><c d=\"&lt;\">x &amp; "
               "y</c></a>\n")
          .ok());
}

TEST(XmlCheckTest, RefusesWhatIsNot) {
  for (const char* bad :
       {"", "text", "<a>", "<a></b>", "<a/><b/>", "<a b=1/>", "<a b=\"1/>",
        "<a b=\"1\" b=\"2\"/>", "<a>x & y</a>", "<a b=\"<\"/>", "</a>",
        "<a><b></a></b>", "<a b=\"1\"c=\"2\"/>", "<a>x < y</a>"}) {
    EXPECT_FALSE(CheckXml(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace feedrate
