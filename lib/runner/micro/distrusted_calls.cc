#include "lib/runner/micro/distrusted_calls.h"

#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "lib/base/xoshiro.h"
#include "lib/catalogue/catalogue.h"
#include "lib/machine/process_counters.h"
#include "lib/machine/root.h"
#include "lib/media/convert_corpus.h"
#include "lib/media/corpus.h"
#include "lib/reference/compare.h"
#include "lib/reference/pixels.h"
#include "lib/runner/core/equivalence.h"
#include "lib/runner/core/job_settings.h"
#include "lib/runner/core/run_context.h"
#include "lib/runner/data/input_corpora.h"
#include "lib/worker/child.h"

namespace feedrate {
namespace {

absl::StatusOr<Corpus> CorpusOf(const std::vector<KeptCall>& kept,
                                const CorpusForm& form) {
  ASSIGN_OR_RETURN(CorpusWriter writer,
                   CorpusWriter::Create(DType::kUint8, Layout::kHwc));
  std::vector<ItemSize> sizes;
  for (const KeptCall& call : kept) sizes.push_back(call.size);
  RETURN_IF_ERROR(writer.AddRoom(sizes));
  for (size_t i = 0; i < kept.size(); ++i) {
    std::memcpy(writer.data(static_cast<int64_t>(i)), kept[i].input.data(),
                kept[i].input.size());
  }
  ASSIGN_OR_RETURN(Corpus corpus, std::move(writer).Finish());
  if (form.dtype == DType::kUint8 && form.layout == Layout::kHwc &&
      form.channels == 0) {
    return corpus;
  }
  return ConvertCorpus(corpus, form, /*threads=*/1);
}

// What the reference makes of the same inputs and seeds.
absl::StatusOr<std::vector<ChildOutput>> ExpectedOutputs(
    const RunContext& context, const std::vector<KeptCall>& kept,
    const TrustedReference& reference, absl::Duration limit) {
  ASSIGN_OR_RETURN(const CorpusForm form,
                   FormOf(context.catalogue, reference.job));
  ASSIGN_OR_RETURN(const Corpus corpus, CorpusOf(kept, form));
  ASSIGN_OR_RETURN(const PrepareCommand command,
                   PrepareCommandOfJob(context.catalogue, reference.job));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<MeasuredChild> child,
      MeasuredChild::Spawn(reference.server, reference.job.library(),
                           corpus.fd(), context.limits.memory_bytes));
  RETURN_IF_ERROR(child->Prepare(command, limit).status());
  std::vector<ChildOutput> outputs;
  for (size_t i = 0; i < kept.size(); ++i) {
    OutputCommand wanted;
    wanted.add_indexes(static_cast<int64_t>(i));
    wanted.set_seed(kept[i].seed);
    ASSIGN_OR_RETURN(std::vector<ChildOutput> output,
                     child->Outputs(wanted, limit));
    outputs.push_back(std::move(output[0]));
  }
  return outputs;
}

// Whether both have the same bytes, which takes far less time to find out than
// how similar they are.
bool AreSame(const ChildOutput& a, const ChildOutput& b) {
  return a.bytes == b.bytes && a.info.dtype() == b.info.dtype() &&
         a.info.layout() == b.info.layout() &&
         std::equal(a.info.shape().begin(), a.info.shape().end(),
                    b.info.shape().begin(), b.info.shape().end());
}

Pixels PixelsOf(const KeptCall& call) {
  return PixelsFromBytes(reinterpret_cast<const uint8_t*>(call.input.data()),
                         static_cast<int>(call.size.height),
                         static_cast<int>(call.size.width),
                         static_cast<int>(call.size.channels));
}

absl::Status NotChecked(absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("distrust: its outputs could not be checked: ", why));
}

absl::Status Refused(const Comparison& worst, size_t refused, size_t checked) {
  if (worst.label == kUnchecked) return NotChecked(worst.reference);
  return absl::FailedPreconditionError(absl::StrCat(
      "distrust: ", refused, " of ", checked, " outputs that were checked are ",
      worst.label == kNoop ? "their inputs" : "wrong", " (", worst.reference,
      worst.psnr_db.has_value()
          ? absl::StrCat(", PSNR ", static_cast<int>(*worst.psnr_db), " dB")
          : "",
      ")"));
}

