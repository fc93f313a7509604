#include "lib/imports/albumentations.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/records/job_identity.h"
#include "lib/records/repeated_keys.h"
#include "lib/records/row.pb.h"
#include "simdjson.h"

namespace feedrate {
namespace {

using ::simdjson::dom::array;
using ::simdjson::dom::element;
using ::simdjson::dom::object;
using Keys = std::initializer_list<const char*>;

// Finds the value at the path `keys`; false if there is none.
bool Find(const object& json, Keys keys, element* found) {
  object at = json;
  const char* const* key = keys.begin();
  for (; key + 1 != keys.end(); ++key) {
    if (at[*key].get(at) != simdjson::SUCCESS) return false;
  }
  return at[*key].get(*found) == simdjson::SUCCESS && !found->is_null();
}

std::string Text(const object& json, Keys keys) {
  element found;
  std::string_view text;
  if (!Find(json, keys, &found) || found.get(text) != simdjson::SUCCESS) {
    return "";
  }
  return std::string(text);
}

// A number; 0 if there is none.
double Number(const object& json, Keys keys) {
  element found;
  double number;
  if (!Find(json, keys, &found) || found.get(number) != simdjson::SUCCESS) {
    return 0;
  }
  return number;
}

// A whole number from 0 to `most`; 0 if there is none.
absl::StatusOr<int64_t> Count(const object& json, Keys keys,
                              int64_t most = int64_t{1} << 53) {
  element found;
  if (!Find(json, keys, &found) || found.is_null()) return 0;
  double number;
  if (found.get(number) == simdjson::SUCCESS && number >= 0 &&
      number <= static_cast<double>(most) && number == std::trunc(number)) {
    return static_cast<int64_t>(number);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", absl::StrJoin(keys, "."), "\" is ",
      simdjson::minify(found).substr(0, 80), ", which is not a count"));
}

bool Truth(const object& json, Keys keys) {
  element found;
  bool truth;
  return Find(json, keys, &found) && found.get(truth) == simdjson::SUCCESS &&
         truth;
}

// Our name for a library that the public benchmark spells differently.
std::string LibraryName(std::string name) {
  return absl::AsciiStrToLower(
      absl::StrReplaceAll(name, {{"-", "_"}, {" ", "_"}}));
}

// What the name of a result file says about its rows.
struct FileName {
  std::string library;
  std::string device;
  bool is_video = false;
};

// The public benchmark names its files LIBRARY[_MODE or _SCOPE...][_dev-DEVICE]
// _results.json. A library's name may have underscores.
FileName ParseName(absl::string_view path) {
  FileName parsed;
  const std::string name = BaseName(path);
  absl::string_view rest = name;
  if (!absl::ConsumeSuffix(&rest, "_results.json")) return parsed;
  bool in_library = true;
  for (absl::string_view word : absl::StrSplit(rest, '_')) {
    if (word == "video") parsed.is_video = true;
    in_library &= word != "micro" && word != "pipeline" && word != "video" &&
                  word != "decode" && word != "memory";
    if (absl::ConsumePrefix(&word, "dev-")) {
      parsed.device = std::string(word);
      in_library = false;
    }
    if (!in_library) continue;
    absl::StrAppend(&parsed.library, parsed.library.empty() ? "" : "_", word);
  }
  return parsed;
}

std::string MachineProfile(const object& metadata) {
  std::string machine = Text(metadata, {"gpu", "device_name"});
  if (machine.empty()) machine = Text(metadata, {"system_info", "processor"});
  if (machine.empty()) machine = Text(metadata, {"system_info", "machine"});
  const std::string cores = Text(metadata, {"system_info", "cpu_count"});
  return absl::StrCat(
      "public:",
      absl::AsciiStrToLower(absl::StrReplaceAll(machine, {{" ", "-"}})),
      cores.empty() ? "" : absl::StrCat("_", cores, "c"));
}

std::string Version(const object& metadata, const std::string& library) {
  object versions;
  if (metadata["library_versions"].get(versions) != simdjson::SUCCESS)
    return "";
  for (const auto& [name, version] : versions) {
    std::string_view text;
    if (LibraryName(std::string(name)) == library &&
        version.get(text) == simdjson::SUCCESS) {
      return std::string(text);
    }
  }
  return "";
}

absl::Status FillDataset(const object& metadata, Dataset* dataset) {
  std::string path = Text(metadata, {"dataset", "path"});
  while (!path.empty() && path.back() == '/') path.pop_back();
  dataset->set_id(BaseName(path));
  ASSIGN_OR_RETURN(const int64_t files,
                   Count(metadata, {"dataset", "file_count"}));
  ASSIGN_OR_RETURN(const int64_t bytes,
                   Count(metadata, {"dataset", "total_bytes"}));
  dataset->set_files(files);
  dataset->set_bytes(bytes);
  return absl::OkStatus();
}

absl::Status FillParams(const object& params, Row* row) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  row->set_scope(Text(params, {"pipeline_scope"}));
  row->set_device(Text(params, {"device"}));
  row->set_thread_policy(Text(params, {"thread_policy"}));
  ASSIGN_OR_RETURN(int64_t items, Count(params, {"num_images"}));
  if (items == 0) {
    ASSIGN_OR_RETURN(items, Count(params, {"num_videos"}));
  }
  ASSIGN_OR_RETURN(const int64_t batch, Count(params, {"batch_size"}, kMost));
  ASSIGN_OR_RETURN(const int64_t workers, Count(params, {"workers"}, kMost));
  row->set_num_items(items);
  row->set_batch_size(static_cast<int32_t>(batch));
  row->set_workers(static_cast<int32_t>(workers));
  return absl::OkStatus();
}

