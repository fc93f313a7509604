#include "lib/catalogue/check_catalogue.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/config/text_proto.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

TEST(CheckerTest, NothingWrongIsOk) {
  Checker check("f.textproto");
  check.Enter("libraries", 0, "kornia");
  check.Present("name", "kornia");
  check.OneOf("origin", "public", {"public", "ours"});
  check.That(true, "never said");
  EXPECT_TRUE(check.ok());
  EXPECT_TRUE(check.status().ok());
}

TEST(CheckerTest, ComplaintsNameFileAndEntry) {
  Checker check("f.textproto");
  check.Enter("libraries", 3, "kornia");
  check.Present("origin", "");
  EXPECT_EQ(check.status().message(),
            "f.textproto: libraries[3] (kornia): origin is missing");
}

TEST(CheckerTest, AnEntryWithoutANameHasItsNumber) {
  Checker check("f.textproto");
  check.Enter("libraries", 3, "");
  check.Present("name", "");
  EXPECT_EQ(check.status().message(),
            "f.textproto: libraries[3]: name is missing");
}

TEST(CheckerTest, UnknownWordsGetASuggestion) {
  Checker check("f.textproto");
  check.OneOf("device", "cuba", {"cpu", "cuda"});
  EXPECT_EQ(check.status().message(),
            "f.textproto: device \"cuba\" is unknown; did you mean \"cuda\"?");
}

TEST(CheckerTest, TheFirstComplaintStays) {
  Checker check("f.textproto");
  check.That(false, "first");
  check.That(false, "second");
  EXPECT_EQ(check.status().message(), "f.textproto: first");
}

constexpr char kGoodPolicy[] = R"(
  media { media: "image" slow_skip: true slow_threshold_s: 1
          preflight_items: 1 preflight_passes: 1 max_preflight_s: 1
          slow_marker: "slow" }
  media { media: "clip" slow_skip: true slow_threshold_s: 1
          preflight_items: 1 preflight_passes: 1 max_preflight_s: 1
          slow_marker: "slow" }
  threads { name: "one" modes: "micro" }
  modes { mode: "micro" media: "image" tool: "micro" default_num_items: 9
          default_scope: "s" default_thread_policy: "one" scopes: "s" }
  runs { default_num_runs: 5 }
  timing { min_batches: 1 }
  cost { job_overhead_s: 0 passes_per_run: 1
         default_throughput { media: "image" mode: "micro" device: "cpu"
                              items_per_s: 5 } }
)";

Policy GoodPolicy() {
  Policy policy;
  EXPECT_TRUE(ParseTextProto(kGoodPolicy, "good", &policy).ok());
  return policy;
}

std::string ErrorOf(const Policy& policy) {
  return std::string(CheckPolicy(policy, "p").message());
}

TEST(CheckPolicyTest, AcceptsTheSmallestPolicy) {
  EXPECT_EQ(ErrorOf(GoodPolicy()), "");
}

TEST(CheckPolicyTest, BothMediaAreNeeded) {
  Policy policy = GoodPolicy();
  policy.mutable_media()->RemoveLast();
  EXPECT_THAT(ErrorOf(policy), HasSubstr("an entry each for image and clip"));
}

TEST(CheckPolicyTest, NumbersAreWithinBounds) {
  Policy policy = GoodPolicy();
  policy.mutable_media(0)->set_slow_threshold_s(0);
  EXPECT_EQ(ErrorOf(policy),
            "p: media[0] (image): slow_threshold_s must be above 0");
  policy = GoodPolicy();
  policy.mutable_media(1)->set_preflight_items(0);
  EXPECT_THAT(ErrorOf(policy), HasSubstr("media[1] (clip): preflight_items"));
  policy = GoodPolicy();
  policy.mutable_runs()->set_default_num_runs(0);
  EXPECT_THAT(ErrorOf(policy), HasSubstr("runs.default_num_runs"));
  policy = GoodPolicy();
  policy.mutable_cost()->mutable_default_throughput(0)->set_items_per_s(0);
  EXPECT_EQ(ErrorOf(policy),
            "p: cost.default_throughput[0] (image, micro, cpu): items_per_s "
            "must be above 0");
  policy = GoodPolicy();
  policy.mutable_cost()->clear_job_overhead_s();
  EXPECT_THAT(ErrorOf(policy), HasSubstr("job_overhead_s"));
}

