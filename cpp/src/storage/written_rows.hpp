// WrittenRows: jobs as this process has written them beside other processes, each with the number of the transaction that did.
//
// PostgreSQL says which transaction wrote the row that a statement finds (xmin). If it is the same one, the row is the same, and
// need not be read: mostly the worker that claimed a job also completes it. The numbers hold for one connection: a standby that
// takes over gives those again that it has not received.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "machine/text_hash.hpp"
#include "resonate/storage.hpp"

namespace resonate {

class WrittenRows {
 public:
  struct One {
    RowRef row;
    std::int64_t transaction;
  };

  // Null if it is not known.
  const One* find(std::string_view id) const;
  // Notes the jobs that a transaction has committed beside others, if they are small and no worker can claim them: a job that can
  // be claimed is not locked by its id.
  void keep(const Changes& changes, std::int64_t transaction);
  // Forgets the jobs that this process has changed in a transaction that ran alone.
  void forget(const Changes& changes);
  void forget(std::string_view id);
  void clear() { rows_.clear(); }

 private:
  std::unordered_map<std::string, One, TextHash, std::equal_to<>> rows_;
};

}  // namespace resonate
