#include "lib/analysis/rows/filter.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "lib/analysis/rows/fields.h"
#include "lib/base/status_macros.h"

namespace feedrate {
struct FilterToken {
  enum class Kind { kName, kText, kNumber, kSign, kEnd };
  Kind kind = Kind::kEnd;
  // A name, the content of a quoted text, or a sign such as `&&`.
  std::string text;
  double number = 0;
  // In bytes, from 1.
  size_t column = 1;
};

namespace {

using Kind = FilterToken::Kind;

absl::Status FilterError(size_t column, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("--where: column ", column, ": ", what));
}

bool IsNamePart(char c) {
  return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-';
}

bool StartsNumber(absl::string_view rest) {
  if (rest[0] == '-' || rest[0] == '+') rest.remove_prefix(1);
  if (!rest.empty() && rest[0] == '.') rest.remove_prefix(1);
  return !rest.empty() && absl::ascii_isdigit(rest[0]);
}

// Each Lex function reads the token at `*at` and moves `*at` past it.
absl::StatusOr<FilterToken> LexText(absl::string_view text, size_t* at) {
  FilterToken token;
  token.kind = Kind::kText;
  token.column = *at + 1;
  const char quote = text[(*at)++];
  while (*at < text.size() && text[*at] != quote) {
    if (text[*at] == '\\' && *at + 1 < text.size()) ++*at;
    token.text.push_back(text[(*at)++]);
  }
  if (*at == text.size()) {
    return FilterError(token.column, "this text has no closing quote");
  }
  ++*at;
  return token;
}

absl::StatusOr<FilterToken> LexNumber(absl::string_view text, size_t* at) {
  const size_t start = *at;
  const auto continues = [&](char c) {
    const char before = text[*at - 1];
    return absl::ascii_isdigit(c) || c == '.' || c == 'e' || c == 'E' ||
           ((c == '-' || c == '+') && (before == 'e' || before == 'E'));
  };
  ++*at;
  while (*at < text.size() && continues(text[*at])) ++*at;
  FilterToken token;
  token.kind = Kind::kNumber;
  token.column = start + 1;
  token.text = std::string(text.substr(start, *at - start));
  if (!absl::SimpleAtod(token.text, &token.number) ||
      !std::isfinite(token.number)) {
    return FilterError(token.column,
                       absl::StrCat("\"", token.text, "\" is not a number"));
  }
  return token;
}

absl::StatusOr<FilterToken> LexSign(absl::string_view text, size_t* at) {
  FilterToken token;
  token.kind = Kind::kSign;
  token.column = *at + 1;
  for (const absl::string_view sign : {"==", "!=", "<=", ">=", "&&", "||", "<",
                                       ">", "!", "(", ")", "[", "]", ","}) {
    if (text.substr(*at, sign.size()) != sign) continue;
    token.text = std::string(sign);
    *at += sign.size();
    return token;
  }
  const char c = text[*at];
  if (c == '=' || c == '&' || c == '|') {
    return FilterError(token.column,
                       absl::StrCat("a single \"", text.substr(*at, 1),
                                    "\" means nothing here; write it twice"));
  }
  const std::string shown =
      absl::ascii_isprint(c)
          ? std::string(1, c)
          : absl::StrCat("byte ", static_cast<unsigned char>(c));
  return FilterError(token.column, absl::StrCat("\"", shown,
                                                "\" means nothing here; text "
                                                "stands in quotes"));
}

// The last token is kEnd.
absl::StatusOr<std::vector<FilterToken>> LexFilter(absl::string_view text) {
  std::vector<FilterToken> tokens;
  size_t at = 0;
  while (at < text.size()) {
    if (absl::ascii_isspace(text[at])) {
      ++at;
    } else if (text[at] == '"' || text[at] == '\'') {
      ASSIGN_OR_RETURN(FilterToken token, LexText(text, &at));
      tokens.push_back(std::move(token));
    } else if (StartsNumber(text.substr(at))) {
      ASSIGN_OR_RETURN(FilterToken token, LexNumber(text, &at));
      tokens.push_back(std::move(token));
    } else if (absl::ascii_isalpha(text[at]) || text[at] == '_') {
      FilterToken token;
      token.kind = Kind::kName;
      token.column = at + 1;
      while (at < text.size() && IsNamePart(text[at])) {
        token.text.push_back(text[at++]);
      }
      tokens.push_back(std::move(token));
    } else {
      ASSIGN_OR_RETURN(FilterToken token, LexSign(text, &at));
      tokens.push_back(std::move(token));
    }
  }
  tokens.emplace_back();
  tokens.back().column = text.size() + 1;
  return tokens;
}

// Deeper nesting is a mistake or an attack.
constexpr int kMaxDepth = 64;

absl::optional<double> AsNumber(const Value& value) {
  if (value.kind == Value::Kind::kNumber) return value.number;
  double number;
  if (value.kind == Value::Kind::kText &&
      absl::SimpleAtod(value.text, &number)) {
    return number;
  }
  return absl::nullopt;
}

// -1, 0 or 1; none if the two cannot be compared.
absl::optional<int> Compare(const Value& value, const Value& literal) {
  const auto order = [](const auto& a, const auto& b) -> absl::optional<int> {
    if (a < b) return -1;
    if (b < a) return 1;
    if (a == b) return 0;
    return absl::nullopt;
  };
  switch (literal.kind) {
    case Value::Kind::kNumber: {
      const absl::optional<double> number = AsNumber(value);
      if (!number.has_value()) return absl::nullopt;
      return order(*number, literal.number);
    }
    case Value::Kind::kText:
      if (value.kind != Value::Kind::kText) return absl::nullopt;
      return order(value.text, literal.text);
    case Value::Kind::kTruth:
      if (value.kind != Value::Kind::kTruth) return absl::nullopt;
      return order(value.truth, literal.truth);
    default:
      return absl::nullopt;
  }
}

absl::string_view TypeName(FieldType type) {
  switch (type) {
    case FieldType::kNumber:
      return "a number";
    case FieldType::kTruth:
      return "true or false";
    case FieldType::kList:
      return "a list";
    default:
      return "text";
  }
}

bool Fits(FieldType type, const Value& literal) {
  switch (literal.kind) {
    case Value::Kind::kNumber:
      return type == FieldType::kNumber || type == FieldType::kSetting;
    case Value::Kind::kText:
      return type == FieldType::kText || type == FieldType::kSetting;
    case Value::Kind::kTruth:
      return type == FieldType::kTruth;
    default:
      return false;
  }
}

}  // namespace