// Files from before the benchmark had scenarios say what they are only by their
// name and the number of channels.
std::string ScenarioOf(const FileName& name, const object& params) {
  if (name.is_video) return "video-16f";
  return Number(params, {"num_channels"}) == 9 ? "image-9ch" : "image-rgb";
}

// What all rows of a file have in common.
absl::StatusOr<Row> Common(const object& metadata, const FileName& name) {
  Row row;
  row.set_scenario(Text(metadata, {"scenario"}));
  row.set_mode(Text(metadata, {"mode"}));
  std::string library = LibraryName(Text(metadata, {"library"}));
  if (library.empty()) library = LibraryName(Text(metadata, {"decoder"}));
  if (library.empty()) library = LibraryName(name.library);
  row.set_library(library);
  object params;
  if (metadata["benchmark_params"].get(params) == simdjson::SUCCESS) {
    RETURN_IF_ERROR(FillParams(params, &row));
    if (row.scenario().empty()) row.set_scenario(ScenarioOf(name, params));
  }
  if (row.mode().empty()) row.set_mode("micro");
  if (row.device().empty()) row.set_device(name.device);
  if (row.scope().empty() && row.mode() == "micro") {
    row.set_scope("augmentation_only");
  }
  if (row.scope().empty() && row.mode() == "decode") {
    row.set_scope("decode_only");
  }
  // `none` is the public benchmark's word for the CPU.
  if (row.device().empty() || row.device() == "none") row.set_device("cpu");
  row.set_unit(absl::StartsWith(row.scenario(), "video") ? "clip" : "image");
  row.set_params_profile("paper");
  row.set_env_set("paper");
  row.set_library_version(Version(metadata, library));
  row.set_machine_profile(MachineProfile(metadata));
  row.set_hardware(Text(metadata, {"gpu", "device_name"}));
  row.set_started_at(Text(metadata, {"system_info", "timestamp"}));
  RETURN_IF_ERROR(FillDataset(metadata, row.mutable_dataset()));
  return row;
}

void SetThroughput(double throughput, Row* row) {
  row->set_throughput(throughput);
  row->set_items(row->num_items());
  if (throughput > 0) {
    row->set_elapsed_s(static_cast<double>(row->num_items()) / throughput);
  }
}

