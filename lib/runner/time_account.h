// Where the wall time of a run went.
#ifndef FEEDRATE_LIB_RUNNER_TIME_ACCOUNT_H_
#define FEEDRATE_LIB_RUNNER_TIME_ACCOUNT_H_

#include <array>
#include <string>

#include "absl/time/time.h"

namespace feedrate {

enum class Spending {
  kImport,       // Waiting for libraries to load.
  kMedia,        // Decoding and converting inputs.
  kPrepare,      // Forking children and making transforms ready.
  kEquivalence,  // Outputs and references.
  kPreflight,
  kWarmUp,
  kTimed,
};

// Sums up. What is on no account is the harness's own.
class TimeAccount {
 public:
  TimeAccount();

  // Books the time of its own life.
  class Entry {
   public:
    Entry(TimeAccount* account, Spending spending);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    TimeAccount* const account_;
    const Spending spending_;
    const absl::Time start_;
  };

  double Seconds(Spending spending) const;
  // Since the account was opened.
  double Total() const;
  // Share of the total that went into measured code or its loading.
  double MeasuredShare() const;
  // `3.21 s: import 10%, media 4%, …, harness 6%`.
  std::string Text() const;

 private:
  static constexpr int kSpendings = 7;
  const absl::Time start_;
  std::array<double, kSpendings> seconds_ = {};
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_TIME_ACCOUNT_H_
