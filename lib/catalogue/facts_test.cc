// What the checked-in facts must add up to. Numbers here are those of the
// public benchmark's paper; if one changes, the facts have changed.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "google/protobuf/message.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/catalogue/catalogue.h"
#include "lib/catalogue/published_numbers.h"
#include "lib/config/coverage.pb.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/policy.pb.h"
#include "lib/config/quota.pb.h"
#include "lib/config/run_config.pb.h"
#include "lib/config/targets.pb.h"
#include "lib/config/text_proto.h"
#include "lib/config/tolerances.pb.h"
#include "lib/config/transforms.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

using Counts = std::map<std::string, int>;

class FactsTest : public ::testing::Test {
 protected:
  FactsTest() : catalogue_(Catalogue::Load("configs").value()) {}

  const TransformSet& Set(absl::string_view scenario) {
    return **catalogue_.Transforms(*catalogue_.FindScenario(scenario));
  }

  std::vector<const Transform*> Members(absl::string_view scenario) {
    return SetMembers(*catalogue_.FindScenario(scenario), Set(scenario));
  }

  // Jobs of each library, as planning counts them: excluded cells have none,
  // unsupported ones have one even without an implementation.
  Counts Jobs(absl::string_view scenario, absl::string_view mode,
              absl::string_view device,
              const std::vector<std::string>& libraries) {
    Counts counts;
    for (const Transform* t : Members(scenario)) {
      for (const std::string& library : libraries) {
        const CellException* e = catalogue_.FindException(
            scenario, library, mode, device, t->name());
        if (e != nullptr && e->status() == EXCLUDED) continue;
        const Implementation* impl = FindImplementation(*t, library, "paper");
        if (e != nullptr || (impl != nullptr && HasMode(*impl, mode))) {
          ++counts[library];
        }
      }
    }
    return counts;
  }

  const Catalogue catalogue_;
};

// The schema of a file follows from its place.
std::unique_ptr<google::protobuf::Message> SchemaOf(const std::string& path) {
  if (absl::EndsWith(path, "configs/matrix.textproto")) {
    return std::make_unique<Matrix>();
  }
  if (absl::EndsWith(path, "configs/policy.textproto")) {
    return std::make_unique<Policy>();
  }
  if (absl::StrContains(path, "/transforms/")) {
    return std::make_unique<TransformSet>();
  }
  if (absl::StrContains(path, "/quotas/")) return std::make_unique<Quota>();
  if (absl::StrContains(path, "/coverage/")) {
    return std::make_unique<CoverageProfile>();
  }
  if (absl::EndsWith(path, "/gate/tolerances.textproto")) {
    return std::make_unique<Tolerances>();
  }
  if (absl::StrContains(path, "/gate/")) return std::make_unique<Targets>();
  return std::make_unique<RunConfig>();
}

