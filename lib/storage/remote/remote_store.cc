#include "lib/storage/remote/remote_store.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "lib/base/allowed_sizes.h"
#include "lib/base/status_macros.h"
#include "lib/storage/http/client.h"
#include "lib/storage/http/fetch.h"
#include "lib/storage/http/message.h"
#include "lib/storage/remote/remote_read.h"

namespace feedrate {

namespace {

absl::Status At(const std::string& address, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(address, ": ", status.message()));
}

// Stores may send a few: GCS does while it looks for objects.
constexpr int64_t kMostEmptyPages = 1000;
// How long a listing may take: this, and as much again for so many objects.
// S3 and GCS need a quarter of a second for a page of 1,000.
constexpr std::chrono::minutes kListingTime(10);
constexpr int64_t kListingObjects = 600000;

class RemoteStore : public ObjectStore {
 public:
  RemoteStore(std::unique_ptr<Dialect> dialect, const StoreOptions& options)
      : dialect_(std::move(dialect)), client_(ClientOptions(options)) {
    context_.dialect = dialect_.get();
    context_.client = &client_;
    context_.checker = &checker_;
    context_.range_bytes = std::max<int64_t>(1, options.range_bytes);
    context_.whole_attempts = 1 + (std::max(0, options.retries) + 1) / 2;
  }
  // A check may restart a read, so it ends before the client does.
  ~RemoteStore() override { checker_.Stop(); }

  const std::string& url() const override { return dialect_->url(); }
  std::string identity() const override { return dialect_->identity(); }

  absl::StatusOr<std::vector<ObjectInfo>> List() override {
    std::vector<ObjectInfo> objects;
    if (!dialect_->fixed_names().empty()) {
      ASSIGN_OR_RETURN(objects, StatAll(dialect_->fixed_names()));
    } else {
      ASSIGN_OR_RETURN(objects, ListPages());
      if (objects.empty()) {
        ASSIGN_OR_RETURN(objects, ListOneObject());
      }
    }
    std::sort(objects.begin(), objects.end(),
              [](const ObjectInfo& a, const ObjectInfo& b) {
                return a.name < b.name;
              });
    RETURN_IF_ERROR(At(url(), CheckNoneTwice(objects)));
    return objects;
  }

  absl::StatusOr<ObjectInfo> Stat(const std::string& name) override {
    ASSIGN_OR_RETURN(std::vector<ObjectInfo> infos, StatAll({name}));
    return std::move(infos[0]);
  }

  void StartRead(const ReadRequest& request,
                 std::function<void(absl::Status)> done) override {
    const absl::Status good = CheckRead(request);
    if (!good.ok() || request.bytes == 0) {
      done(At(url(), good));
      return;
    }
    StartRemoteRead(&context_, request, std::move(done));
  }

  void SetCancelled(bool cancelled) override {
    client_.SetCancelled(cancelled);
  }

  TransferCounts counts() const override {
    const HttpCounts http = client_.counts();
    TransferCounts counts;
    counts.requests = http.requests;
    counts.retries = http.retries;
    counts.busy_s = http.busy_s;
    counts.bytes = context_.bytes;
    counts.checksum_faults = context_.checksum_faults;
    return counts;
  }

 private:
  static absl::Status CheckRead(const ReadRequest& request) {
    if (request.offset < 0 || request.bytes < 0) {
      return absl::InvalidArgumentError("a read before the first byte");
    }
    return CheckObjectName(request.name);
  }

  // Sends the request and waits.
  absl::Status Ask(TextQuery query) {
    absl::Status result;
    Latch left(1);
    query.refused = [this](const HttpResponse& response) {
      return dialect_->ErrorOf(response);
    };
    query.done = [&](absl::Status status) {
      result = std::move(status);
      left.CountDown();
    };
    client_.Start(NewTextExchange(std::move(query)));
    left.Wait();
    return result;
  }

  absl::StatusOr<std::vector<ObjectInfo>> ListPages() {
    std::vector<ObjectInfo> objects;
    DatasetSize size;
    std::unordered_set<size_t> tokens;  // Their hashes: they may be long.
    int64_t empty_pages = 0;
    ListPage page;
    const auto begin = std::chrono::steady_clock::now();
    do {
      TextQuery query;
      query.give_up_at =
          begin + kListingTime * (1 + size.objects() / kListingObjects);
      query.request = [&] { return dialect_->ListRequest(page.next); };
      ListPage next;
      query.answer = [&](const HttpResponse&, const std::string& body) {
        auto parsed = dialect_->ParseList(body);
        if (parsed.ok()) next = *std::move(parsed);
        return parsed.status();
      };
      RETURN_IF_ERROR(At(url(), Ask(std::move(query))));
      page = std::move(next);
      empty_pages = page.objects.empty() ? empty_pages + 1 : 0;
      if ((!page.next.empty() &&
           !tokens.insert(std::hash<std::string>()(page.next)).second) ||
          empty_pages > kMostEmptyPages) {
        return absl::DataLossError(absl::StrCat(
            url(), ": the listing turns in a circle; check the endpoint"));
      }
      RETURN_IF_ERROR(At(url(), TakePage(page, &size, &objects)));
    } while (!page.next.empty());
    return objects;
  }

