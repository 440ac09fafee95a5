// Live objects of one kind: the handles that were given out and not taken back yet. Work in flight holds its
// objects by shared_ptr, so that taking a handle back never pulls memory from under a worker.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "fake_calls.h"

namespace fake {

template <typename Object>
class Registry {
 public:
  explicit Registry(const char* kind) {
    countAlive(kind, [this] {
      const std::lock_guard lock(mutex_);
      return objects_.size();
    });
  }

  Object* add(std::shared_ptr<Object> object) {
    const std::lock_guard lock(mutex_);
    Object* const handle = object.get();
    objects_[handle] = std::move(object);
    return handle;
  }

  // nullptr: no such handle, or taken back.
  std::shared_ptr<Object> find(Object* handle) {
    const std::lock_guard lock(mutex_);
    const auto it = objects_.find(handle);
    return it == objects_.end() ? nullptr : it->second;
  }

  std::shared_ptr<Object> remove(Object* handle) {
    const std::lock_guard lock(mutex_);
    const auto it = objects_.find(handle);
    if (it == objects_.end()) return nullptr;
    const std::shared_ptr<Object> object = std::move(it->second);
    objects_.erase(it);
    return object;
  }

  std::vector<std::shared_ptr<Object>> all() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Object>> objects;
    for (const auto& [handle, object] : objects_) objects.push_back(object);
    return objects;
  }

 private:
  std::mutex mutex_;
  std::map<Object*, std::shared_ptr<Object>> objects_;
};

}  // namespace fake
