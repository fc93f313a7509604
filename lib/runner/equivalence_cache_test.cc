#include "lib/runner/equivalence_cache.h"

#include <unistd.h>

#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

Equivalence Labelled(const std::string& label) {
  Equivalence equivalence;
  equivalence.set_label(label);
  equivalence.set_max_abs_diff(1.5);
  equivalence.set_reference("gaussian_blur size=5");
  return equivalence;
}

std::string FreshPath(const std::string& name) {
  return testing::TempDir() + "/" + name + std::to_string(getpid()) +
         "/equivalence.jsonl";
}

TEST(EquivalenceCacheTest, IsThereTheNextTime) {
  const std::string path = FreshPath("cache");
  {
    EquivalenceCache cache(path);
    EXPECT_EQ(cache.Find("a"), nullptr);
    cache.Add("a", Labelled("exact"));
    cache.Add("b", Labelled("different"));
    EXPECT_EQ(cache.Find("a")->label(), "exact");
  }
  const EquivalenceCache cache(path);
  ASSERT_NE(cache.Find("b"), nullptr);
  EXPECT_EQ(cache.Find("b")->label(), "different");
  EXPECT_EQ(cache.Find("b")->max_abs_diff(), 1.5);
  EXPECT_EQ(cache.Find("b")->reference(), "gaussian_blur size=5");
}

TEST(EquivalenceCacheTest, ATornLineCostsOnlyItself) {
  const std::string path = FreshPath("torn");
  EquivalenceCache(path).Add("a", Labelled("exact"));
  std::ofstream(path, std::ios::app) << "b\t{\"schema\":1,\"rec";
  EquivalenceCache(path).Add("c", Labelled("noop"));
  const EquivalenceCache cache(path);
  EXPECT_NE(cache.Find("a"), nullptr);
  EXPECT_EQ(cache.Find("b"), nullptr);
  EXPECT_NE(cache.Find("c"), nullptr);
}

TEST(EquivalenceCacheTest, WhereNothingCanBeWrittenItStillRemembers) {
  EquivalenceCache cache("/proc/nowhere/equivalence.jsonl");
  cache.Add("a", Labelled("exact"));
  EXPECT_NE(cache.Find("a"), nullptr);
}

}  // namespace
}  // namespace feedrate
