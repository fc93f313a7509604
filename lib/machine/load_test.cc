#include "lib/machine/load.h"

#include <gtest/gtest.h>

#include "absl/strings/str_format.h"
#include "lib/machine/testing/fake_root.h"

namespace feedrate {
namespace {

// A machine whose counters move while the reader sleeps.
class MovingMachine {
 public:
  // Per look: ticks of idle and of steal time, and the run queue.
  MovingMachine(int idle, int steal, std::vector<int> running)
      : idle_(idle), steal_(steal), running_(std::move(running)) {
    Write();
  }

  LoadSample Sample() {
    return SampleLoad(files_.root(), absl::Seconds(1),
                      [this](absl::Duration slept) {
                        slept_ += slept;
                        ++looks_;
                        Write();
                      });
  }

  absl::Duration slept() const { return slept_; }
  const FakeRoot& files() const { return files_; }

 private:
  void Write() {
    files_.Write("/proc/stat",
                 absl::StrFormat("cpu  10 0 10 %d 0 0 0 %d 5 0\n"
                                 "cpu0 1 1 1 1 1 1 1 1\nprocs_running %d\n",
                                 1000 + idle_ * looks_, 500 + steal_ * looks_,
                                 running_[looks_ % running_.size()]));
  }

  FakeRoot files_;
  const int idle_;
  const int steal_;
  const std::vector<int> running_;
  int looks_ = 0;
  absl::Duration slept_;
};

TEST(LoadTest, QuietMachine) {
  MovingMachine machine(10, 0, {1});
  const LoadSample sample = machine.Sample();
  EXPECT_EQ(sample.steal_share, 0.0);
  EXPECT_EQ(sample.others_running, 0.0);
  EXPECT_EQ(machine.slept(), absl::Seconds(1));
}

TEST(LoadTest, StealIsThatOfTheSampleNotSinceTheStart) {
  MovingMachine machine(9, 1, {1});
  EXPECT_DOUBLE_EQ(*machine.Sample().steal_share, 0.1);
}

TEST(LoadTest, MeanRunQueueWithoutOurselves) {
  MovingMachine machine(10, 0, {1, 3});
  EXPECT_DOUBLE_EQ(*machine.Sample().others_running, 1.0);
  MovingMachine idle(10, 0, {0});
  EXPECT_EQ(idle.Sample().others_running, 0.0);
}

TEST(LoadTest, CountersThatStandStillGiveTheShareSinceTheStart) {
  MovingMachine machine(0, 0, {1});
  EXPECT_DOUBLE_EQ(*machine.Sample().steal_share, 500.0 / 1520.0);
}

TEST(LoadTest, CountersThatGoBack) {
  MovingMachine machine(10, -1, {1});
  EXPECT_EQ(machine.Sample().steal_share, 0.0);
}

TEST(LoadTest, LoadAverageAndPressure) {
  MovingMachine machine(10, 0, {1});
  EXPECT_EQ(machine.Sample().load_1min, std::nullopt);
  machine.files().Write("/proc/loadavg", "1.25 0.10 0.05 1/200 1234\n");
  machine.files().Write("/proc/pressure/cpu",
                        "some avg10=7.50 avg60=0.10 avg300=0 total=1\n");
  EXPECT_EQ(machine.Sample().load_1min, 1.25);
  EXPECT_EQ(machine.Sample().cpu_pressure_percent, 7.5);
}

TEST(LoadTest, AbsentOrGarbledIsNotKnown) {
  FakeRoot files;
  const auto no_sleep = [](absl::Duration) {};
  for (const char* text :
       {"", "cpu ", "cpu 1 2 3", "cpu a b c d e f g h", "cpu 1 1 1 1 1 1 1 -1",
        "cpu 9223372036854775807 9223372036854775807 1 1 1 1 1 1",
        "procs_running x"}) {
    files.Write("/proc/stat", text);
    const LoadSample sample =
        SampleLoad(files.root(), absl::ZeroDuration(), no_sleep);
    EXPECT_EQ(sample.steal_share, std::nullopt) << text;
    EXPECT_EQ(sample.others_running, std::nullopt) << text;
  }
}

}  // namespace
}  // namespace feedrate
