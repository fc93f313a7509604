#include "lib/planning/emit/chunks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "lib/config/matrix.pb.h"
#include "lib/config/policy.pb.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

// What "all items" is taken for where nobody has counted yet.
constexpr int64_t kAllItems = 50000;

void Include(const Chunk& more, Chunk* chunk) {
  chunk->jobs += more.jobs;
  chunk->cost_s += more.cost_s;
  chunk->needs.cpus = std::max(chunk->needs.cpus, more.needs.cpus);
  chunk->needs.gpus = std::max(chunk->needs.gpus, more.needs.gpus);
  chunk->needs.memory_bytes =
      std::max(chunk->needs.memory_bytes, more.needs.memory_bytes);
}

// Cuts groups [begin, end), which all want the same kind of machine.
void CutRange(const std::vector<Chunk>& groups, size_t begin, size_t end,
              double task_s, std::vector<Chunk>* chunks) {
  double total = 0;
  for (size_t i = begin; i < end; ++i) total += groups[i].cost_s;
  const double count = std::max(1.0, std::ceil(total / task_s));
  const double share = total / count;
  double sum = 0;
  double part = -1;
  for (size_t i = begin; i < end; ++i) {
    // The share that the middle of the group lies in. Unsupported jobs cost
    // nothing: a plan of nothing else is one chunk.
    const double middle = sum + groups[i].cost_s / 2;
    const double now =
        share > 0 ? std::min(count - 1, std::floor(middle / share)) : 0;
    sum += groups[i].cost_s;
    if (now == part) {
      Include(groups[i], &chunks->back());
    } else {
      chunks->push_back(groups[i]);
    }
    part = now;
  }
}

}  // namespace

Needs NeedsOf(const Job& job, const Scenario& scenario,
              const CampaignPolicy& policy) {
  Needs needs;
  needs.cpus = std::max(1, job.workers()) + 1;
  needs.gpus = job.hardware_class() == "cpu" ? 0 : 1;
  const int64_t items = job.num_items() > 0 ? job.num_items() : kAllItems;
  const int64_t frames = std::max(1, scenario.clip_length());
  const double item_bytes = static_cast<double>(policy.channel_bytes()) *
                            scenario.channels() * frames;
  // A loader that decodes holds batches, not the data set.
  const bool in_memory = job.scope().find("decode") == std::string::npos;
  const double held = in_memory ? static_cast<double>(items)
                                : static_cast<double>(job.batch_size()) *
                                      std::max(1, job.workers()) * 2;
  needs.memory_bytes =
      policy.base_memory_bytes() +
      static_cast<int64_t>(held * item_bytes * policy.bytes_per_byte());
  return needs;
}

void ChunkCutter::Add(const Job& job, const Needs& needs) {
  Chunk chunk;
  chunk.first_job = jobs_++;
  chunk.jobs = 1;
  chunk.cost_s = job.cost_s();
  chunk.needs = needs;
  const bool together = !groups_.empty() &&
                        last_transform_ == job.transform() &&
                        groups_.back().needs.gpus == needs.gpus;
  last_transform_ = job.transform();
  if (together) {
    Include(chunk, &groups_.back());
  } else {
    groups_.push_back(chunk);
  }
}

std::vector<Chunk> ChunkCutter::Cut(double task_s) const {
  std::vector<Chunk> chunks;
  for (size_t begin = 0; begin < groups_.size();) {
    size_t end = begin + 1;
    while (end < groups_.size() &&
           groups_[end].needs.gpus == groups_[begin].needs.gpus) {
      ++end;
    }
    CutRange(groups_, begin, end, task_s, &chunks);
    begin = end;
  }
  return chunks;
}

}  // namespace feedrate
