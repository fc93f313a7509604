#include "lib/records/fields.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/records/loader.pb.h"
#include "lib/records/row.pb.h"
#include "lib/records/worker.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;

TEST(FieldsTest, ARowGetsTheFieldsItHas) {
  EpochReply reply;
  reply.set_items(7);
  reply.set_cpu_s(0.1);
  reply.add_samples_s(1);
  StageTimes* const stage = reply.add_stages();
  stage->set_name("decode");
  stage->set_queue_fill(0.5);
  LoaderError* const error = reply.add_errors();
  error->set_item(3);
  error->set_reason("no image");
  LoaderStats loader;
  loader.set_consumer_step_s(2);
  AddSameFields(reply, &loader);
  EXPECT_EQ(loader.DebugString(),
            "cpu_s: 0.1\n"
            "stages {\n  name: \"decode\"\n  queue_fill: 0.5\n}\n"
            "consumer_step_s: 2\n"
            "errors {\n  item: 3\n  reason: \"no image\"\n}\n");
}

TEST(FieldsTest, AFieldOfAnotherTypeIsNotCopied) {
  DeviceReply device;
  device.set_throttle_reasons(4);
  device.set_max_clock_mhz(1980);
  device.add_clocks_mhz(1200);
  GpuState state;
  AddSameFields(device, &state);
  EXPECT_EQ(state.throttle_reasons_size(), 0);
  EXPECT_EQ(state.max_clock_mhz(), 1980);
  EXPECT_THAT(state.clocks_mhz(), ElementsAre(1200));
}

TEST(FieldsTest, NumbersAreAddedAndAbsentOnesStayAbsent) {
  EpochReply sum;
  EpochReply epoch;
  epoch.set_batches(2);
  epoch.mutable_storage()->set_bytes(5);
  epoch.add_left_out("a");
  AddSameFields(epoch, &sum);
  AddSameFields(epoch, &sum);
  EXPECT_EQ(sum.batches(), 4);
  EXPECT_EQ(sum.storage().bytes(), 10);
  EXPECT_THAT(sum.left_out(), ElementsAre("a", "a"));
  EXPECT_FALSE(sum.has_cpu_frames());
  AddSameFields(epoch.storage(), sum.mutable_storage(), -1);
  EXPECT_EQ(sum.storage().bytes(), 5);
}

}  // namespace
}  // namespace feedrate
