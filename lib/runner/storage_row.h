// The store's part of a row.
#ifndef FEEDRATE_LIB_RUNNER_STORAGE_ROW_H_
#define FEEDRATE_LIB_RUNNER_STORAGE_ROW_H_

#include <optional>
#include <string>
#include <vector>

#include "lib/records/records.pb.h"
#include "lib/worker/loader_message.h"

namespace feedrate {

// Bytes a second while at least one request was under way, in 1e6. Nothing when
// there were none.
std::optional<double> DownloadMbPerS(const std::vector<EpochReply>& epochs);

// Requests at once that the loader of `spec` may have under way. 0: it reads
// from no store.
int ConnectionsOf(const LoaderSpec& spec);

// Fills in `storage` when the epochs have it. `one_connection_mb_per_s` is what
// one connection reached. REQUIRES: SetEpochs was called.
void SetStorage(const std::vector<EpochReply>& epochs, const LoaderSpec& spec,
                std::optional<double> one_connection_mb_per_s, Row* row);

// One line for a person. Empty without `storage`.
std::string StorageText(const Row& row);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_STORAGE_ROW_H_
