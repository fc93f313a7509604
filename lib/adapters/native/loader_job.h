// Between the commands of a runner and the loaders of lib/loader: recipes from
// commands, and replies from what an epoch tells.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/loader/cuda/gpu_recipe.h"
#include "lib/loader/epoch_report.h"
#include "lib/loader/loader.h"
#include "lib/loader/options.h"
#include "lib/loader/recipe.h"
#include "lib/loader/source.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/message.h"

namespace feedrate {

// The recipe of a command, which has no steps if its transform mixes batches.
// InvalidArgument as StepsOf. REQUIRES: command.loader is set.
absl::StatusOr<Recipe> RecipeOf(const PrepareCommand& command);

// Everything else that a command says about a loader, with the recipe and the
// mixing. InvalidArgument as these. REQUIRES: command.loader is set.
absl::StatusOr<LoaderOptions> LoaderOptionsOf(const PrepareCommand& command);

// The recipe for a GPU: one transform of `cuda`, several of them, or a mixing
// operation. InvalidArgument names what one launch cannot do.
absl::StatusOr<GpuRecipe> GpuRecipeOf(const PrepareCommand& command);

// Adds the number of faults and the first of them by name to the reply.
void ReportFaults(const FaultList& faults, EpochReply* reply);

void ReportStages(const std::vector<StageReport>& stages, EpochReply* reply);

// What the store of a source has done so far; none for local sources.
std::optional<StorageCounts> StorageOf(const Source& source);
// The same without what it had done `before`. REQUIRES: it has a store.
StorageCounts StorageSince(const StorageCounts& before, const Source& source);

// Measures for about this many seconds.
using MeasureLimits = std::function<absl::StatusOr<DeviceLimits>(double)>;

// A loader that loads nothing: answers an epoch with `device_limits` and no
// items.
std::unique_ptr<PreparedLoader> MakeLimitsLoader(MeasureLimits measure);

// A loader of lib/loader as the protocol of workers has it.

// Runs the epochs of `loader`, as the rank that `spec` says. Samples are images
// or, of a source that makes them, clips: frames of floats, one after the
// other, each as the recipe's crop has it.
std::unique_ptr<PreparedLoader> PrepareLoaderOf(std::unique_ptr<Loader> loader,
                                                const LoaderSpec& spec);

}  // namespace feedrate