// A call that does wrong in one of ten escapes this many checks in 1 of 29
// runs.
constexpr size_t kKept = 32;
// An output may be larger than its input: floats of four times the pixels.
constexpr int64_t kOutputFactor = 16;
constexpr int64_t kLeastOutputBytes = int64_t{4} << 20;
// Every second call is preceded by a look at what the process does when nothing
// is asked of it. It may take so long to come to rest: the machine may be busy.
constexpr int64_t kLookEvery = 2;
constexpr absl::Duration kStep = absl::Milliseconds(1);
constexpr int kSteps = 60;
constexpr int64_t kLeastLooks = 4;
// The process may write from warmer caches than those of this one.
constexpr double kFasterCopy = 4;
// Smaller outputs say nothing about the speed of a copy.
constexpr int64_t kLeastJudgedBytes = 64 << 10;
constexpr uint64_t kNoise = 0x0303030303030303u;

// Not steady_clock: a process with the privilege to adjust clocks changes the
// speed of that one.
double Now() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * now.tv_nsec;
}

// The state in a file /proc/…/stat; 0 if there is none.
char StateIn(const std::string& path) {
  const std::string stat = Root().ReadText(path);
  // The name before it may have any characters.
  const size_t end = stat.rfind(") ");
  return end == std::string::npos ? 0 : stat[end + 2];
}

// Whether a thread of the process runs, or would if it had a processor.
bool HasRunningThread(pid_t pid) {
  const std::string folder = absl::StrCat("/proc/", pid, "/task");
  for (const std::string& thread : Root().List(folder)) {
    if (StateIn(absl::StrCat(folder, "/", thread, "/stat")) == 'R') return true;
  }
  return false;
}

// Whether the process has not ended. Nobody waits for some that have.
bool IsThere(pid_t pid) {
  const char state = StateIn(absl::StrCat("/proc/", pid, "/stat"));
  return state != 0 && state != 'Z' && state != 'X';
}

// From the kernel: what a generator draws could be computed from what it drew.
uint64_t Unpredictable() {
  uint64_t value = 0;
  while (getrandom(&value, sizeof(value), 0) != sizeof(value)) continue;
  return value;
}

uint64_t UnpredictableBelow(uint64_t end) {
  return Unpredictable() % std::max<uint64_t>(end, 1);
}

// The mean of two images, with noise in the last two bits, so that nothing that
// is known about either of them is known about the result. `from` is rolled by
// some rows and pixels; `other` is read as a ring of bytes.
void Mix(const ItemView& from, const ItemView& other, std::string* to) {
  const auto* const a = static_cast<const uint8_t*>(from.data);
  const auto* const b = static_cast<const uint8_t*>(other.data);
  auto* const out = reinterpret_cast<uint8_t*>(&(*to)[0]);
  const int64_t row = int64_t{from.width} * from.channels;
  const int64_t down = UnpredictableBelow(from.height);
  const int64_t right = UnpredictableBelow(from.width) * from.channels;
  int64_t at = UnpredictableBelow(other.bytes);
  for (int64_t y = 0; y < from.height; ++y) {
    const uint8_t* const line = a + (y + down) % from.height * row;
    uint8_t* const mixed = out + y * row;
    std::memcpy(mixed, line + right, row - right);
    std::memcpy(mixed + row - right, line, right);
    for (int64_t x = 0; x < row;) {
      const int64_t count = std::min(row - x, other.bytes - at);
      for (int64_t i = 0; i < count; ++i) {
        mixed[x + i] = (mixed[x + i] + b[at + i] + 1) / 2;
      }
      x += count;
      at = (at + count) % other.bytes;
    }
  }
  SplitMix64 noise(Unpredictable());
  for (size_t i = 0; i + 8 <= to->size(); i += 8) {
    uint64_t eight = 0;
    std::memcpy(&eight, out + i, 8);
    eight ^= noise.Next() & kNoise;
    std::memcpy(out + i, &eight, 8);
  }
}

}  // namespace

bool IsDistrusted(const Job& job) {
  return job.settings().count(kDistrust) > 0 && IsSubject(job.library());
}

