// What most files include: see precompiled.bzl. A file still includes what it
// uses.
#ifndef FEEDRATE_THIRD_PARTY_PRECOMPILED_PRELUDE_H_
#define FEEDRATE_THIRD_PARTY_PRECOMPILED_PRELUDE_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/protobuf/message.h"

#endif  // FEEDRATE_THIRD_PARTY_PRECOMPILED_PRELUDE_H_
