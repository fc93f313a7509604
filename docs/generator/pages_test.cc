#include "docs/generator/pages.h"

#include <cstdlib>
#include <fstream>
#include <map>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/row.pb.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::map<std::string, std::string> Pages() {
  const auto pages = GeneratePages();
  EXPECT_TRUE(pages.ok()) << pages.status();
  std::map<std::string, std::string> by_path;
  for (const Page& page : *pages) by_path[page.path] = page.content;
  return by_path;
}

TEST(PagesTest, EveryFieldHasAMeaning) {
  for (const auto& [path, content] : Pages()) {
    if (path != "docs/records.md" && path != "docs/configs.md") continue;
    EXPECT_THAT(content, Not(HasSubstr("|  |"))) << path;
  }
}

TEST(PagesTest, TransformSetsSayTheirSize) {
  const auto pages = Pages();
  EXPECT_THAT(pages.at("docs/transform_sets/rgb.md"),
              HasSubstr("58 transforms are members"));
  EXPECT_THAT(pages.at("docs/transform_sets/9ch.md"),
              HasSubstr("42 transforms are members"));
  EXPECT_THAT(pages.at("docs/transform_sets/video.md"),
              HasSubstr("52 transforms are members"));
}

// What a set takes from its base is on its page as well.
TEST(PagesTest, TransformSetsSayWhatIsPassed) {
  const auto pages = Pages();
  for (const char* name : {"rgb", "9ch"}) {
    const std::string& page =
        pages.at(absl::StrCat("docs/transform_sets/", name, ".md"));
    EXPECT_THAT(page, HasSubstr("`cv::resize(size=(512,512), "
                                "interpolation=INTER_LINEAR)`"));
    EXPECT_THAT(page, HasSubstr("| **Resize** | `resize(height=512, "
                                "width=512)` | as above |"));
  }
}

TEST(PagesTest, ScopeHasReasons) {
  const std::string scope = Pages().at("docs/scope.md");
  EXPECT_THAT(scope, HasSubstr("| image-9ch | kornia | all | cuda | MedianBlur "
                               "| Kornia's median blur"));
  EXPECT_THAT(scope, HasSubstr("**Colorize**: "));
  EXPECT_THAT(scope, HasSubstr("per_sample_loop"));
  EXPECT_THAT(scope, HasSubstr("`mps`"));
}

TEST(PagesTest, StaleAndMissingPagesAreNamed) {
  const std::string root = std::getenv("TEST_TMPDIR");
  const std::vector<Page> pages = {{"page.md", "new\n"}};
  EXPECT_EQ(CheckPages(pages, root).message(),
            "page.md is missing; run: bazel run //docs:generate");
  ASSERT_TRUE(WritePages({{"page.md", "old\n"}}, root).ok());
  EXPECT_EQ(CheckPages(pages, root).message(),
            "page.md is stale; run: bazel run //docs:generate");
  ASSERT_TRUE(WritePages(pages, root).ok());
  EXPECT_TRUE(CheckPages(pages, root).ok());
}

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Verification Made(const std::string& library, const std::string& transform,
                  const std::string& label,
                  const std::string& profile = "matched") {
  Verification v;
  v.set_scenario("image-rgb");
  v.set_library(library);
  v.set_library_version("1.2");
  v.set_transform(transform);
  v.set_params_profile(profile);
  v.set_status("ok");
  v.mutable_equivalence()->set_label(label);
  v.mutable_equivalence()->set_reference("held against " + transform);
  return v;
}

std::string Page(const std::vector<Verification>& verifications) {
  const Catalogue catalogue = Catalogue::Load("configs").value();
  return EquivalencePage(catalogue, verifications).value();
}

TEST(EquivalencePageTest, CountsLibrariesThatDoTheSameWork) {
  EXPECT_THAT(
      Page({Made("pillow", "Invert", "exact"),
            Made("kornia", "Invert", "equivalent"),
            Made("opencv", "Hue", "exact"), Made("kornia", "Hue", "exact"),
            Made("torch", "Rain", "different")}),
      AllOf(HasSubstr("do the same work in 2 of 3 transforms"),
            HasSubstr("kornia, pillow in 1."),
            HasSubstr("Versions: pillow 1.2, kornia 1.2, opencv 1.2")));
}

