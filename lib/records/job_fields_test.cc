#include "lib/records/job_fields.h"

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "gtest/gtest.h"
#include "lib/records/job_id.h"

namespace feedrate {
namespace {

// The identity survives, so the runner gives the same id.
TEST(JobFieldsTest, KeepsTheIdentity) {
  Row row;
  row.set_scenario("image-rgb");
  row.set_mode("micro");
  row.set_scope("augmentation_only");
  row.set_library("opencv");
  row.set_transform("Resize");
  row.set_device("cpu");
  row.set_num_items(2000);
  row.set_thread_policy("micro-single");
  row.set_params_profile("paper");
  row.mutable_dataset()->set_id("imagenet");
  row.set_seed(7);
  (*row.mutable_settings())["x"] = "1";
  row.set_params_sha256("ab");
  row.add_labels("per_sample_loop");
  row.add_labels("memory_limited");
  const Job job = JobOfRow(row);
  EXPECT_EQ(
      CanonicalIdentity(job),
      "{\"dataset\":\"imagenet\",\"device\":\"cpu\",\"library\":"
      "\"opencv\",\"mode\":\"micro\",\"num_items\":2000,"
      "\"params_profile\":\"paper\",\"params_sha256\":\"ab\",\"scenario\":"
      "\"image-rgb\",\"scope\":\"augmentation_only\",\"seed\":7,"
      "\"settings\":{\"x\":\"1\"},\"thread_policy\":\"micro-single\","
      "\"transform\":\"Resize\"}");
  EXPECT_THAT(job.labels(), ::testing::ElementsAre("per_sample_loop"));
}

// Every field of a job is in its row or is named here, so that a field added
// to both is not forgotten.
TEST(JobFieldsTest, ARowHasWhatItsJobHas) {
  const std::set<std::string> not_in_rows = {"run_indexes", "cost_s", "output",
                                             "unsupported_reason"};
  Job job;
  const auto* fields = Job::descriptor();
  for (int i = 0; i < fields->field_count(); ++i) {
    const auto* field = fields->field(i);
    if (field->is_repeated()) continue;
    switch (field->cpp_type()) {
      case google::protobuf::FieldDescriptor::CPPTYPE_STRING:
        job.GetReflection()->SetString(&job, field, field->name());
        break;
      case google::protobuf::FieldDescriptor::CPPTYPE_INT32:
        job.GetReflection()->SetInt32(&job, field, 100 + i);
        break;
      case google::protobuf::FieldDescriptor::CPPTYPE_INT64:
        job.GetReflection()->SetInt64(&job, field, 100 + i);
        break;
      default:
        break;
    }
  }
  (*job.mutable_settings())["prefetch"] = "2";
  job.add_labels("optional");
  Job expected = job;
  for (const std::string& name : not_in_rows) {
    expected.GetReflection()->ClearField(&expected,
                                         fields->FindFieldByName(name));
  }
  EXPECT_EQ(JobOfRow(RowOfJob(job)).DebugString(), expected.DebugString());
}

}  // namespace
}  // namespace feedrate
