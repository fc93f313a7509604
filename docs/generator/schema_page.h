// Reference pages from compiled schemas with their comments.
#ifndef FEEDRATE_DOCS_GENERATOR_SCHEMA_PAGE_H_
#define FEEDRATE_DOCS_GENERATOR_SCHEMA_PAGE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"

namespace feedrate {

// Schemas out of a file that protoc wrote with --descriptor_set_out and
// --include_source_info.
absl::StatusOr<std::unique_ptr<google::protobuf::DescriptorPool>> ReadSchemas(
    const std::string& path);

// The comment on top of `file`, as paragraphs.
std::string FileComment(const google::protobuf::FileDescriptor& file);

// All messages and enums of `file`: for each a heading of `level`, what it is,
// and a table of its fields. A field without a comment is described by the
// earlier message that has a field of its name.
std::string SchemaSections(const google::protobuf::FileDescriptor& file,
                           int level);

}  // namespace feedrate

#endif  // FEEDRATE_DOCS_GENERATOR_SCHEMA_PAGE_H_
