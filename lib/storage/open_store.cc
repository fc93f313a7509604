#include "lib/storage/open_store.h"

#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lib/base/status_macros.h"
#include "lib/storage/cache/cache_dir.h"
#include "lib/storage/remote/aws_settings.h"
#include "lib/storage/remote/dialect.h"
#include "lib/storage/remote/gcs_dialect.h"
#include "lib/storage/remote/remote_store.h"
#include "lib/storage/remote/s3_dialect.h"
#include "lib/storage/remote/upload.h"
#include "lib/storage/remote/web_dialect.h"

namespace feedrate {
namespace {

std::string Variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value != nullptr ? value : "";
}

// A folder has the scheme `file`.
std::string SchemeOf(const std::string& url) {
  const size_t colon = url.find("://");
  return colon == std::string::npos
             ? "file"
             : absl::AsciiStrToLower(url.substr(0, colon));
}

// REQUIRES: the scheme is `file`.
std::string FolderOf(const std::string& url) {
  const size_t colon = url.find("://");
  return colon == std::string::npos ? url : url.substr(colon + 3);
}

StoreOptions WithCertificates(StoreOptions options) {
  for (const char* name :
       {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    if (options.ca_file.empty()) options.ca_file = Variable(name);
  }
  return options;
}

absl::StatusOr<std::unique_ptr<Dialect>> NewDialect(
    const std::string& scheme, const std::string& url,
    const StoreOptions& options) {
  if (scheme == "s3") {
    ASSIGN_OR_RETURN(const AwsSettings settings,
                     FindAwsSettings(options, &Variable));
    return NewS3Dialect(url, settings, &absl::Now);
  }
  if (scheme == "gs") {
    return NewGcsDialect(url, options, &Variable, &absl::Now);
  }
  if (scheme == "http" || scheme == "https") return NewWebDialect(url);
  return absl::InvalidArgumentError(absl::StrCat(
      scheme,
      ":// is not a source; use s3://, gs://, https://, http://, file:// "
      "or a folder"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ObjectStore>> OpenObjectStore(
    const std::string& url, const StoreOptions& options) {
  const std::string scheme = SchemeOf(url);
  if (scheme == "file") return OpenFileStore(FolderOf(url));
  const StoreOptions known = WithCertificates(options);
  ASSIGN_OR_RETURN(auto dialect, NewDialect(scheme, url, known));
  return NewRemoteStore(std::move(dialect), known);
}

absl::StatusOr<std::unique_ptr<ObjectWriter>> OpenObjectWriter(
    const std::string& url, const StoreOptions& options) {
  const std::string scheme = SchemeOf(url);
  if (scheme == "file") return NewFolderWriter(FolderOf(url));
  const StoreOptions known = WithCertificates(options);
  ASSIGN_OR_RETURN(auto dialect, NewDialect(scheme, url, known));
  return NewBucketWriter(std::move(dialect), known);
}

absl::StatusOr<OpenedStore> OpenCachedStore(const StoreSpec& spec) {
  OpenedStore opened;
  ASSIGN_OR_RETURN(std::unique_ptr<ObjectStore> store,
                   OpenObjectStore(spec.url, spec.options));
  opened.is_local = absl::StartsWith(store->url(), "file://");
  if (spec.cache_folder.empty()) {
    opened.store = std::move(store);
    return opened;
  }
  CacheOptions options;
  options.folder = spec.cache_folder;
  options.max_bytes = spec.cache_bytes;
  ASSIGN_OR_RETURN(std::unique_ptr<CacheDir> cache, CacheDir::Open(options));
  auto cached =
      std::make_shared<CachedStore>(std::move(store), std::move(cache));
  opened.cached = cached.get();
  opened.store = std::move(cached);
  return opened;
}

}  // namespace feedrate
