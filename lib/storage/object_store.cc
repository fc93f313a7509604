#include "lib/storage/object_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/allowed_sizes.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/unique_fd.h"
#include "lib/storage/checksum.h"

namespace feedrate {

absl::Status ObjectStore::Read(const ReadRequest& request) {
  absl::Status result;
  Latch finished(1);
  StartRead(request, [&](absl::Status status) {
    result = std::move(status);
    finished.CountDown();
  });
  finished.Wait();
  return result;
}

namespace {

absl::Status Named(const std::string& name, const absl::Status& status) {
  if (status.ok() || absl::StrContains(status.message(), name)) return status;
  return absl::Status(status.code(),
                      absl::StrCat(name, ": ", status.message()));
}

}  // namespace

absl::Status ReadMany(const std::vector<ReadRequest>& requests,
                      ObjectStore* store) {
  std::mutex mutex;
  std::condition_variable finished;
  size_t left = requests.size();
  absl::Status failure;
  for (const ReadRequest& request : requests) {
    store->StartRead(request, [&](absl::Status status) {
      const std::lock_guard<std::mutex> lock(mutex);
      failure.Update(Named(request.name, status));
      if (--left == 0) finished.notify_all();
    });
  }
  std::unique_lock<std::mutex> lock(mutex);
  finished.wait(lock, [&] { return left == 0; });
  return failure;
}

absl::Status ReadObjects(const std::vector<ObjectInfo>& objects, size_t begin,
                         size_t end, ObjectStore* store,
                         std::vector<std::string>* contents) {
  contents->resize(end - begin);
  std::vector<ReadRequest> requests(end - begin);
  for (size_t i = begin; i < end; ++i) {
    const ObjectInfo& object = objects[i];
    std::string& content = (*contents)[i - begin];
    RETURN_IF_ERROR(CheckItemBytes(object.name, object.bytes));
    content.resize(object.bytes);
    ReadRequest& request = requests[i - begin];
    request.name = object.name;
    request.version = object.version;
    request.checksum = object.checksum;
    request.bytes = request.object_bytes = object.bytes;
    request.out = content.data();
  }
  return ReadMany(requests, store);
}

size_t EndOfRun(const std::vector<ObjectInfo>& objects, size_t begin,
                int64_t bytes) {
  size_t end = begin + 1;
  int64_t total = objects[begin].bytes;
  while (end < objects.size() && total + objects[end].bytes <= bytes) {
    total += objects[end++].bytes;
  }
  return end;
}

namespace {

bool SetField(const std::string& name, const std::string& value,
              StoreSpec* spec) {
  StoreOptions& options = spec->options;
  if (name == "url") spec->url = value;
  if (name == "endpoint") options.endpoint = value;
  if (name == "redirect_hosts") options.redirect_hosts = value;
  if (name == "cache_folder") spec->cache_folder = value;
  if (name == "url" || name == "endpoint" || name == "redirect_hosts" ||
      name == "cache_folder") {
    return true;
  }
  if (name == "anonymous") return absl::SimpleAtob(value, &options.anonymous);
  if (name == "connections") {
    return absl::SimpleAtoi(value, &options.connections) &&
           options.connections > 0;
  }
  if (name == "range_bytes") {
    return absl::SimpleAtoi(value, &options.range_bytes) &&
           options.range_bytes > 0;
  }
  if (name == "retries") {
    return absl::SimpleAtoi(value, &options.retries) && options.retries >= 0;
  }
  if (name == "timeout_s") {
    return absl::SimpleAtod(value, &options.timeout_s) && options.timeout_s > 0;
  }
  if (name == "cache_bytes") {
    return absl::SimpleAtoi(value, &spec->cache_bytes) &&
           spec->cache_bytes >= 0;
  }
  return false;
}

}  // namespace

std::map<std::string, std::string> PrintStoreSpec(const StoreSpec& spec) {
  return {{"url", spec.url},
          {"endpoint", spec.options.endpoint},
          {"redirect_hosts", spec.options.redirect_hosts},
          {"anonymous", spec.options.anonymous ? "true" : "false"},
          {"connections", absl::StrCat(spec.options.connections)},
          {"range_bytes", absl::StrCat(spec.options.range_bytes)},
          {"retries", absl::StrCat(spec.options.retries)},
          {"timeout_s", absl::StrCat(spec.options.timeout_s)},
          {"cache_folder", spec.cache_folder},
          {"cache_bytes", absl::StrCat(spec.cache_bytes)}};
}

absl::StatusOr<StoreSpec> ParseStoreSpec(
    const std::map<std::string, std::string>& fields) {
  StoreSpec spec;
  for (const auto& [name, value] : fields) {
    if (SetField(name, value, &spec)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("a store has no ", name, "=", value));
  }
  if (!spec.url.empty()) return spec;
  return absl::InvalidArgumentError("a store without a url");
}

namespace {

std::string VersionOf(const struct stat& info) {
  return absl::StrCat(info.st_size, "-", info.st_mtim.tv_sec, ".",
                      info.st_mtim.tv_nsec, "-", info.st_ino);
}

// A name that leads out of the folder is not one of its objects.
absl::Status CheckName(const std::string& name) {
  bool inside = !name.empty() && name[0] != '/';
  for (const absl::string_view part : absl::StrSplit(name, '/')) {
    inside = inside && part != "..";
  }
  if (inside) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", name,
                   "\" is not a name below the folder; leave out \"..\" and a "
                   "leading slash"));
}