TEST(CheckPolicyTest, DefaultsAreAmongTheirChoices) {
  Policy policy = GoodPolicy();
  policy.mutable_modes(0)->set_default_scope("t");
  EXPECT_THAT(ErrorOf(policy),
              HasSubstr("modes[0] (micro, image): default_scope \"t\" is "
                        "unknown"));
  policy = GoodPolicy();
  policy.mutable_threads(0)->set_modes(0, "pipeline");
  EXPECT_THAT(ErrorOf(policy), HasSubstr("default_thread_policy \"one\""));
}

TEST(CheckPolicyTest, NothingIsThereTwice) {
  Policy policy = GoodPolicy();
  *policy.add_media() = policy.media(0);
  EXPECT_THAT(ErrorOf(policy), HasSubstr("media[2] (image)"));
  policy = GoodPolicy();
  *policy.add_modes() = policy.modes(0);
  EXPECT_THAT(ErrorOf(policy), HasSubstr("modes[1]"));
  policy = GoodPolicy();
  *policy.add_threads() = policy.threads(0);
  EXPECT_EQ(ErrorOf(policy), "p: threads[1] (one): this name is taken");
  policy = GoodPolicy();
  *policy.mutable_cost()->add_default_throughput() =
      policy.cost().default_throughput(0);
  EXPECT_THAT(ErrorOf(policy), HasSubstr("there twice"));
}

TEST(CheckPolicyTest, CampaignEntriesAreWhole) {
  Policy policy = GoodPolicy();
  policy.add_timeouts()->set_step("boot");
  EXPECT_EQ(ErrorOf(policy), "p: timeouts[0] (boot): seconds must be above 0");
  policy = GoodPolicy();
  policy.add_paper_order()->set_mode("micro");
  EXPECT_EQ(ErrorOf(policy), "p: paper_order[0]: scenario is missing");
  policy = GoodPolicy();
  policy.add_pinned_versions()->set_package("numpy");
  EXPECT_EQ(ErrorOf(policy),
            "p: pinned_versions[0] (numpy): version is missing");
}

TEST(CheckPolicyTest, CoverageIsLooseOrLeftOut) {
  Policy policy = GoodPolicy();
  CoveragePolicy* coverage = policy.mutable_coverage();
  coverage->set_copy_slack(2);
  coverage->set_pipeline_crop(224);
  coverage->set_limit_slack(1.25);
  coverage->set_video_over_image(20);
  EXPECT_EQ(ErrorOf(policy), "");
  coverage->set_copy_slack(0.9);
  EXPECT_EQ(ErrorOf(policy), "p: coverage.copy_slack must be at least 1");
}

constexpr char kModesPolicy[] = R"(
  modes { mode: "micro" media: "image" scopes: "augmentation_only" }
)";

constexpr char kGoodMatrix[] = R"(
  scenarios { name: "image-rgb" short_name: "rgb" media: "image" channels: 3
              public_libraries: ["kornia"] }
  libraries { name: "kornia" origin: "public" }
  combinations { scenario: "image-rgb" library: "kornia" mode: "micro"
                 device: "cuda" scopes: "augmentation_only" status: SUPPORTED }
  exceptions { scenario: "image-rgb" library: "kornia" transforms: "Shear"
               status: EXCLUDED reason: "It mixes tensors." }
)";

Matrix GoodMatrix() {
  Matrix matrix;
  EXPECT_TRUE(ParseTextProto(kGoodMatrix, "good", &matrix).ok());
  return matrix;
}

