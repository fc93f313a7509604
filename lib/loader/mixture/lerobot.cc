#include "lib/loader/mixture/lerobot.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/loader/mixture/video_frames.h"
#include "lib/storage/parquet/parquet.h"
#include "lib/storage/tfrecord.h"
#include "simdjson.h"

namespace feedrate {
namespace {

using ::simdjson::dom::element;
using ::simdjson::dom::object;

constexpr char kTask[] = "task";
constexpr char kEpisodeIndex[] = "episode_index";
constexpr char kState[] = "observation.state";

absl::Status In(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(path, ": ", status.message()));
}

std::string Text(const element& from, const char* key) {
  std::string_view text;
  if (from[key].get(text) != simdjson::SUCCESS) return "";
  return std::string(text);
}

// What meta/info.json says.
struct Info {
  std::string folder;
  bool is_v3 = false;
  int64_t chunk_size = 1000;
  double fps = 0;
  std::string data_path;
  std::string video_path;
  // In the order of the file. Without `others` an episode cannot be used.
  std::vector<std::string> numbers;
  std::vector<std::string> others;
  std::vector<std::string> videos;
  std::vector<std::string> images;
  std::vector<std::string> cameras;
};

bool IsAction(absl::string_view name) {
  return name == "action" || absl::StartsWith(name, "action.");
}

// Whether a column that has no floats is an action or a state. Other integers
// number rows.
bool IsNumbers(absl::string_view name, absl::string_view type) {
  return absl::StrContains(type, "int") && (IsAction(name) || name == kState);
}

// What batches have anyway.
bool IsNumberOfRow(absl::string_view name) {
  return name == kEpisodeIndex || name == "frame_index" || name == "index";
}

absl::StatusOr<Info> ReadInfo(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  simdjson::dom::parser parser;
  element root;
  object features;
  if (parser.parse(text).get(root) != simdjson::SUCCESS ||
      root["features"].get(features) != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": is not LeRobot's description of a data set; copy it again"));
  }
  Info info;
  info.folder = ParentFolder(ParentFolder(path));
  const std::string version = Text(root, "codebase_version");
  info.is_v3 = absl::StartsWith(version, "v3.");
  if (!info.is_v3 && !absl::StartsWith(version, "v2.")) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": has the format \"", version,
                     "\"; convert it to v2.1 or v3.0 with lerobot"));
  }
  const auto chunk_size = root["chunks_size"];
  if (chunk_size.error() != simdjson::NO_SUCH_FIELD &&
      (chunk_size.get(info.chunk_size) != simdjson::SUCCESS ||
       info.chunk_size < 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": \"chunks_size\" is not a whole number from 1 on"));
  }
  if (root["fps"].get(info.fps) != simdjson::SUCCESS) info.fps = 0;
  info.data_path = Text(root, "data_path");
  info.video_path = Text(root, "video_path");
  for (const auto feature : features) {
    const std::string name(feature.key);
    const std::string type = Text(feature.value, "dtype");
    if (type == "video" || type == "image") {
      (type == "video" ? info.videos : info.images).push_back(name);
      info.cameras.push_back(name);
    } else if (absl::StartsWith(type, "float") ? name != "timestamp"
                                               : IsNumbers(name, type)) {
      info.numbers.push_back(name);
    } else if (!IsNumberOfRow(name) &&
               (type == "bool" || absl::StartsWith(type, "float") ||
                absl::StrContains(type, "int"))) {
      info.others.push_back(name);
    }
  }
  return info;
}

// Where the data of an episode is.
struct Place {
  int64_t episode = 0;
  std::string data;
  struct Video {
    std::string path;
    double from_s = 0;
  };
  std::vector<Video> videos;  // As Info::videos.
};

absl::StatusOr<std::string> FileOf(const Info& info, const std::string& pattern,
                                   const std::vector<LerobotPathPart>& parts) {
  ASSIGN_OR_RETURN(const std::string path, LerobotPath(pattern, parts));
  return JoinPath(info.folder, path);
}

