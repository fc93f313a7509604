#include "lib/catalogue/transform_set.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/text_proto.h"
#include "lib/config/transforms.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;

TransformSet Parse(const std::string& text) {
  TransformSet set;
  EXPECT_TRUE(ParseTextProto(text, "set", &set).ok());
  return set;
}

Scenario TwoLibraries() {
  Scenario scenario;
  scenario.add_public_libraries("a");
  scenario.add_public_libraries("b");
  return scenario;
}

TEST(TransformSetTest, TwoPublicLibrariesMakeAMember) {
  const TransformSet set = Parse(R"(
    transforms { name: "both" implementations { library: "a" }
                 implementations { library: "b" } }
    transforms { name: "one" implementations { library: "a" } }
    transforms { name: "ours does not count" implementations { library: "a" }
                 implementations { library: "ours" } }
    transforms { name: "profiles do not count" implementations { library: "a" }
                 implementations { library: "a" params_profile: "matched" } }
    transforms { name: "left out" left_out: "because"
                 implementations { library: "a" }
                 implementations { library: "b" } }
  )");
  std::vector<std::string> names;
  for (const Transform* t : SetMembers(TwoLibraries(), set)) {
    names.push_back(t->name());
  }
  EXPECT_THAT(names, ElementsAre("both"));
  EXPECT_EQ(PublicLibraries(TwoLibraries(), set.transforms(4)), 2);
  EXPECT_EQ(PublicLibraries(TwoLibraries(), set.transforms(3)), 1);
}

TEST(TransformSetTest, ImplementationsAreFoundByProfile) {
  const TransformSet set = Parse(R"(
    transforms { implementations { library: "a" native_op: "plain" }
                 implementations { library: "a" native_op: "same work"
                                   params_profile: "matched" } }
  )");
  const Transform& t = set.transforms(0);
  EXPECT_EQ(FindImplementation(t, "a", "paper")->native_op(), "plain");
  EXPECT_EQ(FindImplementation(t, "a", "matched")->native_op(), "same work");
  EXPECT_EQ(FindImplementation(t, "b", "paper"), nullptr);
}

TEST(TransformSetTest, NoModesAreAllModes) {
  Implementation impl;
  EXPECT_TRUE(HasMode(impl, "micro"));
  impl.add_modes("pipeline");
  EXPECT_FALSE(HasMode(impl, "micro"));
  EXPECT_TRUE(HasMode(impl, "pipeline"));
}

TEST(TransformSetTest, ParametersAreFoundByName) {
  Implementation impl;
  impl.add_params("size=(512,512)");
  impl.add_params("rule=a=b");
  EXPECT_EQ(FindParameter(impl, "size"), absl::string_view("(512,512)"));
  EXPECT_EQ(FindParameter(impl, "rule"), absl::string_view("a=b"));
  EXPECT_EQ(FindParameter(impl, "siz"), absl::nullopt);
}

// The text is hashed into job ids: to change it is to lose every old result.
TEST(TransformSetTest, CanonicalParametersNeverChange) {
  Implementation impl;
  impl.set_library("kornia");
  impl.set_native_op("RandomJigsaw");
  impl.add_params("grid=(4,4)");
  impl.add_params("p=1");
  impl.set_wrap("pad, then crop");
  impl.add_library_defaults("ensure_perm=True");
  impl.set_effective("Shuffles tiles.");
  impl.set_same_work_note("Not the same.");
  EXPECT_EQ(CanonicalParameters(impl),
            "op RandomJigsaw\nparam grid=(4,4)\nparam p=1\n"
            "wrap pad, then crop\n");
  impl.clear_wrap();
  impl.clear_params();
  EXPECT_EQ(CanonicalParameters(impl), "op RandomJigsaw\n");
}

}  // namespace
}  // namespace feedrate
