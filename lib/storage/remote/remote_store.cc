#include "lib/storage/remote/remote_store.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/allowed_sizes.h"
#include "lib/base/status_macros.h"
#include "lib/storage/checksum.h"
#include "lib/storage/http/client.h"
#include "lib/storage/http/fetch.h"
#include "lib/storage/http/message.h"
#include "lib/storage/remote/work_thread.h"

namespace feedrate {

void WorkThread::Post(std::function<void()> work) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!stopping_) {
      waiting_.push_back(std::move(work));
      if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
      changed_.notify_one();
      return;
    }
  }
  work();
}

void WorkThread::Stop() {
  std::thread ending;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
    ending.swap(thread_);
  }
  if (ending.joinable()) ending.join();
}

void WorkThread::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

namespace {

// What all reads of a store share.
struct ReadContext {
  Dialect* dialect = nullptr;
  HttpClient* client = nullptr;
  WorkThread* checker =
      nullptr;  // For checksums too slow for the client's thread.
  int64_t range_bytes = 0;
  // Attempts for an object whose checksum is wrong: half as many retries as for
  // a request, because each one reads the whole object.
  int whole_attempts = 1;
  std::atomic<int64_t> bytes{0};
  std::atomic<int64_t> checksum_faults{0};
};

// One read of an object, as one or many requests. Its parts run in parallel and
// write directly into the caller's memory. All parts must have the same
// version; an object that is read whole must have the checksum from the request
// or the server. Lives until its last part has ended.
class RemoteRead : public std::enable_shared_from_this<RemoteRead> {
 public:
  RemoteRead(ReadContext* context, const ReadRequest& request,
             std::function<void(absl::Status)> done);

  // REQUIRES: request.bytes > 0.
  void Start();

  // The rest is used by its parts.
  const ReadRequest& request() const { return request_; }
  ReadContext& context() const { return *context_; }
  // Whether another part has failed, so that this one is no longer needed.
  bool failed() const { return !status_.ok(); }
  // The version to request: from the caller or from the first response.
  const std::string& version() const { return version_; }
  // Checks the head of a response. FailedPrecondition if the object has changed
  // since the read began.
  absl::Status TakeFacts(const ObjectFacts& facts, int64_t total);
  void PartDone(const absl::Status& status);

 private:
  std::string ChecksumToHave() const;
  bool IsWhole() const {
    return request_.offset == 0 && request_.bytes == total_;
  }
  void AskForChecksum();
  void VerifyOrFinish();
  void Verify();
  void Finish();

  ReadContext* const context_;
  const ReadRequest request_;
  std::function<void(absl::Status)> done_;
  // Parts run only in the client's thread; Verify runs when no part does.
  absl::Status status_;
  std::string version_;
  ObjectFacts facts_;
  std::string known_checksum_;  // The whole object's, as a response named it.
  int64_t total_ = -1;          // Size of the object; -1 if unknown.
  int64_t parts_left_ = 0;
  int wholes_ = 0;
  bool asked_for_checksum_ = false;
};

// The part of `read` that begins `first` bytes after the read's own offset. An
// attempt continues where the last one broke off, as long as the version shows
// that it is still the same object.
std::unique_ptr<HttpExchange> NewRangeExchange(std::shared_ptr<RemoteRead> read,
                                               int64_t first, int64_t bytes);

RemoteRead::RemoteRead(ReadContext* context, const ReadRequest& request,
                       std::function<void(absl::Status)> done)
    : context_(context),
      request_(request),
      done_(std::move(done)),
      version_(request.version) {}

void RemoteRead::Start() {
  ++wholes_;
  const int64_t step = context_->range_bytes;
  parts_left_ = (request_.bytes + step - 1) / step;
  // A part may end before the next one is created.
  const int64_t parts = parts_left_;
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t first = i * step;
    const int64_t bytes = std::min(step, request_.bytes - first);
    context_->client->Start(NewRangeExchange(shared_from_this(), first, bytes));
  }
}

