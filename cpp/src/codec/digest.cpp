// A hash of a full snapshot without its instant. The snapshot's encoder writes to the sink below, which hashes its tokens instead
// of writing JSON; so both always cover the same members.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "codec/snapshot.hpp"
#include "codec/snapshot_encode.hpp"

namespace resonate {
namespace {

// MurmurHash3's x64 128-bit function for input in pieces. Words are little-endian on every machine, so that equal states have equal
// digests everywhere.
class Hash128 {
 public:
  void add(std::string_view bytes) {
    length_ += bytes.size();
    if (held_ > 0) {
      const std::size_t taken = std::min(block_.size() - held_, bytes.size());
      std::memcpy(block_.data() + held_, bytes.data(), taken);
      held_ += taken;
      bytes.remove_prefix(taken);
      if (held_ < block_.size()) return;
      mix(block_.data());
      held_ = 0;
    }
    for (; bytes.size() >= block_.size(); bytes.remove_prefix(block_.size())) mix(bytes.data());
    if (!bytes.empty()) std::memcpy(block_.data(), bytes.data(), bytes.size());
    held_ = bytes.size();
  }
  void add_word(std::uint64_t word) {
    char bytes[8];
    for (char& byte : bytes) {
      byte = static_cast<char>(word & 0xff);
      word >>= 8;
    }
    add({bytes, sizeof bytes});
  }

  // Returns the hash in hex. The object must not be used afterwards.
  std::string finish() {
    std::memset(block_.data() + held_, 0, block_.size() - held_);
    b_ ^= scrambled_b(word_at(block_.data() + 8));
    a_ ^= scrambled_a(word_at(block_.data()));
    a_ ^= length_;
    b_ ^= length_;
    a_ += b_;
    b_ += a_;
    a_ = avalanched(a_);
    b_ = avalanched(b_);
    a_ += b_;
    b_ += a_;
    return hex(a_) + hex(b_);
  }

 private:
  static constexpr std::uint64_t kFirst = 0x87c37b91114253d5;
  static constexpr std::uint64_t kSecond = 0x4cf5ad432745937f;

  static std::uint64_t word_at(const char* bytes) {
    std::uint64_t word = 0;
    for (int i = 7; i >= 0; --i) word = word << 8 | static_cast<unsigned char>(bytes[i]);
    return word;
  }
  static std::uint64_t scrambled_a(std::uint64_t word) { return std::rotl(word * kFirst, 31) * kSecond; }
  static std::uint64_t scrambled_b(std::uint64_t word) { return std::rotl(word * kSecond, 33) * kFirst; }
  static std::uint64_t avalanched(std::uint64_t word) {
    word = (word ^ word >> 33) * 0xff51afd7ed558ccd;
    word = (word ^ word >> 33) * 0xc4ceb9fe1a85ec53;
    return word ^ word >> 33;
  }
  static std::string hex(std::uint64_t word) {
    std::string text(16, '0');
    for (auto digit = text.rbegin(); digit != text.rend(); ++digit, word >>= 4) *digit = "0123456789abcdef"[word & 15];
    return text;
  }
  void mix(const char* block) {
    a_ ^= scrambled_a(word_at(block));
    a_ = (std::rotl(a_, 27) + b_) * 5 + 0x52dce729;
    b_ ^= scrambled_b(word_at(block + 8));
    b_ = (std::rotl(b_, 31) + a_) * 5 + 0x38495ab5;
  }

  std::uint64_t a_ = 0;
  std::uint64_t b_ = 0;
  std::uint64_t length_ = 0;
  std::array<char, 16> block_{};
  std::size_t held_ = 0;
};

// Each kind of token begins with its own byte, and a text with its length, so that two sequences never give the same bytes.
class HashSink {
 public:
  void begin_object() { hash_.add("{"); }
  void end_object() { hash_.add("}"); }
  void begin_array() { hash_.add("["); }
  void end_array() { hash_.add("]"); }
  void key(Field field) { text('k', name_of(field)); }
  void key(std::string_view name) { text('k', name); }
  void string(std::string_view value) { text('s', value); }
  void integer(std::int64_t number) {
    hash_.add("i");
    hash_.add_word(static_cast<std::uint64_t>(number));
  }
  void real(double number) {
    hash_.add("r");
    hash_.add_word(std::bit_cast<std::uint64_t>(number));
  }
  void boolean(bool flag) { hash_.add(flag ? "t" : "f"); }
  void null() { hash_.add("n"); }

  std::string finish() { return hash_.finish(); }

 private:
  void text(char mark, std::string_view value) {
    hash_.add({&mark, 1});
    hash_.add_word(value.size());
    hash_.add(value);
  }

  Hash128 hash_;
};

}  // namespace

std::string digest(Storage& storage, const Options& options) {
  HashSink sink;
  Counters counters = storage.counters();
  const detail::RetryView retry{options.retry_timeout, counters.now, detail::RetryView::As::phase};
  counters.now = 0;  // equal states at different instants are equal
  encode_full_snapshot(sink, storage, counters, retry);
  return sink.finish();
}

}  // namespace resonate