// Calls `use` with each line, a JSON object.
absl::Status ForEachLine(
    const std::string& path,
    const std::function<absl::Status(const element&)>& use) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  simdjson::dom::parser parser;
  int64_t number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    element one;
    if (parser.parse(line.data(), line.size()).get(one) != simdjson::SUCCESS) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", number, ": is not JSON; copy it again"));
    }
    RETURN_IF_ERROR(use(one));
  }
  return absl::OkStatus();
}

// Reads the columns that are asked for.
class Table {
 public:
  static absl::StatusOr<std::unique_ptr<Table>> Open(const std::string& path) {
    auto table = std::make_unique<Table>();
    table->path_ = path;
    ASSIGN_OR_RETURN(table->bytes_, ReadFile(path));
    absl::StatusOr<ParquetFile> file = ParquetFile::Parse(table->bytes_);
    if (!file.ok()) return In(path, file.status());
    table->file_ = *std::move(file);
    return table;
  }

  int64_t rows() const { return file_->rows(); }
  bool Has(const std::string& name) const { return file_->Has(name); }
  absl::StatusOr<ParquetColumn> Column(const std::string& name) const {
    absl::StatusOr<ParquetColumn> column = file_->Read(name);
    if (column.ok()) return column;
    return In(path_, column.status());
  }
  // One number or text per row.
  absl::StatusOr<std::vector<int64_t>> Integers(const std::string& name) const {
    ASSIGN_OR_RETURN(ParquetColumn column, Column(name));
    return OnePerRow(name, std::move(column.integers));
  }
  absl::StatusOr<std::vector<double>> Numbers(const std::string& name) const {
    ASSIGN_OR_RETURN(ParquetColumn column, Column(name));
    return OnePerRow(name, std::move(column.numbers));
  }
  absl::StatusOr<std::vector<std::string>> Texts(
      const std::string& name) const {
    ASSIGN_OR_RETURN(ParquetColumn column, Column(name));
    return OnePerRow(name, std::move(column.texts));
  }

 private:
  template <typename T>
  absl::StatusOr<std::vector<T>> OnePerRow(const std::string& name,
                                           std::vector<T> values) const {
    if (static_cast<int64_t>(values.size()) == rows()) return values;
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": column ", name, " has another type or lists"));
  }

  std::string path_;
  std::string bytes_;
  std::optional<ParquetFile> file_;
};