absl::Status RemoteRead::TakeFacts(const ObjectFacts& facts, int64_t total) {
  const bool other_version =
      !version_.empty() && !facts.version.empty() && facts.version != version_;
  const bool other_size = total_ >= 0 && total >= 0 && total != total_;
  if (other_version || other_size) {
    return absl::FailedPreconditionError(
        "the object has changed since; list it again");
  }
  if (version_.empty()) version_ = facts.version;
  if (total >= 0) total_ = total;
  const bool was_opaque = facts_.opaque_version;
  facts_ = facts;
  facts_.opaque_version |= was_opaque;
  const bool is_sum = !facts.checksum.empty() &&
                      !(facts_.opaque_version &&
                        facts.checksum == ChecksumOfEtag(facts.version));
  if (is_sum) known_checksum_ = facts.checksum;
  return absl::OkStatus();
}

void RemoteRead::PartDone(const absl::Status& status) {
  // After the first failure, the others only report that they were cancelled.
  if (status_.ok()) status_ = status;
  if (--parts_left_ > 0) return;
  // A store may know the sum of an object but send it with no range.
  if (status_.ok() && ChecksumToHave().empty() && IsWhole() &&
      request_.bytes > context_->range_bytes && !asked_for_checksum_ &&
      context_->dialect->stat_has_checksum()) {
    AskForChecksum();
  } else {
    VerifyOrFinish();
  }
}

void RemoteRead::AskForChecksum() {
  asked_for_checksum_ = true;
  const std::shared_ptr<RemoteRead> self = shared_from_this();
  TextQuery query;
  query.request = [self] {
    return self->context_->dialect->StatRequest(self->request_.name);
  };
  query.answer = [self](const HttpResponse& response, const std::string&) {
    ObjectFacts facts = self->context_->dialect->FactsOf(response.headers);
    return self->TakeFacts(facts, -1);
  };
  query.refused = [self](const HttpResponse& response) {
    return self->context_->dialect->ErrorOf(response);
  };
  query.done = [self](absl::Status status) {
    self->status_ = std::move(status);
    self->VerifyOrFinish();
  };
  context_->client->Start(NewTextExchange(std::move(query)));
}

void RemoteRead::VerifyOrFinish() {
  const std::string checksum = ChecksumToHave();
  if (!status_.ok() || checksum.empty()) {
    Finish();
  } else if (IsCheapChecksum(checksum, request_.bytes)) {
    Verify();
  } else {
    context_->checker->Post([self = shared_from_this()] { self->Verify(); });
  }
}

std::string RemoteRead::ChecksumToHave() const {
  const bool opaque = facts_.opaque_version &&
                      request_.checksum == ChecksumOfEtag(facts_.version);
  if (!request_.checksum.empty() && !opaque) return request_.checksum;
  return IsWhole() ? known_checksum_ : "";
}

void RemoteRead::Verify() {
  const absl::string_view bytes(request_.out, request_.bytes);
  const std::string checksum = ChecksumToHave();
  if (HasChecksum(bytes, checksum)) return Finish();
  ++context_->checksum_faults;
  if (wholes_ < context_->whole_attempts) return Start();
  status_ = absl::DataLossError(
      absl::StrCat("its bytes do not have the checksum ", checksum,
                   " that the server "
                   "names (read ",
                   wholes_, " times); the object is damaged"));
  Finish();
}

void RemoteRead::Finish() {
  if (status_.ok()) return done_(absl::OkStatus());
  done_(absl::Status(status_.code(),
                     absl::StrCat(context_->dialect->AddressOf(request_.name),
                                  ": ", status_.message())));
}

class RangeExchange : public HttpExchange {
 public:
  RangeExchange(std::shared_ptr<RemoteRead> read, int64_t first, int64_t bytes)
      : read_(std::move(read)),
        offset_(read_->request().offset + first),
        bytes_(bytes),
        out_(read_->request().out + first) {}

