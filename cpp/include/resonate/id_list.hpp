// IdList: ids in order. Its first id is removed in constant time, so that a job that waits for many others loses them one by one
// without a move of all that are left.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace resonate {

class IdList {
 public:
  using value_type = std::string;
  using const_iterator = std::vector<std::string>::const_iterator;

  IdList() = default;
  explicit IdList(std::vector<std::string> ids) noexcept : all_(std::move(ids)) {}
  IdList(const IdList& other) : all_(other.begin(), other.end()) {}
  IdList(IdList&& other) noexcept : all_(std::move(other.all_)), removed_(std::exchange(other.removed_, 0)) { other.all_.clear(); }
  IdList& operator=(IdList other) noexcept {
    std::swap(all_, other.all_);
    std::swap(removed_, other.removed_);
    return *this;
  }
  ~IdList() = default;

  const_iterator begin() const noexcept { return all_.begin() + static_cast<std::ptrdiff_t>(removed_); }
  const_iterator end() const noexcept { return all_.end(); }
  std::size_t size() const noexcept { return all_.size() - removed_; }
  bool empty() const noexcept { return size() == 0; }
  const std::string& operator[](std::size_t place) const noexcept { return all_[removed_ + place]; }

  std::string& emplace_back() { return all_.emplace_back(); }
  template <class Text>
  std::string& emplace_back(const Text& id) {
    return all_.emplace_back(id);
  }
  void erase(const_iterator id) {
    if (id == begin()) {
      ++removed_;
    } else {
      all_.erase(id);
    }
  }
  void clear() noexcept {
    all_.clear();
    removed_ = 0;
  }

 private:
  std::vector<std::string> all_;
  std::size_t removed_ = 0;  // how many of them, from the first on, are no longer in the list
};

}  // namespace resonate
