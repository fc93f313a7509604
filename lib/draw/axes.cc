#include "lib/draw/axes.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/draw/text.h"

namespace feedrate {
namespace {

// Smallest number of the form {1, 2, 5} × 10^k that is not below `value`.
double RoundStep(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (double factor : {1.0, 2.0, 5.0}) {
    if (value <= factor * power * (1 + 1e-9)) return factor * power;
  }
  return 10 * power;
}

constexpr int kStepsOfWidening = 5;

// Ends beyond these, and ends that are closer together, are not drawn apart:
// steps between ticks would overflow or vanish.
constexpr double kLargest = 1e300;
constexpr double kSmallest = 1e-300;
constexpr double kClosest = 1e-9;

}  // namespace

Scale::Scale(ScaleType type, double low, double high, bool from_zero)
    : type_(type), low_(low), high_(high) {
  if (!std::isfinite(low_)) low_ = 0;
  if (!std::isfinite(high_)) high_ = 1;
  low_ = std::min(std::max(low_, -kLargest), kLargest);
  high_ = std::min(std::max(high_, -kLargest), kLargest);
  if (low_ > high_) std::swap(low_, high_);
  if (type_ == ScaleType::kLog) {
    if (high_ <= 0) high_ = 1;
    high_ = std::max(high_, 1000 * kSmallest);
    if (low_ <= 0) low_ = high_ / 1000;
    low_ = std::max(low_, kSmallest);
    if (high_ / low_ < 1 + kClosest) {
      low_ /= 2;
      high_ *= 2;
    }
    return;
  }
  if (from_zero) {
    low_ = std::min(low_, 0.0);
    high_ = std::max(high_, 0.0);
  }
  const double size = std::max(std::abs(low_), std::abs(high_));
  if (high_ - low_ <= kClosest * size || size < kSmallest) {
    high_ = low_ + (size < kSmallest ? 1 : size);
  }
  const double step = RoundStep((high_ - low_) / kStepsOfWidening);
  low_ = std::floor(low_ / step + 1e-9) * step;
  high_ = std::ceil(high_ / step - 1e-9) * step;
}

void Scale::SetRange(double start, double end) {
  start_ = start;
  end_ = end;
}

double Scale::Map(double value) const {
  value = std::min(std::max(value, low_), high_);
  const double share = type_ == ScaleType::kLinear
                           ? (value - low_) / (high_ - low_)
                           : (std::log(value) - std::log(low_)) /
                                 (std::log(high_) - std::log(low_));
  return start_ + share * (end_ - start_);
}

std::vector<Tick> Scale::Ticks(int wanted) const {
  return type_ == ScaleType::kLinear ? LinearTicks(wanted) : LogTicks(wanted);
}

std::vector<Tick> Scale::LinearTicks(int wanted) const {
  const double step = RoundStep((high_ - low_) / std::max(1, wanted));
  // Digits that tell neighbors apart. Short numbers have two.
  const double largest = std::max(std::abs(low_), std::abs(high_));
  const int digits = static_cast<int>(std::floor(std::log10(largest)) -
                                      std::floor(std::log10(step))) +
                     1;
  std::vector<Tick> ticks;
  for (double i = std::ceil(low_ / step - 1e-9); i * step <= high_ + step / 1e6;
       ++i) {
    const double value = i * step;
    ticks.push_back({value, digits <= 2 ? ShortNumberText(value)
                            : largest < 1000 || largest > 1e9
                                ? absl::StrFormat("%.*g", digits, value)
                                : absl::StrFormat("%.0f", value)});
  }
  return ticks;
}

std::vector<Tick> Scale::LogTicks(int wanted) const {
  const double decades = std::log10(high_) - std::log10(low_);
  // The multiples in a decade that there is room to label.
  const bool halves = 3 * decades <= wanted + 1;
  const bool all = 9 * decades <= wanted + 3;
  const int every = std::max(1, static_cast<int>(std::ceil(decades / wanted)));
  std::vector<Tick> ticks;
  const int first = static_cast<int>(std::floor(std::log10(low_)));
  const int last = static_cast<int>(std::ceil(std::log10(high_)));
  for (int power = first; power <= last; ++power) {
    for (int factor = 1; factor <= 9; ++factor) {
      const double value = factor * std::pow(10, power);
      if (value < low_ * (1 - 1e-9) || value > high_ * (1 + 1e-9)) continue;
      const bool labeled =
          factor == 1 ? (power - first) % every == 0
                      : all || (halves && (factor == 2 || factor == 5));
      if (!labeled && decades > 6) continue;
      ticks.push_back({value, labeled ? ShortNumberText(value) : ""});
    }
  }
  return ticks;
}

namespace {

constexpr double kLabelSize = 11.5;
constexpr double kTickSize = 10.5;
constexpr double kSwatch = 11;
constexpr double kLegendLine = 20;
// Pixels per tick.
constexpr double kPixelsPerTick = 72;

// Calls `place` with series, left and line of each legend entry; returns the
// number of lines.
template <typename Place>
int LayOutLegend(const std::vector<std::string>& names, double width,
                 const Place& place) {
  double x = 0;
  int line = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const double own = kSwatch + 6 + TextWidth(names[i], kLabelSize) + 16;
    if (x > 0 && x + own - 16 > width) {
      x = 0;
      ++line;
    }
    place(static_cast<int>(i), x, line);
    x += own;
  }
  return line + 1;
}

}  // namespace

