#include "lib/runner/run_head.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "lib/config/run_config.pb.h"
#include "lib/machine/machine.h"

namespace feedrate {
namespace {

TEST(RunHeadTest, RowsRepeatWhatItSays) {
  MachineInfo machine;
  machine.cpu.model = "Xeon";
  machine.libraries["pillow"] = "12.2.0";
  RunConfig config;
  config.set_label("demo");
  const RunHead head =
      MakeRunHead(machine, config, 1e10, absl::FromUnixSeconds(0));
  EXPECT_EQ(head.identity.run_id, head.run.run_id());
  EXPECT_EQ(head.identity.env_id, head.env.env_id());
  EXPECT_EQ(head.run.env_id(), head.env.env_id());
  EXPECT_EQ(head.identity.hardware, "Xeon");
  EXPECT_EQ(head.env.libraries().at("pillow"), "12.2.0");
  EXPECT_EQ(head.run.label(), "demo");
  EXPECT_EQ(head.run.started_at(), "1970-01-01T00:00:00.000Z");
  EXPECT_GT(head.run.command_size(), 0);
  EXPECT_EQ(head.run.run_id().size(), 32);
}

TEST(RunHeadTest, AnotherVersionIsAnotherEnvironment) {
  MachineInfo machine;
  machine.libraries["pillow"] = "12.2.0";
  const RunHead old = MakeRunHead(machine, {}, 0, absl::FromUnixSeconds(0));
  machine.libraries["pillow"] = "13.0.0";
  const RunHead now = MakeRunHead(machine, {}, 0, absl::FromUnixSeconds(0));
  EXPECT_NE(old.env.env_id(), now.env.env_id());
  EXPECT_NE(old.run.run_id(), now.run.run_id());
}

}  // namespace
}  // namespace feedrate
