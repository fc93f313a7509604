#include "lib/runner/train/train_tables.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "lib/catalogue/catalogue.h"
#include "lib/draw/text.h"
#include "lib/records/train_settings.h"
#include "lib/stats/quantiles.h"

namespace feedrate {
namespace {

std::string Milliseconds(double seconds) {
  return SignificantText(seconds * 1e3, 3);
}

// At most `most` characters: the beginning and the end, which tells `_backward`
// from its counterpart.
std::string Shortened(const std::string& text, size_t most) {
  constexpr size_t kEnd = 12;
  if (text.size() <= most) return text;
  return absl::StrCat(text.substr(0, most - kEnd - 3), "...",
                      text.substr(text.size() - kEnd));
}

struct StepPart {
  const char* name;
  double seconds;
};

std::vector<StepPart> PartsOf(const StepBudget& b) {
  return {{"data wait", b.data_wait_s()}, {"copy", b.copy_s()},
          {"mixing", b.mixing_s()},       {"forward", b.forward_s()},
          {"loss", b.loss_s()},           {"backward", b.backward_s()},
          {"grad sync", b.grad_sync_s()}, {"optimizer", b.optimizer_s()},
          {"other", b.other_s()},         {"rest", b.unattributed_s()}};
}

// What lies between two moments of a step, in milliseconds with the decimals
// that give `step_s` four significant digits. The moments are rounded, so that
// printed parts add up to the printed step.
std::string PartText(double begin_s, double end_s, double step_s) {
  const double digits = std::floor(std::log10(std::max(step_s * 1e3, 1e-9)));
  const int decimals = std::clamp(3 - static_cast<int>(digits), 0, 9);
  const double scale = 1e3 * std::pow(10, decimals);
  return absl::StrFormat(
      "%.*f", decimals,
      1e3 * (std::round(end_s * scale) - std::round(begin_s * scale)) / scale);
}

struct Column {
  std::string name;
  Align align;
  std::vector<std::string> cells;
};

bool IsConstant(const Column& column) {
  for (const std::string& cell : column.cells) {
    if (cell != column.cells[0]) return false;
  }
  return true;
}

// The peak of each precision, which all rows of a run share.
std::string PeaksText(const std::vector<const Row*>& rows) {
  std::map<std::string, std::string> peaks;
  for (const Row* row : rows) {
    const Train& train = row->train();
    if (!train.has_peak_tflops()) continue;
    std::string& peak =
        peaks[absl::StrCat(train.precision(), " on ", row->device())];
    peak = absl::StrCat(SignificantText(train.peak_tflops(), 3), " TFLOP/s (",
                        train.peak_source());
    if (train.has_peak_samples_per_sec()) {
      absl::StrAppend(&peak, ", at most ",
                      SignificantText(train.peak_samples_per_sec(), 4),
                      " samples/s of ", train.model());
    }
    peak += ")";
  }
  std::string text;
  for (const auto& [device, peak] : peaks) {
    absl::StrAppend(&text, text.empty() ? "; MFU of " : ", ", peak, " for ",
                    device);
  }
  return text;
}

// How a subject is run; it has a row for each way.
std::string EngineOf(const Row& row) {
  return IsSubject(row.library()) ? row.train().engine() : "";
}

std::string NameOf(const Row& row) {
  const Train& train = row.train();
  const std::string engine = EngineOf(row);
  return absl::StrCat(
      row.library(), " ", engine.empty() ? train.model() : engine, " ",
      train.precision(), " batch ", row.batch_size(),
      row.scope() == "e2e" ? " loader " + train.loader() : "",
      train.world_size() > 1
          ? absl::StrCat(" on ", train.world_size(), " processes")
          : "",
      row.run_index() > 0 ? absl::StrCat(", run ", row.run_index() + 1, ",")
                          : "");
}

std::vector<const Row*> OkRows(const std::vector<Row>& rows) {
  std::vector<const Row*> ok;
  for (const Row& row : rows) {
    if (row.status() == "ok") ok.push_back(&row);
  }
  return ok;
}

// A setting of a row. Rows leave out what is usual.
std::string SettingOf(const Row& row, const std::string& name) {
  const auto found = row.settings().find(name);
  if (found != row.settings().end()) return found->second;
  const TrainSetting* setting = FindTrainSetting(name);
  return setting == nullptr || *setting->usual == '\0' ? "–" : setting->usual;
}

// Settings that are not the same in all rows and have no column of their own.
std::vector<std::string> SweptSettings(const std::vector<const Row*>& rows) {
  std::set<std::string> names;
  for (const Row* row : rows) {
    for (const auto& [name, value] : row->settings()) names.insert(name);
  }
  for (const char* known : {"model", "precision", "loader", "world_size"}) {
    names.erase(known);
  }
  std::vector<std::string> swept;
  for (const std::string& name : names) {
    const bool varies =
        std::any_of(rows.begin(), rows.end(), [&](const Row* row) {
          return SettingOf(*row, name) != SettingOf(*rows[0], name);
        });
    if (varies) swept.push_back(name);
  }
  return swept;
}

}  // namespace

std::string TrainTable(const std::vector<Row>& rows) {
  const std::vector<const Row*> ok = OkRows(rows);
  if (ok.empty()) return "";
  std::vector<Column> columns;
  const auto add = [&](const std::string& name, Align align,
                       const std::function<std::string(const Row&)>& cell) {
    Column& column = columns.emplace_back(Column{name, align, {}});
    for (const Row* row : ok) column.cells.push_back(cell(*row));
  };
  add("library", Align::kLeft, [](const Row& r) { return r.library(); });
  add("model", Align::kLeft, [](const Row& r) { return r.train().model(); });
  add("engine", Align::kLeft, EngineOf);
  add("batch", Align::kRight,
      [](const Row& r) { return absl::StrCat(r.batch_size()); });
  add("precision", Align::kLeft,
      [](const Row& r) { return r.train().precision(); });
  add("loader", Align::kLeft, [](const Row& r) { return r.train().loader(); });
  add("processes", Align::kRight,
      [](const Row& r) { return absl::StrCat(r.train().world_size()); });
  std::string title;
  for (const Column& column : columns) {
    if (!IsConstant(column) || column.cells[0] == "synthetic" ||
        column.cells[0].empty() ||
        (column.name == "processes" && column.cells[0] == "1")) {
      continue;
    }
    absl::StrAppend(&title, title.empty() ? "" : ", ", column.name, " ",
                    column.cells[0]);
  }
  columns.erase(std::remove_if(columns.begin(), columns.end(), IsConstant),
                columns.end());
  for (const std::string& name : SweptSettings(ok)) {
    // A subject's engine has its column already.
    const auto is_shown = [&](const Column& c) { return c.name == name; };
    if (std::any_of(columns.begin(), columns.end(), is_shown)) continue;
    add(name, Align::kLeft,
        [&name](const Row& r) { return SettingOf(r, name); });
  }
  add("samples/s", Align::kRight, [](const Row& r) {
    return SignificantText(r.train().samples_per_sec_mean(), 4);
  });
  add("step", Align::kRight, [](const Row& r) {
    return PartText(0, r.train().step_time_mean(), r.train().step_time_mean());
  });
  std::vector<size_t> shown;
  for (size_t i = 0; i < PartsOf(StepBudget()).size(); ++i) {
    // A part that takes no time in any row has no column.
    const bool used = std::any_of(ok.begin(), ok.end(), [i](const Row* row) {
      const Train& train = row->train();
      return PartsOf(train.budget())[i].seconds >=
             1e-4 * train.step_time_mean();
    });
    if (used) shown.push_back(i);
  }
  for (const size_t i : shown) {
    add(PartsOf(StepBudget())[i].name, Align::kRight, [&, i](const Row& r) {
      const std::vector<StepPart> parts = PartsOf(r.train().budget());
      const double step_s = r.train().step_time_mean();
      double begin_s = 0;
      for (const size_t j : shown) {
        if (j == i) break;
        begin_s += parts[j].seconds;
      }
      const double end_s =
          i == shown.back() ? step_s : begin_s + parts[i].seconds;
      return PartText(begin_s, end_s, step_s);
    });
  }
  add("MFU", Align::kRight, [](const Row& r) {
    return r.train().has_mfu_exact() ? PercentText(r.train().mfu_exact()) : "–";
  });
  add("of attainable", Align::kRight, [](const Row& r) {
    return r.train().attainable_mfu() > 0
               ? PercentText(r.train().mfu_exact() / r.train().attainable_mfu())
               : "–";
  });
  add("loss", Align::kRight,
      [](const Row& r) { return SignificantText(r.train().last_loss(), 4); });
  add("grad norm", Align::kRight, [](const Row& r) {
    return r.train().has_grad_norm() ? SignificantText(r.train().grad_norm(), 3)
                                     : "–";
  });
  std::vector<std::string> header;
  std::vector<Align> align;
  for (const Column& column : columns) {
    header.push_back(column.name);
    align.push_back(column.align);
  }
  Table table(header, align);
  for (size_t i = 0; i < ok.size(); ++i) {
    std::vector<std::string> cells;
    for (const Column& column : columns) cells.push_back(column.cells[i]);
    table.AddRow(cells);
  }
  return absl::StrCat(title, title.empty() ? "" : "\n",
                      "ms per step, mean; the parts add up to the step",
                      PeaksText(ok), "\n", table.ToText());
}

std::string LoaderTable(const std::vector<Row>& rows) {
  std::vector<const Row*> ok = OkRows(rows);
  ok.erase(std::remove_if(ok.begin(), ok.end(),
                          [](const Row* row) { return row->scope() != "e2e"; }),
           ok.end());
  const std::vector<std::string> swept = SweptSettings(ok);
  std::vector<std::string> header = {"loader"};
  header.insert(header.end(), swept.begin(), swept.end());
  header.insert(header.end(), {"data", "storage"});
  std::vector<Align> align(header.size(), Align::kLeft);
  for (const char* name : {"workers", "files", "skipped", "it/s", "ms/step",
                           "data wait", "samples/s"}) {
    header.push_back(name);
    align.push_back(Align::kRight);
  }
  Table table(header, align);
  for (const Row* row : ok) {
    const Train& train = row->train();
    std::vector<std::string> cells = {train.loader()};
    for (const std::string& name : swept) {
      cells.push_back(SettingOf(*row, name));
    }
    cells.insert(
        cells.end(),
        {row->dataset().id(), train.storage(), absl::StrCat(row->workers()),
         absl::StrCat(row->dataset().files()),
         absl::StrCat(train.skipped_files()),
         SignificantText(1 / train.step_time_mean(), 3),
         Milliseconds(train.step_time_mean()),
         PercentText(train.data_wait_share()),
         SignificantText(train.samples_per_sec_mean(), 4)});
    table.AddRow(cells);
  }
  return table.empty()
             ? ""
             : absl::StrCat("Training from files, mean of its steps\n",
                            table.ToText());
}

namespace {

using Fields = std::map<std::string, std::string>;

// What may differ between two trainings.
Fields FieldsOf(const Row& row) {
  const Train& train = row.train();
  Fields fields(row.settings().begin(), row.settings().end());
  fields["library"] = row.library();
  fields["device"] = row.device();
  fields["scope"] = row.scope();
  fields["batch_size"] = absl::StrCat(row.batch_size());
  fields["model"] = train.model();
  fields["precision"] = train.precision();
  fields["engine"] = train.engine();
  fields["loader"] = train.loader();
  fields["world_size"] = absl::StrCat(train.world_size());
  fields["graphs"] = train.graphs() ? "1" : "0";
  return fields;
}

// The runs of one job.
struct Rung {
  const Row* row;
  Fields fields;
  std::vector<double> rates;