std::string ErrorOf(const Matrix& matrix) {
  Policy policy;
  EXPECT_TRUE(ParseTextProto(kModesPolicy, "policy", &policy).ok());
  return std::string(CheckMatrix(matrix, policy, "m").message());
}

TEST(CheckMatrixTest, AcceptsTheSmallestMatrix) {
  EXPECT_EQ(ErrorOf(GoodMatrix()), "");
}

TEST(CheckMatrixTest, EmptyMatrixIsNone) {
  EXPECT_EQ(ErrorOf(Matrix()), "m: no libraries");
  Matrix matrix = GoodMatrix();
  matrix.clear_scenarios();
  EXPECT_EQ(ErrorOf(matrix), "m: no scenarios");
}

TEST(CheckMatrixTest, ScenariosAreWhole) {
  Matrix matrix = GoodMatrix();
  matrix.mutable_scenarios(0)->clear_short_name();
  EXPECT_EQ(ErrorOf(matrix),
            "m: scenarios[0] (image-rgb): short_name is missing");
  matrix = GoodMatrix();
  matrix.mutable_scenarios(0)->set_media("clip");
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("clips need a clip_length"));
  matrix = GoodMatrix();
  matrix.mutable_scenarios(0)->set_clip_length(16);
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("images have no clip_length"));
  matrix = GoodMatrix();
  matrix.mutable_scenarios(0)->set_channels(0);
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("channels must be at least 1"));
  matrix = GoodMatrix();
  matrix.mutable_scenarios(0)->set_public_libraries(0, "kornai");
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("did you mean \"kornia\"?"));
}

TEST(CheckMatrixTest, NamesAreUnique) {
  Matrix matrix = GoodMatrix();
  *matrix.add_libraries() = matrix.libraries(0);
  EXPECT_EQ(ErrorOf(matrix), "m: libraries[1] (kornia): this name is taken");
  matrix = GoodMatrix();
  *matrix.add_scenarios() = matrix.scenarios(0);
  EXPECT_EQ(ErrorOf(matrix), "m: scenarios[1] (image-rgb): this name is taken");
  matrix = GoodMatrix();
  *matrix.add_combinations() = matrix.combinations(0);
  EXPECT_EQ(ErrorOf(matrix),
            "m: combinations[1] (image-rgb, kornia, micro, cuda): another "
            "combination has one of its scopes");
  matrix = GoodMatrix();
  matrix.mutable_combinations(0)->add_device("cuda");
  EXPECT_EQ(ErrorOf(matrix),
            "m: combinations[0] (image-rgb, kornia, micro, cuda+cuda): another "
            "combination has one of its scopes");
}

TEST(CheckMatrixTest, OriginIsOneOfTwo) {
  Matrix matrix = GoodMatrix();
  matrix.mutable_libraries(0)->set_origin("theirs");
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("origin \"theirs\" is unknown"));
}

TEST(CheckMatrixTest, CombinationsReferToWhatIsThere) {
  Matrix matrix = GoodMatrix();
  matrix.mutable_combinations(0)->set_scenario(0, "image-rbg");
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("did you mean \"image-rgb\"?"));
  matrix = GoodMatrix();
  matrix.mutable_combinations(0)->set_library(0, "x");
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("library \"x\" is unknown"));
  matrix = GoodMatrix();
  matrix.mutable_combinations(0)->set_device(0, "mps");
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("device \"mps\" is unknown"));
  matrix = GoodMatrix();
  matrix.mutable_combinations(0)->set_scopes(0, "decode_only");
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("scope \"decode_only\" is unknown"));
  matrix = GoodMatrix();
  matrix.mutable_combinations(0)->clear_scopes();
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("no scopes"));
  matrix = GoodMatrix();
  matrix.mutable_combinations(0)->clear_library();
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("library or device is missing"));
  matrix = GoodMatrix();
  matrix.mutable_combinations(0)->add_library("x");
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("library \"x\" is unknown"));
  matrix = GoodMatrix();
  matrix.mutable_combinations(0)->set_mode("train");
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("the policy has no such mode"));
  matrix = GoodMatrix();
  matrix.mutable_combinations(0)->add_labels("slowish");
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("label \"slowish\" is unknown"));
}

