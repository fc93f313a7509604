#include "lib/tar/reader.h"

#include <gtest/gtest.h>

#include <vector>

#include "lib/tar/builder.h"

namespace feedrate::tar {
namespace {

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
              .Pax("path", "pax")
              .Pax("mtime", "7.25")
              .File("header", "1")
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
  EXPECT_EQ(read.entries[1].path, "gnu");
  EXPECT_EQ(read.entries[1].mtime.seconds, 1600000000);
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

// No test writes 8 GiB: the body is skipped, as a caller with a file would.
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

}  // namespace
}  // namespace feedrate::tar
