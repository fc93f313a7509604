#include "lib/gate/where.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "lib/base/text.h"
#include "lib/base/xoshiro.h"
#include "lib/draw/text.h"
#include "lib/stats/quantiles.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

constexpr int kResamples = 2000;
// Parts and branches below this share of the time are left out.
constexpr double kSmallShare = 0.001;
constexpr size_t kMostParts = 100;
// Rows may hold anything; sums of larger numbers would overflow.
constexpr double kMostSeconds = 1e9;

// How often each pair occurs in each resample.
std::vector<std::vector<double>> Resamples(size_t pairs) {
  Xoshiro256 random(1);
  std::vector<std::vector<double>> all(kResamples,
                                       std::vector<double>(pairs, 0));
  for (auto& weights : all) {
    for (size_t i = 0; i < pairs; ++i) weights[random.Below(pairs)] += 1;
  }
  return all;
}

double WeightedMean(const std::vector<double>& values,
                    const std::vector<double>& weights) {
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) sum += values[i] * weights[i];
  return sum / static_cast<double>(values.size());
}

Interval Middle95(std::vector<double>* values) {
  std::sort(values->begin(), values->end());
  return {SortedQuantile(*values, 0.025), SortedQuantile(*values, 0.975)};
}

double SecondsOf(const PartSeconds& parts, const std::string& name) {
  const auto found = parts.find(name);
  return found == parts.end() ? 0 : found->second;
}

}  // namespace

std::vector<ProfilePart> RankParts(const std::vector<PartPair>& pairs) {
  const std::vector<std::vector<double>> resamples = Resamples(pairs.size());
  std::vector<double> total;
  std::set<std::string> names;
  double all = 0;
  for (const PartPair& pair : pairs) {
    total.push_back(0);
    for (const auto& part : pair.a) {
      total.back() -= part.second;
      all += part.second;
      names.insert(part.first);
    }
    for (const auto& part : pair.b) {
      total.back() += part.second;
      all += part.second;
      names.insert(part.first);
    }
  }
  std::vector<double> totals;
  for (const auto& weights : resamples) {
    totals.push_back(WeightedMean(total, weights));
  }
  std::vector<double> sorted = totals;
  const Interval whole = Middle95(&sorted);
  const bool has_shares = pairs.size() > 1 && whole.low * whole.high > 0;
  std::vector<ProfilePart> parts;
  for (const std::string& name : names) {
    std::vector<double> a;
    std::vector<double> b;
    std::vector<double> changes;
    for (const PartPair& pair : pairs) {
      a.push_back(SecondsOf(pair.a, name));
      b.push_back(SecondsOf(pair.b, name));
      changes.push_back(b.back() - a.back());
    }
    ProfilePart part;
    part.set_name(name);
    part.set_a_s(MeanOf(a));
    part.set_b_s(MeanOf(b));
    if ((part.a_s() + part.b_s()) * pairs.size() < kSmallShare * all) continue;
    std::vector<double> means;
    std::vector<double> shares;
    for (size_t i = 0; i < resamples.size(); ++i) {
      means.push_back(WeightedMean(changes, resamples[i]));
      shares.push_back(totals[i] == 0 ? 0 : 100 * means[i] / totals[i]);
    }
    const Interval change = Middle95(&means);
    part.set_change_s(MeanOf(changes));
    part.set_low_s(change.low);
    part.set_high_s(change.high);
    if (has_shares) {
      const Interval share = Middle95(&shares);
      part.set_share_percent(100 * part.change_s() / MeanOf(total));
      part.set_share_low_percent(share.low);
      part.set_share_high_percent(share.high);
    }
    parts.push_back(std::move(part));
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const ProfilePart& x, const ProfilePart& y) {
                     return std::abs(x.change_s()) > std::abs(y.change_s());
                   });
  if (parts.size() > kMostParts) parts.resize(kMostParts);
  return parts;
}

