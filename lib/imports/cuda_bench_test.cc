// What cuda-bench 0.3.0 from PyPI has written on an H200.
#include <algorithm>
#include <vector>

#include "gtest/gtest.h"
#include "lib/imports/imports.h"
#include "lib/records/row.pb.h"

namespace feedrate {
namespace {

TEST(CudaBenchTest, ResultsThatItHasWritten) {
  std::vector<Row> rows;
  Importer importer({"", {}}, [&rows](const Row& row) {
    rows.push_back(row);
    return absl::OkStatus();
  });
  const absl::Status status =
      importer.ReadPath("lib/imports/testdata/cuda_bench.json");
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0].status(), "ok");
  EXPECT_EQ(rows[0].transform(), "add");
  EXPECT_EQ(rows[0].hardware(), "NVIDIA H200");
  EXPECT_EQ(rows[0].settings().at("Elements"), "67108864");
  EXPECT_EQ(rows[0].settings().at("Kind"), "a b");
  // All times of the GPU, in seconds.
  ASSERT_EQ(rows[0].samples_s_size(), 3312);
  const auto ends = std::minmax_element(rows[0].samples_s().begin(),
                                        rows[0].samples_s().end());
  EXPECT_NEAR(*ends.first, 143.904e-6, 1e-9);
  EXPECT_NEAR(*ends.second, 273.952e-6, 1e-9);
  EXPECT_EQ(rows[1].status(), "unsupported");
  EXPECT_EQ(rows[1].reason(), "nothing to do");
}

}  // namespace
}  // namespace feedrate