TEST_F(FactsTest, EveryFileParses) {
  const auto files = ListFiles("configs", ".textproto", /*recursive=*/true);
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_GE(files->size(), 32);
  for (const std::string& file : *files) {
    const absl::Status status = ReadTextProto(file, SchemaOf(file).get());
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST_F(FactsTest, SetsFollowFromTheRule) {
  EXPECT_EQ(Members("image-rgb").size(), 58);
  EXPECT_EQ(Members("image-9ch").size(), 42);
  EXPECT_EQ(Members("video-16f").size(), 52);
}

TEST_F(FactsTest, LeftOutAlthoughTwoLibrariesHaveThem) {
  const auto left_out = [&](absl::string_view scenario) {
    std::vector<std::string> names;
    for (const Transform& t : Set(scenario).transforms()) {
      if (t.left_out().empty()) continue;
      EXPECT_GE(PublicLibraries(*catalogue_.FindScenario(scenario), t), 2);
      names.push_back(t.name());
    }
    return names;
  };
  EXPECT_THAT(left_out("image-rgb"), ElementsAre("Normalize", "Colorize"));
  EXPECT_THAT(left_out("image-9ch"), ElementsAre("Normalize"));
  EXPECT_THAT(left_out("video-16f"), IsEmpty());
}

TEST_F(FactsTest, EveryOtherCandidateHasOneLibrary) {
  for (absl::string_view scenario : {"image-rgb", "image-9ch", "video-16f"}) {
    const std::vector<const Transform*> members = Members(scenario);
    int candidates = 0;
    for (const Transform& t : Set(scenario).transforms()) {
      if (!t.left_out().empty() || t.set() == kTrainingSet) continue;
      if (std::find(members.begin(), members.end(), &t) != members.end()) {
        continue;
      }
      EXPECT_EQ(PublicLibraries(*catalogue_.FindScenario(scenario), t), 1)
          << t.name();
      ++candidates;
    }
    EXPECT_GE(candidates, 30) << scenario;
  }
}

TEST_F(FactsTest, JobsOnTheCpu) {
  const std::vector<std::string> four = {"albumentationsx", "torchvision",
                                         "kornia", "pillow"};
  const std::vector<std::string> three(four.begin(), four.begin() + 3);
  EXPECT_THAT(
      Jobs("image-rgb", "micro", "cpu", four),
      UnorderedElementsAre(Pair("albumentationsx", 58), Pair("torchvision", 27),
                           Pair("kornia", 52), Pair("pillow", 24)));
  EXPECT_THAT(
      Jobs("image-rgb", "pipeline", "cpu", four),
      UnorderedElementsAre(Pair("albumentationsx", 58), Pair("torchvision", 27),
                           Pair("kornia", 52), Pair("pillow", 27)));
  const auto nine = UnorderedElementsAre(
      Pair("albumentationsx", 42), Pair("torchvision", 23), Pair("kornia", 41));
  EXPECT_THAT(Jobs("image-9ch", "micro", "cpu", three), nine);
  EXPECT_THAT(Jobs("image-9ch", "pipeline", "cpu", three), nine);
  EXPECT_THAT(
      Jobs("video-16f", "micro", "cpu", three),
      UnorderedElementsAre(Pair("albumentationsx", 52), Pair("torchvision", 27),
                           Pair("kornia", 51)));
}

TEST_F(FactsTest, JobsOnTheGpu) {
  const std::vector<std::string> two = {"torchvision", "kornia"};
  for (absl::string_view mode : {"micro", "pipeline"}) {
    EXPECT_THAT(
        Jobs("image-rgb", mode, "cuda", two),
        UnorderedElementsAre(Pair("torchvision", 26), Pair("kornia", 51)));
    EXPECT_THAT(
        Jobs("image-9ch", mode, "cuda", two),
        UnorderedElementsAre(Pair("torchvision", 22), Pair("kornia", 39)));
  }
  // Clips lose no cell: what cannot run is answered as unsupported.
  EXPECT_THAT(
      Jobs("video-16f", "micro", "cuda", two),
      UnorderedElementsAre(Pair("torchvision", 27), Pair("kornia", 51)));
  EXPECT_THAT(Jobs("video-16f", "pipeline", "cuda", {"dali"}),
              UnorderedElementsAre(Pair("dali", 52)));
}

TEST_F(FactsTest, NativeLibraries) {
  const std::vector<std::string> native = {"opencv", "torch"};
  EXPECT_THAT(Jobs("image-rgb", "micro", "cpu", native),
              UnorderedElementsAre(Pair("opencv", 51), Pair("torch", 42)));
  EXPECT_THAT(Jobs("image-9ch", "micro", "cpu", native),
              UnorderedElementsAre(Pair("opencv", 37), Pair("torch", 35)));
  EXPECT_THAT(Jobs("image-rgb", "micro", "cuda", {"cuda", "torch"}),
              UnorderedElementsAre(Pair("cuda", 26), Pair("torch", 42)));
  EXPECT_THAT(Jobs("image-rgb", "pipeline", "cuda", {"cuda"}),
              UnorderedElementsAre(Pair("cuda", 12)));
}

TEST_F(FactsTest, TorchvisionOnTheGpuIsLabeled) {
  for (const Combination& c : catalogue_.matrix().combinations()) {
    const bool transforms_there =
        absl::c_linear_search(c.device(), "cuda") && c.status() == SUPPORTED &&
        c.scopes(0) != "decode_dataloader_augment_batch_copy";
    if (!absl::c_linear_search(c.library(), "torchvision") ||
        !transforms_there) {
      continue;
    }
    EXPECT_THAT(c.labels(), ElementsAre("per_sample_loop")) << c.DebugString();
  }
}

TEST_F(FactsTest, PaperConfigsUsePublicLibrariesAndKnownMachines) {
  Quota quota;
  ASSERT_TRUE(ReadTextProto("configs/quotas/paper.textproto", &quota).ok());
  const auto files = ListFiles("configs/paper", ".textproto", false);
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(files->size(), 25);
  for (const std::string& file : *files) {
    RunConfig config;
    ASSERT_TRUE(ReadTextProto(file, &config).ok());
    const auto& libraries = config.selection().libraries();
    EXPECT_FALSE(libraries.empty()) << file;
    for (const std::string& library : libraries) {
      const Combination* c = catalogue_.FindCombination(
          config.selection().scenario(), library, config.selection().mode(),
          config.execution().device(), config.execution().scope());
      ASSERT_NE(c, nullptr) << file << ": " << library;
      // What the paper has not: DALI, and libraries without GPU code on the CPU
      // of a GPU machine.
      if (config.set() == "gpu_video") {
        EXPECT_NE(c->status(), REJECTED) << file << ": " << library;
      } else {
        EXPECT_EQ(c->status(), SUPPORTED) << file << ": " << library;
      }
      EXPECT_EQ(catalogue_.FindLibrary(library)->origin(), "public") << file;
    }
    EXPECT_EQ(std::count_if(quota.machine_types().begin(),
                            quota.machine_types().end(),
                            [&](const MachineType& m) {
                              return m.name() == config.cloud().machine_type();
                            }),
              1)
        << file;
  }
}

// Every member of a set has a reference, and for each of its libraries either
// matched parameters or a reason why there are none.
TEST_F(FactsTest, MembersHaveAReference) {
  for (absl::string_view scenario : {"image-rgb", "image-9ch"}) {
    int matched_twice = 0;
    for (const Transform* t : Members(scenario)) {
      EXPECT_TRUE(t->has_reference()) << t->name();
      int matched = 0;
      for (const Implementation& impl : t->implementations()) {
        if (impl.params_profile() != "matched") continue;
        ++matched;
        EXPECT_THAT(impl.unchecked(), IsEmpty()) << t->name();
      }
      EXPECT_EQ(matched == 0, t->reference().has_unchecked()) << t->name();
      matched_twice += matched >= 2;
    }
    EXPECT_GE(matched_twice, 35) << scenario;
  }
}

// What a library draws differs from any one reference, whatever it computes.
TEST_F(FactsTest, DrawnParametersAreUnchecked) {
  int drawn = 0;
  for (absl::string_view scenario : {"image-rgb", "image-9ch"}) {
    for (const Transform* t : Members(scenario)) {
      if (t->reference().has_unchecked() ||
          t->reference().kind() == DISTRIBUTION) {
        continue;
      }
      for (const Implementation& impl : t->implementations()) {
        const bool draws = absl::c_any_of(impl.params(), [](const auto& param) {
          return absl::StrContains(param, "=U(") ||
                 absl::StrContains(param, "(0.08,1.0)");
        });
        drawn += draws;
        EXPECT_EQ(draws && impl.unchecked().empty(), false)
            << t->name() << " " << impl.library();
      }
    }
  }
  EXPECT_GE(drawn, 40);
}

TEST_F(FactsTest, PublishedCellsAreCellsOfTheSets) {
  const auto numbers = PublishedNumbers::Load("configs");
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  int with_number = 0;
  for (const Transform* t : Members("image-rgb")) {
    for (const Implementation& impl : t->implementations()) {
      if (impl.params_profile() == "matched") continue;
      with_number += numbers
                         ->ItemsPerSecond("image-rgb", "micro", "cpu",
                                          t->name(), impl.library())
                         .has_value();
    }
  }
  // All of the 161 cells are published, except the three of CenterCrop224.
  EXPECT_EQ(with_number, 158);
}

using ::testing::HasSubstr;

constexpr char kHeader[] =
    "scenario,mode,scope,device,machine,library,transform,items_per_s,status,"
    "runs,revision\n";

std::string ParseError(const std::string& text) {
  return std::string(PublishedNumbers::Parse(text, "f").status().message());
}

TEST(PublishedNumbersTest, FindsCellsOfCloudMachines) {
  const std::string text =
      std::string(kHeader) +
      "s,micro,x,cpu,c4-standard-16,kornia,Blur,20.5,early_stopped,0,later\n"
      "s,micro,x,cpu,c4-highmem-16,kornia,Blur,99,ok,1,later\n";
  auto loaded = PublishedNumbers::Parse(text, "f");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  // Keys must survive a move.
  const PublishedNumbers numbers = std::move(loaded).value();
  EXPECT_EQ(numbers.size(), 1);
  EXPECT_EQ(numbers.ItemsPerSecond("s", "micro", "cpu", "Blur", "kornia"),
            20.5);
  EXPECT_TRUE(
      numbers.Find("s", "micro", "cpu", "Blur", "kornia")->early_stopped);
  EXPECT_EQ(numbers.ItemsPerSecond("s", "micro", "cuda", "Blur", "kornia"),
            absl::nullopt);
}

TEST(PublishedNumbersTest, ErrorsNameTheLine) {
  EXPECT_THAT(ParseError("a,b\n"), HasSubstr("f:1: the header must be"));
  EXPECT_THAT(ParseError(""), HasSubstr("f:1: "));
  const std::string good = "s,m,x,cpu,c4,l,t,1,ok,1,later\n";
  EXPECT_EQ(ParseError(kHeader + good + "s,m\n"), "f:3: needs 11 fields");
  EXPECT_EQ(ParseError(kHeader + good + "s,m,x,cpu,c4,l,t,1,ok,1,later,more\n"),
            "f:3: needs 11 fields");
  EXPECT_THAT(ParseError(kHeader + good + "s,m,x,cpu,c4,l,t,fast,ok,1,later\n"),
              HasSubstr("f:3: items_per_s \"fast\""));
  EXPECT_THAT(ParseError(kHeader + good + "s,m,x,cpu,c4,l,t,nan,ok,1,later\n"),
              HasSubstr("is not a number above 0"));
}

TEST(PublishedNumbersTest, CheckedInFileLoads) {
  const auto numbers = PublishedNumbers::Load("configs");
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  EXPECT_EQ(numbers->ItemsPerSecond("image-9ch", "micro", "cpu",
                                    "CenterCrop128", "kornia"),
            absl::nullopt);
  EXPECT_EQ(numbers->ItemsPerSecond("video-16f", "micro", "cuda", "Normalize",
                                    "torchvision"),
            4990.4);
}

}  // namespace
}  // namespace feedrate
