import { randomBytes } from "node:crypto";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { toCodePoints, toUtf16 } from "../../kernel/jupyter/text-positions.js";
import { Wire } from "../../kernel/jupyter/wire.js";
import { signature } from "./client.js";

const messages = suite("wire");
const KEY = "a-key-of-this-test";

/** Frames as a front end sends them. */
function framesOf(
  parts: readonly (string | Buffer)[],
  key: string = KEY,
  before: string[] = ["peer"],
): Buffer[] {
  const bytes = parts.map((part) => Buffer.from(part as string));
  const sign = key === "" ? "" : signature(key, bytes);
  return [
    ...before.map((frame) => Buffer.from(frame)),
    Buffer.from("<IDS|MSG>"),
    Buffer.from(sign),
    ...bytes,
  ];
}

const HEADER = '{"msg_id":"m1","msg_type":"kernel_info_request","session":"s"}';
const opened = () => new Wire(KEY, "hmac-sha256");

messages("a signed message is read: routing frames, header, parent, metadata, content", () => {
  const frames = framesOf([HEADER, "{}", '{"a":1}', '{"code":"1"}'], KEY, ["one", "two"]);
  const message = opened().decode(frames);
  assert.equal(
    message?.identities.map((frame) => Buffer.from(frame).toString()),
    ["one", "two"],
  );
  assert.is(message?.header.msg_type, "kernel_info_request");
  assert.equal(message?.metadata, { a: 1 });
  assert.equal(message?.content, { code: "1" });
});

messages("what is sent is signed over its four parts and reads back", () => {
  const wire = opened();
  const sent = wire.encode(wire.message("status", { execution_state: "busy" }));
  assert.is(sent[0]?.toString(), "<IDS|MSG>");
  assert.is(sent[1]?.toString(), signature(KEY, sent.slice(2)));
  const read = opened().decode(sent);
  assert.equal(read?.content, { execution_state: "busy" });
  assert.is(read?.header.version, "5.4");
});

messages("content that is JSON text already is sent as it is", () => {
  const wire = opened();
  assert.is(wire.encode(wire.message("stream", '{"name":"stdout"}')).at(-1)?.toString(), '{"name":"stdout"}');
});

messages("a wrong, missing, shortened or foreign signature is refused", () => {
  const good = framesOf([HEADER, "{}", "{}", "{}"]);
  const signed = good[2] as Buffer;
  for (const wrong of [
    "",
    "0".repeat(64),
    signed.subarray(1).toString(),
    `${signed}0`,
    signed.toString().toUpperCase(),
  ]) {
    const frames = [...good];
    frames[2] = Buffer.from(wrong);
    assert.is(opened().decode(frames), null, wrong);
  }
  assert.is(opened().decode(framesOf([HEADER, "{}", "{}", "{}"], "another key")), null);
});

messages("the signature covers every part", () => {
  for (let part = 3; part < 7; part++) {
    const frames = framesOf([HEADER, "{}", "{}", "{}"]);
    frames[part] = Buffer.from(part === 3 ? HEADER.replace("m1", "m2") : '{"x":1}');
    assert.is(opened().decode(frames), null, `part ${part}`);
  }
});

messages("a message that was read already is refused when it is sent again", () => {
  const wire = opened();
  const frames = framesOf([HEADER, "{}", "{}", "{}"]);
  assert.ok(wire.decode(frames));
  assert.is(wire.decode(frames), null);
});

messages("without a key nothing is signed and everything is read", () => {
  const wire = new Wire("", "hmac-sha256");
  assert.ok(wire.decode(framesOf([HEADER, "{}", "{}", "{}"], "")));
  assert.is(wire.encode(wire.message("status", {}))[1]?.toString(), "");
});

messages("signed frames that are no message are refused, not thrown", () => {
  const bad = [
    ["{", "{}", "{}", "{}"],
    ["[]", "{}", "{}", "{}"],
    ["null", "{}", "{}", "{}"],
    ['{"msg_type":"x"}', "{}", "{}", "{}"],
    ['{"msg_type":7,"msg_id":"m"}', "{}", "{}", "{}"],
    [HEADER, "1", "{}", "{}"],
    [HEADER, "{}", '"text"', "{}"],
    [HEADER, "{}", "{}", "[".repeat(100_000)],
    [HEADER, "{}", "{}"],
    [],
  ];
  for (const parts of bad) assert.is(opened().decode(framesOf(parts)), null, parts.join().slice(0, 60));
  assert.is(opened().decode([]), null);
  assert.is(opened().decode([Buffer.from("<IDS|MSG>")]), null);
  assert.is(opened().decode([randomBytes(40), randomBytes(40)]), null);
});

messages("a signature scheme that is not hmac-sha256 is refused", () => {
  assert.throws(() => new Wire(KEY, "hmac-md5"), /hmac-md5 is not hmac-sha256/);
});

messages("cursors count code points outside and UTF-16 units inside", () => {
  const text = "a😀b😀c";
  assert.equal(
    [0, 1, 2, 3, 4, 5, 9].map((position) => toUtf16(text, position)),
    [0, 1, 3, 4, 6, 7, 7],
  );
  assert.equal(
    [0, 1, 3, 4, 6, 7].map((position) => toCodePoints(text, position)),
    [0, 1, 2, 3, 4, 5],
  );
});

messages.run();
