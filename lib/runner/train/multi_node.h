// `train` on several nodes of a Slurm cluster: rank 0 decides which trainings
// run, and the other ranks start their part of each.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "lib/base/unique_fd.h"
#include "lib/worker/process.h"

namespace feedrate {

// The position of this process among those that one `srun` started.

struct SlurmStep {
  // Rank among `world_size` processes on all nodes.
  int rank = 0;
  int world_size = 1;
  // Rank on this node, which selects the GPU.
  int local_rank = 0;
  // Host of rank 0, and the first of the ports on which it listens.
  std::string leader;
  int port = 0;
  // Job and step. No secret: everyone on the cluster can list them.
  std::string token;
  // File in a folder that all nodes share, readable by this user alone, by
  // which both sides of a connection prove that they belong to this step.
  std::string secret_file;
};

// The value of an environment variable, or null.
using Environment = std::function<const char*(const char* name)>;
// Whether a host name has an address.
using Resolver = std::function<bool(const std::string& host)>;

// Empty outside of srun and for a step of one task. The leader is MASTER_ADDR,
// or the step's first node, or, if that name has no address, the node of srun
// itself, which in a batch script is also the first. Its port is MASTER_PORT or
// is derived from the job's number. The secret is in FEEDRATE_SECRET_FOLDER, or
// in the current folder. InvalidArgument names the variable that makes no
// sense.
absl::StatusOr<absl::optional<SlurmStep>> SlurmStepOf(const Environment& get,
                                                      const Resolver& resolves);
// The Slurm step of this process.
absl::StatusOr<absl::optional<SlurmStep>> ThisSlurmStep();

// The first host: "gpu07" for "gpu[07-12,20],cpu1".
std::string FirstHost(const std::string& nodelist);

// What the other ranks need to know about a training: the library, and the
// arguments of its process without the rank.
struct RankOrder {
  std::string library;
  std::vector<std::string> words;
};

// The key of a connection after both sides have proven that they know the
// secret (HMAC-SHA-256 of random numbers of both), and the orders signed with
// it so far.
struct RankSession {
  std::string key;
  int64_t orders = 0;
};

// The connection at rank 0.
class RankLeader {
 public:
  // Makes the secret, waits until all other ranks have proven that they know
  // it, and removes it. DeadlineExceeded says how many have.
  static absl::StatusOr<std::unique_ptr<RankLeader>> Gather(
      const SlurmStep& step, absl::Duration patience);

  // Unavailable when another rank is gone.
  absl::Status Order(const RankOrder& order);

 private:
  struct Follower {
    UniqueFd fd;
    RankSession session;
  };
  std::vector<Follower> followers_;
};

// The connection at each other rank.
class RankFollower {
 public:
  // Tries until a leader listens that knows the secret. DeadlineExceeded names
  // the address and what the last try met.
  static absl::StatusOr<std::unique_ptr<RankFollower>> Join(
      const SlurmStep& step, absl::Duration patience);

  // Waits for the next order; empty once the leader has ended. Cancelled when
  // `interrupt_fd` becomes readable. DataLoss if it is not the leader's.
  absl::StatusOr<absl::optional<RankOrder>> Next(int interrupt_fd);

 private:
  RankFollower(UniqueFd fd, RankSession session)
      : inbox_(std::move(fd)), session_(std::move(session)) {}
  LineInbox inbox_;
  RankSession session_;
};

}  // namespace feedrate
