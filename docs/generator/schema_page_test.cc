#include "docs/generator/schema_page.h"

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

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
  const std::string text = SchemaSections(*file, 2);
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
