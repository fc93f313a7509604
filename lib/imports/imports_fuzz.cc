// Reads any bytes as results of the harness that they look like, and of one
// that depends on their number: never crashes, and every row that is `ok` has a
// time.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "lib/imports/imports.h"
#include "lib/records/row.pb.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string>& names = feedrate::ImportNames();
  for (const std::string& harness :
       {std::string(), names[size % names.size()]}) {
    feedrate::Importer importer(harness, [&](const feedrate::Row& row) {
      CHECK(!row.job_id().empty());
      if (row.status() == "ok") {
        CHECK(row.throughput() > 0 && std::isfinite(row.throughput()));
        CHECK(row.elapsed_s() >= 0);
      }
      return absl::OkStatus();
    });
    const absl::Status status = importer.ReadText("kornia_results.json", text,
                                                  /*may_read_files=*/false);
    if (!status.ok()) {
      CHECK(absl::StartsWith(status.message(), "kornia_results.json: "))
          << status;
    }
  }
  return 0;
}
