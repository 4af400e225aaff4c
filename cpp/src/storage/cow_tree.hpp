// An ordered set with O(1) copies: a B+ tree. Copies share nodes; a write clones the shared nodes on its path.
//
// Keys are cheap values (pointers, small structs). `Less` may also compare a key with a probe of another type. Each copy may have
// one writer; different copies may be used by different threads at once.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "resonate/shared.hpp"

namespace resonate {

template <class Key, class Less>
class CowTree {
  static constexpr unsigned kFanout = 64;

  struct Node : Counted {
    bool leaf = true;
    unsigned size = 0;
    std::array<Key, kFanout> keys{};  // leaf: the keys; inner: the least key of each child, except the first
    virtual ~Node() = default;
  };
  struct Inner final : Node {
    std::array<Shared<Node>, kFanout> children{};
  };

 public:
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  // Returns false if an equal key exists; the set then keeps that key.
  bool insert(const Key& key) {
    if (!root_) root_ = Shared<Node>(new Node);
    own(root_);
    bool added = false;
    Split split = insert_into(*root_, key, added);
    if (split.right) {
      auto* top = new Inner;
      top->leaf = false;
      top->size = 2;
      top->children[0] = std::move(root_);
      top->children[1] = std::move(split.right);
      top->keys[1] = std::move(split.least);
      root_ = Shared<Node>(top);
    }
    size_ += added;
    return added;
  }

  bool erase(const Key& key) {
    if (!root_) return false;
    own(root_);
    if (!erase_from(*root_, key)) return false;
    --size_;
    while (!root_->leaf && root_->size == 1) {
      Shared<Node> only = static_cast<Inner&>(*root_).children[0];
      root_ = std::move(only);
    }
    return true;  // an empty leaf is kept, so that a set whose only key is removed and added again allocates no node
  }

  template <class Probe>
  const Key* find(const Probe& probe) const {
    const Node* node = root_.get();
    if (!node) return nullptr;
    while (!node->leaf) node = static_cast<const Inner*>(node)->children[child_for(*node, probe)].get();
    const unsigned at = lower_bound(*node, probe);
    if (at == node->size || less_(probe, node->keys[at])) return nullptr;
    return &node->keys[at];
  }

  const Key* first() const noexcept { return root_ && root_->size ? &least_of(*root_) : nullptr; }

  // Calls visit(key) for keys not less than `probe`, in order, until it returns false.
  template <class Probe, class Visit>
  void visit_from(const Probe& probe, Visit visit) const {
    if (root_) visit_node(*root_, &probe, visit);
  }
  template <class Visit>
  void visit_all(Visit visit) const {
    if (root_) visit_node(*root_, static_cast<const Key*>(nullptr), visit);
  }
  void clear() {
    root_ = nullptr;
    size_ = 0;
  }

 private:
  struct Split {
    Shared<Node> right;
    Key least{};
  };

  static void own(Shared<Node>& slot) {
    if (slot->is_unshared()) return;
    slot = slot->leaf ? Shared<Node>(new Node(*slot)) : Shared<Node>(new Inner(static_cast<const Inner&>(*slot)));
  }

  static const Key& least_of(const Node& top) noexcept {
    const Node* node = &top;
    while (!node->leaf) node = static_cast<const Inner*>(node)->children[0].get();
    return node->keys[0];
  }