TEST(EquivalencePageTest, ReasonsComeWithWhatTheCatalogueKnows) {
  Verification failed = Made("torchvision", "Invert", "");
  failed.set_status("failed");
  failed.set_reason("TypeError");
  EXPECT_THAT(
      Page({Made("pillow", "GaussianBlur", "different"),
            Made("kornia", "GaussianBlur", "exact"), failed}),
      AllOf(HasSubstr("- **GaussianBlur**, pillow: held against GaussianBlur. "
                      "Three box blurs"),
            HasSubstr("- **Invert**, torchvision: failed: TypeError"),
            Not(HasSubstr("**GaussianBlur**, kornia"))));
}

TEST(EquivalencePageTest, OneReasonIsGivenOnce) {
  EXPECT_THAT(Page({Made("pillow", "Elastic", "unchecked"),
                    Made("kornia", "Elastic", "unchecked")}),
              HasSubstr("- **Elastic**, pillow, kornia: held against Elastic"));
}

TEST(EquivalencePageTest, NumbersOfWhatIsNotExact) {
  Verification v = Made("pillow", "Invert", "equivalent");
  v.mutable_equivalence()->set_max_abs_diff(1);
  v.mutable_equivalence()->set_psnr_db(51.234);
  EXPECT_THAT(Page({v}), HasSubstr("equivalent (1/255, 51 dB)"));
}

TEST(EquivalencePageTest, OnePartAProfile) {
  EXPECT_THAT(Page({Made("pillow", "Invert", "exact"),
                    Made("pillow", "Invert", "exact", "paper")}),
              AllOf(HasSubstr("## image-rgb, matched"),
                    HasSubstr("## image-rgb, paper")));
}

using ::google::protobuf::FileDescriptorSet;
using ::testing::HasSubstr;

// What protoc makes of two messages, the second with a field that has no
// comment, and an enum.
constexpr char kSet[] = R"pb(
  file {
    name: "a.proto"
    package: "p"
    syntax: "proto3"
    message_type {
      name: "Job"
      field { name: "device" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
    }
    message_type {
      name: "Row"
      field { name: "device" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
      field {
        name: "jobs"
        number: 2
        type: TYPE_MESSAGE
        label: LABEL_REPEATED
        type_name: ".p.Job"
      }
    }
    enum_type {
      name: "Kind"
      value { name: "NONE" number: 0 }
    }
    source_code_info {
      location {
        path: [ 12 ]
        span: [ 2, 0, 18 ]
        leading_comments: " On\n top.\n"
      }
      location {
        path: [ 4, 0 ]
        span: [ 3, 0, 4 ]
        leading_comments: " Work.\n"
      }
      location {
        path: [ 4, 0, 2, 0 ]
        span: [ 4, 0, 4 ]
        leading_comments: " `cpu` or\n `cuda`.\n"
      }
      location {
        path: [ 5, 0, 2, 0 ]
        span: [ 9, 0, 4 ]
        leading_comments: " No.\n"
      }
    }
  }
)pb";

std::string WriteSet() {
  FileDescriptorSet set;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kSet, &set));
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/set.bin";
  std::ofstream file(path, std::ios::binary);
  set.SerializeToOstream(&file);
  return path;
}

TEST(SchemaPageTest, CommentsTypesAndLinks) {
  const auto pool = ReadSchemas(WriteSet());
  ASSERT_TRUE(pool.ok()) << pool.status();
  const auto* file = (*pool)->FindFileByName("a.proto");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(FileComment(*file), "On top.");
  std::vector<const google::protobuf::Descriptor*> earlier;
  const std::string text = SchemaSections(*file, 2, earlier);
  EXPECT_THAT(text, HasSubstr("## Job\n\nWork.\n\n"));
  EXPECT_THAT(text, HasSubstr("| `device` | string | `cpu` or `cuda`. |"));
  EXPECT_THAT(text, HasSubstr("| `device` | string | As in [Job](#job). |"));
  EXPECT_THAT(text, HasSubstr("| `jobs` | list of [Job](#job) | Work. |"));
  EXPECT_THAT(text, HasSubstr("## Kind\n\n"));
  EXPECT_THAT(text, HasSubstr("| `NONE` | No. |"));
}

TEST(SchemaPageTest, BrokenSchemasAreAnError) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/bad.bin";
  std::ofstream(path) << "\x0a\xff";
  EXPECT_THAT(std::string(ReadSchemas(path).status().message()),
              HasSubstr("bad.bin: is not a set of compiled schemas"));
  EXPECT_FALSE(ReadSchemas("no/such").ok());
}

}  // namespace
}  // namespace feedrate
