#include "lib/planning/cells.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/planning/testing.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// Cells of a scenario and mode; the libraries, when given, override the
// default ones.
absl::StatusOr<CellTable> Cells(const std::string& scenario,
                                const std::string& mode,
                                const std::string& device,
                                const std::string& scope,
                                const std::string& libraries = "",
                                const std::string& more = "",
                                const std::string& profile = "paper") {
  const std::string text = absl::StrCat(
      "version: 1 selection { scenario: \"", scenario, "\" mode: \"", mode,
      "\" ", libraries.empty() ? "" : "libraries: ", libraries, " } ", more,
      " execution { device: \"", device, "\" scope: \"", scope, "\" }");
  const LoadedConfig loaded = LoadText(text);
  const auto config = ResolveText(text);
  if (!config.ok()) return config.status();
  return BuildCells(*config, CheckedInCatalogue(), FieldChecker(loaded.places),
                    device, scope, profile);
}

absl::StatusOr<CellTable> Micro(const std::string& scenario,
                                const std::string& device,
                                const std::string& libraries = "") {
  return Cells(scenario, "micro", device, "augmentation_only", libraries);
}

bool Has(const CellTable& table, const std::string& library,
         const std::string& transform) {
  return std::any_of(table.cells.begin(), table.cells.end(),
                     [&](const Cell& cell) {
                       return table.libraries[cell.library].name == library &&
                              cell.transform == transform;
                     });
}

std::string WhyExcluded(const CellTable& table, const std::string& library,
                        const std::string& transform) {
  for (const ExcludedCell& cell : table.excluded) {
    if (cell.library == library && cell.transform == transform) {
      return cell.reason;
    }
  }
  return "";
}

TEST(BuildCellsTest, KorniaOnCudaIsWithoutShear) {
  for (const char* scenario : {"image-rgb", "image-9ch"}) {
    const auto cuda = Micro(scenario, "cuda");
    ASSERT_TRUE(cuda.ok()) << cuda.status();
    EXPECT_FALSE(Has(*cuda, "kornia", "Shear"));
    EXPECT_THAT(WhyExcluded(*cuda, "kornia", "Shear"),
                HasSubstr("mixes CPU and CUDA tensors"));
    EXPECT_TRUE(Has(*Micro(scenario, "cpu"), "kornia", "Shear"));
  }
}

TEST(BuildCellsTest, KorniaOfNineChannelsOnCudaIsWithoutMedianBlur) {
  EXPECT_FALSE(Has(*Micro("image-9ch", "cuda"), "kornia", "MedianBlur"));
  EXPECT_THAT(WhyExcluded(*Micro("image-9ch", "cuda"), "kornia", "MedianBlur"),
              HasSubstr("runs out of memory"));
  EXPECT_TRUE(Has(*Micro("image-9ch", "cpu"), "kornia", "MedianBlur"));
  EXPECT_TRUE(Has(*Micro("image-rgb", "cuda"), "kornia", "MedianBlur"));
}

TEST(BuildCellsTest, TorchvisionOnCudaIsALoopWithoutJpeg) {
  for (const char* scenario : {"image-rgb", "image-9ch"}) {
    const auto cuda = Micro(scenario, "cuda");
    ASSERT_TRUE(cuda.ok()) << cuda.status();
    EXPECT_FALSE(Has(*cuda, "torchvision", "JpegCompression"));
    EXPECT_EQ(cuda->libraries[0].name, "torchvision");
    EXPECT_THAT(cuda->libraries[0].labels, ElementsAre("per_sample_loop"));
    EXPECT_THAT(cuda->libraries[1].labels, IsEmpty());
    EXPECT_TRUE(Has(*Micro(scenario, "cpu"), "torchvision", "JpegCompression"));
  }
}

TEST(BuildCellsTest, WhatALibraryDoesNotHaveIsListedWithTheReason) {
  const auto table = Micro("image-rgb", "cpu");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->cells, SizeIs(161));
  EXPECT_THAT(table->excluded, SizeIs(58 * 4 - 161));
  for (const ExcludedCell& cell : table->excluded) {
    EXPECT_FALSE(cell.reason.empty()) << cell.library << " " << cell.transform;
  }
}

// The libraries of one transform are measured side by side.
TEST(BuildCellsTest, OrderIsByTransformThenLibraryAsInTheConfig) {
  const auto table = Cells("image-rgb", "micro", "cpu", "augmentation_only",
                           "[\"pillow\", \"albumentationsx\"] "
                           "transforms: [\"Rotate\", \"Resize\"]");
  ASSERT_TRUE(table.ok()) << table.status();
  std::vector<std::string> order;
  for (const Cell& cell : table->cells) {
    order.push_back(
        absl::StrCat(cell.transform, " ", table->libraries[cell.library].name));
  }
  EXPECT_THAT(order, ElementsAre("Rotate pillow", "Rotate albumentationsx",
                                 "Resize pillow", "Resize albumentationsx"));
}

TEST(BuildCellsTest, UnsupportedCellsAreCellsWithAReason) {
  const auto table = Micro("image-rgb", "cuda");
  ASSERT_TRUE(table.ok()) << table.status();
  std::vector<std::string> unsupported;
  for (const Cell& cell : table->cells) {
    if (!cell.unsupported_reason.has_value()) continue;
    EXPECT_FALSE(cell.unsupported_reason->empty());
    EXPECT_EQ(table->libraries[cell.library].name, "kornia");
    unsupported.push_back(cell.transform);
  }
  EXPECT_THAT(unsupported,
              UnorderedElementsAre("Affine", "CornerIllumination", "Erasing",
                                   "LinearIllumination", "Perspective"));
}

