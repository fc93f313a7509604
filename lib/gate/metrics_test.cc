#include "lib/gate/metrics.h"

#include <string>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(MetricsTest, ReadsNumbersAtAnyDepth) {
  const auto file = ParseMetrics(
      R"({"machine_profile":"m","schema":1,"tokens_per_sec_p50":12.5,)"
      R"("note":"x","ok":true,"probes":{"copy":80}})",
      "f");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->machine_profile, "m");
  EXPECT_EQ(file->metrics.at("tokens_per_sec_p50"), 12.5);
  EXPECT_EQ(file->metrics.at("probes.copy"), 80);
  EXPECT_EQ(file->metrics.count("note"), 0);
}

TEST(MetricsTest, RefusesWhatIsNotWhole) {
  for (const char* text :
       {"", "{", "[]", "3", "{\"machine_profile\":\"m\"", "\xff\xfe",
        "{\"machine_profile\":\"m\"}", "{\"machine_profile\":3,\"x\":1}",
        "{\"machine_profile\":\"\",\"x\":1}", "{\"x\":1}",
        "{\"machine_profile\":\"m\",\"x\":null}",
        "{\"machine_profile\":\"m\",\"x\":NaN}",
        "{\"machine_profile\":\"m\",\"x\":1e999}"}) {
    const auto file = ParseMetrics(text, "f.json");
    EXPECT_FALSE(file.ok()) << text;
    EXPECT_EQ(file.status().message().substr(0, 7), "f.json:") << text;
  }
}

TEST(MetricsTest, RowsGiveMedians) {
  std::vector<Row> rows(4);
  for (int i = 0; i < 3; ++i) {
    rows[i].set_status("ok");
    rows[i].set_throughput(10 + i);
    rows[i].mutable_cache()->set_resident_fraction(0.5);
  }
  rows[0].set_p90_s(3);
  rows[3].set_status("failed");
  rows[3].set_throughput(1);
  const Metrics metrics = MetricsOfRows(rows);
  EXPECT_EQ(metrics.at("throughput"), 11);
  EXPECT_EQ(metrics.at("p90_s"), 3);
  EXPECT_EQ(metrics.at("cache.resident_fraction"), 0.5);
  EXPECT_EQ(metrics.count("p99_s"), 0);
}

}  // namespace
}  // namespace feedrate