absl::StatusOr<Equivalence> CheckKept(const RunContext& context, const Job& job,
                                      const std::vector<KeptCall>& kept,
                                      const TrustedReference* reference,
                                      absl::Duration limit) {
  if (kept.empty()) return NotChecked("it made no calls");
  std::vector<ChildOutput> expected;
  const Transform* transform = nullptr;
  if (reference != nullptr) {
    absl::StatusOr<std::vector<ChildOutput>> outputs =
        ExpectedOutputs(context, kept, *reference, limit);
    if (absl::IsCancelled(outputs.status())) return outputs.status();
    if (!outputs.ok()) {
      return NotChecked(absl::StrCat(reference->job.library(),
                                     " failed: ", outputs.status().message()));
    }
    expected = *std::move(outputs);
  } else {
    const absl::StatusOr<const Transform*> found =
        TransformOfJob(context.catalogue, job);
    if (!found.ok()) {
      return NotChecked(
          "no transform of the set has this name; name a library or a subject "
          "that does the same with --reference");
    }
    transform = *found;
  }
  std::vector<Comparison> comparisons;
  size_t refused = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (reference != nullptr && AreSame(expected[i], kept[i].output)) {
      Comparison& same = comparisons.emplace_back();
      same.label = kExact;
      same.max_abs_diff = 0;
      same.reference = reference->job.library();
      continue;
    }
    const Pixels input = PixelsOf(kept[i]);
    ASSIGN_OR_RETURN(const LibraryOutput output,
                     ReadOutput(FrameOfOutput(kept[i].output, 0)));
    if (transform == nullptr) {
      ASSIGN_OR_RETURN(const LibraryOutput theirs,
                       ReadOutput(FrameOfOutput(expected[i], 0)));
      comparisons.push_back(
          CompareWithOutput(reference->job.library(), input, theirs, output));
    } else {
      ASSIGN_OR_RETURN(
          comparisons.emplace_back(),
          CheckOutput(*transform, Implementation::default_instance(), input,
                      output));
    }
    const std::string& label = comparisons.back().label;
    refused += label == kExact || label == kEquivalent ? 0 : 1;
  }
  const Comparison worst = WorstOf(comparisons);
  if (refused > 0) return Refused(worst, refused, kept.size());
  return RecordOf(worst);
}

DistrustedCalls::DistrustedCalls(MeasuredChild* child, const Corpus& corpus,
                                 EnergyMeter* energy)
    : ChildSubject(child, 0, energy), child_(child), corpus_(corpus) {}

absl::StatusOr<DistrustedCalls::Map> DistrustedCalls::MapFile(int fd,
                                                              int64_t bytes,
                                                              bool write) {
  void* const data =
      mmap(nullptr, bytes, write ? PROT_READ | PROT_WRITE : PROT_READ,
           MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) {
    return absl::DataLossError(absl::StrCat(
        "gave a memory file that cannot be mapped: ", strerror(errno)));
  }
  return Map{static_cast<char*>(data), bytes};
}

absl::StatusOr<std::unique_ptr<DistrustedCalls>> DistrustedCalls::Attach(
    MeasuredChild* child, const Corpus& corpus, EnergyMeter* energy,
    double hang_s) {
  std::unique_ptr<DistrustedCalls> calls(
      new DistrustedCalls(child, corpus, energy));
  int64_t largest = 1;
  for (int64_t i = 0; i < corpus.size(); ++i) {
    largest = std::max(largest, corpus.item(i).bytes);
  }
  AttachCommand command;
  command.set_input_bytes(largest);
  command.set_output_bytes(
      std::max(kOutputFactor * largest, kLeastOutputBytes));
  ASSIGN_OR_RETURN(calls->files_,
                   child->Attach(command, absl::Seconds(hang_s)));
  ASSIGN_OR_RETURN(calls->input_map_,
                   MapFile(calls->files_.input.get(), command.input_bytes(),
                           /*write=*/true));
  ASSIGN_OR_RETURN(calls->output_map_,
                   MapFile(calls->files_.output.get(), command.output_bytes(),
                           /*write=*/false));
  return calls;
}

DistrustedCalls::~DistrustedCalls() {
  for (const Map& map : {input_map_, output_map_}) {
    if (map.data != nullptr) munmap(map.data, map.bytes);
  }
}

void DistrustedCalls::MakeInput(int64_t item) {
  const ItemView view = corpus_.item(item);
  size_ = {view.frames, view.height, view.width, view.channels};
  input_.resize(view.bytes);
  Mix(view, corpus_.item(UnpredictableBelow(corpus_.size())), &input_);
}

