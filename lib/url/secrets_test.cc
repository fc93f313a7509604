#include "lib/url/secrets.h"

#include <gtest/gtest.h>

namespace feedrate {
namespace {

TEST(HasUrlSecrets, KnowsUsersSignaturesAndTokens) {
  for (const char* url :
       {"https://me:pw@host/x.tar", "https://me@host/x.tar",
        "s3://key:secret@bucket/x.tar",
        "https://h/x?X-Amz-Algorithm=A&X-Amz-Signature=0",
        "https://h/x?id=1&Signature=0", "https://h/x?sv=1&sig=0",
        "https://h/x?access_token=0", "https://h/x?API_KEY=0",
        "https://h/x?a=1;token=2", "https://h?token=2"}) {
    EXPECT_TRUE(HasUrlSecrets(url)) << url;
  }
  for (const char* text :
       {"", "/data/x@y?token=1", "synthetic:rgb", "https://h/x",
        "https://h/a@b?id=7", "https://h/x?id=7&part=2", "s3://b/k"}) {
    EXPECT_FALSE(HasUrlSecrets(text)) << text;
  }
}

TEST(ShownUrl, HidesEveryValue) {
  EXPECT_EQ(ShownUrl("https://me:p@ss@h:1/a@b?id=7&sig=x#frag"),
            "https://h:1/a@b?id=***&sig=***#***");
  EXPECT_EQ(ShownUrl("https://h/x?c2VjcmV0"), "https://h/x?***");
  EXPECT_EQ(ShownUrl("https://h/a/x.tar"), "https://h/a/x.tar");
  EXPECT_EQ(ShownUrl("/data/a?b=c@d"), "/data/a?b=c@d");
}

TEST(ObjectUrl, StaysTheSameWhenSignedAgain) {
  EXPECT_EQ(ObjectUrl("https://h/x?id=7&X-Amz-Date=1&X-Amz-Signature=2"),
            ObjectUrl("https://me:pw@h/x?X-Amz-Signature=3&id=7"));
  EXPECT_EQ(ObjectUrl("https://h/x?sv=1&se=2&sr=b&sig=3"), "https://h/x");
  EXPECT_NE(ObjectUrl("https://h/x?id=A"), ObjectUrl("https://h/x?id=B"));
  // Only a signature makes those two letters a part of one.
  EXPECT_NE(ObjectUrl("https://h/x?sv=A"), ObjectUrl("https://h/x?sv=B"));
}

TEST(HideUrl, HidesWhatAnotherProgramRepeats) {
  const std::string url = "https://me:hunter2@h/x?id=7&token=sesame";
  EXPECT_EQ(HideUrl("cannot get " + url + ": 403", url),
            "cannot get https://h/x?id=***&token=***: 403");
  EXPECT_EQ(HideUrl("bad token sesame of me:hunter2", url),
            "bad token *** of ***");
  EXPECT_EQ(HideUrl("password hunter2 is wrong", url), "password *** is wrong");
  EXPECT_EQ(HideUrl("no secret", "/data/x"), "no secret");
}

}  // namespace
}  // namespace feedrate