void DrawXAxis(Svg* svg, const Scale& scale, const Area& area,
               const std::string& title) {
  const int wanted =
      std::max(2, static_cast<int>((area.right - area.left) / kPixelsPerTick));
  double free_from = -1e9;
  for (const Tick& tick : scale.Ticks(wanted)) {
    const double x = scale.Map(tick.value);
    if (tick.label.empty()) {
      svg->Line(x, area.bottom, x, area.bottom + 3, "axis");
      continue;
    }
    svg->Line(x, area.top, x, area.bottom, "grid");
    const double half = TextWidth(tick.label, kTickSize) / 2;
    if (x - half < free_from) continue;
    svg->Text(x, area.bottom + 15, tick.label, Svg::Anchor::kMiddle, "t");
    free_from = x + half + 4;
  }
  svg->Line(area.left, area.bottom, area.right, area.bottom, "axis");
  svg->Text((area.left + area.right) / 2, area.bottom + 32, title,
            Svg::Anchor::kMiddle, "t");
}

void DrawYAxis(Svg* svg, const Scale& scale, const Area& area,
               const std::string& title) {
  double widest = 0;
  for (const Tick& tick : scale.Ticks(5)) {
    const double y = scale.Map(tick.value);
    if (tick.label.empty()) continue;
    svg->Line(area.left, y, area.right, y, "grid");
    svg->Text(area.left - 6, y + 3.5, tick.label, Svg::Anchor::kEnd, "t");
    widest = std::max(widest, TextWidth(tick.label, kTickSize));
  }
  svg->Text(area.left - widest - 16, (area.top + area.bottom) / 2, title,
            Svg::Anchor::kMiddle, "t", -90);
}

double LabelWidth(const std::vector<std::string>& labels) {
  double width = 0;
  for (const std::string& label : labels) {
    width = std::max(width, TextWidth(label, kLabelSize));
  }
  return width;
}

namespace {

constexpr double kLabelLine = 13;

// The longest beginning of `text` that fits: up to its last space, or, if the
// first word is too wide, up to a character. Never empty.
absl::string_view LineOf(absl::string_view text, double width) {
  size_t end = 0;
  size_t last_space = 0;
  while (end < text.size()) {
    size_t next = end + 1;
    // Continuation bytes of UTF-8 belong to the character before them.
    while (next < text.size() && (text[next] & 0xC0) == 0x80) ++next;
    if (end > 0 && TextWidth(text.substr(0, next), kLabelSize) > width) {
      return text.substr(0, last_space > 0 ? last_space : end);
    }
    if (text[end] == ' ') last_space = end;
    end = next;
  }
  return text;
}

}  // namespace

LabelColumn::LabelColumn(const std::vector<std::string>& labels, double limit) {
  for (const std::string& label : labels) {
    std::vector<std::string>& lines = lines_.emplace_back();
    absl::string_view rest = label;
    while (lines.size() < kMostLines && (!rest.empty() || lines.empty())) {
      const bool is_last = lines.size() + 1 == kMostLines;
      const absl::string_view line = is_last ? rest : LineOf(rest, limit);
      rest = absl::StripLeadingAsciiWhitespace(rest.substr(line.size()));
      lines.push_back(TextToFit(line, kLabelSize, limit));
      width_ = std::max(width_, TextWidth(lines.back(), kLabelSize));
    }
  }
}

double LabelColumn::Height(size_t i) const {
  return kLabelLine * lines_[i].size();
}

void LabelColumn::Draw(Svg* svg, size_t i, double right, double middle,
                       absl::string_view css_class) const {
  double y = middle + 4 - kLabelLine * (lines_[i].size() - 1) / 2.0;
  for (const std::string& line : lines_[i]) {
    svg->Text(right, y, line, Svg::Anchor::kEnd, css_class);
    y += kLabelLine;
  }
}

double LegendHeight(const std::vector<std::string>& names, double width) {
  if (names.empty()) return 0;
  return kLegendLine * LayOutLegend(names, width, [](int, double, int) {});
}

void DrawLegend(Svg* svg, const std::vector<std::string>& names,
                const std::vector<int>& colors, double left, double top,
                double width) {
  LayOutLegend(names, width, [&](int series, double x, int line) {
    const double y = top + line * kLegendLine;
    svg->Rect(left + x, y, kSwatch, kSwatch,
              FillClass(ColorOf(colors, series)));
    svg->Text(left + x + kSwatch + 6, y + kSwatch - 1.5, names[series],
              Svg::Anchor::kStart, "l");
  });
}

int ColorOf(const std::vector<int>& colors, size_t series) {
  return series < colors.size() ? colors[series] : static_cast<int>(series);
}

std::string FillClass(int series) {
  return absl::StrCat("f", series % kSeriesColors);
}

std::string StrokeClass(int series) {
  return absl::StrCat("k", series % kSeriesColors);
}

void DrawWhisker(Svg* svg, double x1, double x2, double y, double cap) {
  PathData data;
  data.MoveTo(x1, y).LineTo(x2, y);
  data.MoveTo(x1, y - cap).LineTo(x1, y + cap);
  data.MoveTo(x2, y - cap).LineTo(x2, y + cap);
  svg->Path(data.text(), "whisker");
}

}  // namespace feedrate
