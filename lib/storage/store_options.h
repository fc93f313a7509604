// How to reach a store. See docs/storage.md for what each means to a user.
#ifndef FEEDRATE_LIB_STORAGE_STORE_OPTIONS_H_
#define FEEDRATE_LIB_STORAGE_STORE_OPTIONS_H_

#include <cstdint>
#include <string>

namespace feedrate {

struct StoreOptions {
  // Requests in flight at most.
  int connections = 8;
  // A read of more is made of several requests.
  int64_t range_bytes = int64_t{8} << 20;
  // After the first attempt.
  int retries = 6;
  // Without a byte; also for connecting.
  double timeout_s = 30;
  // "http://127.0.0.1:9000" in place of the cloud's own address; else
  // AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or STORAGE_EMULATOR_HOST.
  std::string endpoint;
  // Sends no credentials, even where there are some.
  bool anonymous = false;
  // Certificates to trust; else those of AWS_CA_BUNDLE, CURL_CA_BUNDLE or
  // SSL_CERT_FILE, or the system's.
  std::string ca_file;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_STORE_OPTIONS_H_
