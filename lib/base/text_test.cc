#include "lib/base/text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(EditDistanceTest, CountsEdits) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("abc", ""), 3);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("wrokers", "workers"), 1);
}

TEST(EditDistanceTest, CaseAndHyphensAreFree) {
  EXPECT_EQ(EditDistance("Num-Items", "num_items"), 0);
}

TEST(DidYouMeanTest, NamesTheNearest) {
  EXPECT_EQ(DidYouMean("kornai", {"kornia", "pillow"}),
            "; did you mean \"kornia\"?");
}

TEST(DidYouMeanTest, ListsAFewWhenNothingIsNear) {
  EXPECT_EQ(DidYouMean("zzz", {"cpu", "cuda"}), "; use one of cpu, cuda");
}

// A name of ten megabytes took minutes.
TEST(DidYouMeanTest, ANameWithoutEndIsNearToNothing) {
  const std::vector<std::string> many(1000, std::string(40, 'x'));
  EXPECT_EQ(DidYouMean(std::string(10 << 20, 'x'), many), "");
}

TEST(DidYouMeanTest, IsSilentOnLongLists) {
  std::vector<std::string> many;
  for (int i = 0; i < 50; ++i) many.push_back("transform" + std::to_string(i));
  EXPECT_EQ(DidYouMean("q", many), "");
  EXPECT_EQ(DidYouMean("q", {}), "");
}

TEST(CheckChoiceTest, TakesWhatIsKnown) {
  EXPECT_TRUE(CheckChoice("--format", "jsonl", {"table", "jsonl"}).ok());
}

TEST(CheckChoiceTest, NamesFlagValueAndTheNearest) {
  const absl::Status status =
      CheckChoice("--format", "jsnl", {"table", "jsonl"});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(StartsWith("--format: \"jsnl\" is unknown"), HasSubstr("jsonl")));
}

TEST(Utf8LengthTest, FirstAndLastOfEachLength) {
  EXPECT_EQ(Utf8Length(absl::string_view("\0", 1)), 1);
  EXPECT_EQ(Utf8Length("\x7Fx"), 1);
  EXPECT_EQ(Utf8Length("\xC2\x80x"), 2);
  EXPECT_EQ(Utf8Length("\xDF\xBF"), 2);
  EXPECT_EQ(Utf8Length("\xE0\xA0\x80"), 3);
  EXPECT_EQ(Utf8Length("\xED\x9F\xBF"), 3);
  EXPECT_EQ(Utf8Length("\xEE\x80\x80"), 3);
  EXPECT_EQ(Utf8Length("\xF0\x90\x80\x80"), 4);
  EXPECT_EQ(Utf8Length("\xF4\x8F\xBF\xBF"), 4);
}

TEST(Utf8LengthTest, WhatIsNoCharacter) {
  for (const char* text :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2x", "\xE0\x9F\xBF",
        "\xED\xA0\x80", "\xE2\x82", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xFF"}) {
    EXPECT_EQ(Utf8Length(text), 0) << text;
  }
}

TEST(WithoutQueriesTest, LeavesOutQueriesAlone) {
  EXPECT_EQ(WithoutQueries(""), "");
  EXPECT_EQ(WithoutQueries("a?b s3://bucket/a?b"), "a?b s3://bucket/a?b");
  EXPECT_EQ(WithoutQueries("https://h/a.tar"), "https://h/a.tar");
  EXPECT_EQ(WithoutQueries("--dataset=https://h/{0..9}.tar?X-Sig=abc"),
            "--dataset=https://h/{0..9}.tar?...");
  EXPECT_EQ(WithoutQueries("dataset: \"http://h/a?k=1\"\nid: \"b\""),
            "dataset: \"http://h/a?...\"\nid: \"b\"");
  EXPECT_EQ(WithoutQueries("http://a?1 https://b?2"),
            "http://a?... https://b?...");
}

TEST(WithoutQueriesTest, LeavesOutUsersAndPasswords) {
  EXPECT_EQ(WithoutQueries("see https://me:p@ss@h:1/a@b?k=1, "),
            "see https://h:1/a@b?... ");
  EXPECT_EQ(WithoutQueries("http://me@h"), "http://h");
  EXPECT_EQ(WithoutQueries("http://h/a@b"), "http://h/a@b");
}

TEST(DatasetIdTest, TheLastPartWithoutItsEnding) {
  EXPECT_EQ(*DatasetId("/data/imagenet/val"), "val");
  EXPECT_EQ(*DatasetId("/data/imagenet/val/"), "val");
  EXPECT_EQ(*DatasetId("gs://bucket/imagenet/val.tar"), "val");
  EXPECT_EQ(*DatasetId("https://host/a/val.tar.gz"), "val");
  EXPECT_EQ(*DatasetId("val"), "val");
}

