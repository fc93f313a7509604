#include "lib/tar/pax.h"

#include <gtest/gtest.h>

namespace feedrate::tar {
namespace {

PaxFields Parsed(std::string_view body) {
  PaxFields fields;
  const char* why = "";
  EXPECT_TRUE(ParsePax(body, &fields, &why)) << why;
  return fields;
}

std::string Refusal(std::string_view body) {
  PaxFields fields;
  const char* why = "";
  EXPECT_FALSE(ParsePax(body, &fields, &why)) << body;
  return why;
}

TEST(ParsePax, ReadsWhatTheReaderUses) {
  const PaxFields fields = Parsed(
      "14 path=a/b=c\n"
      "14 linkpath=l\n"
      "19 size=8589934592\n"
      "14 mtime=-1.5\n"
      "12 uid=1000\n");
  EXPECT_EQ(*fields.path, "a/b=c");
  EXPECT_EQ(*fields.link, "l");
  EXPECT_EQ(*fields.size, int64_t{8} << 30);
  EXPECT_EQ(fields.mtime->seconds, -2);
  EXPECT_FALSE(fields.has_xattrs);
  EXPECT_FALSE(fields.sparse);
}

TEST(ParsePax, LetsTheLaterRecordWinAndAnEmptyOneTakeItBack) {
  EXPECT_EQ(*Parsed("9 path=a\n9 path=b\n").path, "b");
  EXPECT_FALSE(Parsed("9 path=a\n8 path=\n").path.has_value());
}

TEST(ParsePax, KeepsNewlinesInAName) {
  EXPECT_EQ(*Parsed("12 path=a\nb\n").path, "a\nb");
}

TEST(ParsePax, NoticesExtendedAttributesAndSparseFiles) {
  EXPECT_TRUE(Parsed("27 SCHILY.xattr.user.k=val\n").has_xattrs);
  EXPECT_TRUE(Parsed("30 LIBARCHIVE.xattr.user.k=dg\n").has_xattrs);
  EXPECT_TRUE(Parsed("22 GNU.sparse.major=1\n").sparse);
}

TEST(ParsePax, RefusesMalformedRecords) {
  for (std::string_view body :
       {"path=a\n", "x path=a\n", "8 path=a\n", "11 path=a\n", "9 path=a.",
        "9999999999999 path=a\n", "3 \n", "2 ", "4 a\n", "5 =a\n",
        "-9 path=a\n", "0 path=a\n", " 9 path=a\n"}) {
    EXPECT_EQ(Refusal(body), "a malformed pax record") << body;
  }
}

TEST(ParsePax, RefusesBadValues) {
  EXPECT_EQ(Refusal(std::string_view("11 path=a\0b\n", 12)),
            "a malformed pax record");
  EXPECT_EQ(Refusal(std::string_view("12 path=a\0b\n", 12)),
            "a NUL in a pax name");
  EXPECT_EQ(Refusal("11 size=-1\n"), "a bad size in a pax header");
  EXPECT_EQ(Refusal("11 mtime=x\n"), "a bad mtime in a pax header");
}

}  // namespace
}  // namespace feedrate::tar