absl::Status CannotRead(const std::string& path, int error) {
  const std::string text = absl::StrCat(path, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(text);
  if (error == EACCES || error == EPERM) {
    return absl::PermissionDeniedError(text);
  }
  return absl::UnavailableError(text);
}

absl::Status PreadAll(int fd, const ReadRequest& request,
                      const std::string& path) {
  for (int64_t done = 0; done < request.bytes;) {
    const ssize_t got = pread(fd, request.out + done, request.bytes - done,
                              request.offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotRead(path, errno);
    if (got == 0) {
      return absl::OutOfRangeError(
          absl::StrCat(path, ": ends at ", request.offset + done, ", before ",
                       request.offset + request.bytes));
    }
    done += got;
  }
  return absl::OkStatus();
}

absl::Status CheckSum(const ReadRequest& request, const std::string& path) {
  if (request.checksum.empty()) return absl::OkStatus();
  if (!absl::StartsWith(request.checksum, "crc32c:")) {
    return absl::UnimplementedError(absl::StrCat(
        path, ": a file is not checked against ", request.checksum));
  }
  const std::string sum = ChecksumOfCrc32c(
      Crc32c({request.out, static_cast<size_t>(request.bytes)}));
  if (sum == request.checksum) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(path, ": has ", sum, ", not ", request.checksum));
}

class FileStore final : public ObjectStore {
 public:
  FileStore(std::string folder, std::string url)
      : folder_(std::move(folder)), url_(std::move(url)) {}

  const std::string& url() const override { return url_; }

  absl::StatusOr<std::vector<ObjectInfo>> List() override {
    ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                     ListFiles(folder_, "", /*recursive=*/true));
    std::vector<ObjectInfo> objects;
    objects.reserve(paths.size());
    DatasetSize size;
    for (const std::string& path : paths) {
      struct stat info;
      // It was removed in the meantime, or is a link to nowhere.
      if (stat(path.c_str(), &info) != 0) continue;
      RETURN_IF_ERROR(PlainFileBytes(path).status());
      objects.push_back(
          {path.substr(folder_.size() + 1), info.st_size, VersionOf(info), ""});
      RETURN_IF_ERROR(size.Add(path, info.st_size, MemoryOf(objects.back())));
    }
    std::sort(objects.begin(), objects.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    return objects;
  }

  absl::StatusOr<ObjectInfo> Stat(const std::string& name) override {
    RETURN_IF_ERROR(CheckName(name));
    const std::string path = JoinPath(folder_, name);
    struct stat info;
    if (stat(path.c_str(), &info) != 0) return CannotRead(path, errno);
    if (!S_ISREG(info.st_mode)) {
      return absl::NotFoundError(absl::StrCat(path, ": is not a file"));
    }
    return ObjectInfo{name, info.st_size, VersionOf(info), ""};
  }

  void StartRead(const ReadRequest& request,
                 std::function<void(absl::Status)> done) override {
    const auto begin = std::chrono::steady_clock::now();
    absl::Status status = ReadNow(request);
    const std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - begin;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++counts_.requests;
      counts_.busy_s += took.count();
      if (status.ok()) counts_.bytes += request.bytes;
      if (absl::IsDataLoss(status)) ++counts_.checksum_faults;
    }
    done(std::move(status));
  }

  TransferCounts counts() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return counts_;
  }

 private:
  absl::Status ReadNow(const ReadRequest& request) const {
    RETURN_IF_ERROR(CheckName(request.name));
    const std::string path = JoinPath(folder_, request.name);
    // Opening a pipe could block forever.
    const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat info;
    if (!file.valid() || fstat(file.get(), &info) != 0) {
      return CannotRead(path, errno);
    }
    if (!S_ISREG(info.st_mode)) {
      return absl::NotFoundError(absl::StrCat(path, ": is not a file"));
    }
    if (!request.version.empty() && VersionOf(info) != request.version) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, ": has changed since it was listed"));
    }
    RETURN_IF_ERROR(PreadAll(file.get(), request, path));
    return CheckSum(request, path);
  }

  const std::string folder_;
  const std::string url_;
  mutable std::mutex mutex_;
  TransferCounts counts_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ObjectStore>> OpenFileStore(
    const std::string& folder) {
  std::string clean = folder;
  while (clean.size() > 1 && clean.back() == '/') clean.pop_back();
  if (!IsFolder(clean)) {
    return absl::NotFoundError(absl::StrCat(folder, ": is not a folder"));
  }
  std::string url = absl::StrCat("file://", clean);
  return std::make_unique<FileStore>(std::move(clean), std::move(url));
}

}  // namespace feedrate
