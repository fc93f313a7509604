// What the decoding threads of a MixtureLoader do.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/worker/timing_loop.h"
#include "lib/base/status_macros.h"
#include "lib/loader/mixture/mixture_loader.h"

namespace feedrate {

void MixtureLoader::Decode(Worker* worker) {
  while (TakeTasks(worker)) {
    const absl::Status made = Make(worker);
    if (!made.ok()) Fail(made);
    // Episodes that are done with go here, not under the lock.
    worker->tasks.clear();
  }
}

void MixtureLoader::Fail(const absl::Status& status) {
  ring_.End(status);
  // Who has seen it running before is waiting by now.
  { const std::lock_guard<std::mutex> lock(mutex_); }
  opened_.notify_all();
}

absl::Status MixtureLoader::WaitFor(int64_t position, DatasetStream* stream,
                                    std::unique_lock<std::mutex>* lock) {
  while (!ended_ && !ring_.ended()) {
    if (position != next_position_) return absl::OkStatus();
    if (stream->ready()) {
      ASSIGN_OR_RETURN(const bool settled, stream->Settle());
      if (settled) return absl::OkStatus();
      continue;
    }
    // Nobody has opened it yet: better do it than wait for a reader who gets
    // no processor while all decode.
    if (OpenOne(stream, lock)) continue;
    opened_.wait(*lock);
  }
  return absl::CancelledError("stopped");
}

bool MixtureLoader::TakeTasks(Worker* worker) {
  const int64_t begin = MonotonicNs();
  std::unique_lock<std::mutex> lock(mutex_);
  // While this thread waits, another may take the sample and the position
  // moves on.
  for (;;) {
    if (ended_ || ring_.ended() || next_position_ >= options_.count) {
      return false;
    }
    const int64_t position = next_position_;
    const int dataset = order_->DatasetAt(position);
    const absl::Status ready =
        WaitFor(position, streams_[dataset].get(), &lock);
    if (!ready.ok()) {
      lock.unlock();
      if (!absl::IsCancelled(ready)) Fail(ready);
      return false;
    }
    if (position != next_position_) continue;
    TakeRun(dataset, worker);
    worker->wait_in_ns += MonotonicNs() - begin;
    return true;
  }
}

void MixtureLoader::TakeRun(int dataset, Worker* worker) {
  DatasetStream* const stream = streams_[dataset].get();
  // Pairs of one episode share frames. Not beyond the batch: a thread that
  // waits for the next one's buffer must not keep this one from the consumer.
  const int64_t batch = options_.spec.batch_size;
  const int64_t batch_end = (next_position_ / batch + 1) * batch;
  const int64_t end =
      std::min({batch_end, options_.count, order_->BlockEnd(next_position_)});
  const int64_t run = std::min(end - next_position_, stream->left_in_episode());
  for (int64_t i = 0; i < run; ++i) {
    worker->tasks.push_back(
        {next_position_++, source_numbers_[dataset], stream->Next()});
  }
  if (stream->left_in_episode() == 0) Request(dataset);
}

absl::Status MixtureLoader::Make(Worker* worker) {
  worker->places.clear();
  for (const Task& task : worker->tasks) {
    float* const place = ring_.Slot(task.position, &worker->wait_out_ns);
    if (place == nullptr) return absl::OkStatus();
    worker->places.push_back(reinterpret_cast<uint8_t*>(place));
  }
  const int64_t begin = MonotonicNs();
  for (size_t i = 0; i < worker->tasks.size(); ++i) {
    RETURN_IF_ERROR(MakePair(worker, i));
    if (metadata_mode_ != MetadataMode::kNone) {
      WriteMetadata(worker->tasks[i]);
    }
  }
  KeepShared(worker);
  worker->decode_ns += MonotonicNs() - begin;
  int64_t unused = 0;
  for (const Task& task : worker->tasks) {
    ring_.Done(task.position, task.dataset, &unused);
  }
  return absl::OkStatus();
}

absl::Status MixtureLoader::MakePair(Worker* worker, size_t at) {
  Task& task = worker->tasks[at];
  uint8_t* const out = worker->places[at];
  const int step = task.sample.step;
  absl::Status made = MakeFrame(worker, at, step, out);
  if (made.ok()) {
    made = MakeFrame(worker, at, step + options_.spec.pair_offset,
                     out + shape_.bytes());
  }
  return made.ok() ? made : Replace(worker, &task, out, made);
}

absl::Status MixtureLoader::MakeFrame(Worker* worker, size_t at, int step,
                                      uint8_t* out) {
  // All tasks are of one episode. One that was replaced has the step that took
  // its place.
  for (size_t i = 0; i < at; ++i) {
    const int first = worker->tasks[i].sample.step;
    const bool is_second = first + options_.spec.pair_offset == step;
    if (first != step && !is_second) continue;
    std::memcpy(out, worker->places[i] + (is_second ? shape_.bytes() : 0),
                shape_.bytes());
    return absl::OkStatus();
  }
  const Episode& episode = *worker->tasks[at].sample.episode;
  if (episode.kept().Take(step, shape_.bytes(), out)) return absl::OkStatus();
  return worker->decoder.Decode(episode.frames()[step], shape_, out);
}

void MixtureLoader::KeepShared(Worker* worker) {
  const PlannedSample& last = worker->tasks.back().sample;
  const std::vector<int>& pairs = last.episode->pairs();
  const int offset = options_.spec.pair_offset;
  const auto is_needed = [&](int step) {
    return std::any_of(pairs.begin() + last.next_pair, pairs.end(),
                       [step, offset](int first) {
                         return first == step || first + offset == step;
                       });
  };
  for (size_t i = 0; i < worker->tasks.size(); ++i) {
    const int step = worker->tasks[i].sample.step;
    const uint8_t* const pixels = worker->places[i];
    const size_t bytes = shape_.bytes();
    if (is_needed(step)) last.episode->kept().Keep(step, pixels, bytes);
    if (is_needed(step + offset)) {
      last.episode->kept().Keep(step + offset, pixels + bytes, bytes);
    }
  }
}

// Another pair of the episode takes the place of one that cannot be decoded:
// which one depends on the data alone.
absl::Status MixtureLoader::Replace(Worker* worker, Task* task, uint8_t* out,
                                    const absl::Status& first) {
  const Episode& episode = *task->sample.episode;
  const std::string what =
      absl::StrCat("step ", task->sample.step, ": ", first.message());
  if (options_.spec.on_error == "fail") {
    return absl::Status(first.code(), absl::StrCat(episode.name(), ": ", what));
  }
  faults_.Add({task->position, task->dataset, episode.name(), what});
  const std::vector<absl::string_view>& frames = episode.frames();
  const int offset = options_.spec.pair_offset;
  const int pairs = static_cast<int>(frames.size()) - offset;
  for (int i = 1; i < pairs; ++i) {
    const int step = (task->sample.step + i) % pairs;
    if (worker->decoder.Decode(frames[step], shape_, out).ok() &&
        worker->decoder
            .Decode(frames[step + offset], shape_, out + shape_.bytes())
            .ok()) {
      task->sample.step = step;
      return absl::OkStatus();
    }
  }
  return absl::DataLossError(
      absl::StrCat(episode.name(), ": ", what,
                   "; and none of its other pairs can be decoded either"));
}

void MixtureLoader::WriteMetadata(const Task& task) {
  const int64_t batch = options_.spec.batch_size;
  SampleMetadata& metadata = metadata_[task.position / batch % metadata_.size()]
                                      [task.position % batch];
  metadata.dataset = task.dataset;
  if (metadata_mode_ != MetadataMode::kFull) return;
  const Episode& episode = *task.sample.episode;
  const int step = task.sample.step;
  metadata.step = step;
  metadata.episode_id.assign(episode.id().data(), episode.id().size());
  metadata.instruction.assign(episode.instruction().data(),
                              episode.instruction().size());
  const float* const action = episode.action(step);
  metadata.action.assign(action, action + episode.action_width());
  const float* const state = episode.state(step);
  metadata.state.assign(state, state + episode.state_width());
}

}  // namespace feedrate
