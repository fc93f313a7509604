#include "lib/catalogue/catalogue.h"

#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/config/text_proto.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

Catalogue CheckedIn() {
  auto catalogue = Catalogue::Load("configs");
  EXPECT_TRUE(catalogue.ok()) << catalogue.status();
  // Answers must survive moves.
  return std::move(catalogue).value();
}

TEST(CatalogueTest, FindsWhatIsThere) {
  const Catalogue catalogue = CheckedIn();
  EXPECT_EQ(catalogue.configs_dir(), "configs");
  EXPECT_EQ(catalogue.FindScenario("image-9ch")->channels(), 9);
  EXPECT_EQ(catalogue.FindScenario("image-10ch"), nullptr);
  EXPECT_EQ(catalogue.FindLibrary("kornia")->env_group(), "torch_stack");
  EXPECT_EQ(catalogue.FindLibrary("cornea"), nullptr);
  EXPECT_EQ(catalogue.FindMedia("clip")->slow_threshold_s(), 2.0);
  EXPECT_EQ(catalogue.FindMedia("sound"), nullptr);
  EXPECT_EQ(catalogue.FindMode("micro", "clip")->tool(), "video");
  EXPECT_EQ(catalogue.FindMode("decode", "image"), nullptr);
}

TEST(CatalogueTest, CombinationsAreFoundByScope) {
  const Catalogue catalogue = CheckedIn();
  const auto status = [&](const char* library, const char* scope) {
    return catalogue
        .FindCombination("video-16f", library, "pipeline", "cuda", scope)
        ->status();
  };
  EXPECT_EQ(status("albumentationsx", "memory_dataloader_augment"), HOST_CPU);
  EXPECT_EQ(status("albumentationsx", "decode_dataloader_augment_batch_copy"),
            SUPPORTED);
  EXPECT_EQ(status("dali", "decode_dataloader_augment"), OPTIONAL);
  EXPECT_EQ(catalogue.FindCombination("video-16f", "pillow", "micro", "cuda",
                                      "augmentation_only"),
            nullptr);
}

TEST(CatalogueTest, ExceptionsFitByModeAndDevice) {
  const Catalogue catalogue = CheckedIn();
  const auto find = [&](const char* mode, const char* device,
                        const char* transform) {
    return catalogue.FindException("video-16f", "kornia", mode, device,
                                   transform);
  };
  ASSERT_NE(find("micro", "cpu", "GaussianBlur"), nullptr);
  EXPECT_EQ(find("micro", "cpu", "GaussianBlur")->status(), UNSUPPORTED);
  EXPECT_EQ(find("micro", "cuda", "GaussianBlur"), nullptr);
  // No device in the matrix: both.
  EXPECT_NE(find("micro", "cpu", "MotionBlur"), nullptr);
  EXPECT_NE(find("micro", "cuda", "MotionBlur"), nullptr);
  EXPECT_EQ(find("pipeline", "cpu", "MotionBlur"), nullptr);
}

TEST(CatalogueTest, TransformsAreReadOnce) {
  const Catalogue catalogue = CheckedIn();
  const Scenario& rgb = *catalogue.FindScenario("image-rgb");
  const auto first = catalogue.Transforms(rgb);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ((*first)->scenario(), "image-rgb");
  EXPECT_EQ(*catalogue.Transforms(rgb), *first);
  EXPECT_EQ(catalogue.Transforms(*catalogue.FindScenario("video-decode-16f"))
                .status()
                .code(),
            absl::StatusCode::kNotFound);
}

TEST(CatalogueTest, ErrorsNameTheFile) {
  EXPECT_THAT(std::string(Catalogue::Load("no/such").status().message()),
              HasSubstr("no/such/matrix.textproto"));
  const std::string dir = std::string(std::getenv("TEST_TMPDIR")) + "/";
  ASSERT_TRUE(
      WriteFileAtomically(dir + "matrix.textproto", "libraries { nam: \"x\" }")
          .ok());
  EXPECT_THAT(std::string(Catalogue::Load(dir).status().message()),
              HasSubstr("matrix.textproto:1:13: unknown field \"nam\""));
}

TEST(CatalogueTest, BadTransformSetIsFoundWhenItIsAskedFor) {
  const Catalogue good = CheckedIn();
  auto catalogue = Catalogue::FromMessages(std::getenv("TEST_TMPDIR"),
                                           good.matrix(), good.policy());
  ASSERT_TRUE(catalogue.ok());
  const auto set = catalogue->Transforms(*catalogue->FindScenario("image-rgb"));
  EXPECT_THAT(std::string(set.status().message()),
              HasSubstr("transforms/rgb.textproto"));
}

// Sets of a folder of its own, with the checked-in matrix.
class InheritTest : public ::testing::Test {
 protected:
  InheritTest() {
    folder_ = std::string(std::getenv("TEST_TMPDIR")) + "/inherit";
    EXPECT_TRUE(MakeFolder(folder_ + "/transforms").ok());
  }

