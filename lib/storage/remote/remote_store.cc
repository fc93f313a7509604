#include "lib/storage/remote/remote_store.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/storage/http/client.h"
#include "lib/storage/latch.h"
#include "lib/storage/remote/object_name.h"
#include "lib/storage/remote/remote_read.h"
#include "lib/storage/remote/text_exchange.h"
#include "lib/storage/remote/work_thread.h"

namespace feedrate {
namespace {

absl::Status At(const std::string& address, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(address, ": ", status.message()));
}

HttpClientOptions ClientOptions(const StoreOptions& options) {
  HttpClientOptions client;
  client.connections = std::max(1, options.connections);
  client.timeout_s = options.timeout_s;
  client.retry.retries = std::max(0, options.retries);
  client.ca_file = options.ca_file;
  return client;
}

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
  // A check may start a read again, so it ends before the client does.
  ~RemoteStore() override { checker_.Stop(); }

  const std::string& url() const override { return dialect_->url(); }

  absl::StatusOr<std::vector<ObjectInfo>> List() override {
    if (!dialect_->fixed_names().empty()) {
      return StatAll(dialect_->fixed_names());
    }
    ASSIGN_OR_RETURN(std::vector<ObjectInfo> objects, ListPages());
    if (objects.empty()) {
      ASSIGN_OR_RETURN(objects, ListOneObject());
    }
    std::sort(objects.begin(), objects.end(),
              [](const ObjectInfo& a, const ObjectInfo& b) {
                return a.name < b.name;
              });
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
    std::make_shared<RemoteRead>(&context_, request, std::move(done))->Start();
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

  // Asks and waits.
  absl::Status Ask(TextWish wish) {
    absl::Status result;
    Latch left(1);
    wish.refused = [this](const HttpResponse& response) {
      return dialect_->ErrorOf(response);
    };
    wish.done = [&](absl::Status status) {
      result = std::move(status);
      left.CountDown();
    };
    client_.Start(NewTextExchange(std::move(wish)));
    left.Wait();
    return result;
  }

  absl::StatusOr<std::vector<ObjectInfo>> ListPages() {
    std::vector<ObjectInfo> objects;
    ListPage page;
    do {
      TextWish wish;
      wish.request = [&] { return dialect_->ListRequest(page.next); };
      ListPage next;
      wish.answer = [&](const HttpResponse&, const std::string& body) {
        auto parsed = dialect_->ParseList(body);
        if (parsed.ok()) next = *std::move(parsed);
        return parsed.status();
      };
      RETURN_IF_ERROR(At(url(), Ask(std::move(wish))));
      if (!next.next.empty() && next.next == page.next) {
        return absl::DataLossError(
            absl::StrCat(url(), ": the listing turns in a circle"));
      }
      page = std::move(next);
      RETURN_IF_ERROR(At(url(), TakePage(page, &objects)));
    } while (!page.next.empty());
    return objects;
  }

  absl::Status TakePage(const ListPage& page,
                        std::vector<ObjectInfo>* objects) const {
    for (const ObjectInfo& object : page.objects) {
      std::optional<std::string> name = dialect_->NameOf(object.name);
      if (!name.has_value()) continue;
      RETURN_IF_ERROR(CheckObjectName(*name));
      objects->push_back(object);
      objects->back().name = *std::move(name);
    }
    return absl::OkStatus();
  }

  // Where nothing is below the url, it may be an object itself.
  absl::StatusOr<std::vector<ObjectInfo>> ListOneObject() {
    const std::optional<std::string> name = dialect_->NarrowToObject();
    if (name.has_value()) {
      auto found = StatAll({*name});
      if (found.ok() || !absl::IsNotFound(found.status())) return found;
    }
    return absl::NotFoundError(absl::StrCat(
        url(), ": there is nothing under this prefix; check its name"));
  }

  // All at once, as far as the connections go. The first error by name.
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
      TextWish wish = StatWish(names[i], &infos[i]);
      wish.done = [&left, &result = results[i]](absl::Status status) {
        result = std::move(status);
        left.CountDown();
      };
      client_.Start(NewTextExchange(std::move(wish)));
    }
    left.Wait();
    for (size_t i = 0; i < names.size(); ++i) {
      RETURN_IF_ERROR(At(dialect_->AddressOf(names[i]), results[i]));
    }
    return infos;
  }

  TextWish StatWish(const std::string& name, ObjectInfo* info) {
    TextWish wish;
    wish.request = [this, name] { return dialect_->StatRequest(name); };
    wish.answer = [this, name, info](const HttpResponse& response,
                                     const std::string& body) {
      auto parsed = dialect_->ParseStat(name, response, body);
      if (parsed.ok()) *info = *std::move(parsed);
      return parsed.status();
    };
    wish.refused = [this](const HttpResponse& response) {
      return dialect_->ErrorOf(response);
    };
    wish.max_bytes = 1 << 20;
    wish.cut = true;
    wish.take_416 = true;
    return wish;
  }

  const std::unique_ptr<Dialect> dialect_;
  ReadContext context_;
  WorkThread checker_;
  HttpClient client_;  // Last: what it still runs uses all of the above.
};

}  // namespace

std::unique_ptr<ObjectStore> NewRemoteStore(std::unique_ptr<Dialect> dialect,
                                            const StoreOptions& options) {
  return std::make_unique<RemoteStore>(std::move(dialect), options);
}

}  // namespace feedrate
