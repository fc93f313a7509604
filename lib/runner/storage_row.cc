#include "lib/runner/storage_row.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

StorageCounts Sum(const std::vector<EpochReply>& epochs) {
  StorageCounts sum;
  for (const EpochReply& epoch : epochs) {
    if (!epoch.storage.has_value()) continue;
    sum.requests += epoch.storage->requests;
    sum.bytes += epoch.storage->bytes;
    sum.retries += epoch.storage->retries;
    sum.checksum_faults += epoch.storage->checksum_faults;
    sum.busy_s += epoch.storage->busy_s;
    sum.cache_hits += epoch.storage->cache_hits;
    sum.cache_misses += epoch.storage->cache_misses;
    sum.cache_bad_entries += epoch.storage->cache_bad_entries;
    sum.cache_write_failures += epoch.storage->cache_write_failures;
  }
  return sum;
}

std::optional<double> Rate(const StorageCounts& counts) {
  if (counts.bytes == 0 || counts.busy_s <= 0) return std::nullopt;
  return static_cast<double>(counts.bytes) / counts.busy_s / 1e6;
}

// Workers wait for bytes, or read them themselves; the rest is their work.
std::optional<double> NetworkShare(const LoaderStats& loader) {
  double waited_s = 0, read_s = 0, worked_s = 0;
  for (const LoaderStage& stage : loader.stages()) {
    if (stage.name() == "read") {
      read_s += stage.busy_s();
    } else if (stage.name() != "copy") {
      worked_s += stage.busy_s();
      waited_s += stage.wait_in_s();
    }
  }
  if (waited_s == 0) waited_s = read_s;
  if (waited_s + worked_s <= 0) return std::nullopt;
  return waited_s / (waited_s + worked_s);
}

std::string FieldOf(const std::map<std::string, std::string>& fields,
                    const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? "" : found->second;
}

}  // namespace

std::optional<double> DownloadMbPerS(const std::vector<EpochReply>& epochs) {
  return Rate(Sum(epochs));
}

int ConnectionsOf(const LoaderSpec& spec) {
  std::string text = FieldOf(spec.settings, "connections");
  if (text.empty()) text = FieldOf(spec.store, "connections");
  int connections = 0;
  return !spec.store.empty() && absl::SimpleAtoi(text, &connections)
             ? connections
             : 0;
}

void SetStorage(const std::vector<EpochReply>& epochs, const LoaderSpec& spec,
                std::optional<double> one_connection_mb_per_s, Row* row) {
  if (epochs.empty() || !epochs[0].storage.has_value()) return;
  const StorageCounts counts = Sum(epochs);
  Storage* const storage = row->mutable_storage();
  const std::string url = FieldOf(spec.store, "url");
  storage->set_scheme(url.substr(0, url.find(':')));
  storage->set_connections(ConnectionsOf(spec));
  storage->set_requests(counts.requests);
  storage->set_bytes(counts.bytes);
  storage->set_retries(counts.retries);
  storage->set_checksum_faults(counts.checksum_faults);
  storage->set_busy_s(counts.busy_s);
  storage->set_cache_bad_entries(counts.cache_bad_entries);
  storage->set_cache_write_failures(counts.cache_write_failures);
  const int64_t lookups = counts.cache_hits + counts.cache_misses;
  if (lookups > 0) {
    storage->set_cache_hit_rate(static_cast<double>(counts.cache_hits) /
                                static_cast<double>(lookups));
  }
  const std::optional<double> share = NetworkShare(row->loader());
  if (share.has_value()) {
    storage->set_network_share(counts.requests > 0 ? *share : 0);
  }
  const std::optional<double> rate = Rate(counts);
  if (rate.has_value()) storage->set_download_mb_per_s(*rate);
  if (!one_connection_mb_per_s.has_value()) return;
  storage->set_one_connection_mb_per_s(*one_connection_mb_per_s);
  if (!rate.has_value() || storage->connections() == 0) return;
  storage->set_parallel_efficiency(
      *rate / (storage->connections() * *one_connection_mb_per_s));
}

std::string StorageText(const Row& row) {
  if (!row.has_storage()) return "";
  const Storage& storage = row.storage();
  std::string text = absl::StrFormat(
      "%s %s: %d connections, %d requests, %.1f MB", row.library(),
      row.transform(), storage.connections(), storage.requests(),
      static_cast<double>(storage.bytes()) / 1e6);
  if (storage.has_download_mb_per_s()) {
    absl::StrAppendFormat(&text, " at %.1f MB/s", storage.download_mb_per_s());
  }
  if (storage.has_parallel_efficiency()) {
    absl::StrAppendFormat(&text, " (%.0f%% of as many times one connection)",
                          100 * storage.parallel_efficiency());
  }
  if (storage.has_cache_hit_rate()) {
    absl::StrAppendFormat(&text, ", %.0f%% from the cache",
                          100 * storage.cache_hit_rate());
  }
  if (storage.has_network_share()) {
    absl::StrAppendFormat(&text, ", %.0f%% of the wait is the network",
                          100 * storage.network_share());
  }
  if (storage.retries() > 0) {
    absl::StrAppendFormat(&text, ", %d retries", storage.retries());
  }
  if (storage.cache_write_failures() > 0) {
    absl::StrAppend(&text, ", the cache could not be written to");
  }
  return absl::StrCat(text, "\n");
}

}  // namespace feedrate
