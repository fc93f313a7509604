#include "lib/analysis/sort_aggregates.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

Aggregate Make(const std::string& library, const std::string& batch_size,
               double median) {
  Aggregate aggregate;
  (*aggregate.mutable_by())["library"] = library;
  (*aggregate.mutable_by())["batch_size"] = batch_size;
  if (median > 0) aggregate.set_median(median);
  return aggregate;
}

std::string Sorted(const std::vector<std::string>& keys) {
  std::vector<Aggregate> all = {Make("b", "64", 3), Make("a", "256", 2),
                                Make("c", "256", 0), Make("d", "8", 2)};
  EXPECT_TRUE(SortAggregates(keys, {"library", "batch_size"}, &all).ok());
  std::string order;
  for (const Aggregate& one : all) order += one.by().at("library");
  return order;
}

TEST(SortAggregatesTest, ByFieldsAndNumbers) {
  EXPECT_EQ(Sorted({}), "bacd");
  EXPECT_EQ(Sorted({"library"}), "abcd");
  EXPECT_EQ(Sorted({"-library"}), "dcba");
  // As numbers, not as text; equal ones stay in order.
  EXPECT_EQ(Sorted({"batch_size"}), "dbac");
  // What has no number is last either way.
  EXPECT_EQ(Sorted({"median"}), "adbc");
  EXPECT_EQ(Sorted({"-median", "-library"}), "bdac");
}

TEST(SortAggregatesTest, OtherKeysAreMistakes) {
  std::vector<Aggregate> none;
  const absl::Status status = SortAggregates({"-medain"}, {"library"}, &none);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--sort: \"medain\""));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("did you mean \"median\""));
}

}  // namespace
}  // namespace feedrate
