// Says on stderr how far a run has come.
#ifndef FEEDRATE_LIB_TAR_STAGE_PROGRESS_H_
#define FEEDRATE_LIB_TAR_STAGE_PROGRESS_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace feedrate::tar {

// "1.23 GB", in powers of ten, as disks and networks are sold.
std::string HumanBytes(double bytes);

// "val.tar: [#####-----]  50%  1.02 GB of 2.04 GB  1.1 GB/s  ETA 0:00:01".
// Without `total` no bar, no share and no ETA.
std::string ProgressLine(const std::string& name, uint64_t done,
                         std::optional<uint64_t> total, double seconds);

// A thread that draws: a bar in place on a terminal, else a line now and then.
// Short runs stay silent.
class Progress {
 public:
  Progress(std::string name, const std::atomic<uint64_t>* done,
           std::optional<uint64_t> total);
  // Ends the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void Run();
  void Draw(double seconds);

  const std::string name_;
  const std::atomic<uint64_t>* const done_;
  const std::optional<uint64_t> total_;
  const bool terminal_;
  bool drawn_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_STAGE_PROGRESS_H_