// A recursive descent parser. `||` binds least, then `&&`, then `!`.
class FilterParser {
 public:
  using Op = Filter::Op;

  explicit FilterParser(std::vector<FilterToken> tokens)
      : tokens_(std::move(tokens)) {}

  absl::StatusOr<Filter> Parse() {
    if (Now().kind == Kind::kEnd) {
      filter_.nodes_.emplace_back();
      return std::move(filter_);
    }
    ASSIGN_OR_RETURN(filter_.root_, Joined("||", 0));
    if (Now().kind != Kind::kEnd) return Unexpected("&& or ||");
    return std::move(filter_);
  }

 private:
  const FilterToken& Now() const { return tokens_[at_]; }
  bool Take(absl::string_view sign) {
    if (Now().kind != Kind::kSign || Now().text != sign) return false;
    ++at_;
    return true;
  }

  absl::Status Unexpected(absl::string_view wanted) const {
    const FilterToken& token = Now();
    if (token.kind == Kind::kEnd) {
      return FilterError(token.column,
                         absl::StrCat("expected ", wanted, ", found the end"));
    }
    absl::string_view hint;
    if (token.kind == Kind::kName && token.text == "and") hint = "; use &&";
    if (token.kind == Kind::kName && token.text == "or") hint = "; use ||";
    return FilterError(token.column,
                       absl::StrCat("expected ", wanted, ", found \"",
                                    token.text, "\"", hint));
  }

