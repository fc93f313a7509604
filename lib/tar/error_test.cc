#include "lib/tar/error.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace feedrate::tar