TEST(BuildCellsTest, MatchedCellsAreThoseWithMatchedParameters) {
  const auto table = Cells("image-rgb", "micro", "cpu", "augmentation_only",
                           "[\"torchvision\", \"kornia\"] transforms: "
                           "[\"Elastic\", \"Hue\", \"Sharpen\"]",
                           "", "matched");
  ASSERT_TRUE(table.ok()) << table.status();
  std::vector<std::string> cells;
  for (const Cell& cell : table->cells) {
    cells.push_back(
        absl::StrCat(cell.transform, " ", table->libraries[cell.library].name));
    EXPECT_FALSE(cell.params_sha256.empty());
  }
  EXPECT_THAT(cells, ElementsAre("Hue torchvision", "Hue kornia",
                                 "Sharpen torchvision", "Sharpen kornia"));
  for (const ExcludedCell& cell : table->excluded) {
    EXPECT_EQ(cell.reason, "no parameters for profile matched");
  }
}

// Published failures are about other parameters.
TEST(BuildCellsTest, UnsupportedCellsNeedMatchedParametersToo) {
  const auto table = Cells(
      "image-rgb", "micro", "cuda", "augmentation_only",
      "\"kornia\" transforms: [\"Perspective\", \"Invert\"]", "", "matched");
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_EQ(table->cells.size(), 1);
  EXPECT_EQ(table->cells[0].transform, "Invert");
}

TEST(BuildCellsTest, OnTheHostOfAGpuMachine) {
  const auto table = Micro("video-16f", "cuda", "\"albumentationsx\"");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->libraries[0].device, "cpu");
  EXPECT_EQ(table->libraries[0].hardware_class, "host_cpu");
  EXPECT_EQ(table->libraries[0].env_group, "albumentationsx_video");
  EXPECT_THAT(table->libraries[0].labels, ElementsAre("host_cpu"));
}

TEST(BuildCellsTest, HardwareClassAndEnvironment) {
  EXPECT_EQ(Micro("image-rgb", "cuda")->libraries[0].hardware_class, "gpu");
  const auto cpu = Micro("image-rgb", "cpu", "[\"kornia\", \"opencv\"]");
  ASSERT_TRUE(cpu.ok()) << cpu.status();
  EXPECT_EQ(cpu->libraries[0].hardware_class, "cpu");
  EXPECT_EQ(cpu->libraries[0].env_group, "torch_stack");
  EXPECT_EQ(cpu->libraries[1].env_group, "") << "C++ needs no Python";
  EXPECT_EQ(Micro("video-16f", "cpu", "\"kornia\"")->libraries[0].env_group,
            "torch_video");
}

TEST(BuildCellsTest, LabelsOfTheConfigAreAddedAndSorted) {
  const auto table =
      Cells("image-9ch", "micro", "cuda", "augmentation_only",
            "\"torchvision\"", "row_labels: [\"memory_limited\", \"cold\"]");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->libraries[0].labels,
              ElementsAre("cold", "memory_limited", "per_sample_loop"));
}

TEST(BuildCellsTest, OptionalCombinationsAreLabeled) {
  const auto table = Cells("video-decode-16f", "decode", "cpu", "decode_only",
                           "[\"opencv\", \"pyav\"]");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->libraries[0].labels, IsEmpty());
  EXPECT_THAT(table->libraries[1].labels, ElementsAre("optional"));
  ASSERT_THAT(table->cells, SizeIs(2));
  EXPECT_EQ(table->cells[0].transform, "");
  EXPECT_EQ(table->cells[0].params_sha256, "");
}

TEST(BuildCellsTest, DaliDecodesClipsOnTheGpuAndHasNoTransformsAlone) {
  const auto decoders = Cells("video-decode-16f", "decode", "cuda",
                              "decode_only", "[\"nvdec\", \"dali\"]");
  ASSERT_TRUE(decoders.ok()) << decoders.status();
  EXPECT_EQ(decoders->libraries[1].env_group, "dali");
  EXPECT_EQ(decoders->libraries[1].hardware_class, "gpu");
  const std::string micro(
      Micro("video-16f", "cuda", "\"dali\"").status().message());
  EXPECT_THAT(micro, HasSubstr("\"dali\" has no video-16f micro on cuda in "
                               "scope augmentation_only: DALI runs whole "
                               "pipelines; it has no micro rows; it has "
                               "pipeline on cuda"));
  EXPECT_THAT(micro, Not(HasSubstr("\n")));
}

TEST(BuildCellsTest, WhatTheMatrixDoesNotGiveIsSaidWithWhatItGives) {
  EXPECT_EQ(
      std::string(Micro("image-rgb", "cuda", "\"pillow\"").status().message()),
      "f:1:60: selection.libraries[0]: \"pillow\" has no image-rgb micro "
      "on cuda in scope augmentation_only: Pillow runs on the CPU only; "
      "use device cpu; it has micro on cpu (augmentation_only), "
      "pipeline on cpu (decode_dataloader_augment), pipeline on cpu "
      "(decode_dataloader_augment_batch_copy), pipeline on cpu "
      "(memory_dataloader_augment)");
  EXPECT_THAT(
      std::string(Micro("image-9ch", "cpu", "\"pillow\"").status().message()),
      HasSubstr("Pillow images have at most four channels"));
  EXPECT_THAT(
      std::string(Micro("image-9ch", "cpu", "\"pyav\"").status().message()),
      HasSubstr("leave it out of this scenario"));
}

}  // namespace
}  // namespace feedrate
