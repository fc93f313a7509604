#include "lib/analysis/slow_marker.h"

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(SlowMarkersTest, ComesFromThePolicy) {
  SlowMarkers markers("configs");
  EXPECT_EQ(markers.For("image-rgb", ""), "<=20 img/s");
  EXPECT_EQ(markers.For("video-16f", "clip"), "<=0.5 vid/s");
  EXPECT_EQ(markers.For("unheard-of", "clip"), "<=0.5 vid/s");
  EXPECT_EQ(markers.For("unheard-of", "token"), "slow");
}

TEST(SlowMarkersTest, NoPolicyIsNoMistake) {
  SlowMarkers markers("no/such/folder");
  EXPECT_EQ(markers.For("image-rgb", "image"), "slow");
}

}  // namespace
}  // namespace feedrate
