#include "lib/catalogue/published_numbers.h"

#include <string>
#include <utility>

#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

constexpr char kHeader[] =
    "scenario,mode,scope,device,machine,library,transform,items_per_s,status,"
    "runs,revision\n";

std::string ErrorOf(const std::string& text) {
  return std::string(PublishedNumbers::Parse(text, "f").status().message());
}

TEST(PublishedNumbersTest, FindsCellsOfCloudMachines) {
  const std::string text =
      std::string(kHeader) +
      "s,micro,x,cpu,macbook-m4,kornia,Blur,1.5,ok,5,snapshot\n"
      "s,micro,x,cpu,c4-standard-16,kornia,Blur,20.5,early_stopped,0,later\n"
      "s,micro,x,cpu,c4-highmem-16,kornia,Blur,99,ok,1,later\n"
      "s,micro,x,cuda,g2-standard-16,kornia,Blur,,unsupported,,later";
  auto loaded = PublishedNumbers::Parse(text, "f");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  // Keys must survive a move.
  const PublishedNumbers numbers = std::move(loaded).value();
  EXPECT_EQ(numbers.size(), 1);
  EXPECT_EQ(numbers.ItemsPerSecond("s", "micro", "cpu", "Blur", "kornia"),
            20.5);
  EXPECT_TRUE(
      numbers.Find("s", "micro", "cpu", "Blur", "kornia")->early_stopped);
  EXPECT_EQ(numbers.ItemsPerSecond("s", "micro", "cuda", "Blur", "kornia"),
            absl::nullopt);
}

TEST(PublishedNumbersTest, ErrorsNameTheLine) {
  EXPECT_THAT(ErrorOf("a,b\n"), HasSubstr("f:1: the header must be"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("f:1: "));
  const std::string good = "s,m,x,cpu,c4,l,t,1,ok,1,later\n";
  EXPECT_EQ(ErrorOf(kHeader + good + "s,m\n"), "f:3: needs 11 fields");
  EXPECT_EQ(ErrorOf(kHeader + good + "s,m,x,cpu,c4,l,t,1,ok,1,later,more\n"),
            "f:3: needs 11 fields");
  EXPECT_THAT(ErrorOf(kHeader + good + "s,m,x,cpu,c4,l,t,fast,ok,1,later\n"),
              HasSubstr("f:3: items_per_s \"fast\""));
  EXPECT_THAT(ErrorOf(kHeader + good + "s,m,x,cpu,c4,l,t,nan,ok,1,later\n"),
              HasSubstr("is not a number above 0"));
}

TEST(PublishedNumbersTest, CheckedInFileLoads) {
  const auto numbers = PublishedNumbers::Load("configs");
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  EXPECT_EQ(numbers->ItemsPerSecond("image-9ch", "micro", "cpu",
                                    "CenterCrop128", "kornia"),
            absl::nullopt);
  EXPECT_EQ(numbers->ItemsPerSecond("video-16f", "micro", "cuda", "Normalize",
                                    "torchvision"),
            4990.4);
}

}  // namespace
}  // namespace feedrate