absl::StatusOr<DistrustedCalls::OneCall> DistrustedCalls::CallOnce(
    int64_t item, double hang_s) {
  const absl::Duration limit = absl::Seconds(hang_s);
  MakeInput(item);
  // All generators take 32 bits.
  seed_ = UnpredictableBelow(uint64_t{1} << 32);
  SeedCommand seeding;
  seeding.set_seed(seed_);
  RETURN_IF_ERROR(child_->Seed(seeding, limit));
  if (calls_ % kLookEvery == 0) LookWhileIdle();
  CallCommand command;
  command.set_nonce(static_cast<int64_t>(UnpredictableBelow(1ull << 52)));
  command.set_height(size_.height);
  command.set_width(size_.width);
  command.set_channels(size_.channels);

  OneCall one;
  const double start = Now();
  // Not before: a thread could read it ahead of the call.
  std::memcpy(input_map_.data, input_.data(), input_.size());
  const double asked = Now();
  ASSIGN_OR_RETURN(one.output, child_->Call(command, output_map_.bytes, limit));
  const double answered = Now();
  // Within the time: what a thread writes later is too late.
  output_.resize(one.output.bytes());
  std::memcpy(&output_[0], output_map_.data, output_.size());
  const double end = Now();

  one.seconds = end - start;
  handover_s_ += (asked - start) + (end - answered);
  worked_.emplace_back(answered - asked, one.output.bytes());
  for (const auto& [seconds, bytes] :
       {std::make_pair(asked - start, input_.size()),
        std::make_pair(end - answered, output_.size())}) {
    if (seconds > 0 && bytes >= kLeastJudgedBytes) {
      best_copy_ = std::max(best_copy_, static_cast<double>(bytes) / seconds);
    }
  }
  Keep(one.output);
  return one;
}

void DistrustedCalls::Keep(const OutputItem& output) {
  // Each call so far is among the kept ones with the same chance.
  const size_t at =
      kept_.size() < kKept ? kept_.size() : UnpredictableBelow(calls_ + 1);
  ++calls_;
  if (at >= kKept) return;
  if (at == kept_.size()) kept_.emplace_back();
  kept_[at] = {input_, size_, seed_, {output, output_}};
}

void DistrustedCalls::LookWhileIdle() {
  const auto pid = static_cast<pid_t>(child_->pid());
  // It only forks, and may have been left a thread.
  const pid_t server = child_->server().pid();
  ++looks_;
  for (int i = 0; i < kSteps; ++i) {
    absl::SleepFor(kStep);
    if (!HasRunningThread(pid) && !HasRunningThread(server)) return;
  }
  ++busy_looks_;
}

absl::StatusOr<TimeReply> DistrustedCalls::Time(const TimeRequest& request) {
  TimeReply reply;
  double all_s = 0;
  const int64_t chunk = std::max<int64_t>(request.chunk, 1);
  while (reply.items() < request.count &&
         (request.limit_s <= 0 || all_s < request.limit_s)) {
    double sample_s = 0;
    for (int64_t i = 0; i < chunk && reply.items() < request.count; ++i) {
      ASSIGN_OR_RETURN(
          const OneCall one,
          CallOnce((request.first + reply.items()) % corpus_.size(),
                   request.hang_s));
      sample_s += one.seconds;
      reply.set_items(reply.items() + 1);
    }
    reply.add_samples_s(sample_s);
    all_s += sample_s;
  }
  return reply;
}

void DistrustedCalls::Forget() {
  kept_.clear();
  worked_.clear();
  calls_ = 0;
  looks_ = busy_looks_ = 0;
  handover_s_ = 0;
}

double DistrustedCalls::handover_s() const {
  return handover_s_ / static_cast<double>(std::max<int64_t>(calls_, 1));
}

absl::Status DistrustedCalls::FindFault() const {
  // Also those that it started when it was imported, which is in its server.
  const LibraryServer& server = child_->server();
  const std::vector<pid_t> tree = ProcessTree(Root(), server.pid());
  const size_t processes = absl::c_count_if(tree, IsThere);
  const size_t known = 1 + server.children();
  if (processes > known) {
    return absl::FailedPreconditionError(absl::StrCat(
        "distrust: it keeps ", processes - known,
        processes == known + 1 ? " other process" : " other processes",
        ", whose work no call shows"));
  }
  if (looks_ >= kLeastLooks && 2 * busy_looks_ > looks_) {
    return absl::FailedPreconditionError(
        absl::StrCat("distrust: it works between calls: ", busy_looks_, " of ",
                     looks_, " times when nothing was asked of it"));
  }
  size_t impossible = 0;
  for (const auto& [seconds, bytes] : worked_) {
    impossible +=
        bytes >= kLeastJudgedBytes &&
                seconds * kFasterCopy * best_copy_ < static_cast<double>(bytes)
            ? 1
            : 0;
  }
  if (2 * impossible > worked_.size()) {
    return absl::FailedPreconditionError(
        absl::StrFormat("distrust: impossible: %d of %d calls answered sooner "
                        "than a copy of their "
                        "output takes",
                        impossible, worked_.size()));
  }
  return absl::OkStatus();
}

}  // namespace feedrate
