// Work off the event loop that uses ad hoc objects. The environment knows each job, so that a process that
// ends cancels it, waits a moment, and finds nothing still held.
#pragma once

#include <napi.h>

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "addon_data.h"
#include "promise_worker.h"

namespace p2p {

// `Contents` is what the work needs; its cancel() may be called from any thread and ends the work soon.
template <typename Contents>
class TypedJob : public Job {
 public:
  explicit TypedJob(std::shared_ptr<Contents> contents) : contents_(std::move(contents)) {}

  // For the worker: from here on it alone keeps the contents. nullptr when the job was dropped before.
  std::shared_ptr<Contents> take() {
    const std::lock_guard lock(mutex_);
    running_ = contents_;
    taken_ = contents_ != nullptr;
    return std::exchange(contents_, nullptr);
  }

  // From the worker, when it has let go of the contents: a shared pointer counts as expired already while its
  // contents are being destroyed.
  void released() {
    const std::lock_guard lock(mutex_);
    taken_ = false;
  }

  void cancel() override {
    std::shared_ptr<Contents> contents;
    {
      const std::lock_guard lock(mutex_);
      contents_.reset();
      contents = running_.lock();
    }
    if (contents) contents->cancel();
  }

  bool over() override {
    const std::lock_guard lock(mutex_);
    return !contents_ && !taken_;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<Contents> contents_;
  std::weak_ptr<Contents> running_;
  bool taken_ = false;
};

// Runs `work` with the contents on a thread of the pool; `finish` makes the value of the promise.
template <typename Result, typename Contents>
Napi::Promise startJob(Napi::Env env, std::shared_ptr<Contents> contents,
                       std::function<Result(Contents&)> work, typename PromiseWorker<Result>::Finish finish) {
  auto job = std::make_shared<TypedJob<Contents>>(std::move(contents));
  addonData(env).add(job);
  return PromiseWorker<Result>::start(
      env,
      [job, work = std::move(work)] {
        struct Release {
          TypedJob<Contents>& job;
          ~Release() { job.released(); }
        };
        const Release after{*job};
        const std::shared_ptr<Contents> taken = job->take();
        if (!taken) throw Failure(FailureCode::kCancelled, "the process ends", "");
        return work(*taken);
      },
      std::move(finish));
}

}  // namespace p2p
