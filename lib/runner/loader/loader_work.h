// Measures loaders, from the source of the data to batches.
#pragma once

#include <memory>
#include <string>

#include "lib/runner/core/job_mode.h"
#include "lib/runner/data/remote_data.h"

namespace feedrate {

// Settings for loader jobs.
struct LoaderWorkOptions {
  // Has the kernel forget the files before each epoch.
  bool cold = false;
  // Length of the training step that is played after each batch.
  double consumer_s = 0;
  // `skip` or `fail`.
  std::string on_error = "skip";
  // Runs epochs with parts left out, and reports where the time goes.
  bool diagnose = false;
  // Runs an epoch with one worker to compare the others with.
  bool worker_efficiency = true;
  // The same with one connection, for data in a store.
  bool connection_efficiency = true;
  // For audits: seconds of epochs in which the memory is watched.
  double soak_s = 0;
  // How often an epoch is interrupted.
  int resumes = 1;
  // Opens stores, for the container `http`. May be null where there is none.
  OpenRemoteData open_remote;
};

// What `pipeline` measures, and `video` on files of clips: jobs of mode
// `pipeline`.
std::shared_ptr<JobMode> MakeLoaderMode(const LoaderWorkOptions& options);

}  // namespace feedrate