absl::StatusOr<std::vector<Place>> PlacesInV2(const Info& info) {
  std::vector<Place> places;
  const std::string list = JoinPath(info.folder, "meta/episodes.jsonl");
  const auto use = [&](const element& line) -> absl::Status {
    Place& place = places.emplace_back();
    if (line[kEpisodeIndex].get(place.episode) != simdjson::SUCCESS) {
      return absl::InvalidArgumentError(
          absl::StrCat(list, ": a line has no ", kEpisodeIndex));
    }
    std::vector<LerobotPathPart> parts = {
        {"episode_chunk", place.episode / info.chunk_size, ""},
        {kEpisodeIndex, place.episode, ""}};
    ASSIGN_OR_RETURN(place.data, FileOf(info, info.data_path, parts));
    for (const std::string& camera : info.videos) {
      parts.push_back({"video_key", 0, camera});
      Place::Video& video = place.videos.emplace_back();
      ASSIGN_OR_RETURN(video.path, FileOf(info, info.video_path, parts));
      parts.pop_back();
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ForEachLine(list, use));
  return places;
}

absl::Status AddPlacesInV3(const Info& info, const Table& table,
                           std::vector<Place>* places) {
  const size_t first = places->size();
  ASSIGN_OR_RETURN(const auto episodes, table.Integers(kEpisodeIndex));
  places->resize(first + episodes.size());
  ASSIGN_OR_RETURN(const auto chunks, table.Integers("data/chunk_index"));
  ASSIGN_OR_RETURN(const auto files, table.Integers("data/file_index"));
  for (size_t i = 0; i < episodes.size(); ++i) {
    Place& place = (*places)[first + i];
    place.episode = episodes[i];
    ASSIGN_OR_RETURN(place.data, FileOf(info, info.data_path,
                                        {{"chunk_index", chunks[i], ""},
                                         {"file_index", files[i], ""}}));
  }
  for (const std::string& camera : info.videos) {
    const std::string column = absl::StrCat("videos/", camera, "/");
    ASSIGN_OR_RETURN(const auto video_chunks,
                     table.Integers(column + "chunk_index"));
    ASSIGN_OR_RETURN(const auto video_files,
                     table.Integers(column + "file_index"));
    ASSIGN_OR_RETURN(const auto from, table.Numbers(column + "from_timestamp"));
    for (size_t i = 0; i < episodes.size(); ++i) {
      Place::Video& video = (*places)[first + i].videos.emplace_back();
      video.from_s = from[i];
      ASSIGN_OR_RETURN(video.path,
                       FileOf(info, info.video_path,
                              {{"video_key", 0, camera},
                               {"chunk_index", video_chunks[i], ""},
                               {"file_index", video_files[i], ""}}));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Place>> PlacesOf(const Info& info) {
  if (!info.is_v3) return PlacesInV2(info);
  std::vector<Place> places;
  ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                   ListFiles(JoinPath(info.folder, "meta/episodes"), ".parquet",
                             /*recursive=*/true));
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Table> table, Table::Open(path));
    RETURN_IF_ERROR(AddPlacesInV3(info, *table, &places));
  }
  return places;
}

// Tasks by number. None if the data set has no list of them.
absl::StatusOr<std::map<int64_t, std::string>> TasksOf(const Info& info) {
  std::map<int64_t, std::string> tasks;
  const std::string lines = JoinPath(info.folder, "meta/tasks.jsonl");
  if (!info.is_v3 && IsFile(lines)) {
    const auto use = [&](const element& line) -> absl::Status {
      int64_t number = 0;
      if (line["task_index"].get(number) != simdjson::SUCCESS) {
        return absl::InvalidArgumentError(
            absl::StrCat(lines, ": a task has no number \"task_index\""));
      }
      tasks[number] = Text(line, kTask);
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(ForEachLine(lines, use));
  }
  const std::string path = JoinPath(info.folder, "meta/tasks.parquet");
  if (!info.is_v3 || !IsFile(path)) return tasks;
  ASSIGN_OR_RETURN(const std::unique_ptr<Table> table, Table::Open(path));
  ASSIGN_OR_RETURN(const auto numbers, table->Integers("task_index"));
  // pandas calls an index without a name like this.
  ASSIGN_OR_RETURN(
      const auto texts,
      table->Texts(table->Has(kTask) ? kTask : "__index_level_0__"));
  for (size_t i = 0; i < numbers.size(); ++i) tasks[numbers[i]] = texts[i];
  return tasks;
}

// The episodes of one data file.
class DataFile {
 public:
  static absl::StatusOr<std::unique_ptr<DataFile>> Open(
      const Info& info, const std::string& path) {
    auto file = std::make_unique<DataFile>();
    ASSIGN_OR_RETURN(const std::unique_ptr<Table> table, Table::Open(path));
    file->path_ = path;
    ASSIGN_OR_RETURN(file->episodes_, table->Integers(kEpisodeIndex));
    if (!std::is_sorted(file->episodes_.begin(), file->episodes_.end())) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": its rows are not in the order of episodes"));
    }
    ASSIGN_OR_RETURN(file->times_s_, table->Numbers("timestamp"));
    if (table->Has("task_index")) {
      ASSIGN_OR_RETURN(file->tasks_, table->Integers("task_index"));
    }
    for (const std::string& name : info.numbers) {
      ASSIGN_OR_RETURN(file->numbers_.emplace_back(), table->Column(name));
    }
    for (const std::string& name : info.others) {
      absl::StatusOr<ParquetColumn> column = table->Column(name);
      file->others_.push_back(column.ok() ? *std::move(column)
                                          : ParquetColumn());
    }
    for (const std::string& name : info.images) {
      ASSIGN_OR_RETURN(file->images_.emplace_back(),
                       table->Texts(absl::StrCat(name, "/bytes")));
    }
    return file;
  }

  absl::StatusOr<std::string> Example(
      const Info& info, const Place& place,
      const std::map<int64_t, std::string>& tasks) const {
    const auto [begin, end] =
        std::equal_range(episodes_.begin(), episodes_.end(), place.episode);
    const int64_t first = begin - episodes_.begin();
    const int64_t last = end - episodes_.begin();
    if (first == last) {
      return absl::NotFoundError(
          absl::StrCat(path_, ": has no row of episode ", place.episode));
    }
    ExampleBuilder builder;
    for (size_t i = 0; i < info.numbers.size(); ++i) {
      RETURN_IF_ERROR(
          AddNumbers(info.numbers[i], numbers_[i], first, last, &builder));
    }
    for (size_t i = 0; i < info.others.size(); ++i) {
      AddNumbers(info.others[i], others_[i], first, last, &builder)
          .IgnoreError();
    }
    for (size_t i = 0; i < info.videos.size(); ++i) {
      std::vector<std::string> names;
      for (int64_t row = first; row < last; ++row) {
        names.push_back(VideoFrameName(place.videos[i].path,
                                       place.videos[i].from_s + times_s_[row]));
      }
      builder.AddBytes(info.videos[i], {names.begin(), names.end()});
    }
    for (size_t i = 0; i < info.images.size(); ++i) {
      builder.AddBytes(info.images[i],
                       {images_[i].begin() + first, images_[i].begin() + last});
    }
    std::vector<absl::string_view> texts;
    for (int64_t row = first; row < last; ++row) {
      const auto task = tasks_.empty() ? tasks.end() : tasks.find(tasks_[row]);
      if (task == tasks.end() && !tasks_.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat(path_, ": the list of tasks has no task ", tasks_[row],
                         "; copy ", info.folder, "/meta again"));
      }
      // No "" here: the conditional would be a string that is gone at once.
      texts.push_back(task == tasks.end() ? absl::string_view()
                                          : absl::string_view(task->second));
    }
    builder.AddBytes(kTask, texts);
    builder.AddBytes(kEpisodeIndex, {absl::StrCat(place.episode)});
    return builder.Serialized();
  }

 private:
  absl::Status AddNumbers(const std::string& name, const ParquetColumn& column,
                          int64_t first, int64_t last,
                          ExampleBuilder* builder) const {
    const auto at = [&](int64_t row) {
      return column.begins.empty() ? row : column.begins[row];
    };
    const int64_t width = at(first + 1) - at(first);
    for (int64_t row = first; row < last; ++row) {
      if (at(row + 1) - at(row) == width) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(path_, ": column ", name, " has ", at(row + 1) - at(row),
                       " numbers in row ", row, ", not ", width));
    }
    const auto end = static_cast<size_t>(at(last));
    if (end <= column.numbers.size()) {
      builder->AddFloats(name, {column.numbers.begin() + at(first),
                                column.numbers.begin() + at(last)});
      return absl::OkStatus();
    }
    if (end <= column.integers.size()) {
      builder->AddIntegers(name, {column.integers.begin() + at(first),
                                  column.integers.begin() + at(last)});
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": column ", name, " has no numbers"));
  }

  std::string path_;
  std::vector<int64_t> episodes_;
  std::vector<double> times_s_;
  std::vector<int64_t> tasks_;
  std::vector<ParquetColumn> numbers_;            // As Info::numbers.
  std::vector<ParquetColumn> others_;             // As Info::others.
  std::vector<std::vector<std::string>> images_;  // As Info::images.
};

}  // namespace

