#include "lib/analysis/aggregate/import_albumentations.h"

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/records/job_identity.h"
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

double Number(const object& json, Keys keys) {
  element found;
  double number;
  if (!Find(json, keys, &found) || found.get(number) != simdjson::SUCCESS) {
    return 0;
  }
  return number;
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

void FillDataset(const object& metadata, Dataset* dataset) {
  std::string path = Text(metadata, {"dataset", "path"});
  while (!path.empty() && path.back() == '/') path.pop_back();
  dataset->set_id(BaseName(path));
  dataset->set_files(
      static_cast<int64_t>(Number(metadata, {"dataset", "file_count"})));
  dataset->set_bytes(
      static_cast<int64_t>(Number(metadata, {"dataset", "total_bytes"})));
}

// What all rows of a file have in common.
Row Common(const object& metadata) {
  Row row;
  row.set_scenario(Text(metadata, {"scenario"}));
  row.set_mode(Text(metadata, {"mode"}));
  std::string library = LibraryName(Text(metadata, {"library"}));
  if (library.empty()) library = LibraryName(Text(metadata, {"decoder"}));
  row.set_library(library);
  object params;
  if (metadata["benchmark_params"].get(params) == simdjson::SUCCESS) {
    row.set_scope(Text(params, {"pipeline_scope"}));
    row.set_device(Text(params, {"device"}));
    const double images = Number(params, {"num_images"});
    row.set_num_items(static_cast<int64_t>(
        images > 0 ? images : Number(params, {"num_videos"})));
    row.set_batch_size(static_cast<int32_t>(Number(params, {"batch_size"})));
    row.set_workers(static_cast<int32_t>(Number(params, {"workers"})));
    row.set_thread_policy(Text(params, {"thread_policy"}));
  }
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
  FillDataset(metadata, row.mutable_dataset());
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
    return add(row);
  }
  row.set_status("ok");
  element list;
  array throughputs;
  if (Find(result, {"throughputs"}, &list) &&
      list.get(throughputs) == simdjson::SUCCESS && throughputs.size() > 0) {
    int32_t index = 0;
    for (const element entry : throughputs) {
      double throughput;
      if (entry.get(throughput) != simdjson::SUCCESS) {
        return absl::InvalidArgumentError(
            absl::StrCat(row.transform(), ": a throughput is no number"));
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
  return absl::EndsWith(path, ".json") &&
         !absl::EndsWith(path, ".pyperf.json") &&
         BaseName(path) != "manifest.json";
}

absl::Status ImportAlbumentations(
    const std::string& name, absl::string_view content,
    const std::function<absl::Status(const Row&)>& add) {
  simdjson::dom::parser parser;
  object file;
  const simdjson::padded_string padded(content.data(), content.size());
  const simdjson::error_code error = parser.parse(padded).get(file);
  if (error != simdjson::SUCCESS) {
    return NotAResult(name, simdjson::error_message(error));
  }
  object metadata;
  object results;
  if (file["metadata"].get(metadata) != simdjson::SUCCESS) {
    return NotAResult(name, "no object \"metadata\"");
  }
  if (file["results"].get(results) != simdjson::SUCCESS) {
    return NotAResult(name, "no object \"results\"");
  }
  const Row common = Common(metadata);
  for (const auto& [transform, result] : results) {
    object fields;
    if (result.get(fields) != simdjson::SUCCESS) {
      return NotAResult(
          name, absl::StrCat("\"", std::string(transform), "\" is no object"));
    }
    Row row = common;
    // Decoders have no transform; the key repeats the decoder's name.
    if (row.mode() != "decode") {
      row.set_transform(std::string(transform));
    } else if (row.library().empty()) {
      row.set_library(LibraryName(std::string(transform)));
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
