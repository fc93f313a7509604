#include "docs/generator/equivalence_page.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

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

}  // namespace
}  // namespace feedrate
