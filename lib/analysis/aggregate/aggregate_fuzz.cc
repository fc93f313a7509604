// Reads any bytes as a file of rows: never crashes, never reads out of bounds.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "lib/analysis/aggregate/aggregate.h"
#include "lib/analysis/aggregate/aggregate_records.h"
#include "lib/analysis/rows/row_log.h"

namespace feedrate {
namespace {

std::string Answer(int fd) {
  AggregateOptions options;
  options.by = {"library", "run_index", "labels", "settings.a"};
  options.mix = HeldFields();
  options.threads = 1;
  auto aggregator = RowAggregator::Create(options);
  CHECK(aggregator.ok()) << aggregator.status();
  CHECK((*aggregator)->ReadPaths({absl::StrCat("/proc/self/fd/", fd)}).ok());
  const auto result = (*aggregator)->Finish();
  return result.ok() ? RenderJsonl(*result) : std::string();
}

}  // namespace
}  // namespace feedrate

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int fd = memfd_create("rows", MFD_CLOEXEC);
  CHECK_GE(fd, 0);
  CHECK_EQ(write(fd, data, size), static_cast<ssize_t>(size));
  // Twice, because the result must not depend on what was read before.
  CHECK_EQ(feedrate::Answer(fd), feedrate::Answer(fd));
  close(fd);
  return 0;
}
