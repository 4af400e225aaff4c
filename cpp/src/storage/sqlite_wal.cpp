#include "storage/sqlite_wal.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

#include "machine/quoted.hpp"

namespace resonate {

namespace {

constexpr std::size_t kHeader = 32;
constexpr std::size_t kFrameHeader = 24;
constexpr std::uint32_t kMagic = 0x377f0682;  // with its last bit set, checksums use big-endian words
constexpr std::uint32_t kFormat = 3'007'000;

std::uint32_t big_endian(const unsigned char* at) {
  return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 | at[3];
}
std::uint32_t little_endian(const unsigned char* at) {
  return std::uint32_t{at[3]} << 24 | std::uint32_t{at[2]} << 16 | std::uint32_t{at[1]} << 8 | at[0];
}

struct Checksum {
  std::uint32_t first = 0;
  std::uint32_t second = 0;

  void add(std::span<const unsigned char> bytes, bool big) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      first += (big ? big_endian(&bytes[at]) : little_endian(&bytes[at])) + second;
      second += (big ? big_endian(&bytes[at + 4]) : little_endian(&bytes[at + 4])) + first;
    }
  }
  bool equals_at(const unsigned char* at) const { return first == big_endian(at) && second == big_endian(at + 4); }

  // Returns whether a change of a single word, in the summed data or in the stored checksum, explains the mismatch.
  bool is_one_word_from(const unsigned char* at, std::size_t bytes) const {
    const std::uint32_t in_first = big_endian(at) - first;
    const std::uint32_t in_second = big_endian(at + 4) - second;
    if (in_second == 0) return true;
    // Changing a word by e changes the sums by e * a and e * b, where a and b are neighbours in the Fibonacci series: one of them
    // is odd.
    for (std::uint32_t a = 0, b = 1; bytes > 0; bytes -= 4) {
      if (in_first * b == in_second * a) return true;
      const std::uint32_t next = a + b;
      a = b;
      b = next;
    }
    return false;
  }
};

// Which part of a log is readable, and how many commits follow it.
struct Reading {
  bool header_damaged = false;
  std::int64_t readable = 0;  // the number of frames
  std::int64_t lost = 0;      // the number of commits behind the readable frames

  bool is_damaged() const { return header_damaged || lost > 0; }
};

bool is_page_size(std::uint32_t size) { return size >= 512 && size <= 65536 && (size & (size - 1)) == 0; }

Reading read_log(const std::string& path) {
  Reading found;
  std::error_code problem;
  if (!std::filesystem::is_regular_file(path, problem)) return found;  // opening a pipe would wait for ever
  std::ifstream log(path, std::ios::binary);
  const auto next = [&log](std::span<unsigned char> into) {
    log.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(into.size()));
    return static_cast<std::size_t>(log.gcount()) == into.size();
  };
  std::array<unsigned char, kHeader> header{};
  if (!next(header)) return found;
  const bool big = (big_endian(header.data()) & 1) != 0;
  const std::uint32_t page_size = big_endian(&header[8]);
  Checksum sum;
  sum.add(std::span(header).first(24), big);
  if ((big_endian(header.data()) & ~std::uint32_t{1}) != kMagic || big_endian(&header[4]) != kFormat || !is_page_size(page_size) ||
      !sum.equals_at(&header[24])) {
    found.header_damaged = log.peek() != std::ifstream::traits_type::eof();  // an empty log has lost nothing
    return found;
  }
  std::vector<unsigned char> frame(kFrameHeader + page_size);
  bool readable = true;
  bool counts = true;
  bool may_be_torn = false;
  bool after_commit = false;
  while (next(frame)) {
    const bool of_first_salt = std::equal(&header[16], &header[20], &frame[8]);
    const bool of_second_salt = std::equal(&header[20], &header[24], &frame[12]);
    if (readable) {
      sum.add(std::span(frame).first(8), big);
      sum.add(std::span(frame).subspan(kFrameHeader), big);
      readable = of_first_salt && of_second_salt && sum.equals_at(&frame[16]);
      found.readable += readable;
      const bool is_commit = big_endian(&frame[4]) != 0;
      if (!readable && !sum.is_one_word_from(&frame[16], 8 + page_size)) {
        // A commit that failed (its fsync, for example) and was overwritten can leave frames behind the present commit: that is no
        // damage.
        counts = !after_commit;
        may_be_torn = is_commit;
      }
      after_commit = is_commit;
    } else if (of_first_salt || of_second_salt) {
      may_be_torn = false;
    }
    // Behind the end there may be frames of an earlier round of the log, with other salts, and frames of an uncommitted
    // transaction. A frame with at least one salt of the present round belongs to it.
    if (!readable && counts && (of_first_salt || of_second_salt) && big_endian(&frame[4]) != 0) ++found.lost;
  }
  // SQLite writes the head of a frame before its page. A process that dies between the two in a commit's last frame leaves a head
  // of the present round before a page of an earlier one: that commit was never answered, and is no damage.
  if (may_be_torn) found.lost = 0;
  return found;
}

std::string commits(std::int64_t count) { return std::to_string(count) + (count == 1 ? " commit" : " commits"); }

}  // namespace

std::optional<std::string> commits_lost_in_log(const std::string& database) {
  const std::string path = database + "-wal";
  Reading found = read_log(path);
  // Repeats the check: a commit may be in progress, and an end that moves on is no damage.
  constexpr int kAttempts = 5;
  constexpr std::chrono::milliseconds kPause(40);
  for (int attempt = 1; attempt < kAttempts && found.is_damaged(); ++attempt) {
    std::this_thread::sleep_for(kPause);
    const Reading again = read_log(path);
    if (again.readable != found.readable) return std::nullopt;
    found = again;
  }
  constexpr std::string_view kElse = " (a power failure before they were acknowledged has the same effect)";
  if (found.header_damaged)
    return "log: the head of " + resonate::quoted(path) + " is damaged, so none of its commits is read" + std::string(kElse);
  if (found.lost == 0) return std::nullopt;
  return "log: frame " + std::to_string(found.readable + 1) + " of " + resonate::quoted(path) + " is damaged, and " +
         commits(found.lost) + " from it on cannot be read" + std::string(kElse);
}

}  // namespace resonate