TEST(CheckMatrixTest, StatusAndReason) {
  Matrix matrix = GoodMatrix();
  matrix.mutable_combinations(0)->set_status(static_cast<CombinationStatus>(9));
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("status is unknown"));
  matrix.mutable_combinations(0)->clear_status();
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("status is missing"));
  matrix = GoodMatrix();
  matrix.mutable_combinations(0)->set_status(REJECTED);
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("REJECTED needs a reason"));
  matrix = GoodMatrix();
  matrix.mutable_combinations(0)->set_status(HOST_CPU);
  matrix.mutable_combinations(0)->set_device(0, "cpu");
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("HOST_CPU is for device cuda"));
}

TEST(CheckMatrixTest, ExceptionsAreWhole) {
  Matrix matrix = GoodMatrix();
  matrix.mutable_exceptions(0)->clear_reason();
  EXPECT_EQ(ErrorOf(matrix),
            "m: exceptions[0] (image-rgb, kornia): reason is missing");
  matrix = GoodMatrix();
  matrix.mutable_exceptions(0)->set_status(static_cast<CellStatus>(9));
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("status is unknown"));
  matrix.mutable_exceptions(0)->clear_status();
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("status is missing"));
  matrix = GoodMatrix();
  matrix.mutable_exceptions(0)->clear_transforms();
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("no transforms"));
  matrix = GoodMatrix();
  matrix.mutable_exceptions(0)->set_mode("macro");
  EXPECT_THAT(ErrorOf(matrix), HasSubstr("did you mean \"micro\"?"));
}

TEST(CheckMatrixTest, ExceptionsNameTransformsOfTheSet) {
  const Matrix matrix = GoodMatrix();
  TransformSet set;
  set.add_transforms()->set_name("Shear");
  EXPECT_TRUE(CheckExceptions(matrix, matrix.scenarios(0), set, "m").ok());
  set.mutable_transforms(0)->set_name("Sheer");
  EXPECT_EQ(CheckExceptions(matrix, matrix.scenarios(0), set, "m").message(),
            "m: exceptions[0] (kornia): transform \"Shear\" is unknown; did "
            "you mean \"Sheer\"?");
}

std::string ErrorOf(const std::string& text) {
  Matrix matrix;
  EXPECT_TRUE(ParseTextProto(R"(scenarios { name: "image-rgb" }
                                libraries { name: "kornia" })",
                             "matrix", &matrix)
                  .ok());
  TransformSet set;
  EXPECT_TRUE(ParseTextProto(text, "set", &set).ok());
  return std::string(
      CheckTransforms(set, matrix.scenarios(0), matrix, "t").message());
}

// A set of one transform with one implementation, whose fields are `fields`.
std::string With(const std::string& fields) {
  return "scenario: \"image-rgb\" transforms { name: \"Blur\" "
         "implementations { " +
         fields + " } }";
}

