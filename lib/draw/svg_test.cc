#include "lib/draw/svg.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/draw/testing/golden.h"
#include "lib/draw/testing/xml_check.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Svg Drawing() {
  Svg svg(120, 60, "a <title> & \"more\"");
  svg.BeginGroup("bar", "hover & <see>");
  svg.Rect(1, 2.5, 10.123, 4, "f0");
  svg.EndGroup();
  svg.Line(0, 0, 5, 5, "axis");
  svg.Circle(3, 3, 2, "f1");
  svg.Path(PathData().MoveTo(0, 0).LineTo(1, 1).Close().text(), "k0");
  svg.Text(5, 6, "x < y & 'z'", Svg::Anchor::kEnd, "t", -90);
  return svg;
}

TEST(SvgTest, FileIsAsBefore) {
  EXPECT_TRUE(
      MatchesGolden(Drawing().ToFile(), "lib/draw/testdata/svg.golden.svg"));
}

TEST(SvgTest, IsWellFormed) {
  EXPECT_TRUE(CheckXml(Drawing().ToFile()).ok())
      << CheckXml(Drawing().ToFile());
  EXPECT_TRUE(CheckXml(Drawing().ToInline()).ok());
}

TEST(SvgTest, FilesNeedNothingElseAndPagesBringTheirColors) {
  EXPECT_THAT(Drawing().ToFile(), Not(HasSubstr("var(")));
  EXPECT_THAT(Drawing().ToFile(), HasSubstr("#0072b2"));
  EXPECT_THAT(Drawing().ToInline(), Not(HasSubstr("<style>")));
}

TEST(EscapeXmlTest, LeavesNothingThatXmlForbids) {
  EXPECT_EQ(EscapeXml("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(EscapeXml(absl::string_view("\x01\t\x00", 3)),
            "\xEF\xBF\xBD\t\xEF\xBF\xBD");
  EXPECT_EQ(EscapeXml("×…é"), "×…é");
}

}  // namespace
}  // namespace feedrate
