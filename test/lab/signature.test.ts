import { suite } from "uvu";
import * as assert from "uvu/assert";
import { kernelsOfPtx, kernelsOfSource } from "../../kernel/lab/cuda/signature.js";

const test = suite("signatures of kernels");

function typesIn(source: string): Record<string, (string | null)[]> {
  return Object.fromEntries(
    [...kernelsOfSource(source)].map(([name, { parameters }]) => [name, parameters.map(({ type }) => type)]),
  );
}

const typesOf = (parameters: string) => typesIn(`__global__ void k(${parameters}) {}`).k;

test("types of C and <cstdint> in every spelling", () => {
  assert.equal(typesOf("char a, signed char b, unsigned char c, short d, unsigned short int e"), [
    "i8",
    "i8",
    "u8",
    "i16",
    "u16",
  ]);
  assert.equal(typesOf("int a, unsigned b, unsigned int c, signed d, int unsigned e"), [
    "i32",
    "u32",
    "u32",
    "i32",
    "u32",
  ]);
  assert.equal(
    typesOf("long a, unsigned long b, long long c, long unsigned int d, unsigned long long int e"),
    ["i64", "u64", "i64", "u64", "u64"],
  );
  assert.equal(typesOf("float a, double b, bool c, long double d"), ["f32", "f64", "bool", null]);
  assert.equal(
    typesOf("int8_t a, std::uint8_t b, ::int16_t c, cuda::std::uint16_t d, int32_t e, uint32_t f"),
    ["i8", "u8", "i16", "u16", "i32", "u32"],
  );
  assert.equal(typesOf("int64_t a, std::uint64_t b, size_t c, ptrdiff_t d, uintptr_t e, CUdeviceptr f"), [
    "i64",
    "u64",
    "u64",
    "i64",
    "b64",
    "b64",
  ]);
});

test("pointers and arrays are pointers, whatever they lead to", () => {
  assert.equal(
    typesOf("int* a, const float *__restrict__ b, volatile Node* c, T d[], unsigned char e[16], void **f"),
    Array(6).fill("ptr"),
  );
});

test("qualifiers, names, defaults and their absence change nothing", () => {
  assert.equal(typesOf("const int, int const n, const unsigned m = 4, volatile float x = f(1, 2)"), [
    "i32",
    "i32",
    "u32",
    "f32",
  ]);
  assert.equal(typesOf(""), []);
  assert.equal(typesOf(" void "), []);
});

test("structures, references, templates and function pointers are not guessed", () => {
  assert.equal(typesOf("Pair p, struct Pair q, int& r, Vec<float, 4> v, dim3 d, cudaTextureObject_t t"), [
    null,
    null,
    null,
    null,
    null,
    null,
  ]);
  assert.equal(typesIn("template <typename T, class U> __global__ void k(T* p, T t, U u, int n) {}").k, [
    "ptr",
    null,
    null,
    "i32",
  ]);
});

test("aliases are followed, also to each other, and never in circles", () => {
  const aliases =
    "typedef unsigned int u32; using word = u32; using Pointer = const float*; using loop = loop;";
  assert.equal(typesIn(`${aliases} __global__ void k(u32 a, word b, Pointer c, loop d) {}`).k, [
    "u32",
    "u32",
    "ptr",
    null,
  ]);
});

test("comments, strings, directives and attributes are no part of a signature", () => {
  const source = `
    // __global__ void no1(int* p)
    /* __global__ void no2(int* p) */
    const char* text = "__global__ void no3(int)"; const char quote = '"';
    #define KERNEL __global__ void no4(int) \\
                   __global__ void no5(int)
    extern "C" __global__ void __launch_bounds__(256, 2) touch(int* p /* counter */, // of (all)
                                                              float f) { if (p) f(1); }
    __global__ __attribute__((noinline)) static void other(double d);`;
  assert.equal(typesIn(source), { touch: ["ptr", "f32"], other: ["f64"] });
});

test('a kernel has its plain name when it is extern "C", alone or in a block', () => {
  const source = `
    __global__ void mangled(int n) {}
    extern "C" __global__ void plain(int n) {}
    extern "C" { __device__ int f() { return 1; } __global__ void inside(int n) {} }
    namespace a { __global__ void outside(int n) {} }`;
  assert.equal(
    [...kernelsOfSource(source).values()].map(({ name, plainName }) => [name, plainName]),
    [
      ["mangled", false],
      ["plain", true],
      ["inside", true],
      ["outside", false],
    ],
  );
});

test("a declaration and its definition are one kernel; overloads are none", () => {
  assert.equal(typesIn("__global__ void k(int* p); __global__ void k(int* q) {}"), { k: ["ptr"] });
  assert.equal(typesIn("__global__ void k(int* p) {} __global__ void k(float f) {}"), {});
});

test("a signature keeps the text of each parameter for messages", () => {
  const { parameters } =
    kernelsOfSource("__global__ void k(const int  *p,\n  float f = 1) {}").get("k") ?? {};
  assert.equal(
    parameters?.map(({ text }) => text),
    ["const int *p", "float f = 1"],
  );
});

test("sources that end anywhere are read without an error", () => {
  const source =
    'extern "C" { template <typename T> __global__ void k(T* p, Vec<T, 4> v = {1, 2}) { f(R"(x)"); } }';
  for (let end = 0; end <= source.length; end++) kernelsOfSource(source.slice(0, end));
});

test("PTX tells sizes, and floats from whole numbers", () => {
  const ptx = `.version 7.0
.visible .entry touch(
	.param .u64 touch_param_0,
	.param .u32 touch_param_1,
	.param .f32 touch_param_2,
	.param .f64 touch_param_3,
	.param .align 4 .b8 touch_param_4[12],
	.param .u64 .ptr .global .align 4 touch_param_5,
	.param .s8 touch_param_6
)
{ ret; }
.entry empty() { ret; }
.entry bare
{ ret; }`;
  const types = Object.fromEntries(
    [...kernelsOfPtx(ptx)].map(([name, { parameters }]) => [name, parameters.map(({ type }) => type)]),
  );
  assert.equal(types, {
    touch: ["b64", "b32", "f32", "f64", "bytes:12", "b64", "i8"],
    empty: [],
    bare: [],
  });
});

test.run();
