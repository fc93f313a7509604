#include "lib/reference/check_output.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/config/transforms.pb.h"
#include "lib/reference/compare.h"
#include "lib/reference/pixels.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ReadOutputTest, PlanesOfFloats) {
  // Two pixels of two channels, channel by channel.
  const std::vector<float> data = {0, 1, 0.2f, 0.4f};
  const auto output = ReadOutput({data.data(), 16, "float32", "CHW", 1, 2, 2});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_FALSE(output->bytes);
  EXPECT_THAT(output->pixels.values,
              ElementsAre(0, testing::DoubleNear(51, 1e-4), 255,
                          testing::DoubleNear(102, 1e-4)));
}

TEST(ReadOutputTest, BytesInRows) {
  const std::vector<uint8_t> data = {1, 2, 3, 4, 5, 6};
  const auto output = ReadOutput({data.data(), 6, "uint8", "HWC", 2, 1, 3});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_TRUE(output->bytes);
  EXPECT_THAT(output->pixels.values, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(ReadOutputTest, RefusesWhatDoesNotFit) {
  const std::vector<uint8_t> data(24);
  for (const OutputView& view :
       std::vector<OutputView>{{data.data(), 6, "int8", "HWC", 2, 1, 3},
                               {data.data(), 6, "uint8", "NHWC", 2, 1, 3},
                               {data.data(), 5, "uint8", "HWC", 2, 1, 3},
                               {data.data(), 6, "float32", "HWC", 2, 1, 3},
                               {data.data(), 0, "uint8", "HWC", 0, 1, 3}}) {
    EXPECT_FALSE(ReadOutput(view).ok()) << view.dtype << view.layout;
  }
}

class CheckOutputTest : public ::testing::Test {
 protected:
  CheckOutputTest() {
    transform_.set_name("Invert");
    input_.values = {10, 20, 30};
    output_.pixels = MapValues(input_, [](double v) { return 255 - v; });
  }

  std::string Label() {
    return CheckOutput(transform_, implementation_, input_, output_)
        .value()
        .label;
  }

  Transform transform_;
  Implementation implementation_;
  Pixels input_{1, 1, 3};
  LibraryOutput output_;
};

TEST_F(CheckOutputTest, NoReference) { EXPECT_EQ(Label(), kUnchecked); }

TEST_F(CheckOutputTest, AgainstTheReference) {
  transform_.mutable_reference()->set_op("invert");
  transform_.mutable_reference()->set_kind(POINT);
  EXPECT_EQ(Label(), kExact);
  implementation_.set_unchecked("inverts now and then");
  EXPECT_EQ(Label(), kUnchecked);
}

TEST_F(CheckOutputTest, AWrongReferenceNamesTheTransform) {
  transform_.mutable_reference()->set_op("invrt");
  const auto result = CheckOutput(transform_, implementation_, input_, output_);
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr("transform Invert: there is no reference \"invrt\""));
}

}  // namespace
}  // namespace feedrate