  double rate() const {
    std::vector<double> sorted = rates;
    std::sort(sorted.begin(), sorted.end());
    return SortedQuantile(sorted, 0.5);
  }
};

std::vector<Rung> RungsOf(const std::vector<Row>& rows) {
  std::vector<Rung> rungs;
  std::map<std::string, size_t> numbers;
  for (const Row* row : OkRows(rows)) {
    const auto [found, is_new] = numbers.emplace(row->job_id(), rungs.size());
    if (is_new) rungs.push_back({row, FieldsOf(*row), {}});
    rungs[found->second].rates.push_back(row->train().samples_per_sec_mean());
  }
  return rungs;
}

std::string ValueOf(const Fields& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? "" : found->second;
}

// Fields that are not the same in all of them.
std::vector<std::string> Varying(const std::vector<Rung>& rungs) {
  std::map<std::string, bool> names;
  for (const Rung& rung : rungs) {
    for (const auto& [name, value] : rung.fields) {
      names[name] |= ValueOf(rungs[0].fields, name) != value;
    }
  }
  // A setting that only the first one has.
  for (auto& [name, varies] : names) {
    for (const Rung& rung : rungs) {
      varies |= ValueOf(rung.fields, name) != ValueOf(rungs[0].fields, name);
    }
  }
  std::vector<std::string> varying;
  for (const auto& [name, varies] : names) {
    if (varies) varying.push_back(name);
  }
  return varying;
}

// The rung with all of `wanted` that has the most in common with `rung`. Null
// if none has them.
const Rung* ReferenceOf(const Rung& rung, const std::vector<Rung>& rungs,
                        const Fields& wanted) {
  const Rung* best = nullptr;
  size_t most = 0;
  for (const Rung& other : rungs) {
    const auto has = [&other](const auto& field) {
      return ValueOf(other.fields, field.first) == field.second;
    };
    if (!std::all_of(wanted.begin(), wanted.end(), has)) continue;
    size_t same = 1;
    for (const auto& [name, value] : rung.fields) {
      same += ValueOf(other.fields, name) == value ? 1 : 0;
    }
    if (same > most) best = &other;
    most = std::max(most, same);
  }
  return best;
}

}  // namespace

std::string LadderTable(const std::vector<Row>& rows,
                        const std::string& relative_to) {
  const std::vector<Rung> rungs = RungsOf(rows);
  if (rungs.empty()) return "";
  Fields wanted;
  for (const absl::string_view pair :
       absl::StrSplit(relative_to, ',', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> field =
        absl::StrSplit(pair, absl::MaxSplits('=', 1));
    wanted.insert(field);
  }
  if (ReferenceOf(rungs[0], rungs, wanted) == nullptr) {
    return absl::StrCat("--relative_to: no training that is ok has ",
                        relative_to, "\n");
  }
  const std::vector<std::string> varying = Varying(rungs);
  std::vector<std::string> header = varying;
  std::vector<Align> align(varying.size(), Align::kLeft);
  for (const char* name :
       {"samples/s", "speed-up", "over the last", "MFU", "peak memory"}) {
    header.push_back(name);
    align.push_back(Align::kRight);
  }
  Table table(header, align);
  double last = 0;
  for (const Rung& rung : rungs) {
    std::vector<std::string> cells;
    for (const std::string& name : varying) {
      cells.push_back(ValueOf(rung.fields, name));
    }
    const Rung* const reference = ReferenceOf(rung, rungs, wanted);
    const Train& train = rung.row->train();
    cells.push_back(SignificantText(rung.rate(), 4));
    cells.push_back(
        absl::StrCat(SignificantText(rung.rate() / reference->rate(), 3), "x"));
    cells.push_back(
        last > 0 ? absl::StrCat(SignificantText(rung.rate() / last, 3), "x")
                 : "");
    cells.push_back(train.has_mfu_exact() ? PercentText(train.mfu_exact())
                                          : "–");
    cells.push_back(absl::StrFormat(
        "%.2f GiB",
        static_cast<double>(train.memory_peak_bytes()) / (1 << 30)));
    last = rung.rate();
    table.AddRow(cells);
  }
  return absl::StrCat("Speed-ups over ", relative_to, ", medians of runs\n",
                      table.ToText());
}

std::string ValidationTable(const std::vector<Row>& rows) {
  const Align right = Align::kRight;
  Table table({"validation of", "step", "images", "loss", "top-1", "top-5"},
              {Align::kLeft, right, right, right, right, right});
  const auto add = [&table](const std::string& name, const Validation& when,
                            double loss, double top1, double top5) {
    std::string images = absl::StrCat(when.images());
    if (when.skipped() > 0) {
      absl::StrAppend(&images, ", ", when.skipped(), " skipped");
    }
    table.AddRow({name, absl::StrCat(when.step()), images,
                  SignificantText(loss, 4), PercentText(top1 / 100),
                  PercentText(top5 / 100)});
  };
  for (const Row* row : OkRows(rows)) {
    if (!table.empty() && !row->train().validations().empty()) table.AddRule();
    const std::string name = NameOf(*row);
    for (const Validation& v : row->train().validations()) {
      add(name, v, v.loss(), v.top1(), v.top5());
      if (!v.has_ema_loss()) continue;
      add(absl::StrCat(name, ", averages"), v, v.ema_loss(), v.ema_top1(),
          v.ema_top5());
    }
  }
  return table.empty() ? "" : table.ToText();
}

std::string KernelTable(const Train& train) {
  if (train.kernels().empty()) return "";
  // Parts in the order of their longest kernels.
  std::vector<std::string> parts;
  for (const StepKernel& kernel : train.kernels()) {
    if (std::find(parts.begin(), parts.end(), kernel.part()) == parts.end()) {
      parts.push_back(kernel.part());
    }
  }
  const Align right = Align::kRight;
  Table table({"part", "ms/step", "of part", "calls/step", "kernel", "shapes"},
              {Align::kLeft, right, right, right, Align::kLeft, Align::kLeft});
  for (const std::string& part : parts) {
    if (!table.empty()) table.AddRule();
    for (const StepKernel& kernel : train.kernels()) {
      if (kernel.part() != part) continue;
      table.AddRow(
          {part, Milliseconds(kernel.step_s()), PercentText(kernel.share()),
           absl::StrFormat("%.4g", kernel.calls()),
           Shortened(kernel.name(), 45), Shortened(kernel.shapes(), 32)});
    }
  }
  return absl::StrCat("the ", train.kernels_size(),
                      " longest kernels, mean of ", train.profiled_steps(),
                      " profiled steps\n", table.ToText());
}

namespace {

// `, mostly aten::mm`: the kernel with the largest share of a part, over all
// its shapes. Empty if none was profiled.
std::string MostlyText(const Train& train, const std::string& part) {
  std::map<std::string, double> shares;
  for (const StepKernel& kernel : train.kernels()) {
    if (kernel.part() == part) shares[kernel.name()] += kernel.share();
  }
  const auto largest = std::max_element(
      shares.begin(), shares.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  if (largest == shares.end()) return "";
  return absl::StrCat(
      largest->second >= 0.5 ? ", mostly " : ", longest kernel ",
      largest->first, " (", PercentText(largest->second), " of it)");
}

}  // namespace

std::string Conclusion(const Row& row) {
  const Train& train = row.train();
  const std::vector<StepPart> parts = PartsOf(train.budget());
  const StepPart largest = *std::max_element(
      parts.begin(), parts.end(), [](const StepPart& a, const StepPart& b) {
        return a.seconds < b.seconds;
      });
  const std::string name = largest.name;
  std::string text =
      absl::StrCat(NameOf(row), " is ", train.bound_by(), "-bound: ");
  if (train.bound_by() == "loader" && name != "data wait") {
    absl::StrAppend(&text, "data wait is ",
                    PercentText(train.data_wait_share()), " of the step, ");
  }
  absl::StrAppend(&text, name, " is ",
                  PercentText(largest.seconds / train.step_time_mean()),
                  " of the step");
  const double forward = train.budget().forward_s();
  if (name == "backward" && forward > 0) {
    absl::StrAppend(&text, ", ", SignificantText(largest.seconds / forward, 2),
                    " times forward");
  }
  return absl::StrCat(text, MostlyText(train, name));
}

}  // namespace feedrate
