// LeRobot data sets, formats v2.0, v2.1 and v3.0: Parquet files with numbers,
// and a video per camera.
//
// Each episode becomes a tf.train.Example with a feature of the same name for
// each column of floats and each camera, and `task` and `episode_index`, so
// that the rest of the loader sees no difference to other data sets. A frame of
// a video is a name, its file and time, see video_frames.h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/loader/mixture/mixture_spec.h"

namespace feedrate {

// Where a data set begins, below its folder. Its path is the data set's only
// shard.
inline constexpr char kLerobotInfo[] = "meta/info.json";
// The feature of an episode that cannot be used: the reason.
inline constexpr char kLerobotError[] = "error";

// True for the path of meta/info.json.
bool IsLerobotShard(absl::string_view path);

// Sets the shard, and the names of features: of cameras `observation.image` or
// the first, `action` or its parts, `observation.state`.
absl::Status ReadLerobotFeatures(const std::string& shard,
                                 MixtureSource* source);

// Calls `add` with each episode, in the order of their numbers in v2, and of
// the files that they are in in v3. An episode whose files are missing or
// damaged has only kLerobotError. Errors name a file.
absl::Status ReadLerobotEpisodes(
    const std::string& shard,
    const std::function<absl::Status(absl::string_view example)>& add);

// `files/episode_{episode_index:06d}.mp4` with numbers in place of names in
// braces. InvalidArgument for another name.
struct LerobotPathPart {
  const char* name;
  int64_t number;
  // Instead of the number, if it is not empty.
  std::string text;
};
absl::StatusOr<std::string> LerobotPath(
    absl::string_view pattern, const std::vector<LerobotPathPart>& parts);

}  // namespace feedrate
