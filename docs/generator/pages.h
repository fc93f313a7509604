// All generated pages under docs/, and reference pages from compiled schemas.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/descriptor.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/matrix.pb.h"
#include "lib/records/row.pb.h"

namespace feedrate {

// Schemas out of a file that protoc wrote with --descriptor_set_out and
// --include_source_info.
absl::StatusOr<std::unique_ptr<google::protobuf::DescriptorPool>> ReadSchemas(
    const std::string& path);

// The comment on top of `file`, as paragraphs.
std::string FileComment(const google::protobuf::FileDescriptor& file);

// All messages and enums of `file`: for each a heading of `level`, what it is,
// and a table of its fields. A field without a comment is described by the
// `earlier` message that has a field of its name; those of `file` are added.
std::string SchemaSections(
    const google::protobuf::FileDescriptor& file, int level,
    std::vector<const google::protobuf::Descriptor*>& earlier);

// The page that says what is measured, what is not, and why.
absl::StatusOr<std::string> ScopePage(const Catalogue& catalogue);

// The page of one transform set: members with what each library is asked for,
// one line per transform, where libraries do different work under one name, and
// what is not a member and why. REQUIRES: `scenario` is of `catalogue`.
absl::StatusOr<std::string> TransformsPage(const Catalogue& catalogue,
                                           const Scenario& scenario);

// Reads what `micro --verify --format=jsonl` wrote to `path`. InvalidArgument
// when a line is broken.
absl::StatusOr<std::vector<Verification>> ReadVerifications(
    const std::string& path);

// The page that says which libraries do the same work: a table for each
// scenario and profile, with what is different and why. Reasons are the
// measured ones, and the notes that the catalogue has on libraries and
// transforms.
absl::StatusOr<std::string> EquivalencePage(
    const Catalogue& catalogue, const std::vector<Verification>& verifications);

struct Page {
  // From the workspace root, such as "docs/scope.md".
  std::string path;
  std::string content;
};

// Writes every page from the schemas and the catalogue. Reads both relative to
// the current folder, as `bazel run` and `bazel test` lay them out.
absl::StatusOr<std::vector<Page>> GeneratePages();

// OK when the files below `root` are what `pages` says; else FailedPrecondition
// that names the stale page and the command that renews it.
absl::Status CheckPages(const std::vector<Page>& pages,
                        const std::string& root);

// Writes `pages` below `root`.
absl::Status WritePages(const std::vector<Page>& pages,
                        const std::string& root);

}  // namespace feedrate
