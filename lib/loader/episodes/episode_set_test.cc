// Samples of several threads. python/tests/episodes_test.py has everything
// else: real data, offsets, ranks, states and bad data.
#include "lib/loader/episodes/episode_set.h"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/loader/loader.h"
#include "lib/loader/mixture/testing.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

// Numbers of the episodes of TestMixture by their first action.
constexpr int kSteps = 6 + 9 + 7 + 8 + 12 + 6 + 8 + 7 + 20;

EpisodeSetOptions Options() {
  EpisodeSetOptions options;
  options.frame = {24, 24};
  options.batch_size = 4;
  options.shuffle = true;
  options.frames.at = {-1, 0};
  options.actions.at = {0, 1, 2};
  return options;
}

absl::StatusOr<std::unique_ptr<Loader>> LoaderOf(
    const EpisodeSetOptions& options, int workers, EpisodeSet** set) {
  auto opened = EpisodeSet::Open(TestMixture(), options);
  if (!opened.ok()) return opened.status();
  *set = opened->get();
  LoaderOptions how;
  how.batch_size = options.batch_size;
  how.workers = workers;
  how.buffers = 3;
  return Loader::Create(std::unique_ptr<MadeSource>(*std::move(opened)), how);
}

// The bytes of a field of one sample.
std::string FieldOf(const EpisodeSet& set, const LoaderBatch& batch, int number,
                    int place) {
  const BatchField& field = set.layout().fields[number];
  return {reinterpret_cast<const char*>(batch.data) +
              field.offset * set.options().batch_size + field.bytes * place,
          static_cast<size_t>(field.bytes)};
}

TEST(EpisodeSetTest, SamplesAreTheSameForAnyNumberOfThreads) {
  std::vector<std::vector<std::string>> epochs;
  for (const int workers : {0, 1, 4}) {
    EpisodeSet* set = nullptr;
    const auto loader = LoaderOf(Options(), workers, &set);
    ASSERT_TRUE(loader.ok()) << loader.status();
    ASSERT_EQ(set->size(), kSteps);
    const auto epoch = (*loader)->StartShare(1, 2, EpochShare());
    ASSERT_TRUE(epoch.ok()) << epoch.status();
    std::vector<std::string>& samples = epochs.emplace_back();
    std::set<int64_t> items;
    for (;;) {
      const auto batch = (*epoch)->NextKept();
      ASSERT_TRUE(batch.ok()) << batch.status();
      if (*batch == nullptr) break;
      for (int i = 0; i < (*batch)->batch.size; ++i) {
        items.insert((*batch)->batch.items[i]);
        std::string& sample = samples.emplace_back();
        for (size_t field = 0; field < set->layout().fields.size(); ++field) {
          // The numbers of texts depend on who was first.
          if (static_cast<int>(field) == set->layout().places.instruction)
            continue;
          sample += FieldOf(*set, (*batch)->batch, static_cast<int>(field), i);
        }
      }
    }
    EXPECT_EQ(items.size(), kSteps);
  }
  EXPECT_EQ(epochs[0], epochs[1]);
  EXPECT_EQ(epochs[0], epochs[2]);
}

TEST(EpisodeSetTest, NamesItsItemsAndRefusesACameraThatIsMissing) {
  EpisodeSet* set = nullptr;
  EpisodeSetOptions options = Options();
  const auto loader = LoaderOf(options, 0, &set);
  ASSERT_TRUE(loader.ok()) << loader.status();
  EXPECT_EQ(set->name(7), "data set \"a\": episode 1, step 1");
  options.cameras = {{"wrist", "wrist", {}}};
  const auto refused = LoaderOf(options, 0, &set);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("no camera \"wrist\"; it has frames"));
}

}  // namespace
}  // namespace feedrate
