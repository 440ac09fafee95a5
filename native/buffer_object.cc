#include "buffer_object.h"

#include <string>
#include <utility>

#include "addon_data.h"
#include "arguments.h"
#include "discard.h"
#include "js_errors.h"
#include "pointer_facts.h"

namespace p2p {

namespace {

// Marks the objects that may be unwrapped as a BufferObject; the two numbers are random.
constexpr napi_type_tag kTag = {0x6f0d1c2b9a3e4785, 0xb1e7c5d2046f8a93};

constexpr const char* kKinds[] = {"device", "pinned", "pageable", "registered", "managed"};

// V8 makes no larger array.
constexpr double kMaxRead = 4294967296.0;

}  // namespace

Napi::Function BufferObject::define(Napi::Env env) {
  return DefineClass(
      env, "NativeBuffer",
      {InstanceAccessor<&BufferObject::address>("address"), InstanceAccessor<&BufferObject::bytes>("bytes"),
       InstanceAccessor<&BufferObject::gpu>("gpu"), InstanceAccessor<&BufferObject::kind>("kind"),
       InstanceMethod<&BufferObject::write>("write"), InstanceMethod<&BufferObject::read>("read"),
       InstanceMethod<&BufferObject::facts>("facts"), InstanceMethod<&BufferObject::close>("close")});
}

Napi::Value BufferObject::alloc(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "alloc", 3);
    const auto kind = static_cast<MemoryKind>(
        arguments.oneOf(0, "kind", {kKinds[0], kKinds[1], kKinds[2], kKinds[3], kKinds[4]}));
    const int gpu = kind == MemoryKind::kDevice ? arguments.ordinal(1, "gpu") : -1;
    const std::uint64_t bytes = arguments.whole(2, "bytes", 1, Arguments::kMaxSafeInteger);
    AddonData& data = addonData(env);
    if (kind != MemoryKind::kPageable) data.retain(kind == MemoryKind::kDevice ? gpu : 0);
    Block block = MemoryBlock::allocate(kind, gpu, bytes);
    return data.bufferClass.New({Napi::External<Block>::New(env, &block)});
  });
}

BufferObject::BufferObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<BufferObject>(info) {
  if (info.Length() != 1 || !info[0].IsExternal())
    throw toJsError(info.Env(), usage("a buffer cannot be made by new", "Use alloc(kind, gpu, bytes)."));
  const Block& block = *info[0].As<Napi::External<Block>>().Data();
  block_ = std::make_shared<Block>(block);
  AddonData::track(addonData(info.Env()).blocks, block_);
  kind_ = block->kind();
  gpu_ = block->gpu();
  bytes_ = block->bytes();
  address_ = block->address();
  info.This().As<Napi::Object>().TypeTag(&kTag);
}

BufferObject::~BufferObject() {
  discard(std::move(block_));
}

const Block& BufferObject::open() const {
  if (!*block_) throw usage("the buffer is closed", "Allocate a new one.");
  return *block_;
}

bool BufferObject::is(const Napi::Value& value) {
  return value.IsObject() && value.As<Napi::Object>().CheckTypeTag(&kTag);
}

const Block& BufferObject::blockOf(const Napi::Value& value, const std::string& where) {
  if (!is(value)) throw usage(where + " must be a buffer of alloc()", "");
  return Unwrap(value.As<Napi::Object>())->open();
}

void BufferObject::copy(const Napi::CallbackInfo& info) {
  throwing(info.Env(), [&] {
    const Arguments arguments(info, "copy", 5);
    const Block dst = blockOf(arguments.object(0, "dst"), "copy: dst");
    const std::uint64_t dstOffset = arguments.whole(1, "dstOffset", 0, Arguments::kMaxSafeInteger);
    const Block src = blockOf(arguments.object(2, "src"), "copy: src");
    const std::uint64_t srcOffset = arguments.whole(3, "srcOffset", 0, Arguments::kMaxSafeInteger);
    AddonData& data = addonData(info.Env());
    data.settle(dst.get());
    data.settle(src.get());
    copyBlock(dst, dstOffset, src, srcOffset, arguments.whole(4, "bytes", 0, Arguments::kMaxSafeInteger));
  });
}

Napi::Value BufferObject::address(const Napi::CallbackInfo& info) {
  return Napi::BigInt::New(info.Env(), address_);
}

Napi::Value BufferObject::bytes(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(bytes_));
}

Napi::Value BufferObject::gpu(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), gpu_);
}

Napi::Value BufferObject::kind(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), kKinds[static_cast<std::size_t>(kind_)]);
}

void BufferObject::write(const Napi::CallbackInfo& info) {
  throwing(info.Env(), [&] {
    const Arguments arguments(info, "write", 2);
    Napi::Uint8Array data = arguments.bytes(0, "bytes");
    const std::uint64_t offset = arguments.whole(1, "offset", 0, Arguments::kMaxSafeInteger);
    addonData(info.Env()).settle(open().get());
    writeBlock(open(), offset, reinterpret_cast<const std::byte*>(data.Data()), data.ByteLength());
  });
}

Napi::Value BufferObject::read(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "read", 2);
    const std::uint64_t bytes = arguments.whole(0, "bytes", 0, kMaxRead);
    const std::uint64_t offset = arguments.whole(1, "offset", 0, Arguments::kMaxSafeInteger);
    const Block& block = open();
    if (offset > block->bytes() || bytes > block->bytes() - offset)
      throw usage("read: " + std::to_string(bytes) + " bytes at offset " + std::to_string(offset) +
                      " do not fit in a buffer of " + std::to_string(block->bytes()) + " bytes",
                  "Stay inside the buffer.");
    addonData(env).settle(block.get());
    Napi::Uint8Array data = Napi::Uint8Array::New(env, bytes);
    readBlock(block, offset, reinterpret_cast<std::byte*>(data.Data()), bytes);
    return data;
  });
}

Napi::Value BufferObject::facts(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    const PointerFacts facts = pointerFacts(open()->address());
    Napi::Object result = Napi::Object::New(env);
    const auto set = [&](const char* name, const auto& value, auto make) {
      result.Set(name, value ? Napi::Value(make(*value)) : env.Null());
    };
    const auto number = [&](auto value) { return Napi::Number::New(env, static_cast<double>(value)); };
    const auto whole = [&](std::uint64_t value) { return Napi::BigInt::New(env, value); };
    set("memoryType", facts.memoryType, number);
    set("gpu", facts.gpu, number);
    set("managed", facts.managed, [&](bool value) { return Napi::Boolean::New(env, value); });
    set("devicePointer", facts.devicePointer, whole);
    set("hostPointer", facts.hostPointer, whole);
    set("rangeStart", facts.rangeStart, whole);
    set("rangeBytes", facts.rangeBytes, number);
    return result;
  });
}

void BufferObject::close(const Napi::CallbackInfo&) {
  block_->reset();
}

}  // namespace p2p
