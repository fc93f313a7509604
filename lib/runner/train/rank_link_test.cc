#include "lib/runner/train/rank_link.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <thread>

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A port that nobody listens on.
int FreePort() {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof(address);
  bind(fd.get(), reinterpret_cast<sockaddr*>(&address), bytes);
  getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &bytes);
  return ntohs(address.sin_port);
}

// Only what hangs takes so long.
constexpr absl::Duration kLong = absl::Seconds(120);

class RankLinkTest : public testing::Test {
 protected:
  RankLinkTest() {
    step_.world_size = 3;
    step_.leader = "127.0.0.1";
    step_.port = FreePort();
    step_.token = "7.0";
  }

  SlurmStep step_;
};

TEST_F(RankLinkTest, OrdersReachAllAndTheEndIsSeen) {
  std::vector<std::vector<std::string>> heard(2);
  std::vector<std::thread> followers;
  followers.reserve(heard.size());
  for (std::vector<std::string>& words : heard) {
    followers.emplace_back([this, &words] {
      auto follower = RankFollower::Join(step_, kLong);
      ASSERT_TRUE(follower.ok()) << follower.status();
      for (;;) {
        const auto order = (*follower)->Next(-1);
        ASSERT_TRUE(order.ok()) << order.status();
        if (!order->has_value()) break;
        words.push_back((*order)->library);
        words.insert(words.end(), (*order)->words.begin(),
                     (*order)->words.end());
      }
    });
  }
  {
    auto leader = RankLeader::Gather(step_, kLong);
    ASSERT_TRUE(leader.ok()) << leader.status();
    ASSERT_TRUE((*leader)->Order({"feedrate", {"model=a b", "seed=1"}}).ok());
    ASSERT_TRUE((*leader)->Order({"torch_eager", {}}).ok());
    EXPECT_FALSE((*leader)->Order({"feedrate", {"a\nb"}}).ok());
  }
  for (std::thread& thread : followers) thread.join();
  for (const std::vector<std::string>& words : heard) {
    EXPECT_THAT(words,
                ElementsAre("feedrate", "model=a b", "seed=1", "torch_eager"));
  }
}

TEST_F(RankLinkTest, StrangersAreNotCounted) {
  step_.world_size = 2;
  SlurmStep other = step_;
  other.token = "8.0";
  std::thread ranks([this, &other] {
    // There first. Were it counted, there would be no leader for the second.
    EXPECT_TRUE(RankFollower::Join(other, kLong).ok());
    auto follower = RankFollower::Join(step_, kLong);
    ASSERT_TRUE(follower.ok()) << follower.status();
    const auto order = (*follower)->Next(-1);
    ASSERT_TRUE(order.ok()) << order.status();
    ASSERT_TRUE(order->has_value());
    EXPECT_EQ((*order)->library, "feedrate");
  });
  {
    const auto leader = RankLeader::Gather(step_, kLong);
    ASSERT_TRUE(leader.ok()) << leader.status();
    EXPECT_TRUE((*leader)->Order({"feedrate", {}}).ok());
  }
  ranks.join();
}

TEST_F(RankLinkTest, SaysHowManyAreMissing) {
  const auto leader = RankLeader::Gather(step_, absl::Milliseconds(1));
  EXPECT_TRUE(absl::IsDeadlineExceeded(leader.status()));
  EXPECT_THAT(std::string(leader.status().message()),
              HasSubstr("0 of 2 other ranks"));
}

TEST_F(RankLinkTest, NoLeaderIsNamed) {
  const auto follower = RankFollower::Join(step_, absl::Milliseconds(1));
  EXPECT_TRUE(absl::IsDeadlineExceeded(follower.status()));
  EXPECT_THAT(std::string(follower.status().message()),
              HasSubstr("MASTER_ADDR"));
}

TEST_F(RankLinkTest, ATakenPortIsNamed) {
  const UniqueFd holder(socket(AF_INET6, SOCK_STREAM, 0));
  sockaddr_in6 any = {};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(step_.port);
  if (bind(holder.get(), reinterpret_cast<sockaddr*>(&any), sizeof(any)) != 0 ||
      listen(holder.get(), 1) != 0) {
    GTEST_SKIP() << "no IPv6 here to hold a port with";
  }
  const auto leader = RankLeader::Gather(step_, kLong);
  EXPECT_TRUE(absl::IsUnavailable(leader.status())) << leader.status();
  EXPECT_THAT(std::string(leader.status().message()), HasSubstr("MASTER_PORT"));
}

}  // namespace
}  // namespace feedrate
