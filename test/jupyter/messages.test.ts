import { suite } from "uvu";
import * as assert from "uvu/assert";
import { KernelClient, type Received } from "./client.js";

export const TIME_LIMIT_S = 240;

const client = await KernelClient.start();

// ---- what a front end hears of the kernel itself ----

const session = suite("messages: subscriptions and refusals");

session("a subscription is welcomed once, by its topic", async () => {
  await client.wait((message) => message.type === "iopub_welcome");
  const welcomes = client.received.filter((message) => message.type === "iopub_welcome");
  assert.equal(
    welcomes.map(({ content, parent }) => ({ content, parent })),
    [{ content: { subscription: "" }, parent: null }],
  );
});

session("a request that the kernel has no answer to is refused by a reply of its name", async () => {
  for (const [channel, type] of [
    ["control", "debug_request"],
    ["control", "create_subshell_request"],
    ["control", "list_subshell_request"],
    ["shell", "dance_request"],
  ] as const) {
    const { reply, replyType } = await client.ask(channel, type, {});
    assert.is(replyType, type.replace("request", "reply"));
    assert.is(reply.status, "error");
    assert.match(String(reply.evalue), new RegExp(type));
  }
});

session("the ports are told, and a request on control is answered on control", async () => {
  const { reply } = await client.ask("shell", "connect_request", {});
  assert.is(reply.shell, client.connection.shell_port);
  assert.is(reply.iopub, client.connection.iopub_port);
  const id = await client.send("control", "is_complete_request", { code: "1" });
  await client.answerOf(id);
  const answer = client.received.find((message) => message.parent === id && message.channel !== "iopub");
  assert.is(answer?.channel, "control");
});

session.run();

// ---- stdin ----

const input = suite("messages: stdin");

async function answerPrompt(cell: string, value: string): Promise<Received> {
  const asked = await client.wait((message) => message.parent === cell && message.type === "input_request");
  await client.send("stdin", "input_reply", { status: "ok", value });
  return asked;
}

input(
  "prompt asks, waits for the answer, and gives it to the cell; what was printed comes first",
  async () => {
    const cell = await client.sendCell(
      'console.log("before"); const answer = prompt("name? "); answer + "!"',
      {
        allow_stdin: true,
      },
    );
    const asked = await answerPrompt(cell, "Ada 你好");
    assert.equal(asked.content, { prompt: "name? ", password: false });
    const { outputs } = await client.answerOf(cell);
    assert.equal(outputs.at(-1)?.content.data, { "text/plain": "'Ada 你好!'" });
    const printed = client.received.findIndex(
      (message) => message.parent === cell && message.type === "stream",
    );
    assert.ok(printed >= 0 && printed < client.received.indexOf(asked));
  },
);

input("a password is asked for as one, and an empty answer is the fallback", async () => {
  const secret = await client.sendCell('prompt.password("key: ")', { allow_stdin: true });
  assert.equal((await answerPrompt(secret, "s")).content, { prompt: "key: ", password: true });
  assert.equal((await client.answerOf(secret)).outputs.at(-1)?.content.data, { "text/plain": "'s'" });
  const empty = await client.sendCell('prompt("size? ", "8 B")', { allow_stdin: true });
  await answerPrompt(empty, "");
  assert.equal((await client.answerOf(empty)).outputs.at(-1)?.content.data, { "text/plain": "'8 B'" });
});

input("where input is not allowed, asking is an error with a hint", async () => {
  const { reply } = await client.execute('prompt("?")', { allow_stdin: false });
  assert.is(reply.ename, "P2pError");
  assert.match(String(reply.evalue), /nobody can be asked/);
});

input(
  "an interrupt ends a cell that asks, also after an await, and the next question is answered",
  async () => {
    for (const code of ['prompt("a? ")', 'await new Promise((r) => setTimeout(r, 5)); prompt("b? ")']) {
      const cell = await client.sendCell(code, { allow_stdin: true });
      await client.wait((message) => message.parent === cell && message.type === "input_request");
      await client.ask("control", "interrupt_request", {});
      assert.is((await client.answerOf(cell)).reply.ename, "Interrupted", code);
    }
    // An answer that comes too late is nobody's.
    await client.send("stdin", "input_reply", { status: "ok", value: "late" });
    const cell = await client.sendCell('prompt("c? ")', { allow_stdin: true });
    await answerPrompt(cell, "in time");
    assert.equal((await client.answerOf(cell)).outputs.at(-1)?.content.data, { "text/plain": "'in time'" });
  },
);

