#include "machine/tag_advice.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "machine/ascii.hpp"

namespace resonate {

namespace {

constexpr std::string_view kNamespace = "resonate";

// The names after "resonate:" that the engine and the published clients use (PROTOCOL 1, WIRE).
constexpr std::string_view kKnown[] = {"target", "timer",  "delay", "external", "invoke", "origin", "branch",
                                       "parent", "prefix", "root",  "schedule", "scope",  "timeout"};
// Tags that have an effect only with the value "true".
constexpr std::pair<std::string_view, std::string_view> kSwitches[] = {
    {"timer", "makes the promise a timer"},
    {"external", "makes the promise external"},
};

constexpr std::size_t kLongest = 40;  // longer names and values are shortened

// Quotes a text in ASCII, on one line, with limited length.
std::string shown(std::string_view text) {
  std::string made = "\"";
  for (const char c : text.substr(0, kLongest)) {
    if (c == '"' || c == '\\') {
      made += {'\\', c};
    } else if (c >= ' ' && c <= '~') {
      made += c;
    } else {
      char escaped[5];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(c));
      made += escaped;
    }
  }
  return made + (text.size() > kLongest ? "...\"" : "\"");
}

// The edit distance of two short words: replaced, inserted, deleted and transposed letters.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

// Returns the known tag that a name probably misspells; empty if there is none.
std::string_view nearest(std::string_view name) {
  std::string_view best;
  std::size_t least = SIZE_MAX;
  for (const std::string_view known : kKnown) {
    const std::size_t most = known.size() / 3;  // one error in "timer", two in "target"
    if (name.size() > known.size() + most || known.size() > name.size() + most) continue;
    const std::size_t away = distance(name, known);
    if (away <= most && away < least) {
      least = away;
      best = known;
    }
  }
  return best;
}

bool is_in_namespace(std::string_view name) {
  return name.size() > kNamespace.size() + 1 && lower(name[0]) == 'r' && lowered(name.substr(0, kNamespace.size())) == kNamespace &&
         std::string_view(":._-/ ").find(name[kNamespace.size()]) != std::string_view::npos;
}

void examine_tag(std::vector<std::string>& advice, std::string_view name, std::string_view value) {
  if (!is_in_namespace(name)) return;
  const std::string_view word = name.substr(kNamespace.size() + 1);
  if (name.starts_with("resonate:") && std::find(std::begin(kKnown), std::end(kKnown), word) != std::end(kKnown)) {
    for (const auto& [tag, effect] : kSwitches) {
      if (word == tag && value != "true" && value != "false")
        advice.push_back("tag " + shown(name) + " is " + shown(value) + "; only \"true\" " + std::string(effect));
    }
  } else if (const std::string_view meant = nearest(lowered(word)); !meant.empty()) {
    advice.push_back("tag " + shown(name) + " has no meaning; did you mean \"resonate:" + std::string(meant) + "\"?");
  }
}

// Visits the tags of an operation.
struct TagVisitor {
  std::vector<std::string>& advice;

  void tags(const StringMap& tags) const {
    for (const auto& [name, value] : tags) examine_tag(advice, name, value);
  }
  void operator()(const PromiseCreate& create) const { tags(create.tags); }
  void operator()(const TaskCreate& create) const { tags(create.action.tags); }
  void operator()(const TaskFence& fence) const {
    if (const auto* create = std::get_if<PromiseCreate>(&fence.action)) tags(create->tags);
  }
  void operator()(const ScheduleCreate& create) const {
    tags(create.promise_tags);
    if (create.job) tags(create.job->tags);
  }
  void operator()(const JobEnqueue& enqueue) const { tags(enqueue.order->tags); }
  void operator()(const JobEnqueueMany& many) const {
    for (const JobOrder& order : many.orders) tags(order.tags);
  }
  template <class Other>
  void operator()(const Other&) const {}
};

}  // namespace

std::vector<std::string> tag_advice(const Operation& operation) {
  std::vector<std::string> advice;
  std::visit(TagVisitor{advice}, operation);
  return advice;
}

std::vector<std::string> tag_advice(const StringMap& tags) {
  std::vector<std::string> advice;
  TagVisitor{advice}.tags(tags);
  return advice;
}

}  // namespace resonate