  // The nine-channel set as text, or what is wrong without the folder.
  std::string Resolve(const std::string& rgb, const std::string& nine) {
    const Catalogue good = CheckedIn();
    Matrix matrix = good.matrix();
    matrix.clear_exceptions();
    EXPECT_TRUE(WriteFileAtomically(folder_ + "/transforms/rgb.textproto",
                                    "scenario: \"image-rgb\"\n" + rgb)
                    .ok());
    EXPECT_TRUE(WriteFileAtomically(folder_ + "/transforms/9ch.textproto",
                                    "scenario: \"image-9ch\"\n" + nine)
                    .ok());
    auto catalogue = Catalogue::FromMessages(folder_, matrix, good.policy());
    EXPECT_TRUE(catalogue.ok()) << catalogue.status();
    const auto set =
        catalogue->Transforms(*catalogue->FindScenario("image-9ch"));
    if (set.ok()) return PrintTextProto(**set);
    std::string error(set.status().message());
    const std::string place = folder_ + "/transforms/";
    EXPECT_EQ(error.substr(0, place.size()), place);
    return error.substr(place.size());
  }

  // What both sets are when they are written out.
  std::string Whole(const std::string& transforms) {
    return PrintTextProto(Parse("scenario: \"image-9ch\" " + transforms));
  }

  std::string folder_;
};

constexpr char kBase[] =
    "base { scenario: \"image-rgb\" libraries: [\"kornia\", \"torch\"] }\n";

constexpr char kRgb[] = R"(transforms {
  name: "Blur"
  reference { op: "blur" kind: FILTER }
  implementations { library: "kornia" native_op: "k" params: "a=1" }
  implementations { library: "torch" native_op: "t" effective: "x"
                    unchecked: "u" also_matched: true }
  implementations { library: "pillow" native_op: "p" }
})";

TEST_F(InheritTest, TakesLibrariesOfTheBase) {
  EXPECT_EQ(Resolve(kRgb, std::string(kBase) + "transforms { name: \"Blur\" }"),
            Whole(R"(transforms { name: "Blur"
        implementations { library: "kornia" native_op: "k" params: "a=1" }
        implementations { library: "torch" native_op: "t" effective: "x" }
        implementations { library: "torch" params_profile: "matched"
                          native_op: "t" } })"));
}

TEST_F(InheritTest, TakesProfilesAndReferencesAsToldTo) {
  EXPECT_EQ(Resolve(kRgb, R"(base { scenario: "image-rgb" libraries: "torch"
                                    params_profiles: "matched"
                                    references: true }
                             transforms { name: "Blur" })"),
            Whole(R"(transforms { name: "Blur"
              reference { op: "blur" kind: FILTER }
              implementations { library: "torch" params_profile: "matched"
                                native_op: "t" unchecked: "u" } })"));
}

TEST_F(InheritTest, AddsParametersAndLeavesOutWhatIsAboutReferences) {
  EXPECT_EQ(Resolve(kRgb, R"(base { scenario: "image-rgb" libraries: "kornia"
                                    added_params { library: "kornia"
                                                   param: "b=2" } }
                             transforms { name: "Blur" })"),
            Whole(R"(transforms { name: "Blur"
              implementations { library: "kornia" native_op: "k"
                                params: [ "a=1", "b=2" ] } })"));
  EXPECT_EQ(Resolve(kRgb, R"(base { scenario: "image-rgb" libraries: "kornia"
                                    added_params { library: "torch" } }
                             transforms { name: "Blur" })"),
            "9ch.textproto:3:37: base.added_params[0]: \"torch\" is unknown; "
            "use one of kornia");
}

TEST_F(InheritTest, WhatATransformStatesIsItsOwn) {
  EXPECT_EQ(Resolve(kRgb, std::string(kBase) + R"(transforms { name: "Blur"
        without { library: "torch" params_profile: "paper" }
        implementations { library: "albumentationsx" native_op: "a" }
        implementations { library: "kornia" native_op: "k" params: "a=9" } }
      transforms { name: "Only9"
        implementations { library: "kornia" native_op: "o" } })"),
            Whole(R"(transforms { name: "Blur"
        implementations { library: "kornia" native_op: "k" params: "a=9" }
        implementations { library: "torch" params_profile: "matched"
                          native_op: "t" }
        implementations { library: "albumentationsx" native_op: "a" } }
      transforms { name: "Only9"
        implementations { library: "kornia" native_op: "o" } })"));
  const std::string own = R"(transforms { name: "Blur"
        implementations { library: "kornia" native_op: "k" params: "a=1" } })";
  EXPECT_EQ(
      Resolve(kRgb, kBase + own.substr(0, 12) + " own: true" + own.substr(12)),
      Whole(own));
}