absl::Status AddTransform(Row row, const object& result,
                          const std::function<absl::Status(const Row&)>& add) {
  const std::string status = Text(result, {"status"});
  element supported;
  const bool unsupported =
      status == "unsupported" || (Find(result, {"supported"}, &supported) &&
                                  !Truth(result, {"supported"}));
  element stated;
  if (Find(result, {"median_throughput"}, &stated) && !stated.is_number()) {
    return absl::InvalidArgumentError(absl::StrCat(
        row.transform(), ": \"median_throughput\" is not a number"));
  }
  const double median = Number(result, {"median_throughput"});
  if (unsupported || (!status.empty() && status != "ok")) {
    row.set_status(unsupported ? "unsupported" : "failed");
    row.set_reason(Text(result, {"reason"}));
    if (row.reason().empty()) row.set_reason(Text(result, {"error"}));
    return add(row);
  }
  if (Truth(result, {"early_stopped"})) {
    row.set_status("early_stopped");
    row.set_reason(Text(result, {"early_stop_reason"}));
    row.set_throughput(median);
    const double slow_from_s = Number(result, {"slow_threshold_sec_per_item"});
    if (slow_from_s > 0) row.set_slow_threshold_s(slow_from_s);
    return add(row);
  }
  row.set_status("ok");
  element list;
  array throughputs;
  const bool has_runs = Find(result, {"throughputs"}, &list);
  if (has_runs && list.get(throughputs) != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(
        absl::StrCat(row.transform(), ": \"throughputs\" is not a list"));
  }
  if (has_runs && throughputs.size() > 0) {
    int32_t index = 0;
    for (const element entry : throughputs) {
      double throughput;
      if (entry.get(throughput) != simdjson::SUCCESS || !(throughput > 0)) {
        return absl::InvalidArgumentError(absl::StrCat(
            row.transform(), ": a throughput is not a number above 0"));
      }
      row.set_run_index(index++);
      SetThroughput(throughput, &row);
      RETURN_IF_ERROR(add(row));
    }
    return absl::OkStatus();
  }
  if (median <= 0) {
    row.set_status("failed");
    row.set_reason("the file has no throughput for it");
    return add(row);
  }
  SetThroughput(median, &row);
  return add(row);
}

absl::Status NotAResult(const std::string& name, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": not a result file of the public benchmark: ", why));
}

}  // namespace

bool IsAlbumentationsResult(absl::string_view path) {
  const std::string name = BaseName(path);
  return absl::EndsWith(name, ".json") &&
         !absl::EndsWith(name, ".pyperf.json") && name != "manifest.json" &&
         name != "run_meta.json";
}

absl::Status ImportAlbumentations(
    const std::string& name, absl::string_view content,
    const std::function<absl::Status(const Row&)>& add) {
  simdjson::dom::parser parser;
  element parsed;
  object file;
  const simdjson::padded_string padded(content.data(), content.size());
  simdjson::error_code error = parser.parse(padded).get(parsed);
  if (error == simdjson::SUCCESS) error = parsed.get(file);
  if (error != simdjson::SUCCESS) {
    return NotAResult(name, simdjson::error_message(error));
  }
  const std::string repeated = FindRepeatedKey(parsed);
  if (!repeated.empty()) {
    return NotAResult(
        name, absl::StrCat(repeated, " is there twice; which one counts?"));
  }
  object metadata;
  object results;
  if (file["metadata"].get(metadata) != simdjson::SUCCESS) {
    return NotAResult(name, "no object \"metadata\"");
  }
  if (file["results"].get(results) != simdjson::SUCCESS) {
    return NotAResult(name, "no object \"results\"");
  }
  const absl::StatusOr<Row> common = Common(metadata, ParseName(name));
  if (!common.ok()) return NotAResult(name, common.status().message());
  for (const auto& [transform, result] : results) {
    object fields;
    if (result.get(fields) != simdjson::SUCCESS) {
      return NotAResult(name, absl::StrCat("\"", std::string(transform),
                                           "\" is not an object"));
    }
    Row row = *common;
    // Decoders have no transform; the key repeats the decoder's name.
    if (row.mode() != "decode") {
      row.set_transform(std::string(transform));
    } else if (row.library().empty()) {
      row.set_library(LibraryName(std::string(transform)));
    }
    // Without a library, rows of several would look like retries of one job.
    if (row.library().empty()) {
      return NotAResult(name,
                        "it names no library; add \"metadata.library\", or "
                        "name the file LIBRARY_micro_results.json");
    }
    row.set_job_id(JobId(JobOfRow(row)));
    const absl::Status status = AddTransform(std::move(row), fields, add);
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace feedrate