input.run();

// ---- comms ----

const comms = suite("messages: comms");

comms("an open comm is listed, takes and sends binary buffers, and is closed", async () => {
  await client.execute(`comms.register("echo", (comm, opened) => {
  comm.send({ opened: opened.data });
  comm.onMessage = ({ data, buffers }) => comm.send({ back: data }, { buffers: buffers.map((b) => b.map((x) => 255 - x)) });
  comm.onClose = () => console.log("gone");
});`);
  const id = "comm-1";
  const open = await client.send("shell", "comm_open", { comm_id: id, target_name: "echo", data: { a: 1 } });
  const first = await client.wait((message) => message.parent === open && message.type === "comm_msg");
  assert.equal(first.content, { comm_id: id, data: { opened: { a: 1 } } });
  const listed = (await client.ask("shell", "comm_info_request", { target_name: "echo" })).reply;
  assert.equal(listed, { status: "ok", comms: { [id]: { target_name: "echo" } } });
  assert.equal((await client.ask("shell", "comm_info_request", { target_name: "other" })).reply.comms, {});
  const bytes = [Buffer.from([0, 1, 254]), Buffer.alloc(0), Buffer.alloc(300_000, 7)];
  const sent = await client.send("shell", "comm_msg", { comm_id: id, data: { n: 2 } }, bytes);
  const back = await client.wait((message) => message.parent === sent && message.type === "comm_msg");
  assert.equal(back.content.data, { back: { n: 2 } });
  assert.ok(back.signed);
  assert.equal(
    back.buffers.map((buffer) =>
      Buffer.from(buffer.map((x) => 255 - x)).equals(bytes[back.buffers.indexOf(buffer)] as Buffer),
    ),
    [true, true, true],
  );
  const closed = await client.send("shell", "comm_close", { comm_id: id, data: {} });
  const said = await client.wait((message) => message.parent === closed && message.type === "stream");
  assert.equal(said.content, { name: "stdout", text: "gone\n" });
  assert.equal((await client.ask("shell", "comm_info_request", {})).reply.comms, {});
});

comms("a cell opens a comm, and closing it twice sends one message", async () => {
  const { outputs } = await client.execute(
    'const own = comms.open("viewer", { x: 1 }, { buffers: [new Uint8Array([5])] }); own.send({ y: 2 }); own.close(); own.close(); own.isOpen',
  );
  assert.equal(
    outputs.map((message) => message.type),
    ["comm_open", "comm_msg", "comm_close", "execute_result"],
  );
  assert.is(outputs[0]?.content.target_name, "viewer");
  assert.equal([...(outputs[0]?.buffers[0] ?? [])], [5]);
  assert.match(String((await client.execute("own.send({})")).reply.evalue), /closed/);
});

comms("what a comm's handler throws is shown and closes an opening; the kernel goes on", async () => {
  await client.execute('comms.register("bad", () => { throw new RangeError("no room"); });');
  const open = await client.send("shell", "comm_open", { comm_id: "b", target_name: "bad", data: {} });
  await client.wait((message) => message.parent === open && message.content.execution_state === "idle");
  const of = (type: string) =>
    client.received.find((message) => message.parent === open && message.type === type)?.content;
  assert.is(of("comm_close")?.comm_id, "b");
  assert.match(String(of("stream")?.text), /RangeError: no room/);
  assert.is((await client.execute("1")).reply.status, "ok");
});

comms("messages to comms that are not open, and of the wrong kinds, change nothing", async () => {
  for (const [type, content] of [
    ["comm_msg", { comm_id: "nowhere", data: {} }],
    ["comm_close", {}],
    ["comm_open", { comm_id: 7, target_name: [], data: "x" }],
    ["comm_msg", { comm_id: null, data: 4 }],
  ] as const) {
    const id = await client.send("shell", type, content);
    await client.wait((message) => message.parent === id && message.content.execution_state === "idle");
  }
  assert.is((await client.execute("2")).reply.status, "ok");
});

comms.after(() => client.stop());
comms.run();