namespace {

struct Node {
  double a = 0;
  double b = 0;
  std::map<std::string, Node> children;
};

void AddStacks(const FoldedStacks& stacks, bool side_b, double weight,
               Node* root) {
  for (const auto& stack : stacks) {
    Node* node = root;
    (side_b ? node->b : node->a) += weight * stack.second;
    for (const absl::string_view frame : absl::StrSplit(stack.first, ';')) {
      node = &node->children[std::string(frame)];
      (side_b ? node->b : node->a) += weight * stack.second;
    }
  }
}

// Frames without the branches that are too small to be seen.
void AddFrames(const std::string& name, const Node& node, int parent,
               double least, Profile* profile) {
  if (node.a + node.b < least) return;
  const int index = profile->frames_size();
  ProfileFrame* frame = profile->add_frames();
  frame->set_parent(parent);
  frame->set_name(name);
  frame->set_a_s(node.a);
  frame->set_b_s(node.b);
  for (const auto& child : node.children) {
    AddFrames(child.first, child.second, index, least, profile);
  }
}

PartSeconds InnermostFrames(const FoldedStacks& stacks) {
  PartSeconds parts;
  for (const auto& stack : stacks) {
    const size_t end = stack.first.rfind(';');
    parts[end == std::string::npos ? stack.first
                                   : stack.first.substr(end + 1)] +=
        stack.second;
  }
  return parts;
}

}  // namespace

Profile MakeProfile(const std::string& profiler,
                    const std::vector<FoldedStacks>& a,
                    const std::vector<FoldedStacks>& b) {
  Profile profile;
  profile.set_profiler(profiler);
  profile.set_pairs(static_cast<int64_t>(a.size()));
  Node root;
  std::vector<PartPair> pairs;
  for (size_t i = 0; i < a.size(); ++i) {
    const double weight = 1.0 / static_cast<double>(a.size());
    AddStacks(a[i], false, weight, &root);
    AddStacks(b[i], true, weight, &root);
    pairs.push_back({InnermostFrames(a[i]), InnermostFrames(b[i])});
  }
  profile.set_a_s(root.a);
  profile.set_b_s(root.b);
  for (const ProfilePart& part : RankParts(pairs)) *profile.add_parts() = part;
  AddFrames("all", root, -1, kSmallShare * (root.a + root.b), &profile);
  return profile;
}

std::vector<ProfilePart> RowParts(const PairedJob& job) {
  std::vector<PartPair> pairs;
  for (const auto& pair : job.pairs) {
    if (!pair.second.IsWhole()) continue;
    PartPair one;
    for (const bool side_b : {false, true}) {
      const PairSide& side = side_b ? pair.second.b : pair.second.a;
      for (const auto& part : side.parts_s) {
        if (!(part.second >= 0 && part.second <= kMostSeconds)) continue;
        (side_b ? one.b : one.a)[part.first] = part.second / side.rows;
      }
    }
    if (!one.a.empty() && !one.b.empty()) pairs.push_back(std::move(one));
  }
  if (pairs.size() < 2) return {};
  return RankParts(pairs);
}

namespace {

std::string SignedSeconds(double seconds) {
  return absl::StrCat(seconds < 0 ? "-" : "+", SecondsText(std::abs(seconds)));
}

}  // namespace

std::string PartsText(const std::vector<ProfilePart>& parts, int most) {
  Table table({"share of the change", "95% interval", "change", "95% interval",
               "A", "B", "where"},
              {Align::kRight, Align::kLeft, Align::kRight, Align::kLeft,
               Align::kRight, Align::kRight, Align::kLeft});
  for (const ProfilePart& part : parts) {
    if (most-- == 0) break;
    table.AddRow(
        {part.has_share_percent()
             ? absl::StrFormat("%.0f%%", part.share_percent())
             : "",
         part.has_share_percent()
             ? absl::StrFormat("%.0f%% … %.0f%%", part.share_low_percent(),
                               part.share_high_percent())
             : "",
         SignedSeconds(part.change_s()),
         absl::StrCat(SignedSeconds(part.low_s()), " … ",
                      SignedSeconds(part.high_s())),
         SecondsText(part.a_s()), SecondsText(part.b_s()), part.name()});
  }
  return table.ToText();
}

std::string ProfileText(const Profile& profile, int most) {
  return absl::StrCat(
      "Where (", PrintableText(profile.profiler()), ", ", profile.pairs(),
      " pairs, ", profile.profiler() == "perf" ? "CPU time" : "time",
      " per run: A ", SecondsText(profile.a_s()), ", B ",
      SecondsText(profile.b_s()), "):\n",
      PartsText({profile.parts().begin(), profile.parts().end()}, most));
}

}  // namespace feedrate