  template <class Probe>
  unsigned lower_bound(const Node& node, const Probe& probe) const {
    unsigned low = 0;
    unsigned high = node.size;
    while (low < high) {
      const unsigned middle = (low + high) / 2;
      if (less_(node.keys[middle], probe)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  // Returns the child that can hold keys not less than `probe`: the last child whose least key is not greater than `probe`.
  template <class Probe>
  unsigned child_for(const Node& node, const Probe& probe) const {
    unsigned low = 1;
    unsigned high = node.size;
    while (low < high) {
      const unsigned middle = (low + high) / 2;
      if (less_(probe, node.keys[middle])) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low - 1;
  }

  Split insert_into(Node& node, const Key& key, bool& added) {
    if (node.leaf) {
      const unsigned at = lower_bound(node, key);
      if (at < node.size && !less_(key, node.keys[at])) return {};
      added = true;
      if (node.size < kFanout) {
        put(node, at, key);
        return {};
      }
      // After a split at the end the left leaf stays full: keys are mostly inserted in ascending order.
      const unsigned keep = at == kFanout ? kFanout : kFanout / 2;
      Shared<Node> right(new Node);
      move_tail(node, *right, keep);
      if (at <= keep && keep < kFanout) {
        put(node, at, key);
      } else {
        put(*right, at - keep, key);
      }
      Key least = right->keys[0];
      return {std::move(right), std::move(least)};
    }
    auto& inner = static_cast<Inner&>(node);
    const unsigned at = child_for(node, key);
    own(inner.children[at]);
    Split below = insert_into(*inner.children[at], key, added);
    if (!below.right) return {};
    if (inner.size < kFanout) {
      put_child(inner, at + 1, std::move(below));
      return {};
    }
    const unsigned keep = at + 1 == kFanout ? kFanout - 1 : kFanout / 2;
    auto* right = new Inner;
    Shared<Node> held(right);
    right->leaf = false;
    move_tail(inner, *right, keep);
    for (unsigned i = 0; i < right->size; ++i) right->children[i] = std::move(inner.children[keep + i]);
    if (at + 1 <= keep) {
      put_child(inner, at + 1, std::move(below));
    } else {
      put_child(*right, at + 1 - keep, std::move(below));
    }
    Key least = right->keys[0];
    return {std::move(held), std::move(least)};
  }

  static void put(Node& node, unsigned at, const Key& key) {
    std::move_backward(node.keys.begin() + at, node.keys.begin() + node.size, node.keys.begin() + node.size + 1);
    node.keys[at] = key;
    ++node.size;
  }
  static void put_child(Inner& inner, unsigned at, Split&& split) {
    for (unsigned i = inner.size; i > at; --i) {
      inner.keys[i] = std::move(inner.keys[i - 1]);
      inner.children[i] = std::move(inner.children[i - 1]);
    }
    inner.keys[at] = std::move(split.least);
    inner.children[at] = std::move(split.right);
    ++inner.size;
  }
  static void move_tail(Node& from, Node& to, unsigned keep) {
    for (unsigned i = keep; i < from.size; ++i) to.keys[i - keep] = std::exchange(from.keys[i], Key{});
    to.size = from.size - keep;
    from.size = keep;
  }

  // One walk, which clones the nodes on its path before it knows whether the key exists. Callers rarely erase an absent key.
  bool erase_from(Node& node, const Key& key) {
    if (node.leaf) {
      const unsigned at = lower_bound(node, key);
      if (at == node.size || less_(key, node.keys[at])) return false;
      std::move(node.keys.begin() + at + 1, node.keys.begin() + node.size, node.keys.begin() + at);
      node.keys[--node.size] = Key{};
      return true;
    }
    auto& inner = static_cast<Inner&>(node);
    const unsigned at = child_for(node, key);
    own(inner.children[at]);
    if (!erase_from(*inner.children[at], key)) return false;
    if (inner.children[at]->size != 0) {
      // A separator is a copy of a key, which may point into its entry, so it must stay a key of the tree.
      if (at > 0 && !less_(inner.keys[at], key)) inner.keys[at] = least_of(*inner.children[at]);
      return true;
    }
    // Removes the empty child. Nodes are not merged: the tree stays correct without that, and trees that shrink a lot are rare.
    for (unsigned i = at + 1; i < inner.size; ++i) {
      inner.keys[i - 1] = std::move(inner.keys[i]);
      inner.children[i - 1] = std::move(inner.children[i]);
    }
    --inner.size;
    inner.keys[inner.size] = Key{};
    inner.children[inner.size] = nullptr;
    return true;
  }

  template <class Probe, class Visit>
  bool visit_node(const Node& node, const Probe* probe, Visit& visit) const {
    if (node.leaf) {
      for (unsigned i = probe ? lower_bound(node, *probe) : 0; i < node.size; ++i)
        if (!visit(node.keys[i])) return false;
      return true;
    }
    const auto& inner = static_cast<const Inner&>(node);
    const unsigned from = probe ? child_for(node, *probe) : 0;
    for (unsigned i = from; i < inner.size; ++i)
      if (!visit_node(*inner.children[i], i == from ? probe : nullptr, visit)) return false;
    return true;
  }

  Shared<Node> root_;
  std::size_t size_ = 0;
  [[no_unique_address]] Less less_;
};

}  // namespace resonate
