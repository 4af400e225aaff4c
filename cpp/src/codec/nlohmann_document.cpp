#include "codec/nlohmann_document.hpp"

#include <limits>
#include <nlohmann/json.hpp>

namespace resonate {

// Receives the parser's events.
class NlohmannDocument::Reader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Reader(NlohmannDocument& document, bool marked) : document_(document), marked_(marked) {}

  bool null() override { return scalar(NodeType::null); }
  bool boolean(bool flag) override { return scalar(NodeType::boolean, flag ? 1 : 0); }
  bool number_integer(number_integer_t number) override { return scalar(NodeType::integer, number); }
  bool number_unsigned(number_unsigned_t number) override {
    constexpr auto kGreatest = static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max());
    return number <= kGreatest ? scalar(NodeType::integer, static_cast<std::int64_t>(number)) : scalar(NodeType::big_integer);
  }
  // Integers beyond 64 bits arrive here too; their text shows that they are integers.
  bool number_float(number_float_t number, const string_t& text) override {
    add(text.find_first_of(".eE") == string_t::npos ? NodeType::big_integer : NodeType::real).real = number;
    return true;
  }
  bool string(string_t& text) override {
    Entry& entry = add(is_bad(text) ? NodeType::bad_string : NodeType::string);
    entry.text = keep(text);
    return true;
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(NodeType::object); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(NodeType::array); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (is_bad(name)) document_.entries_[open_.back()].type = NodeType::bad_object;
    key_ = keep(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) override {
    document_.problem_ = error.what();
    return false;
  }

 private:
  bool is_bad(const string_t& text) const { return marked_ && text.find(kMark) != string_t::npos; }
  Slice keep(const string_t& text) {
    const Slice slice{document_.strings_.size(), text.size()};
    document_.strings_ += text;
    return slice;
  }
  Entry& add(NodeType type) {
    Entry& entry = document_.entries_.emplace_back();
    entry.type = type;
    entry.key = std::exchange(key_, {});
    entry.end = document_.entries_.size();
    return entry;
  }
  bool scalar(NodeType type, std::int64_t number = 0) {
    add(type).number = number;
    return true;
  }
  bool open(NodeType type) {
    open_.push_back(document_.entries_.size());
    add(type);
    return true;
  }
  bool close() {
    document_.entries_[open_.back()].end = document_.entries_.size();
    open_.pop_back();
    return true;
  }

  NlohmannDocument& document_;
  bool marked_;
  Slice key_;
  std::vector<std::size_t> open_;  // the arrays and objects that have not ended
};

NlohmannDocument::NlohmannDocument(std::string_view text, bool marked) {
  Reader reader(*this, marked);
  if (!nlohmann::json::sax_parse(text, &reader) && problem_.empty()) problem_ = "the text ends early";
}

}  // namespace resonate
