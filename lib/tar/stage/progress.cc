#include "lib/tar/stage/progress.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

namespace feedrate::tar {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kTerminalStep = std::chrono::milliseconds(200);
constexpr auto kLogStep = std::chrono::seconds(10);
constexpr int kBarWidth = 20;

std::string Duration(double seconds) {
  // More than this is "unknown" in other words.
  const auto total = static_cast<int>(std::min(seconds, 359999.0));
  char text[32];
  snprintf(text, sizeof(text), "%d:%02d:%02d", total / 3600, total / 60 % 60,
           total % 60);
  return text;
}

}  // namespace

std::string HumanBytes(double bytes) {
  const char* units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  int unit = 0;
  while (bytes >= 999.5 && unit < 5) {
    bytes /= 1000;
    ++unit;
  }
  char text[32];
  const int digits = unit == 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
  snprintf(text, sizeof(text), "%.*f %s", digits, bytes, units[unit]);
  return text;
}

std::string ProgressLine(const std::string& name, uint64_t done,
                         std::optional<uint64_t> total, double seconds) {
  const auto bytes = static_cast<double>(done);
  const double rate = seconds > 0 ? bytes / seconds : 0;
  std::string line = name + ": ";
  if (!total || *total == 0) {
    return line + HumanBytes(bytes) + "  " + HumanBytes(rate) + "/s";
  }
  const auto whole = static_cast<double>(*total);
  const double share = std::min(1.0, bytes / whole);
  const int filled = static_cast<int>(share * kBarWidth);
  char percent[8];
  snprintf(percent, sizeof(percent), "%3d%%", static_cast<int>(share * 100));
  line += "[" + std::string(filled, '#') +
          std::string(kBarWidth - filled, '-') + "] " + percent + "  " +
          HumanBytes(bytes) + " of " + HumanBytes(whole) + "  " +
          HumanBytes(rate) + "/s";
  if (rate > 0) {
    line += "  ETA " + Duration(std::max(0.0, whole - bytes) / rate);
  }
  return line;
}

Progress::Progress(std::string name, const std::atomic<uint64_t>* done,
                   std::optional<uint64_t> total)
    : name_(std::move(name)),
      done_(done),
      total_(total),
      terminal_(isatty(STDERR_FILENO)) {
  sigset_t all, old;  // Signals are the main thread's business.
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  thread_ = std::thread([this] { Run(); });
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

Progress::~Progress() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (terminal_ && drawn_) fputc('\n', stderr);
}

void Progress::Run() {
  const Clock::time_point start = Clock::now();
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_) {
    if (terminal_) {
      changed_.wait_for(lock, kTerminalStep);
    } else {
      changed_.wait_for(lock, kLogStep);
    }
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    if (!stop_ || drawn_) Draw(elapsed.count());
  }
}

void Progress::Draw(double seconds) {
  const std::string line = ProgressLine(name_, *done_, total_, seconds);
  // \033[K: what a longer line before it has left.
  fprintf(stderr, terminal_ ? "\r%s\033[K" : "%s\n", line.c_str());
  fflush(stderr);
  drawn_ = true;
}

}  // namespace feedrate::tar