  size_t Add(Filter::Node node) {
    filter_.nodes_.push_back(std::move(node));
    return filter_.nodes_.size() - 1;
  }

  // A chain of `sign`, which is `||` or `&&`.
  absl::StatusOr<size_t> Joined(absl::string_view sign, int depth) {
    const bool is_or = sign == "||";
    Filter::Node node;
    node.op = is_or ? Op::kOr : Op::kAnd;
    do {
      ASSIGN_OR_RETURN(const size_t child,
                       is_or ? Joined("&&", depth) : Single(depth));
      node.children.push_back(child);
    } while (Take(sign));
    if (node.children.size() == 1) return node.children[0];
    return Add(std::move(node));
  }

  absl::StatusOr<size_t> Single(int depth) {
    if (depth > kMaxDepth) {
      return FilterError(Now().column, "too many brackets inside each other");
    }
    if (Take("!")) {
      ASSIGN_OR_RETURN(const size_t child, Single(depth + 1));
      Filter::Node node;
      node.op = Op::kNot;
      node.children = {child};
      return Add(std::move(node));
    }
    if (Take("(")) {
      ASSIGN_OR_RETURN(const size_t inner, Joined("||", depth + 1));
      if (!Take(")")) return Unexpected("\")\"");
      return inner;
    }
    if (Now().kind == Kind::kText) return ItemInList();
    if (Now().kind == Kind::kName) return Comparison();
    return Unexpected("a field");
  }

  // Consumes a token that names a field, and returns the field's index.
  absl::StatusOr<size_t> TakeField() {
    const FilterToken& token = tokens_[at_];
    if (token.kind != Kind::kName) return Unexpected("a field");
    const absl::StatusOr<Field> field = FindField(token.text);
    if (!field.ok()) {
      absl::string_view hint =
          token.text == "not" ? absl::string_view("; use !") : "";
      return FilterError(token.column,
                         absl::StrCat(field.status().message(), hint));
    }
    ++at_;
    std::vector<Field>& fields = filter_.fields_;
    const auto known =
        std::find_if(fields.begin(), fields.end(),
                     [&](const Field& f) { return f.name == field->name; });
    if (known != fields.end()) return known - fields.begin();
    fields.push_back(*field);
    return fields.size() - 1;
  }

  // "noisy" in warnings
  absl::StatusOr<size_t> ItemInList() {
    Filter::Node node;
    node.op = Op::kHas;
    node.values = {TextValue(Now().text)};
    ++at_;
    if (Now().kind != Kind::kName || Now().text != "in") {
      return Unexpected("\"in\" and a list after this text");
    }
    ++at_;
    const size_t column = Now().column;
    ASSIGN_OR_RETURN(node.field, TakeField());
    if (filter_.fields_[node.field].type != FieldType::kList) {
      return FilterError(column, absl::StrCat(filter_.fields_[node.field].name,
                                              " is not a list"));
    }
    return Add(std::move(node));
  }

  absl::StatusOr<Value> TakeLiteral(const Field& field) {
    const FilterToken& token = Now();
    Value literal;
    if (token.kind == Kind::kText) {
      literal = TextValue(token.text);
    } else if (token.kind == Kind::kNumber) {
      literal = NumberValue(token.number);
    } else if (token.kind == Kind::kName &&
               (token.text == "true" || token.text == "false")) {
      literal = TruthValue(token.text == "true");
    } else if (token.kind == Kind::kName) {
      return FilterError(token.column, absl::StrCat("text stands in quotes: \"",
                                                    token.text, "\""));
    } else {
      return Unexpected("text or a number");
    }
    if (!Fits(field.type, literal)) {
      return FilterError(
          token.column,
          absl::StrCat(field.name, " is ", TypeName(field.type),
                       field.type == FieldType::kList
                           ? absl::StrCat("; write \"…\" in ", field.name)
                           : ""));
    }
    ++at_;
    return literal;
  }