bool IsLerobotShard(absl::string_view path) {
  return absl::EndsWith(path, absl::StrCat("/", kLerobotInfo));
}

absl::StatusOr<std::string> LerobotPath(
    absl::string_view pattern, const std::vector<LerobotPathPart>& parts) {
  std::string path;
  for (absl::string_view left = pattern; !left.empty();) {
    const size_t open = left.find('{');
    absl::StrAppend(&path, left.substr(0, open));
    if (open == absl::string_view::npos) break;
    const size_t close = left.find('}', open);
    const std::string field(left.substr(
        open + 1, close == absl::string_view::npos ? close : close - open - 1));
    const std::pair<std::string, std::string> name =
        absl::StrSplit(field, absl::MaxSplits(':', 1));
    const auto part = std::find_if(
        parts.begin(), parts.end(),
        [&](const LerobotPathPart& one) { return one.name == name.first; });
    if (close == absl::string_view::npos || part == parts.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(kLerobotInfo, ": the path \"", pattern,
                       "\" has a part that is not known: ", field));
    }
    // `06d` is the one kind of format that LeRobot uses.
    int width = 0;
    if (!absl::SimpleAtoi(name.second.substr(0, name.second.find('d')),
                          &width)) {
      width = 0;
    }
    absl::StrAppend(
        &path,
        part->text.empty()
            ? absl::StrFormat("%0*d", std::clamp(width, 0, 20), part->number)
            : part->text);
    left.remove_prefix(close + 1);
  }
  return path;
}

