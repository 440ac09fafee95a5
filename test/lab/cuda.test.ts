import { suite } from "uvu";
import * as assert from "uvu/assert";
import { inLab, missing } from "../native/toolchain.js";

export const TIME_LIMIT_S = 600;

const test = suite("cuda, the ad hoc face");

const reason = missing("compiler") ?? missing("addon");
if (reason) test.skip(`skipped: ${reason}`, () => {});
else register();

function register(): void {
  test("without an addon or a driver it says why, and calls are not-available", () => {
    const script =
      "print(cuda.availability()); try { cuda.devices(); } catch (error) { print(failure(error)); }";
    const [noAddon, refused] = inLab(script, { P2PLAB_ADDON: "/no/p2p.node" }).lines;
    assert.is(noAddon.cuda.available, false);
    assert.match(noAddon.cuda.reason, "/no/p2p.node: not built");
    assert.is(refused.code, "not-available");
    const [noDriver, denied] = inLab(script, { P2PLAB_LIBCUDA: "/no/libcuda" }).lines;
    assert.match(noDriver.cuda.reason, "cannot be opened");
    assert.is(denied.name, "P2pError");
    assert.is(denied.code, "not-available");
  });

  test("bytes go from host to GPU to GPU and back", () => {
    const { lines, stderr } = inLab(
      `const a = cuda.alloc(0, "1 KiB"), b = cuda.alloc(1, 1024), h = cuda.hostAlloc("1 KiB"), p = cuda.hostAlloc(8, { pinned: false });
       a.write(Float64Array.of(1.5, 2.5), 16);
       cuda.enablePeer(0, 1);
       cuda.copy(b, a); cuda.copy(h, b); cuda.copy(p, h, 8, { srcOffset: 24 });
       print(new Float64Array(p.read().buffer)[0]);
       print([a.gpu, h.gpu, h.kind, p.kind, String(a), String(p), cuda.devices().length, cuda.peer(0, 1).access, cuda.disablePeer(0, 1)]);
       a.close(); a.close();`,
    );
    assert.is(stderr, "");
    assert.equal(lines, [
      2.5,
      [0, null, "pinned", "pageable", "1 KiB on GPU 0", "8 B on host (pageable)", 2, true, true],
    ]);
  });

  test("a using block frees its buffer", () => {
    const { lines } = inLab(
      `const buffer = cuda.alloc(0, 600e6);
       buffer[Symbol.dispose]();
       cuda.alloc(0, 600e6);
       try { buffer.read(1); } catch (error) { print(failure(error)); }`,
    );
    assert.is(lines[0].code, "usage");
    assert.is(lines[0].message, "the buffer is closed");
  });

  test("what the driver refuses is a CudaError, what the caller got wrong a usage error", () => {
    const { lines } = inLab(
      `for (const call of [() => cuda.alloc(0, 2 ** 50), () => cuda.alloc(9, 8), () => cuda.alloc(0, "8 XB"), () => cuda.alloc(0, 8).write(new Uint8Array(9)),
         () => cuda.alloc(0, 8).read(4, 6), () => cuda.peer(1, 1)])
         try { call(); print("accepted"); } catch (error) { print([error.name, error.code]); }`,
    );
    assert.equal(lines, [["CudaError", "cuda"], ...Array(5).fill(["P2pError", "usage"])]);
  });
}

test.run();