TEST_F(InheritTest, TheBaseMustBeThere) {
  EXPECT_EQ(Resolve(kRgb, "base { scenario: \"image-rbg\" }"),
            "9ch.textproto:2:8: base.scenario: \"image-rbg\" is unknown; did "
            "you mean \"image-rgb\"?");
  EXPECT_EQ(Resolve(kRgb, "base { scenario: \"image-rgb\" }"),
            "9ch.textproto:2:1: base.libraries: is missing; name at least one "
            "library");
  EXPECT_EQ(Resolve(kRgb,
                    "base { scenario: \"image-rgb\"\n"
                    "libraries: [\"torch\", \"kornai\"] }"),
            "9ch.textproto:3:22: base.libraries[1]: \"kornai\" is unknown; did "
            "you mean \"kornia\"?");
  EXPECT_EQ(Resolve(kRgb,
                    "base { scenario: \"image-rgb\"\n"
                    "params_profiles: \"papr\" }"),
            "9ch.textproto:3:1: base.params_profiles[0]: \"papr\" is unknown; "
            "did you mean \"paper\"?");
  // A mistake in the base is one of its file.
  EXPECT_EQ(Resolve("transforms { }", kBase),
            "rgb.textproto: transforms[0]: name is missing");
}

TEST_F(InheritTest, NoSetBuildsOnItself) {
  EXPECT_EQ(
      Resolve("base { scenario: \"image-9ch\" libraries: \"torch\" }", kBase),
      "rgb.textproto:2:8: base.scenario: sets build on each other: image-9ch, "
      "image-rgb, image-9ch");
}

TEST_F(InheritTest, NothingIsLeftOver) {
  const auto error = [&](const std::string& transform) {
    return Resolve(kRgb, kBase + transform);
  };
  EXPECT_EQ(error("transforms { name: \"Blur\"\n"
                  "  without { library: \"pillow\" } }"),
            "9ch.textproto:4:3: transforms[0].without[0]: keeps nothing out "
            "that image-rgb has; leave it out");
  EXPECT_EQ(error("transforms { name: \"New\"\n"
                  "  without { library: \"torch\" } }"),
            "9ch.textproto:4:3: transforms[0].without[0]: nothing is "
            "inherited; leave it out");
  EXPECT_EQ(error("transforms { name: \"New\"\n  own: true }"),
            "9ch.textproto:4:3: transforms[0].own: image-rgb has no transform "
            "\"New\"; leave it out");
  EXPECT_EQ(error("transforms { name: \"Blur\"\n  implementations { library: "
                  "\"kornia\" native_op: \"k\" params: \"a=1\" } }"),
            "9ch.textproto:4:3: transforms[0].implementations[0]: repeats that "
            "of image-rgb; leave it out");
  EXPECT_EQ(Resolve(kRgb, "transforms { name: \"Blur\"\n  own: true }"),
            "9ch.textproto:3:3: transforms[0].own: the set has no base; leave "
            "it out");
}

TEST_F(InheritTest, AlsoMatchedIsForPaperAlone) {
  EXPECT_EQ(Resolve("",
                    "transforms { implementations { library: \"torch\"\n"
                    "  also_matched: true }\n  implementations { library: "
                    "\"torch\" params_profile: \"matched\" } }"),
            "9ch.textproto:3:3: transforms[0].implementations[0].also_matched: "
            "torch has an entry for matched as well");
  EXPECT_EQ(Resolve("",
                    "transforms { implementations {\n  also_matched: true "
                    "params_profile: \"matched\" } }"),
            "9ch.textproto:3:3: transforms[0].implementations[0].also_matched: "
            "is only ever true, and for profile paper");
}

TEST_F(InheritTest, MatchedSaysWhatDiffers) {
  EXPECT_EQ(Resolve("", R"(transforms { name: "Blur"
        implementations { library: "torch" native_op: "t" params: "a=1"
                          modes: "micro" wrap: "w" effective: "x"
                          unchecked: "u" matched { params: "a=2" } } })"),
            Whole(R"(transforms { name: "Blur"
        implementations { library: "torch" native_op: "t" params: "a=1"
                          modes: "micro" wrap: "w" effective: "x"
                          unchecked: "u" }
        implementations { library: "torch" params_profile: "matched"
                          native_op: "t" params: "a=2" modes: "micro"
                          wrap: "w" } })"));
  EXPECT_EQ(Resolve("",
                    "transforms { implementations { library: \"torch\"\n"
                    "  matched { library: \"torch\" } } }"),
            "9ch.textproto:3:3: transforms[0].implementations[0].matched: says "
            "only what differs from profile paper");
  EXPECT_EQ(Resolve("",
                    "transforms { implementations {\n  matched { } "
                    "params_profile: \"matched\" } }"),
            "9ch.textproto:3:3: transforms[0].implementations[0].matched: is "
            "only for profile paper");
}

}  // namespace
}  // namespace feedrate