absl::Status ReadLerobotFeatures(const std::string& shard,
                                 MixtureSource* source) {
  ASSIGN_OR_RETURN(const Info info, ReadInfo(shard));
  source->shards = {shard};
  const auto has = [](const std::vector<std::string>& names, const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  constexpr char kImage[] = "observation.image";
  source->image = has(info.cameras, kImage) ? kImage
                  : info.cameras.empty()    ? ""
                                            : info.cameras[0];
  source->cameras = info.cameras;
  source->steps_per_s = info.fps;
  source->numbers = info.numbers;
  source->numbers.insert(source->numbers.end(), info.others.begin(),
                         info.others.end());
  source->action.clear();
  for (const std::string& name : info.numbers) {
    if (IsAction(name)) source->action.push_back(name);
  }
  source->state.clear();
  if (has(info.numbers, kState)) source->state = {kState};
  source->instruction = kTask;
  source->episode_id = kEpisodeIndex;
  return absl::OkStatus();
}

absl::Status ReadLerobotEpisodes(
    const std::string& shard,
    const std::function<absl::Status(absl::string_view example)>& add) {
  ASSIGN_OR_RETURN(const Info info, ReadInfo(shard));
  ASSIGN_OR_RETURN(const std::vector<Place> places, PlacesOf(info));
  ASSIGN_OR_RETURN(const auto tasks, TasksOf(info));
  std::string open_path;
  absl::StatusOr<std::unique_ptr<DataFile>> open =
      absl::UnknownError("not opened");
  std::set<std::string> missing;
  std::set<std::string> seen;
  for (const Place& place : places) {
    if (place.data != open_path) {
      open_path = place.data;
      open = DataFile::Open(info, open_path);
    }
    absl::StatusOr<std::string> example =
        open.ok() ? (*open)->Example(info, place, tasks)
                  : absl::StatusOr<std::string>(open.status());
    for (const Place::Video& video : place.videos) {
      if (seen.insert(video.path).second && !IsFile(video.path)) {
        missing.insert(video.path);
      }
      if (missing.count(video.path) > 0) {
        example = absl::NotFoundError(
            absl::StrCat(video.path, ": there is no such file"));
      }
    }
    if (!example.ok()) {
      ExampleBuilder builder;
      builder.AddBytes(kLerobotError, {example.status().message()});
      example = builder.Serialized();
    }
    RETURN_IF_ERROR(add(*example));
  }
  return absl::OkStatus();
}

}  // namespace feedrate