  absl::StatusOr<size_t> Comparison() {
    const size_t column = Now().column;
    Filter::Node node;
    ASSIGN_OR_RETURN(node.field, TakeField());
    const Field field = filter_.fields_[node.field];
    if (Now().kind == Kind::kName && Now().text == "in") {
      ++at_;
      return OneOf(std::move(node), field);
    }
    static constexpr std::pair<absl::string_view, Op> kSigns[] = {
        {"==", Op::kEqual},       {"!=", Op::kNotEqual},
        {"<=", Op::kLessOrEqual}, {">=", Op::kGreaterOrEqual},
        {"<", Op::kLess},         {">", Op::kGreater}};
    for (const auto& [sign, op] : kSigns) {
      if (!Take(sign)) continue;
      node.op = op;
      ASSIGN_OR_RETURN(Value literal, TakeLiteral(field));
      node.values = {std::move(literal)};
      return Add(std::move(node));
    }
    if (field.type != FieldType::kTruth) {
      if (Now().kind == Kind::kEnd || Now().kind == Kind::kSign) {
        return FilterError(
            column, absl::StrCat(field.name, " is ", TypeName(field.type),
                                 " and must be compared with something"));
      }
      return Unexpected("a comparison such as ==");
    }
    node.op = Op::kTruth;
    return Add(std::move(node));
  }

  // library in ["kornia", "opencv"]. Parentheses work as well.
  absl::StatusOr<size_t> OneOf(Filter::Node node, const Field& field) {
    node.op = Op::kIn;
    const bool square = Take("[");
    if (!square && !Take("(")) return Unexpected("\"[\"");
    do {
      ASSIGN_OR_RETURN(Value literal, TakeLiteral(field));
      node.values.push_back(std::move(literal));
    } while (Take(","));
    if (!Take(square ? "]" : ")")) {
      return Unexpected(square ? "\",\" or \"]\"" : "\",\" or \")\"");
    }
    return Add(std::move(node));
  }

  std::vector<FilterToken> tokens_;
  size_t at_ = 0;
  Filter filter_;
};

absl::StatusOr<Filter> Filter::Parse(absl::string_view text) {
  ASSIGN_OR_RETURN(std::vector<FilterToken> tokens, LexFilter(text));
  return FilterParser(std::move(tokens)).Parse();
}

bool Filter::Matches(absl::Span<const Value> values) const {
  CHECK_EQ(values.size(), fields_.size());
  return Holds(root_, values);
}

bool Filter::Matches(const Row& row) const {
  std::vector<Value> values;
  for (const Field& field : fields_) values.push_back(FieldOf(row, field));
  return Matches(values);
}

bool Filter::Holds(size_t index, absl::Span<const Value> values) const {
  const Node& node = nodes_[index];
  const auto holds = [&](size_t child) { return Holds(child, values); };
  switch (node.op) {
    case Op::kTrue:
      return true;
    case Op::kAnd:
      return std::all_of(node.children.begin(), node.children.end(), holds);
    case Op::kOr:
      return std::any_of(node.children.begin(), node.children.end(), holds);
    case Op::kNot:
      return !Holds(node.children[0], values);
    default:
      break;
  }
  const Value& value = values[node.field];
  switch (node.op) {
    case Op::kTruth:
      return value.truth;
    case Op::kHas:
      return std::find(value.list.begin(), value.list.end(),
                       node.values[0].text) != value.list.end();
    case Op::kIn:
      return std::any_of(
          node.values.begin(), node.values.end(), [&](const Value& literal) {
            return Compare(value, literal) == absl::optional<int>(0);
          });
    default:
      break;
  }
  const absl::optional<int> order = Compare(value, node.values[0]);
  if (node.op == Op::kNotEqual) return order != absl::optional<int>(0);
  if (!order.has_value()) return false;
  switch (node.op) {
    case Op::kEqual:
      return *order == 0;
    case Op::kLess:
      return *order < 0;
    case Op::kLessOrEqual:
      return *order <= 0;
    case Op::kGreater:
      return *order > 0;
    case Op::kGreaterOrEqual:
      return *order >= 0;
    default:
      return false;
  }
}

}  // namespace feedrate