TEST(DatasetIdTest, SyntheticDataIsNamedByItsParameters) {
  EXPECT_EQ(*DatasetId("synthetic:rgb,seed=1,n=20"),
            "synthetic:rgb,n=20,seed=1");
  EXPECT_EQ(*DatasetId("synthetic:rgb"), "synthetic:rgb");
}

TEST(DatasetIdTest, NothingToNameItByIsAnError) {
  for (const char* bad : {"", "/", "..", "synthetic:", "synthetic:n=3",
                          "synthetic:rgb,n", "synthetic:rgb,=2"}) {
    EXPECT_FALSE(DatasetId(bad).ok()) << bad;
  }
}

TEST(DatasetIdTest, OfAnAddressItIsTheLastPart) {
  EXPECT_EQ(*DatasetId("s3://bucket/a/val/"), "val");
  EXPECT_EQ(*DatasetId("gs://bucket"), "bucket");
  EXPECT_EQ(*DatasetId("https://host/shard-{000..099}.tar"),
            "shard-{000..099}");
  EXPECT_EQ(*DatasetId("https://host/a/val.tar?X-Amz-Signature=0/1"), "val");
}

TEST(IsRemoteDatasetTest, KnowsAddresses) {
  EXPECT_TRUE(IsRemoteDataset("s3://bucket/prefix"));
  EXPECT_TRUE(IsRemoteDataset("gs://bucket"));
  EXPECT_TRUE(IsRemoteDataset("https://host/shard-{000..099}.tar"));
  EXPECT_TRUE(IsRemoteDataset("file:///data"));
  EXPECT_FALSE(IsRemoteDataset("/data/s3://x"));
  EXPECT_FALSE(IsRemoteDataset("synthetic:rgb,n=10"));
}

