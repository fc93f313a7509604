#include "lib/draw/flame_graph.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/draw/testing/output_checks.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

FlameGraph FlameExample() {
  FlameGraph graph;
  graph.title = "flames";
  graph.width = 400;
  graph.frames = {{-1, "all", 0.1, 0.12},
                  {0, "main<&>", 0.1, 0.12},
                  {1, "slow_function", 0.02, 0.05},
                  {1, "faster_function", 0.05, 0.04},
                  {1, "tiny", 0.00001, 0.00001}};
  return graph;
}

TEST(FlameGraphTest, FramesHaveTheirTimeAndTheirShareOfTheChange) {
  const std::string svg = DrawFlameGraph(FlameExample()).ToFile();
  EXPECT_TRUE(CheckXml(svg).ok()) << CheckXml(svg);
  EXPECT_THAT(svg, HasSubstr("slow_function&#10;A 20.0 ms, B 50.0 ms&#10;"
                             "change +30.0 ms, 150% of the whole change"));
  EXPECT_THAT(svg, HasSubstr("main&lt;&amp;&gt;"));
  EXPECT_THAT(svg, Not(HasSubstr("tiny")));
  // The root is as wide as the drawing; orange is slower, blue is faster.
  EXPECT_THAT(svg, HasSubstr("width=\"399\""));
  EXPECT_THAT(svg, HasSubstr("class=\"f1\" style=\"opacity:0.75\""));
  EXPECT_THAT(svg, HasSubstr("class=\"f0\" style=\"opacity:0.30\""));
}

TEST(FlameGraphTest, AnythingCanBeDrawn) {
  FlameGraph graph;
  EXPECT_TRUE(CheckXml(DrawFlameGraph(graph).ToFile()).ok());
  // A parent that is not an earlier frame, and endless recursion.
  graph.frames = {{-1, "all", 1, 1}, {7, "lost", 1, 1}, {-5, "lost", 1, 1}};
  for (int i = 0; i < 500; ++i) {
    graph.frames.push_back({i == 0 ? 0 : i + 2, "again", 1, 1});
  }
  graph.frames.push_back({0, "lost", 1e308, 1e308});
  graph.frames.push_back({0, "lost", -1, 0.5});
  const Svg svg = DrawFlameGraph(graph);
  EXPECT_TRUE(CheckXml(svg.ToFile()).ok());
  EXPECT_LT(svg.height(), 2000);
  EXPECT_THAT(svg.ToFile(), Not(HasSubstr("lost")));
}

}  // namespace
}  // namespace feedrate
