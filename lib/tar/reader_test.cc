#include "lib/tar/reader.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "lib/tar/builder.h"
#include "lib/tar/test_archives.h"

namespace feedrate::tar {
namespace {

TEST(Quote, EscapesWhatWouldDisturbATerminal) {
  EXPECT_EQ(Quote("a b"), "\"a b\"");
  EXPECT_EQ(Quote("\x1b[2J\n"), "\"\\x1b[2J\\x0a\"");
  EXPECT_EQ(Quote("say \"hi\"\\"), "\"say \\\"hi\\\"\\\\\"");
  EXPECT_EQ(Quote("caf\xc3\xa9"), "\"caf\xc3\xa9\"");
}

TEST(Quote, KeepsBothEndsOfALongName) {
  const std::string quoted = Quote("begin" + std::string(65536, 'x') + "end");
  EXPECT_LT(quoted.size(), 260u);
  EXPECT_EQ(quoted.substr(0, 6), "\"begin");
  EXPECT_EQ(quoted.substr(quoted.size() - 4), "end\"");
  EXPECT_NE(quoted.find("(65544 bytes)"), std::string::npos) << quoted;
}

TEST(Describe, NamesEntryAndPlace) {
  Error error;
  error.code = Error::Code::kBadChecksum;
  error.offset = 1024;
  EXPECT_EQ(Describe(error), "bad header checksum (at byte 1024)");
  error.entry = "a/b";
  EXPECT_EQ(Describe(error),
            "entry \"a/b\": bad header checksum (at byte 1024)");
  error.after = true;
  error.detail = "why";
  EXPECT_EQ(Describe(error),
            "after entry \"a/b\": bad header checksum: why (at byte 1024)");
}

int64_t Number(const std::string& field) {
  int64_t value = 0;
  EXPECT_TRUE(ParseNumber(field.data(), field.size(), &value));
  return value;
}

bool IsNumber(const std::string& field) {
  int64_t value = 0;
  return ParseNumber(field.data(), field.size(), &value);
}

std::string Bytes(std::initializer_list<int> bytes) {
  std::string text;
  for (int byte : bytes) text.push_back(static_cast<char>(byte));
  return text;
}

TEST(ParseNumber, ReadsOctalHoweverItIsPadded) {
  EXPECT_EQ(Number(std::string("00000000017\0", 12)), 15);
  EXPECT_EQ(Number("        17 "), 15);
  EXPECT_EQ(Number("777777777777"), (int64_t{1} << 36) - 1);
  EXPECT_EQ(Number(std::string(12, '\0')), 0);
  EXPECT_EQ(Number(std::string(12, ' ')), 0);
}

TEST(ParseNumber, RefusesWhatIsNotOctal) {
  EXPECT_FALSE(IsNumber("00000000018 "));
  EXPECT_FALSE(IsNumber("-0000000017 "));
  EXPECT_FALSE(IsNumber("0x17"));
  EXPECT_FALSE(IsNumber(std::string("17\0\0junk", 8)));
}

TEST(ParseNumber, ReadsBase256) {
  EXPECT_EQ(Number(Bytes({0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0})),
            int64_t{1} << 33);
  EXPECT_EQ(Number(std::string(12, '\xff')), -1);
  EXPECT_EQ(Number(Bytes({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe})),
            -2);
  // Eight bytes leave no room above the marker: bit 6 is the sign.
  EXPECT_EQ(Number(Bytes({0x80, 0, 0, 0, 0, 0, 1, 0})), 256);
}

TEST(ParseNumber, RefusesBase256PastInt64) {
  EXPECT_FALSE(IsNumber(Bytes({0x80, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0})));
  EXPECT_FALSE(IsNumber(Bytes({0x80, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})));
  EXPECT_FALSE(
      IsNumber(Bytes({0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0})));
}

TEST(ParseDecimal, TakesDigitsAlone) {
  int64_t value = 0;
  EXPECT_TRUE(ParseDecimal("9223372036854775807", &value));
  EXPECT_EQ(value, INT64_MAX);
  EXPECT_FALSE(ParseDecimal("9223372036854775808", &value));
  EXPECT_FALSE(ParseDecimal("", &value));
  EXPECT_FALSE(ParseDecimal("-1", &value));
  EXPECT_FALSE(ParseDecimal("1 ", &value));
}

TEST(ParsePaxTime, KeepsNanoseconds) {
  Time time;
  ASSERT_TRUE(ParsePaxTime("1600000000.123456789123", &time));
  EXPECT_EQ(time.seconds, 1600000000);
  EXPECT_EQ(time.nanoseconds, 123456789);
  ASSERT_TRUE(ParsePaxTime("5.5", &time));
  EXPECT_EQ(time.nanoseconds, 500000000);
}

TEST(ParsePaxTime, CountsNanosecondsUpwardsBefore1970) {
  Time time;
  ASSERT_TRUE(ParsePaxTime("-1.25", &time));
  EXPECT_EQ(time.seconds, -2);
  EXPECT_EQ(time.nanoseconds, 750000000);
}

TEST(ParsePaxTime, RefusesGarbage) {
  Time time;
  for (const char* text : {"", "-", "x", "1.x", "1e9", "."}) {
    EXPECT_FALSE(ParsePaxTime(text, &time)) << text;
  }
}

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
  EXPECT_TRUE(Parsed("23 SCHILY.acl.access=u\n").has_xattrs);
  EXPECT_TRUE(Parsed("26 RHT.security.selinux=s\n").has_xattrs);
  EXPECT_TRUE(Parsed("17 com.apple.k=v\n").has_xattrs);
  EXPECT_FALSE(Parsed("17 com.other.k=v\n").has_xattrs);
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

struct Read {
  std::vector<Entry> entries;
  std::vector<std::string> bodies;
  Reader reader;
  Reader::Event last = Reader::Event::kNeedInput;
};

void ReadAll(std::string_view bytes, Read* read) {
  for (;;) {
    read->last = read->reader.Next(&bytes);
    switch (read->last) {
      case Reader::Event::kEntry:
        read->entries.push_back(read->reader.entry());
        read->bodies.emplace_back();
        break;
      case Reader::Event::kBody:
        read->bodies.back().append(read->reader.body());
        break;
      case Reader::Event::kEntryEnd:
        break;
      default:
        if (read->last == Reader::Event::kNeedInput) {
          read->last = read->reader.Finish();
        }
        return;
    }
  }
}

TEST(Reader, GivesEntriesWithTheirData) {
  Read read;
  ReadAll(Builder()
              .Folder("d", 0700)
              .File("d/f", std::string(700, 'x'), 0640)
              .Symlink("d/l", "f")
              .HardLink("h", "d/f")
              .Finish(),
          &read);
  ASSERT_EQ(read.last, Reader::Event::kEnd);
  ASSERT_EQ(read.entries.size(), 4u);
  EXPECT_EQ(read.entries[0].type, Entry::Type::kFolder);
  EXPECT_EQ(read.entries[0].mode, 0700u);
  EXPECT_EQ(read.entries[1].type, Entry::Type::kFile);
  EXPECT_EQ(read.entries[1].path, "d/f");
  EXPECT_EQ(read.entries[1].size, 700u);
  EXPECT_EQ(read.entries[1].mtime.seconds, 1600000000);
  EXPECT_EQ(read.entries[1].offset, 512u);
  EXPECT_EQ(read.entries[1].body_offset, 1024u);
  EXPECT_EQ(read.entries[1].EndOffset(), 2048u);
  EXPECT_EQ(read.bodies[1], std::string(700, 'x'));
  EXPECT_EQ(read.entries[2].type, Entry::Type::kSymlink);
  EXPECT_EQ(read.entries[2].link, "f");
  EXPECT_EQ(read.entries[3].type, Entry::Type::kHardLink);
  EXPECT_EQ(read.entries[3].link, "d/f");
}

TEST(Reader, LetsPaxOverrideGnuAndTheHeader) {
  Read read;
  ReadAll(Builder()
              .GnuLong('L', std::string("gnu\0", 4))
              .Pax("path", "lost")
              .Add('x', "pax", "",
                   PaxRecord("path", "pax") + PaxRecord("mtime", "7.25"))
              .File("header", "1")
              .Pax("path", "lost")
              .Pax("mtime", "7")
              .GnuLong('L', std::string("gnu\0", 4))
              .File("header", "2")
              .File("header", "3")
              .Finish(),
          &read);
  ASSERT_EQ(read.last, Reader::Event::kEnd);
  EXPECT_EQ(read.entries[0].path, "pax");
  EXPECT_EQ(read.entries[0].offset, 0u);
  EXPECT_EQ(read.entries[0].mtime.seconds, 7);
  EXPECT_EQ(read.entries[0].mtime.nanoseconds, 250000000);
  EXPECT_EQ(read.entries[1].path, "gnu") << "of two headers the second counts";
  EXPECT_EQ(read.entries[1].mtime.seconds, 7);
  EXPECT_EQ(read.entries[2].path, "header");
}

TEST(Reader, KeepsGlobalTimesInForce) {
  Read read;
  ReadAll(Builder()
              .Pax("mtime", "5", 'g')
              .File("a", "")
              .Pax("mtime", "6")
              .File("b", "")
              .File("c", "")
              .Finish(),
          &read);
  ASSERT_EQ(read.entries.size(), 3u);
  EXPECT_EQ(read.entries[0].mtime.seconds, 5);
  EXPECT_EQ(read.entries[1].mtime.seconds, 6);
  EXPECT_EQ(read.entries[2].mtime.seconds, 5);
}

// Avoids writing 8 GiB: the body is skipped, like a caller with a file does.
TEST(Reader, KnowsFilesOver8GiB) {
  const uint64_t size = (uint64_t{9} << 30) + 5;
  Header header = MakeHeader('0', "big", 0);
  SetBase256(size, header.size, sizeof(header.size));
  const std::string head = Builder().Add(header, "").bytes();
  const std::string tail = Builder().File("after", "1").Finish();

  Reader reader;
  std::string_view input = head;
  ASSERT_EQ(reader.Next(&input), Reader::Event::kEntry);
  EXPECT_EQ(reader.entry().size, size);
  EXPECT_EQ(reader.SkipRest(), size + PaddingAfter(size));
  ASSERT_EQ(reader.Next(&input), Reader::Event::kEntryEnd);
  input = tail;
  ASSERT_EQ(reader.Next(&input), Reader::Event::kEntry);
  EXPECT_EQ(reader.entry().path, "after");
  EXPECT_EQ(reader.entry().offset, 512 + size + PaddingAfter(size));
}

TEST(Reader, CountsHeadersOfExtendedAttributes) {
  Read read;
  ReadAll(Builder()
              .Pax("SCHILY.xattr.user.a", "1")
              .File("a", "")
              .Pax("mtime", "1")
              .File("b", "")
              .Pax("LIBARCHIVE.xattr.user.c", "MQ")
              .File("c", "")
              .Finish(),
          &read);
  EXPECT_EQ(read.last, Reader::Event::kEnd);
  EXPECT_EQ(read.reader.xattr_headers(), 2u);
}

TEST(Reader, LeavesWhatFollowsTheEnd) {
  const std::string bytes = Builder().File("a", "1").Finish() + "more";
  std::string_view input = bytes;
  Reader reader;
  while (reader.Next(&input) != Reader::Event::kEnd) {
  }
  EXPECT_EQ(input, "more");
  EXPECT_EQ(reader.Finish(), Reader::Event::kEnd);
}

TEST(Reader, StaysInError) {
  std::string bytes = Builder().File("a", "1").Finish();
  bytes[0] = 'b';
  std::string_view input = bytes;
  Reader reader;
  EXPECT_EQ(reader.Next(&input), Reader::Event::kError);
  EXPECT_EQ(reader.Next(&input), Reader::Event::kError);
  EXPECT_EQ(reader.Finish(), Reader::Event::kError);
}

// Reads every test archive in pieces of many sizes. Run it under the sanitizers
// too: bazel test --config=asan (and ubsan) //lib/tar/...

TEST(Corpus, IsReadAsItShouldBe) {
  for (const TestArchive& test : AllTestArchives()) {
    const Transcript got =
        ReadInPieces(test.bytes, test.bytes.size() + 1, false);
    EXPECT_EQ(got.error.code, test.reader) << test.name << ": " << got.text;
    if (test.reader == Error::Code::kNone) continue;
    EXPECT_NE(Describe(got.error).find(test.message), std::string::npos)
        << test.name << ": " << Describe(got.error);
  }
}

TEST(Corpus, IsReadTheSameInPiecesOfAnySize) {
  for (const TestArchive& test : AllTestArchives()) {
    const std::string whole =
        ReadInPieces(test.bytes, test.bytes.size() + 1, false).text;
    for (size_t piece : {1, 7, 511, 512, 513, 1024, 4096}) {
      EXPECT_EQ(ReadInPieces(test.bytes, piece, false).text, whole)
          << test.name << " in pieces of " << piece;
    }
  }
}

TEST(Corpus, IsRefusedWhenBodiesAreSkippedToo) {
  for (const TestArchive& test : AllTestArchives()) {
    const Transcript got = ReadInPieces(test.bytes, 600, true);
    EXPECT_EQ(got.error.code == Error::Code::kNone,
              test.reader == Error::Code::kNone)
        << test.name << ": " << got.text;
  }
}

TEST(Corpus, HasNoNameTwice) {
  std::set<std::string> names;
  for (const TestArchive& test : AllTestArchives()) {
    EXPECT_TRUE(names.insert(test.name).second) << test.name;
  }
  EXPECT_GT(names.size(), 150u);
}

}  // namespace
}  // namespace feedrate::tar
