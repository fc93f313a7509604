#include "lib/catalogue/catalogue.h"

#include <cstdlib>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

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

}  // namespace
}  // namespace feedrate
