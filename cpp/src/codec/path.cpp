#include "codec/path.hpp"

#include "codec/json_sink.hpp"

namespace resonate {

std::string to_text(const Path& path) {
  std::string text = path.parent ? to_text(*path.parent) : std::string();
  if (path.index >= 0) return text + "[" + std::to_string(path.index) + "]";
  if (!text.empty()) text += '.';
  return text.append(path.name);
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::size_t end = text.size();
  if (end > kLongest) {
    end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  }
  JsonSink sink;
  sink.string(text.substr(0, end));
  std::string out = sink.take();
  if (end < text.size()) out.insert(out.size() - 1, "...");
  return out;
}

void refuse_missing(Field member, const Path* at) { throw Malformed{to_text(Path(member, at)) + " is missing"}; }

}  // namespace resonate
