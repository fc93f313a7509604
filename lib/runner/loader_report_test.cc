#include "lib/runner/loader_report.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Row SomeRow() {
  Row row;
  row.set_library("native");
  row.set_transform("Blur");
  return row;
}

TEST(LoaderReportTest, SaysWhereTheTimeWent) {
  Row row = SomeRow();
  EXPECT_EQ(DiagnosisText(row), "");
  LoaderStage* const stage = row.mutable_loader()->add_stages();
  stage->set_name("decode");
  stage->set_busy_s(1.5);
  stage->set_queue_fill(0.25);
  LoaderDiagnosis* const diagnosis = row.mutable_loader()->mutable_diagnosis();
  diagnosis->set_verdict("decoding");
  diagnosis->set_explanation("decoding takes 80% of the time");
  LoaderAblation* const ablation = diagnosis->add_ablations();
  ablation->set_name("no_decode");
  ablation->set_throughput(1234.4);
  EXPECT_THAT(DiagnosisText(row),
              AllOf(HasSubstr("native Blur"), HasSubstr("1.500"),
                    HasSubstr("25%"), HasSubstr("no_decode: 1234 items/s"),
                    HasSubstr("decoding: decoding takes 80%")));
}

TEST(LoaderReportTest, HoldsUtilisationAgainstTheMark) {
  Row row = SomeRow();
  EXPECT_EQ(UtilisationText(row), "");
  row.mutable_loader()->set_consumer_step_s(0.05);
  row.mutable_loader()->set_utilisation_mark(0.9);
  row.mutable_loader()->set_consumer_utilisation(0.899);
  EXPECT_THAT(UtilisationText(row),
              AllOf(HasSubstr("89.9%"), HasSubstr("50.0 ms"),
                    HasSubstr("from 90% on: fail")));
  row.mutable_loader()->set_consumer_utilisation(0.9);
  EXPECT_THAT(UtilisationText(row), HasSubstr(": pass"));
}

TEST(LoaderReportTest, NamesTheFirstFault) {
  Row row = SomeRow();
  EXPECT_EQ(FaultsText(row), "");
  row.mutable_loader()->set_errors_total(2);
  LoaderFault* const fault = row.mutable_loader()->add_errors();
  fault->set_path("/data/x.jpg");
  fault->set_reason("ends too early");
  EXPECT_EQ(FaultsText(row),
            "native Blur: left out 2 items; the first: /data/x.jpg: ends too "
            "early\n");
}

}  // namespace
}  // namespace feedrate
