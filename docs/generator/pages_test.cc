#include "docs/generator/pages.h"

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::map<std::string, std::string> Pages() {
  const auto pages = GeneratePages();
  EXPECT_TRUE(pages.ok()) << pages.status();
  std::map<std::string, std::string> by_path;
  for (const Page& page : *pages) by_path[page.path] = page.content;
  return by_path;
}

TEST(PagesTest, EveryFieldHasAMeaning) {
  for (const auto& [path, content] : Pages()) {
    if (path != "docs/records.md" && path != "docs/configs.md") continue;
    EXPECT_THAT(content, Not(HasSubstr("|  |"))) << path;
  }
}

TEST(PagesTest, TransformSetsSayTheirSize) {
  const auto pages = Pages();
  EXPECT_THAT(pages.at("docs/transform_sets/rgb.md"),
              HasSubstr("58 transforms are members"));
  EXPECT_THAT(pages.at("docs/transform_sets/9ch.md"),
              HasSubstr("42 transforms are members"));
  EXPECT_THAT(pages.at("docs/transform_sets/video.md"),
              HasSubstr("52 transforms are members"));
}

TEST(PagesTest, ScopeHasReasons) {
  const std::string scope = Pages().at("docs/scope.md");
  EXPECT_THAT(scope, HasSubstr("| image-9ch | kornia | all | cuda | MedianBlur "
                               "| Kornia's median blur"));
  EXPECT_THAT(scope, HasSubstr("**Colorize**: "));
  EXPECT_THAT(scope, HasSubstr("per_sample_loop"));
  EXPECT_THAT(scope, HasSubstr("`mps`"));
}

TEST(PagesTest, StaleAndMissingPagesAreNamed) {
  const std::string root = std::getenv("TEST_TMPDIR");
  const std::vector<Page> pages = {{"page.md", "new\n"}};
  EXPECT_EQ(CheckPages(pages, root).message(),
            "page.md is missing; run: bazel run //docs:generate");
  ASSERT_TRUE(WritePages({{"page.md", "old\n"}}, root).ok());
  EXPECT_EQ(CheckPages(pages, root).message(),
            "page.md is stale; run: bazel run //docs:generate");
  ASSERT_TRUE(WritePages(pages, root).ok());
  EXPECT_TRUE(CheckPages(pages, root).ok());
}

}  // namespace
}  // namespace feedrate
