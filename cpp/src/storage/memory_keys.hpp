// The keys of rows in the indexes of a storage in memory, made from those of index_keys.hpp.
//
// A key points into the row's present version, so it is replaced whenever a change moves those texts. A key contains only what its
// index needs: an insert into a leaf of the tree moves the keys behind it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "resonate/index_keys.hpp"
#include "storage/cow_tree.hpp"

namespace resonate {

// Packs bytes into integers that sort like the bytes.
template <std::size_t N>
std::array<std::uint64_t, N> ordered_words(const std::array<char, 8 * N>& bytes) noexcept {
  std::array<std::uint64_t, N> words{};
  std::memcpy(words.data(), bytes.data(), bytes.size());
  if constexpr (std::endian::native == std::endian::little)
    for (std::uint64_t& word : words) word = __builtin_bswap64(word);
  return words;
}

// In an index that orders each group by id alone: the texts of the group, then the id.
template <std::size_t kTexts>
struct TextKey {
  std::array<const std::string*, kTexts + 1> texts{};

  TextKey() = default;
  TextKey(const IndexKey& key, const std::string& id) noexcept {
    std::copy_n(std::array{key.text, key.queue, key.type}.begin(), kTexts, texts.begin());
    texts[kTexts] = &id;
  }
  const std::string& id() const noexcept { return *texts[kTexts]; }
  bool is_in_group_of(const TextKey& other) const noexcept { return compare(other, kTexts) == 0; }
  std::int64_t major() const noexcept { return 0; }
  friend bool operator<(const TextKey& a, const TextKey& b) noexcept { return a.compare(b, kTexts + 1) < 0; }

 private:
  // Compares so many of the texts.
  int compare(const TextKey& other, std::size_t count) const noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      if (texts[i] == other.texts[i]) continue;
      if (const int order = IndexKey::view(texts[i]).compare(IndexKey::view(other.texts[i]))) return order;
    }
    return 0;
  }
};

// In an index that orders the jobs of a queue, or all jobs, by numbers. Many jobs may have equal numbers, and comparing their texts
// would read memory outside the tree. So the key contains the first bytes of its texts, packed into integers that sort like the
// bytes; a comparison reads the whole texts only if those are equal.
struct PlaceKey {
  std::uint64_t head = 0;  // the first seven bytes of the queue's name, then its length, at most 255
  std::int64_t first = 0;
  std::int64_t second = 0;
  std::array<std::uint64_t, 3> id_head{};
  const std::string* queue = nullptr;
  const std::string* of = nullptr;

  PlaceKey() = default;
  PlaceKey(const IndexKey& key, const std::string& id) noexcept : first(key.major), second(key.minor), queue(key.queue), of(&id) {
    const std::string_view name = IndexKey::view(queue);
    std::array<char, 8> bytes{};
    std::copy_n(name.data(), std::min(name.size(), kInHead),
                bytes.data());  // unlike memcpy, copy_n accepts the null pointer of an empty view
    bytes[kInHead] = static_cast<char>(std::min<std::size_t>(name.size(), UINT8_MAX));
    head = ordered_words<1>(bytes)[0];
    std::array<char, sizeof(id_head)> start{};
    std::memcpy(start.data(), id.data(), std::min(id.size(), start.size()));
    id_head = ordered_words<3>(start);
  }
  const std::string& id() const noexcept { return *of; }
  bool is_in_group_of(const PlaceKey& other) const noexcept { return compare_queue(other) == 0; }
  std::int64_t major() const noexcept { return first; }
  friend bool operator<(const PlaceKey& a, const PlaceKey& b) noexcept {
    if (const int order = a.compare_queue(b)) return order < 0;
    if (a.first != b.first) return a.first < b.first;
    if (a.second != b.second) return a.second < b.second;
    if (a.id_head != b.id_head) return a.id_head < b.id_head;
    return a.of != b.of && *a.of < *b.of;
  }

 private:
  static constexpr std::size_t kInHead = 7;

  int compare_queue(const PlaceKey& other) const noexcept {
    if (head != other.head) return head < other.head ? -1 : 1;
    if ((head & UINT8_MAX) <= kInHead || queue == other.queue) return 0;
    return IndexKey::view(queue).compare(IndexKey::view(other.queue));
  }
};

// In the index of timers, that of rows and that of schedules; it contains the first bytes of the id, as PlaceKey does.
struct TimerKey {
  Instant at = 0;
  std::array<std::uint64_t, 2> head{};  // first byte: the kind; then the first bytes of the id
  const std::string* of = nullptr;

  TimerKey() = default;
  TimerKey(Due due, const std::string& id) noexcept : at(due.at), of(&id) {
    std::array<char, sizeof(head)> bytes{static_cast<char>(due.kind)};
    std::memcpy(bytes.data() + 1, id.data(), std::min(id.size(), bytes.size() - 1));
    head = ordered_words<2>(bytes);
  }
  TimerKey(const IndexKey& key, const std::string& id) noexcept : TimerKey({key.major, static_cast<DueKind>(key.minor)}, id) {}
  const std::string& id() const noexcept { return *of; }
  bool is_in_group_of(const TimerKey&) const noexcept { return true; }
  std::int64_t major() const noexcept { return at; }
  friend bool operator<(const TimerKey& a, const TimerKey& b) noexcept {
    if (a.at != b.at) return a.at < b.at;
    if (a.head != b.head) return a.head < b.head;
    return a.of != b.of && *a.of < *b.of;
  }
};

// In a reversed index: the groups in order, and the keys of each in the reverse order.
struct ReversedKey : PlaceKey {
  using PlaceKey::PlaceKey;
  friend bool operator<(const ReversedKey& a, const ReversedKey& b) noexcept {
    const auto& x = static_cast<const PlaceKey&>(a);
    const auto& y = static_cast<const PlaceKey&>(b);
    return x.is_in_group_of(y) ? y < x : x < y;
  }
};

constexpr std::size_t texts_of(IndexParts parts) noexcept {
  return static_cast<std::size_t>(parts.queue) + static_cast<std::size_t>(parts.text) + static_cast<std::size_t>(parts.type);
}
template <Index index>
using MemoryKey =
    std::conditional_t<index == Index::due, TimerKey,
                       std::conditional_t<is_reversed(index), ReversedKey,
                                          std::conditional_t<parts_of(index).major, PlaceKey, TextKey<texts_of(parts_of(index))>>>>;
// Whether new rows enter the index at the next search, which is rare.
constexpr bool is_entered_late(Index index) noexcept { return index == Index::id || is_reversed(index); }

template <std::size_t... places>
std::tuple<CowTree<MemoryKey<static_cast<Index>(places)>, std::less<>>...> memory_indexes(std::index_sequence<places...>);
// A tree per index.
using MemoryIndexes = decltype(memory_indexes(std::make_index_sequence<kIndexes>()));

}  // namespace resonate
