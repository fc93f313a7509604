#include "lib/storage/http/secrets.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SecretsTest, HidesThemInEveryForm) {
  Secrets secrets;
  secrets.Add("wJal/K7MD+x");
  secrets.Add("token");
  secrets.Add("token-and-more");
  EXPECT_EQ(secrets.Redact("key wJal/K7MD+x, again wJal%2FK7MD%2Bx"),
            "key ***, again ***");
  EXPECT_EQ(secrets.Redact("a token-and-more, a token"), "a ***, a ***");
}

TEST(SecretsTest, HidesSignatures) {
  const std::string signature(64, 'a');
  EXPECT_EQ(Secrets().Redact("x " + signature + ", y"), "x ***, y");
  EXPECT_EQ(Secrets().Redact(signature), "***");
  const std::string etag(32, 'a');
  EXPECT_EQ(Secrets().Redact("x " + etag), "x " + etag);
}

TEST(SecretsTest, LeavesOneShortLine) {
  const Secrets none;
  EXPECT_EQ(none.Redact("a\nb\x1b[0m"), "a b [0m");
  const std::string cut = none.Redact(std::string(5000, 'x'));
  EXPECT_LT(cut.size(), 400);
}

// Cutting comes after hiding, so that no half of a secret is left at the cut.
TEST(SecretsTest, HidesBeforeItCuts) {
  Secrets secrets;
  const std::string secret(100, 's');
  secrets.Add(secret);
  const std::string text = std::string(Secrets::kMaxText - 50, 'x') + secret;
  EXPECT_THAT(secrets.Redact(text), Not(HasSubstr("ss")));
}

TEST(SecretsTest, EmptyAndShortOnesHideNothing) {
  Secrets secrets;
  secrets.Add("");
  secrets.Add("abc");
  EXPECT_EQ(secrets.Redact("abcd"), "abcd");
}

}  // namespace
}  // namespace feedrate