  absl::Status TakePage(const ListPage& page, DatasetSize* size,
                        std::vector<ObjectInfo>* objects) const {
    for (const ObjectInfo& object : page.objects) {
      // Also of objects outside of the prefix, so that every listing ends.
      RETURN_IF_ERROR(size->Add(object.name, object.bytes, MemoryOf(object)));
      std::optional<std::string> name = dialect_->NameOf(object.name);
      if (!name.has_value()) continue;
      RETURN_IF_ERROR(CheckObjectName(*name));
      objects->push_back(object);
      objects->back().name = *std::move(name);
    }
    return absl::OkStatus();
  }

  // REQUIRES: sorted.
  static absl::Status CheckNoneTwice(const std::vector<ObjectInfo>& objects) {
    const auto twice = std::adjacent_find(
        objects.begin(), objects.end(),
        [](const auto& a, const auto& b) { return a.name == b.name; });
    if (twice == objects.end()) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat("the listing names \"",
                     absl::Utf8SafeCHexEscape(twice->name), "\" twice"));
  }

  // If there is nothing below the URL, it may itself be an object.
  absl::StatusOr<std::vector<ObjectInfo>> ListOneObject() {
    const std::optional<std::string> name = dialect_->NarrowToObject();
    if (name.has_value()) {
      auto found = StatAll({*name});
      if (found.ok() || !absl::IsNotFound(found.status())) return found;
    }
    return absl::NotFoundError(absl::StrCat(
        url(), ": there is nothing under this prefix; check its name"));
  }

  // Asks for all objects at once, limited by the connections. Returns the first
  // error in name order.
  absl::StatusOr<std::vector<ObjectInfo>> StatAll(
      const std::vector<std::string>& names) {
    std::vector<ObjectInfo> infos(names.size());
    std::vector<absl::Status> results(names.size());
    Latch left(static_cast<int64_t>(names.size()));
    for (size_t i = 0; i < names.size(); ++i) {
      results[i] = CheckObjectName(names[i]);
      if (!results[i].ok()) {
        left.CountDown();
        continue;
      }
      TextQuery query = StatQuery(names[i], &infos[i]);
      query.done = [&left, &result = results[i]](absl::Status status) {
        result = std::move(status);
        left.CountDown();
      };
      client_.Start(NewTextExchange(std::move(query)));
    }
    left.Wait();
    DatasetSize size;
    for (size_t i = 0; i < names.size(); ++i) {
      if (results[i].ok()) results[i] = size.Add(names[i], infos[i].bytes);
      RETURN_IF_ERROR(At(dialect_->AddressOf(names[i]), results[i]));
    }
    return infos;
  }

  TextQuery StatQuery(const std::string& name, ObjectInfo* info) {
    TextQuery query;
    query.request = [this, name] { return dialect_->StatRequest(name); };
    query.answer = [this, name, info](const HttpResponse& response,
                                      const std::string& body) {
      auto parsed = dialect_->ParseStat(name, response, body);
      if (parsed.ok()) *info = *std::move(parsed);
      return parsed.status();
    };
    query.refused = [this](const HttpResponse& response) {
      return dialect_->ErrorOf(response);
    };
    query.max_bytes = 1 << 20;
    query.cut = true;
    query.take_416 = true;
    return query;
  }

  const std::unique_ptr<Dialect> dialect_;
  ReadContext context_;
  WorkThread checker_;
  // Last, because what it still runs uses all of the above.
  HttpClient client_;
};

}  // namespace

HttpClientOptions ClientOptions(const StoreOptions& options) {
  HttpClientOptions client;
  client.connections = std::max(1, options.connections);
  client.timeout_s = options.timeout_s;
  client.retry.retries = std::max(0, options.retries);
  client.ca_file = options.ca_file;
  return client;
}

std::unique_ptr<ObjectStore> NewRemoteStore(std::unique_ptr<Dialect> dialect,
                                            const StoreOptions& options) {
  return std::make_unique<RemoteStore>(std::move(dialect), options);
}

}  // namespace feedrate
