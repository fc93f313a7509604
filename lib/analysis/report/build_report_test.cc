#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/report/make_report.h"
#include "lib/analysis/report/report_data.h"
#include "lib/analysis/report/sections.h"
#include "lib/analysis/report/speed_ups.h"
#include "lib/analysis/testing/rows.h"
#include "lib/draw/document.h"
#include "lib/records/job.pb.h"
#include "lib/records/loader.pb.h"
#include "lib/records/row.pb.h"
#include "lib/records/train.pb.h"

namespace feedrate {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<Row> Together(const std::vector<std::vector<Row>>& parts) {
  std::vector<Row> rows;
  for (const auto& part : parts) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

std::vector<std::string> TitlesOf(const ReportInput& input) {
  std::vector<std::string> titles;
  for (const Section& section : BuildReport(input, {}).sections) {
    if (section.level == 1) titles.push_back(section.id);
  }
  return titles;
}

TEST(ReportTest, PipelinesComeBeforeMicro) {
  ReportInput input;
  input.rows =
      Together({MakeRuns("a", "Blur", 100), MakeRuns("b", "Blur", 50)});
  Row pipeline = MakeRow("a", "Blur", 10);
  pipeline.set_job_id("p");
  pipeline.set_mode("pipeline");
  input.rows.push_back(pipeline);
  EXPECT_THAT(TitlesOf(input),
              ElementsAre("summary", "pipelines", "micro", "noise"));
}

TEST(ReportTest, LoadersSayWhereTheirTimeGoes) {
  ReportInput input;
  Row row = MakeRow("native", "Blur", 10);
  row.set_mode("pipeline");
  row.set_workers(2);
  LoaderStats* const loader = row.mutable_loader();
  loader->set_startup_s(0.0125);
  loader->set_worker_efficiency(0.75);
  for (const char* name : {"read", "decode"}) {
    LoaderStage* const stage = loader->add_stages();
    stage->set_name(name);
    stage->set_busy_s(name[0] == 'r' ? 1 : 3);
  }
  loader->mutable_diagnosis()->set_verdict("decoding");
  loader->mutable_diagnosis()->set_explanation("decoding takes 80%");
  input.rows = {row};
  const std::string text = ToMarkdown(BuildReport(input, {}), "");
  EXPECT_THAT(text, HasSubstr("native, Blur, workers 2"));
  EXPECT_THAT(text, HasSubstr("12.5"));
  EXPECT_THAT(text, HasSubstr("75%"));
  EXPECT_THAT(text, HasSubstr("25%"));
  EXPECT_THAT(text, HasSubstr("decoding takes 80%"));
}

TEST(ReportTest, FailuresAreListedAndNeverAveraged) {
  ReportInput input;
  input.rows = MakeRuns("a", "Blur", 100);
  input.rows.push_back(MakeRow("b", "Blur", 77777));
  input.rows.back().set_status("failed");
  input.rows.back().set_reason("it broke");
  const std::string text = ToMarkdown(BuildReport(input, {}), "");
  EXPECT_THAT(text, HasSubstr("it broke"));
  EXPECT_EQ(text.find("77,777"), std::string::npos);
}

TEST(ReportTest, NothingIsMixed) {
  std::vector<Row> rows =
      Together({MakeRuns("a", "Blur", 100), MakeRuns("a", "Blur", 200)});
  for (int i = 3; i < 6; ++i) rows[i].set_machine_profile("other");
  EXPECT_EQ(CellsOf(rows).size(), 2u);
  for (int i = 3; i < 6; ++i) {
    rows[i].set_machine_profile("machine");
    rows[i].set_library_version("2.0");
  }
  EXPECT_EQ(CellsOf(rows).size(), 2u);
}

std::string TextOf(std::vector<Row> rows, std::vector<Run> runs = {}) {
  ReportInput input;
  input.rows = std::move(rows);
  input.runs = std::move(runs);
  return ToMarkdown(BuildReport(input, {}), "");
}

// In the table and in every chart, not only under the pointer.
TEST(ReportTest, SaysWhoseOutputIsWrongAndWhatQualifiesSpeeds) {
  std::vector<Row> rows =
      Together({MakeRuns("a", "Blur", 100), MakeRuns("a", "Flip", 100),
                MakeRuns("b", "Blur", 50), MakeRuns("b", "Flip", 50)});
  for (Row& row : rows) {
    row.mutable_limit()->set_throughput(1000);
    row.set_of_limit(row.throughput() / 1000);
    if (row.library() == "b") row.add_labels("per_sample_loop");
    if (row.library() == "a" && row.transform() == "Flip") {
      row.mutable_equivalence()->set_label("different");
    }
  }
  ReportInput input;
  input.rows = rows;
  const std::string text = ToMarkdown(BuildReport(input, {}), "figures");
  EXPECT_THAT(text, ContainsRegex("Flip \\| 100 .*output different"));
  EXPECT_THAT(text, Not(ContainsRegex("Blur \\| [^|]*output different")));
  EXPECT_THAT(text, HasSubstr("† b, Blur: per_sample_loop; a, Flip: output "
                              "different; b, Flip: per_sample_loop."));
  int charts = 0;
  const Document document = BuildReport(input, {});
  for (const Section& section : document.sections) {
    for (const Block& block : section.blocks) {
      const Figure* const figure = absl::get_if<Figure>(&block);
      if (figure == nullptr || !absl::StrContains(figure->id, "micro"))
        continue;
      const std::string svg =
          figure->draw(ScaleType::kLinear, kWideFigure).ToFile();
      const bool is_heat = absl::StrContains(figure->id, "heat-map");
      // A label is text of its own, not only the title under the pointer.
      EXPECT_THAT(svg, ContainsRegex(is_heat ? "<text[^>]*>100†</text>"
                                             : "<text[^>]*>[^<]*per_sample"))
          << figure->id;
      ++charts;
    }
  }
  EXPECT_GE(charts, 3);
}

TEST(ReportTest, ResultsComeBeforeCommands) {
  std::vector<Row> rows =
      Together({MakeRuns("a", "Blur", 100), MakeRuns("b", "Blur", 50)});
  for (Row& row : rows) row.set_run_id("r");
  rows[0].add_warnings("noisy");
  feedrate::Run run;
  run.set_run_id("r");
  run.add_command("micro");
  const std::string text = TextOf(rows, {run});
  ASSERT_THAT(text, HasSubstr("Noise: 1 of 6 runs"));
  EXPECT_LT(text.find("In short:"), text.find("Noise: 1 of 6 runs"));
}

// Who is fastest, by how much and how sure, before anything else; with one
// library, or too few runs, what can be said.
TEST(ReportTest, AnswersComeFirst) {
  const std::string text = TextOf(
      Together({MakeRuns("a", "Blur", 100), MakeRuns("b", "Blur", 50),
                MakeRuns("a", "Flip", 100), MakeRuns("b", "Flip", 100.01),
                MakeRuns("a", "Crop", 10)}));
  EXPECT_THAT(
      text, ContainsRegex("Blur[^|]*\\| \\*\\*a\\*\\*[^|]*100 images/s[^|]*\\| "
                          "2\\.00× \\[[^|]*of b[^|]*\\| sure: 3 and 3 runs"));
  EXPECT_THAT(text,
              ContainsRegex("Flip[^|]*\\| b [^|]*\\| 1\\.00×[^|]*\\| tied"));
  EXPECT_THAT(text,
              ContainsRegex("Crop[^|]*\\| a [^|]*\\|[^|]*\\| 3 runs \\|"));
  EXPECT_LT(text.find("Which is fastest"), text.find("What: "));

  // More lines than a screen has.
  std::vector<std::vector<Row>> many;
  for (char name = 'a'; name <= 'm'; ++name) {
    many.push_back(MakeRuns("a", std::string(1, name), 100));
  }
  EXPECT_THAT(TextOf(Together(many)), Not(HasSubstr("Which is fastest")));
}

TEST(ReportTest, CountsNothingThatIsNotThere) {
  std::vector<Row> rows =
      Together({MakeRuns("", "", 100), MakeRuns("", "", 50)});
  for (size_t i = 0; i < rows.size(); ++i) {
    Row& row = rows[i];
    row.set_scenario("");
    row.set_device("");
    row.set_mode("command");
    row.set_rss_peak_bytes(1 << 20);
    row.mutable_pair()->set_side(i < 3 ? "a" : "b");
    row.set_throughput(row.throughput() * (i % 3 == 0 ? 3 : 1));
  }
  const std::string text = TextOf(rows);
  EXPECT_THAT(text, Not(HasSubstr("libraries:")));
  EXPECT_THAT(text, Not(HasSubstr("transforms: ")));
  EXPECT_THAT(text, HasSubstr("- machine: **1**"));
  EXPECT_THAT(text, HasSubstr("| mode | A | B | fastest |"));
  EXPECT_THAT(text, HasSubstr("| command | "));
  EXPECT_THAT(text, HasSubstr("| A, command | 1.00 MiB |"));
  EXPECT_THAT(text, HasSubstr("| A | 3 | "));
  EXPECT_THAT(text, Not(HasSubstr("|  |  |")));
  EXPECT_THAT(text, Not(HasSubstr("–")));
}

TEST(ReportTest, NobodyWinsWithoutEvidence) {
  const std::string separate =
      TextOf(Together({MakeRuns("a", "Blur", 100), MakeRuns("b", "Blur", 50)}));
  EXPECT_THAT(separate, HasSubstr("| a 1 of 1 "));
  EXPECT_THAT(separate, HasSubstr("| Blur | **100**"));

  const std::string tied = TextOf(
      Together({MakeRuns("a", "Blur", 100), MakeRuns("b", "Blur", 100.01)}));
  EXPECT_THAT(tied, HasSubstr("tied 1 of 1"));
  EXPECT_THAT(tied, HasSubstr("b, a: tied; "));
  EXPECT_THAT(tied, Not(HasSubstr("**100")));

  const std::string once =
      TextOf({MakeRow("a", "Blur", 100), MakeRow("b", "Blur", 50)});
  EXPECT_THAT(once, HasSubstr("a, b: tied; 3 runs would show the spread"));
  EXPECT_THAT(once, Not(HasSubstr("**100")));
  EXPECT_THAT(once, HasSubstr("nothing comparable"));

  std::vector<Row> rows =
      Together({MakeRuns("a", "Blur", 100), MakeRuns("b", "Blur", 50)});
  for (Row& row : rows) row.mutable_equivalence()->set_label("different");
  EXPECT_THAT(TextOf(rows), HasSubstr("different work 1 of 1"));
}

TEST(ReportTest, NoiseIsCountedAndCanBeMeasuredAgain) {
  std::vector<Row> rows =
      Together({MakeRuns("a", "Blur", 100), MakeRuns("b", "Blur", 50)});
  EXPECT_THAT(TextOf(rows), Not(HasSubstr("noisy runs |")));
  for (int i = 0; i < 3; ++i) {
    rows[i].set_run_id("r");
    rows[i].add_warnings(i == 0 ? "noisy" : "contended");
  }
  feedrate::Run run;
  run.set_run_id("r");
  for (const char* word :
       {"micro", "--config=my config", "--output=rows.jsonl", "--resume"}) {
    run.add_command(word);
  }
  const std::string text = TextOf(rows, {run});
  EXPECT_THAT(text, HasSubstr("noisy runs |"));
  EXPECT_THAT(text, HasSubstr("| 3 of 6"));
  EXPECT_THAT(text, HasSubstr("Noise: 3 of 6 runs"));
  EXPECT_THAT(text, HasSubstr("micro '--config=my config' --libraries=a "
                              "--transforms=Blur --output=again.jsonl\n"));
  EXPECT_THAT(text, HasSubstr("disturbed runs are no evidence"));
  EXPECT_THAT(text, Not(HasSubstr("**100")));
}

TEST(ReportTest, TheHarnessIsAFootnote) {
  const std::string text = TextOf(Together(
      {MakeRuns("a", "Blur", 100), MakeRuns("null", "Nothing", 1000)}));
  EXPECT_THAT(text, HasSubstr("- library: **1**"));
  EXPECT_THAT(text, HasSubstr("cells measured: **1 / 1**"));
  EXPECT_THAT(text, HasSubstr("Footnote on harness cost"));
  EXPECT_THAT(text, HasSubstr("1,001 images/s (999 µs per image)"));
}

TEST(ReportTest, TrainingSaysWhereTheStepGoes) {
  Row row = MakeRow("feedrate", "", 81);
  row.set_mode("train");
  row.set_batch_size(4);
  Train* const train = row.mutable_train();
  train->set_model("vit5_tiny");
  train->set_precision("bf16");
  train->set_loader("native");
  train->set_step_time_mean(0.05);
  train->mutable_budget()->set_data_wait_s(0.01);
  train->mutable_budget()->set_forward_s(0.015);
  train->mutable_budget()->set_backward_s(0.025);
  train->set_mfu_exact(0.42);
  const std::string text = TextOf({row});
  EXPECT_THAT(text, HasSubstr("feedrate, vit5_tiny, bf16, batch 4, native"));
  for (const char* cell : {"10.0 20.0%", "15.0 30.0%", "25.0 50.0%", "42%"}) {
    EXPECT_THAT(text, HasSubstr(cell));
  }
  EXPECT_THAT(text, HasSubstr("data wait"));
  // Nothing in this row: no column.
  for (const char* name : {"gradient sync", "GPU use", "skipped files"}) {
    EXPECT_THAT(text, Not(HasSubstr(name)));
  }
  row.mutable_train()->set_gpu_use(0.9);
  EXPECT_THAT(TextOf({row}), HasSubstr("GPU use"));
}

TEST(ReportTest, TrainingHasItsStorageOptimizationsAndScaling) {
  Row one = MakeRow("feedrate", "", 100);
  one.set_mode("train");
  one.set_throughput(100);
  one.mutable_train()->set_world_size(1);
  one.mutable_train()->set_optimizer_in_step(true);
  one.mutable_train()->set_step_time_mean(0.01);
  one.mutable_train()->set_precision("bf16");
  one.mutable_train()->set_engine("fused");
  one.mutable_train()->set_storage("ext4, 900 MB/s");
  one.mutable_train()->set_grad_norm(1.25);
  // As Slurm has them: of another run.
  Row four = one;
  four.set_job_id("four");
  four.set_run_id("another");
  (*four.mutable_settings())["world_size"] = "4";
  four.set_throughput(300);
  four.mutable_train()->set_world_size(4);
  const std::string text = TextOf({one, four});
  for (const char* cell : {"ext4, 900 MB/s", "bf16, fused engine", "1.25",
                           "scaling efficiency", "75%"}) {
    EXPECT_THAT(text, HasSubstr(cell));
  }
}

TEST(ReportTest, LoadersShowStoreAndGpu) {
  Row row = MakeRow("native", "Blur", 10);
  row.set_mode("pipeline");
  row.mutable_loader()->mutable_gpu()->set_busy(0.77);
  row.mutable_storage()->set_scheme("s3");
  row.mutable_storage()->set_download_mb_per_s(123);
  row.mutable_storage()->set_retries(4);
  const std::string text = TextOf({row});
  for (const char* cell : {"GPU busy", "77%", "s3", "MB/s", "123", "retries"}) {
    EXPECT_THAT(text, HasSubstr(cell));
  }
  EXPECT_THAT(text, Not(HasSubstr("cache hits")));
}

TEST(ReportTest, TheContentsNameEverythingOnce) {
  ReportInput input;
  input.rows = MakeRuns("a", "Blur", 100);
  for (const Row& row : MakeRuns("a", "Flip", 100)) {
    input.rows.push_back(row);
    input.rows.back().set_mode("pipeline");
  }
  const auto contents = [&] {
    int entries = 0;
    for (const Section& section : BuildReport(input, {}).sections) {
      entries += section.in_contents && section.level == 2 ? 1 : 0;
    }
    return entries;
  };
  EXPECT_EQ(contents(), 0);
  input.rows.push_back(MakeRow("a", "Blur", 100));
  input.rows.back().set_job_id("on a GPU");
  input.rows.back().set_device("cuda");
  EXPECT_EQ(contents(), 2);
}

TEST(ReportTest, SweepsNameTheAxesThatStand) {
  std::vector<Row> rows;
  for (const int workers : {0, 2}) {
    for (const int batch : {8, 64}) {
      rows.push_back(MakeRow("a", "Blur", 100));
      rows.back().set_workers(workers);
      rows.back().set_batch_size(batch);
      rows.back().set_job_id(absl::StrCat(workers, " ", batch));
    }
  }
  const std::vector<ReportCell> cells = CellsOf(rows);
  std::vector<std::string> captions;
  for (const Block& block : SettingSection(SettingsOf(cells)[0], {}).blocks) {
    const Figure* figure = absl::get_if<Figure>(&block);
    if (figure != nullptr) captions.push_back(figure->caption);
  }
  EXPECT_THAT(captions, Contains(HasSubstr("by `workers` at `batch_size=8`")));
  EXPECT_THAT(captions, Contains(HasSubstr("by `batch_size` at `workers=0`")));
}

TEST(ReportTest, UnstableCellsOfASweepNameTheirSetting) {
  std::vector<Row> rows;
  for (const int workers : {0, 2}) {
    for (int run = 0; run < 3; ++run) {
      rows.push_back(MakeRow("a", "Blur", 100 * (1 + run), run));
      rows.back().set_workers(workers);
      rows.back().set_job_id(absl::StrCat(workers));
    }
  }
  const std::vector<ReportCell> cells = CellsOf(rows);
  std::vector<std::string> header;
  std::vector<std::string> settings;
  const Section section = *NoiseSection(cells);
  for (const Block& block : section.blocks) {
    const auto* table = absl::get_if<DocumentTable>(&block);
    if (table == nullptr || !absl::StartsWith(table->caption, "Unstable")) {
      continue;
    }
    header = table->header;
    for (const auto& row : table->rows) {
      for (const DocumentCell& cell : row) {
        if (absl::StartsWith(cell.text, "workers=")) {
          settings.push_back(cell.text);
        }
      }
    }
  }
  EXPECT_THAT(header, Contains("setting"));
  EXPECT_THAT(settings,
              ElementsAre(HasSubstr("workers=0"), HasSubstr("workers=2")));
}

TEST(ReportTest, ThousandsOfRunsAreNotThousandsOfDots) {
  const auto spread_of = [](int runs) {
    std::vector<Row> rows;
    for (int run = 0; run < runs; ++run) {
      rows.push_back(MakeRow("a", "Blur", 100 + run % 7, run));
    }
    // One that is far off.
    rows.push_back(MakeRow("a", "Blur", 500, runs));
    const std::vector<ReportCell> cells = CellsOf(rows);
    const Section section = *NoiseSection(cells);
    for (const Block& block : section.blocks) {
      const auto* figure = absl::get_if<Figure>(&block);
      if (figure != nullptr && figure->id == "noise-spread") return *figure;
    }
    return Figure();
  };
  const auto dots = [](const Figure& figure) {
    const std::string svg = figure.draw(ScaleType::kLinear, 760).ToFile();
    const std::vector<std::string> parts = absl::StrSplit(svg, "<circle");
    return parts.size() - 1;
  };
  EXPECT_EQ(dots(spread_of(300)), 301u);
  EXPECT_THAT(spread_of(300).caption, HasSubstr("Every run against"));
  const Figure many = spread_of(5000);
  EXPECT_EQ(dots(many), 400u);
  EXPECT_THAT(many.caption, HasSubstr("more than 400, the ones furthest off"));
  // Its median is 103.
  EXPECT_THAT(many.draw(ScaleType::kLinear, 760).ToFile(), HasSubstr("400"));
}

TEST(ReportTest, SpeedUpsNeedTheSameWork) {
  std::vector<Row> rows =
      Together({MakeRuns("a", "Blur", 100), MakeRuns("a", "Flip", 100),
                MakeRuns("b", "Blur", 300), MakeRuns("b", "Flip", 50)});
  for (int i = 9; i < 12; ++i) {
    rows[i].mutable_equivalence()->set_label("different");
  }
  const std::vector<ReportCell> cells = CellsOf(rows);
  const std::vector<Setting> settings = SettingsOf(cells);
  ASSERT_EQ(settings.size(), 1u);
  const auto strict = SpeedUpsOf(settings[0], "a", false);
  ASSERT_EQ(strict->libraries.size(), 1u);
  EXPECT_EQ(strict->libraries[0].lines.size(), 1u);
  EXPECT_NEAR(strict->libraries[0].mean.value, 3, 1e-9);
  EXPECT_TRUE(strict->libraries[0].lines[0].ratio.whiskers.has_value());
  EXPECT_EQ(strict->left_out, 1);
  EXPECT_EQ(SpeedUpsOf(settings[0], "a", true)->left_out, 0);
  EXPECT_FALSE(SpeedUpsOf(settings[0], "nosuch", true).has_value());
}

TEST(ReportTest, SweepsAreFoundAndSortedAsNumbers) {
  std::vector<Row> rows;
  for (const int workers : {10, 2, 0}) {
    rows.push_back(MakeRow("a", "Blur", 100 + workers));
    rows.back().set_workers(workers);
    rows.back().set_job_id("w" + std::to_string(workers));
  }
  const std::vector<ReportCell> cells = CellsOf(rows);
  const std::vector<Setting> settings = SettingsOf(cells);
  ASSERT_EQ(settings.size(), 1u);
  EXPECT_THAT(settings[0].swept, ElementsAre("workers"));
  ASSERT_EQ(settings[0].lines.size(), 3u);
  EXPECT_EQ(settings[0].lines[1].Name(), "Blur, workers=2");
  EXPECT_EQ(settings[0].lines[2].Name(), "Blur, workers=10");
}

}  // namespace
}  // namespace feedrate
