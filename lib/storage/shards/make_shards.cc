#include "lib/storage/shards/make_shards.h"

#include <memory>

#include "absl/status/status.h"
#include "lib/base/status_macros.h"
#include "lib/storage/read_many.h"
#include "lib/storage/shards/shard_writer.h"

namespace feedrate {
namespace {

// Bytes that are read at once: enough for many connections.
constexpr int64_t kAtOnce = int64_t{64} << 20;

}  // namespace

absl::StatusOr<ShardTotals> MakeShards(
    const std::vector<ObjectInfo>& objects, const std::string& folder,
    int64_t shard_bytes, ObjectStore* store,
    const std::function<void(int64_t done, int64_t total)>& progress) {
  // Before anything is read, so that an hour's work does not end with a name.
  for (const ObjectInfo& object : objects) {
    RETURN_IF_ERROR(MemberName(object.name).status());
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<ShardWriter> writer,
                   ShardWriter::Create(folder, shard_bytes));
  std::vector<std::string> contents;
  for (size_t begin = 0, end; begin < objects.size(); begin = end) {
    end = EndOfRun(objects, begin, kAtOnce);
    RETURN_IF_ERROR(ReadObjects(objects, begin, end, store, &contents));
    for (size_t i = begin; i < end; ++i) {
      RETURN_IF_ERROR(writer->Add(objects[i].name, contents[i - begin]));
    }
    if (progress) {
      progress(static_cast<int64_t>(end), static_cast<int64_t>(objects.size()));
    }
  }
  RETURN_IF_ERROR(writer->Finish());
  ShardTotals totals;
  totals.shards = writer->shards();
  totals.samples = writer->samples();
  totals.bytes = writer->bytes();
  return totals;
}

}  // namespace feedrate