TEST(PrintableTextTest, ShowsWhatATerminalWouldActUpon) {
  EXPECT_EQ(PrintableText("größe 日本 \U0001F600"), "größe 日本 \U0001F600");
  EXPECT_EQ(PrintableText("a\x1B[31m\a\r\n\t\x7F"),
            "a\\x1b[31m\\x07\\r\\n\\t\\x7f");
  EXPECT_EQ(PrintableText(absl::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(PrintableText("\u009B2J \u2028 \u202E \uFFFF"),
            "\\u009b2J \\u2028 \\u202e \\uffff");
  // Two names that look the same are not the same.
  EXPECT_EQ(PrintableText("a\u200Bb\uFEFF \u061C \U000E0041"),
            "a\\u200bb\\ufeff \\u061c \\U000e0041");
  // A surrogate, a cut off character, a byte that starts none.
  EXPECT_EQ(PrintableText("\xED\xA0\x80 \xE2\x82 \xFF"),
            "\\xed\\xa0\\x80 \\xe2\\x82 \\xff");
}

TEST(PrintableTextTest, StartsNoCommandOfACiServer) {
  EXPECT_EQ(PrintableText("::error::x"), "\\x3a:error::x");
  EXPECT_EQ(PrintableText(" \u3000::error::x"), " \u3000\\x3a:error::x");
  EXPECT_EQ(PrintableText("std::string"), "std::string");
  EXPECT_EQ(PrintableText("x ##[error] ###"), "x #\\x23[error] #\\x23#");
  EXPECT_EQ(PrintableLines("a\n::b\n\x1B\n"), "a\n\\x3a:b\n\\x1b\n");
}

TEST(MarkdownTextTest, NothingIsMarkup) {
  EXPECT_EQ(MarkdownText("batch_size"), "batch_size");
  EXPECT_EQ(MarkdownText("_a_ *b* `c` |d| ~e~ $f$ [g](h) \\"),
            "\\_a\\_ \\*b\\* \\`c\\` \\|d\\| \\~e~ \\$f\\$ "
            "[g\\](h) \\\\");
  EXPECT_EQ(MarkdownText("[1, 2]"), "[1, 2]");
  EXPECT_EQ(MarkdownText("[ref]"), "[ref\\]");
  EXPECT_EQ(MarkdownText("<b></b>&amp;&#60;<!--"),
            "&lt;b>&lt;/b>&amp;amp;&amp;#&#8203;60;&lt;!--");
  EXPECT_EQ(MarkdownText("> a"), "&gt; a");
  EXPECT_EQ(MarkdownText("<=20 img/s, a & b > c, 3~"),
            "<=20 img/s, a & b > c, 3~");
  EXPECT_EQ(MarkdownText("a\n# b"), "a\\\\n# b");
  EXPECT_EQ(MarkdownText("# a"), "\\# a");
  EXPECT_EQ(MarkdownText("- a"), "\\- a");
  EXPECT_EQ(MarkdownText("---"), "\\---");
  EXPECT_EQ(MarkdownText("-"), "-");
  EXPECT_EQ(MarkdownText("-3.5%"), "-3.5%");
  EXPECT_EQ(MarkdownText("a <"), "a &lt;");
  EXPECT_EQ(MarkdownText("@team a@b #12 GH-7"),
            "@&#8203;team a@&#8203;b #&#8203;12 GH-&#8203;7");
  EXPECT_EQ(MarkdownText("https://a.example www.a.example a:b w."),
            "https:&#8203;//a.example www&#8203;.a.example a:b w.");
}

TEST(MarkdownCodeTest, NothingEndsIt) {
  EXPECT_EQ(MarkdownCode(""), "");
  EXPECT_EQ(MarkdownCode("a*b"), "`a*b`");
  EXPECT_EQ(MarkdownCode("a`b``c"), "``` a`b``c ```");
  EXPECT_EQ(MarkdownCode("a\nb"), "`a\\nb`");
}

TEST(XmlTextTest, NothingGetsOut) {
  EXPECT_EQ(XmlText("<a href=\"x\">&'"),
            "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  EXPECT_EQ(XmlText("é…"), "é…");
  EXPECT_EQ(XmlText("a\nb\tc"), "a&#10;b&#9;c");
  const std::string no = "\xEF\xBF\xBD";
  EXPECT_EQ(XmlText(absl::string_view("\x01\0\r", 3)), no + no + no);
  EXPECT_EQ(XmlText("\xFF\u009B\uFFFE\uFFFF"), no + no + no + no);
  EXPECT_EQ(XmlText("\xED\xA0\x80"), no + no + no);
  EXPECT_EQ(XmlText("##[x]"), "#&#35;[x]");
}

TEST(CsvFieldTest, IsOneField) {
  EXPECT_EQ(CsvField("a b"), "a b");
  EXPECT_EQ(CsvField("a,\"b\""), "\"a,\"\"b\"\"\"");
  EXPECT_EQ(CsvField("a\nb"), "a\\nb");
  EXPECT_EQ(CsvField("=1+2"), "'=1+2");
  EXPECT_EQ(CsvField("@SUM(1,2)"), "\"'@SUM(1,2)\"");
  EXPECT_EQ(CsvField("-1.5e3"), "-1.5e3");
  EXPECT_EQ(CsvField("-"), "-");
}

TEST(LatexTextTest, PrintsAsItIs) {
  EXPECT_EQ(LatexText("<=20% a_b & {c} $d #e ~f ^g \\h"),
            "\\textless{}=20\\% a\\_b \\& \\{c\\} \\$d \\#e "
            "\\textasciitilde{}f \\textasciicircum{}g \\textbackslash{}h");
  EXPECT_EQ(LatexText("\n"), "\\textbackslash{}n");
}

TEST(GithubTextTest, EndsNoCommand) {
  EXPECT_EQ(GithubMessage("5%\n::error::x"), "5%25\\n::error::x");
  EXPECT_EQ(GithubProperty("a: b, 5%"), "a%3A b%2C 5%25");
}

TEST(ShellWordTest, IsOneWord) {
  EXPECT_EQ(ShellWord("--a=b/c.d"), "--a=b/c.d");
  EXPECT_EQ(ShellWord("gs://bucket/a_b-1.tar"), "gs://bucket/a_b-1.tar");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(ShellWord("a b"), "'a b'");
  EXPECT_EQ(ShellWord("=ls"), "'=ls'");
  EXPECT_EQ(ShellWord("'; rm -rf ~"), "''\\''; rm -rf ~'");
}

TEST(CountedTest, OneAndMany) {
  EXPECT_EQ(Counted(0, "job"), "0 jobs");
  EXPECT_EQ(Counted(1, "job"), "1 job");
  EXPECT_EQ(Counted(2, "process", "es"), "2 processes");
}

TEST(SizesTest, Units) {
  EXPECT_EQ(ParseSize("4096"), 4096);
  EXPECT_EQ(ParseSize("48K\n"), 48 * 1024);
  EXPECT_EQ(ParseSize(" 105M"), 105 * 1024 * 1024);
  EXPECT_EQ(ParseSize("2G"), int64_t{2} << 30);
  EXPECT_EQ(ParseSize("263842304 kB"), int64_t{263842304} * 1024);
  EXPECT_EQ(ParseSize("0 kB"), 0);
}

TEST(SizesTest, NoSize) {
  for (const char* text : {"", "K", "-1", "-1K", "12Q", "1.5M", "max",
                           "9223372036854775807K", "99999999999999999999"}) {
    EXPECT_EQ(ParseSize(text), std::nullopt) << text;
  }
}

TEST(SizesTest, AFlagIsNamed) {
  EXPECT_EQ(*SizeOfFlag("--x", "2K", 1), 2048);
  EXPECT_EQ(*SizeOfFlag("--x", "0", 0), 0);
  EXPECT_EQ(SizeOfFlag("--x", "2Q", 1).status().message(),
            "--x: \"2Q\" is not a size; write it as 500M or 2G");
  EXPECT_EQ(SizeOfFlag("--x", "0", 1).status().message(),
            "--x: 0 is too small; use at least 1 byte, such as 500M");
}

}  // namespace
}  // namespace feedrate