  absl::StatusOr<HttpRequest> Request() override {
    if (read_->failed()) return absl::CancelledError("another part failed");
    // Received bytes are kept only if the next response must be for the same
    // object.
    if (read_->version().empty()) received_ = 0;
    return read_->context().dialect->RangeRequest(
        read_->request().name, read_->version(), offset_ + received_,
        offset_ + bytes_ - 1);
  }

  absl::Status Head(const HttpResponse& response) override {
    int64_t total = -1;
    ASSIGN_OR_RETURN(total, response.status == 206 ? TotalOfRange(response)
                                                   : TotalOfWhole(response));
    return read_->TakeFacts(read_->context().dialect->FactsOf(response.headers),
                            total);
  }

  absl::Status Body(absl::string_view bytes) override {
    if (static_cast<int64_t>(bytes.size()) > BytesLeft()) {
      received_ = 0;
      return absl::DataLossError("the server sent more than it was asked for");
    }
    std::memcpy(out_ + received_, bytes.data(), bytes.size());
    received_ += static_cast<int64_t>(bytes.size());
    read_->context().bytes.fetch_add(static_cast<int64_t>(bytes.size()),
                                     std::memory_order_relaxed);
    return absl::OkStatus();
  }

  absl::Status End() override {
    if (BytesLeft() == 0) return absl::OkStatus();
    return absl::UnavailableError(
        absl::StrCat("the answer lacks ", BytesLeft(), " bytes"));
  }

  absl::Status Refused(const HttpResponse& response) override {
    return read_->context().dialect->ErrorOf(response);
  }

  void Done(absl::Status status) override { read_->PartDone(status); }

  int64_t BytesLeft() const override { return bytes_ - received_; }

 private:
  // 206: must be the requested range.
  absl::StatusOr<int64_t> TotalOfRange(const HttpResponse& response) const {
    const std::string& text = response.headers.Get("content-range");
    const std::optional<ContentRange> range = ParseContentRange(text);
    const int64_t last = offset_ + bytes_ - 1;
    if (range.has_value() && range->total >= 0 && range->total <= last) {
      return TooShort(range->total);
    }
    if (!range.has_value() || range->first != offset_ + received_ ||
        range->last != last) {
      return absl::DataLossError("the server sent another range than asked");
    }
    return range->total;
  }

  // 200: the server does not support ranges. The response can be used if the
  // whole object was requested.
  absl::StatusOr<int64_t> TotalOfWhole(const HttpResponse& response) {
    int64_t total = -1;
    if (!absl::SimpleAtoi(response.headers.Get("content-length"), &total)) {
      total = -1;
    }
    if (offset_ != 0 || (total >= 0 && total > bytes_)) {
      return absl::DataLossError(
          "the server ignores ranges; read from one that serves them");
    }
    if (total >= 0 && total < bytes_) return TooShort(total);
    received_ = 0;
    return total;
  }

  absl::Status TooShort(int64_t total) const {
    return absl::OutOfRangeError(
        absl::StrCat("the object has ", total, " bytes; byte ",
                     offset_ + bytes_ - 1, " was asked for"));
  }

  const std::shared_ptr<RemoteRead> read_;
  const int64_t offset_;  // In the object.
  const int64_t bytes_;
  char* const out_;
  int64_t received_ = 0;
};

std::unique_ptr<HttpExchange> NewRangeExchange(std::shared_ptr<RemoteRead> read,
                                               int64_t first, int64_t bytes) {
  return std::make_unique<RangeExchange>(std::move(read), first, bytes);
}

absl::Status At(const std::string& address, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(address, ": ", status.message()));
}

// Stores may send a few: GCS does while it looks for objects.
constexpr int64_t kMostEmptyPages = 1000;

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
    std::unordered_set<std::string> tokens;
    int64_t empty_pages = 0;
    ListPage page;
    do {
      TextQuery query;
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
      if ((!page.next.empty() && !tokens.insert(page.next).second) ||
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
      RETURN_IF_ERROR(size->Add(object.name, object.bytes));
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
  HttpClient
      client_;  // Last, because what it still runs uses all of the above.
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
