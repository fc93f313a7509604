#include "lib/gate/gate_metrics.h"

#include <string>

#include "gtest/gtest.h"
#include "lib/records/row.pb.h"

namespace feedrate {
namespace {

MetricChoice Parse(const std::string& text) {
  const absl::StatusOr<MetricChoice> choice = ParseMetricChoice(text);
  EXPECT_TRUE(choice.ok()) << choice.status();
  return choice.value_or(MetricChoice());
}

TEST(ParseMetricChoiceTest, NamesTolerancesAndDirections) {
  const MetricChoice usual = DefaultMetricChoice();
  EXPECT_TRUE(usual.has_time);
  ASSERT_EQ(usual.metrics.size(), 2);
  EXPECT_EQ(usual.metrics[0].name, "memory");
  EXPECT_EQ(usual.metrics[1].name, "cpu");
  const MetricChoice choice = Parse("memory:10,of_limit:3:higher");
  EXPECT_FALSE(choice.has_time);
  EXPECT_EQ(choice.metrics[0].interest_percent, 10);
  EXPECT_FALSE(choice.metrics[0].higher_is_better);
  EXPECT_EQ(choice.metrics[1].interest_percent, 3);
  EXPECT_TRUE(choice.metrics[1].higher_is_better);
}

TEST(ParseMetricChoiceTest, SaysWhatIsWrong) {
  for (const char* text : {"memry", "time:3", "memory,memory", "memory:0",
                           "memory:x", "memory:10:up", "", "time,"}) {
    const absl::Status status = ParseMetricChoice(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_EQ(status.message().substr(0, 9), "--metrics") << status;
  }
  EXPECT_NE(ParseMetricChoice("memry").status().message().find("memory"),
            absl::string_view::npos);
}

absl::optional<double> Of(const std::string& name, const Row& row) {
  return MetricOf(row, Parse(name).metrics[0]);
}

TEST(MetricOfTest, ReadsEachFieldPerItem) {
  Row row;
  row.set_status("ok");
  row.set_items(4);
  for (const GateMetric& metric : NamedGateMetrics()) {
    EXPECT_FALSE(MetricOf(row, metric)) << metric.name;
    EXPECT_FALSE(metric.source.empty());
  }
  row.set_rss_peak_bytes(4096);
  row.mutable_usage()->set_cpu_s(8);
  row.mutable_usage()->set_page_faults(12);
  row.mutable_usage()->set_read_bytes(16);
  row.mutable_usage()->set_written_bytes(20);
  row.mutable_usage()->set_instructions(24);
  row.mutable_usage()->set_allocations(28);
  row.mutable_usage()->set_allocated_bytes(36);
  row.mutable_gpu_memory()->set_peak_allocated_bytes(99);
  row.mutable_energy()->set_cpu_j(30);
  row.mutable_energy()->set_gpu_j(2);
  row.set_of_limit(0.5);
  EXPECT_EQ(Of("memory", row), 4096);
  EXPECT_EQ(Of("cpu", row), 2);
  EXPECT_EQ(Of("page_faults", row), 3);
  EXPECT_EQ(Of("bytes_read", row), 4);
  EXPECT_EQ(Of("bytes_written", row), 5);
  EXPECT_EQ(Of("instructions", row), 6);
  EXPECT_EQ(Of("allocations", row), 7);
  EXPECT_EQ(Of("allocated_bytes", row), 9);
  EXPECT_EQ(Of("gpu_memory", row), 99);
  EXPECT_EQ(Of("energy", row), 8);
  row.set_device("cuda");
  EXPECT_EQ(Of("energy", row), 8);
  // 30 J of processors were compared with 32 J of both.
  row.mutable_energy()->clear_gpu_j();
  EXPECT_EQ(Of("energy", row), absl::nullopt);
  row.set_hardware_class("host_cpu");
  EXPECT_EQ(Of("energy", row), 7.5);
  EXPECT_EQ(Of("of_limit", row), 0.5);
  EXPECT_EQ(Of("usage.cpu_s", row), 8);
  row.set_status("failed");
  EXPECT_FALSE(Of("memory", row));
}

TEST(MetricOfTest, LoadersHaveTheirOwnFields) {
  Row row;
  row.set_status("ok");
  row.set_items(2);
  row.mutable_loader()->set_cpu_s(3);
  row.mutable_storage()->set_bytes(10);
  EXPECT_EQ(Of("cpu", row), 1.5);
  EXPECT_EQ(Of("bytes_read", row), 5);
  row.clear_loader();
  row.mutable_mixture()->set_cpu_s(5);
  EXPECT_EQ(Of("cpu", row), 2.5);
}

TEST(ParseMetricChoiceTest, NothingIsNoChoice) {
  EXPECT_EQ(ParseMetricChoice("").status().message(),
            "--metrics: name what to judge, such as time,memory");
}

TEST(NeedsAllocationCounterTest, ByName) {
  const auto needs = [](const std::string& list) {
    return NeedsAllocationCounter(*ParseMetricChoice(list));
  };
  EXPECT_FALSE(needs("time,memory,cpu"));
  EXPECT_TRUE(needs("time,allocations"));
  EXPECT_TRUE(needs("allocated_bytes:3"));
  EXPECT_TRUE(needs("usage.allocations"));
}

TEST(MetricTextTest, HasAUnit) {
  EXPECT_EQ(MetricText(13.4e6, "B"), "13.40 MB");
  EXPECT_EQ(MetricText(2.5e9, "B"), "2.500 GB");
  EXPECT_EQ(MetricText(512, "B"), "512 B");
  EXPECT_EQ(MetricText(0.1234, "s"), "123.4 ms");
  EXPECT_EQ(MetricText(1024, ""), "1024");
  EXPECT_EQ(MetricText(0.25, ""), "0.25");
}

}  // namespace
}  // namespace feedrate
