// What the wrappers of ad hoc objects have in common: the object is closed by close(), by the collector, or
// when the process ends, whichever comes first.
#pragma once

#include <napi.h>

#include <memory>
#include <string>
#include <utility>

#include "addon_data.h"
#include "arguments.h"
#include "discard.h"
#include "js_errors.h"

namespace p2p {

// Holds one object for JavaScript and for the environment's list of open ones.
template <typename T>
struct Handle : OpenHandle {
  explicit Handle(std::shared_ptr<T> object) : item(std::move(object)) {}
  void close() noexcept override { item.reset(); }
  std::shared_ptr<const void> content() const override { return item; }

  std::shared_ptr<T> item;
};

// Self has a static napi_type_tag kTag, a name for messages kWord, and the class in AddonData that kClass
// points to.
template <typename Self, typename T>
class HandleObject : public Napi::ObjectWrap<Self> {
 public:
  // Called by make() only; JavaScript cannot make one by itself.
  explicit HandleObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<Self>(info) {
    if (info.Length() != 1 || !info[0].IsExternal())
      throw toJsError(info.Env(), usage(std::string("a ") + Self::kWord + " cannot be made by new",
                                        "Use the functions of the addon."));
    handle_ = std::make_shared<Handle<T>>(*info[0].As<Napi::External<std::shared_ptr<T>>>().Data());
    addonData(info.Env()).track(handle_);
    info.This().As<Napi::Object>().TypeTag(&Self::kTag);
  }
  ~HandleObject() override { discard(std::move(handle_)); }
  HandleObject(const HandleObject&) = delete;
  HandleObject& operator=(const HandleObject&) = delete;

  static Napi::Value make(Napi::Env env, std::shared_ptr<T> item) {
    return (addonData(env).*Self::kClass).New({Napi::External<std::shared_ptr<T>>::New(env, &item)});
  }

  // The object behind an argument. Throws a kUsage failure when it is none of these, or closed.
  static const std::shared_ptr<T>& of(const Napi::Value& value, const std::string& where) {
    if (!value.IsObject() || !value.As<Napi::Object>().CheckTypeTag(&Self::kTag))
      throw usage(where + " must be a " + Self::kWord + ", not " + describe(value),
                  "See NativeBinding in kernel/lab/native-binding.ts for what each function takes.");
    return Self::Unwrap(value.As<Napi::Object>())->open();
  }

 protected:
  const std::shared_ptr<T>& open() const {
    if (!handle_->item) throw usage(std::string("the ") + Self::kWord + " is closed", "Make a new one.");
    return handle_->item;
  }

  void release() { handle_->close(); }

 private:
  std::shared_ptr<Handle<T>> handle_;
};

}  // namespace p2p
