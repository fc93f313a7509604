// Fails, with the page and the remedy, when a generated page is stale.
#include "docs/generator/pages.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(CurrentTest, GeneratedPagesAreCurrent) {
  const auto pages = GeneratePages();
  ASSERT_TRUE(pages.ok()) << pages.status();
  const absl::Status status = CheckPages(*pages, ".");
  EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace
}  // namespace feedrate