TEST(CheckTransformsTest, AcceptsAWholeImplementation) {
  EXPECT_EQ(ErrorOf(With(R"txt(library: "kornia" native_op: "RandomBoxBlur"
                            params: ["a=1", "b=(2,3)", "c=x=y"]
                            library_defaults: ["a=1"] modes: "micro")txt")),
            "");
}

TEST(CheckTransformsTest, TheFileIsThatOfTheScenario) {
  EXPECT_THAT(ErrorOf("scenario: \"image-9ch\""),
              HasSubstr("scenario is \"image-9ch\""));
}

TEST(CheckTransformsTest, NamesAreThereAndUnique) {
  EXPECT_EQ(ErrorOf("scenario: \"image-rgb\" transforms { }"),
            "t: transforms[0]: name is missing");
  EXPECT_EQ(ErrorOf("scenario: \"image-rgb\" transforms { name: \"Blur\" }"),
            "t: transforms[0] (Blur): no implementations");
  const std::string blur =
      "transforms { name: \"Blur\" implementations { library: \"kornia\" "
      "native_op: \"x\" } }";
  EXPECT_EQ(ErrorOf("scenario: \"image-rgb\"" + blur + blur),
            "t: transforms[1] (Blur): this name is taken");
}

TEST(CheckTransformsTest, ImplementationsAreWhole) {
  EXPECT_EQ(ErrorOf(With("library: \"kornai\" native_op: \"x\"")),
            "t: transforms[0] (Blur, kornai): library \"kornai\" is unknown; "
            "did you mean \"kornia\"?");
  EXPECT_EQ(ErrorOf(With("library: \"kornia\"")),
            "t: transforms[0] (Blur, kornia): native_op is missing");
  EXPECT_THAT(ErrorOf(With("library: \"kornia\" native_op: \"x\" "
                           "params_profile: \"fast\"")),
              HasSubstr("params_profile \"fast\" is unknown"));
  EXPECT_THAT(ErrorOf(With("library: \"kornia\" native_op: \"x\" "
                           "modes: \"macro\"")),
              HasSubstr("did you mean \"micro\"?"));
  EXPECT_THAT(
      ErrorOf(With("library: \"kornia\" native_op: \"x\" } "
                   "implementations { library: \"kornia\" native_op: \"y\"")),
      HasSubstr("there twice for one profile"));
}

TEST(CheckTransformsTest, ParametersAreNameAndValue) {
  const std::string good = "library: \"kornia\" native_op: \"x\" ";
  EXPECT_THAT(ErrorOf(With(good + "params: \"size\"")),
              HasSubstr("params \"size\" is not of the form NAME=VALUE"));
  EXPECT_THAT(ErrorOf(With(good + "params: \"=5\"")),
              HasSubstr("is not of the form NAME=VALUE"));
  EXPECT_THAT(ErrorOf(With(good + "params: [\"a=1\", \"a=2\"]")),
              HasSubstr("params has \"a\" twice"));
  EXPECT_THAT(ErrorOf(With(good + "params: \"a=1\\n2\"")),
              HasSubstr("line break"));
  EXPECT_THAT(ErrorOf(With(good + "library_defaults: \"b\"")),
              HasSubstr("library_defaults \"b\""));
}

// A transform with the fields `fields` beside its implementation.
std::string WithReference(const std::string& fields) {
  return "scenario: \"image-rgb\" transforms { name: \"Blur\" reference { " +
         fields +
         " } implementations { library: \"kornia\" native_op: \"x\" } }";
}

TEST(CheckTransformsTest, ReferencesAreWhole) {
  EXPECT_EQ(ErrorOf(WithReference("op: \"blur\" kind: FILTER "
                                  "params: \"size=5\" min_psnr_db: 45")),
            "");
  EXPECT_EQ(ErrorOf(WithReference("unchecked: \"Drawn.\"")), "");
  EXPECT_EQ(ErrorOf(WithReference("kind: FILTER")),
            "t: transforms[0] (Blur): reference.op is missing");
  EXPECT_EQ(ErrorOf(WithReference("op: \"blur\"")),
            "t: transforms[0] (Blur): reference has no kind");
  EXPECT_THAT(ErrorOf(WithReference("op: \"blur\" unchecked: \"Drawn.\"")),
              HasSubstr("both unchecked and an op"));
  EXPECT_THAT(ErrorOf(WithReference("unchecked: \"\"")),
              HasSubstr("reference.unchecked is missing"));
  EXPECT_THAT(
      ErrorOf(WithReference("op: \"blur\" kind: FILTER params: \"size\"")),
      HasSubstr("reference.params \"size\" is not of the form"));
  EXPECT_THAT(
      ErrorOf(WithReference("op: \"blur\" kind: POINT max_abs_diff: -1")),
      HasSubstr("max_abs_diff"));
}

}  // namespace
}  // namespace feedrate
