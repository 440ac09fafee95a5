import { suite } from "uvu";
import * as assert from "uvu/assert";
import { KernelClient } from "./client.js";

export const TIME_LIMIT_S = 240;

const kernel = suite("kernel");
const client = await KernelClient.start();
const typesOf = (answer: { published: readonly { type: string }[] }) =>
  answer.published.map((message) => message.type);

kernel.after(() => client.stop());

kernel("kernel_info tells protocol, language and the version of TypeScript", async () => {
  const { reply, replyType } = await client.ask("shell", "kernel_info_request", {});
  assert.is(replyType, "kernel_info_reply");
  assert.is(reply.status, "ok");
  assert.is(reply.protocol_version, "5.4");
  assert.is(reply.implementation, "p2plab");
  const language = reply.language_info as Record<string, unknown>;
  assert.is(language.name, "typescript");
  assert.is(language.file_extension, ".ts");
  assert.is(language.mimetype, "application/typescript");
  assert.is(language.nbconvert_exporter, "script");
  assert.is(language.pygments_lexer, "typescript");
  assert.match(String(language.version), /^\d+\.\d+\.\d+/);
});

kernel("a value is an execute_result between busy and idle, after execute_input", async () => {
  const answer = await client.execute("6 * 7");
  assert.equal(typesOf(answer), ["status", "execute_input", "execute_result", "status"]);
  assert.equal(answer.outputs[0]?.content.data, { "text/plain": "42" });
  assert.is(answer.outputs[0]?.content.execution_count, answer.reply.execution_count);
  assert.is(answer.published[1]?.content.code, "6 * 7");
  assert.is(answer.published.at(-1)?.content.execution_state, "idle");
  assert.is(answer.reply.status, "ok");
  assert.equal(answer.reply.user_expressions, {});
});

kernel("messages are signed, of protocol 5.4 and of one session, which is the kernel's own", async () => {
  await client.execute("1");
  assert.ok(client.received.every((message) => message.signed));
  const sessions = new Set(client.received.map((message) => message.session));
  assert.is(sessions.size, 1);
  assert.not(sessions.has(client.session));
  assert.ok(client.received.every((message) => message.header.version === "5.4"));
});

kernel("an error is an error output and an error reply with name, message and the cell's line", async () => {
  const answer = await client.execute('const x = 1;\nthrow new RangeError("too far");');
  assert.equal(typesOf(answer), ["status", "execute_input", "error", "status"]);
  const error = answer.outputs[0]?.content as { ename: string; evalue: string; traceback: string[] };
  assert.is(error.ename, "RangeError");
  assert.is(error.evalue, "too far");
  assert.match(error.traceback.join("\n"), /Cell In\[\d+\], line 2/);
  assert.is(answer.reply.status, "error");
  assert.is(answer.reply.ename, "RangeError");
  assert.equal(answer.reply.traceback, error.traceback);
  assert.type(answer.reply.execution_count, "number");
});

kernel("a type error stops the cell before it runs", async () => {
  const answer = await client.execute('console.log("ran");\nconst wrong: number = "text";');
  assert.is(answer.reply.ename, "TypeScriptError");
  assert.equal(
    answer.outputs.map((message) => message.type),
    ["error"],
  );
});

kernel("a syntax error is an error output and an error reply as well", async () => {
  const answer = await client.execute("const = 1");
  assert.equal(typesOf(answer), ["status", "execute_input", "error", "status"]);
  assert.match(String(answer.outputs[0]?.content.evalue), /^TS1134: /);
  assert.equal([answer.reply.status, answer.reply.ename], ["error", "TypeScriptError"]);
});

kernel("a table is an execute_result of HTML and text", async () => {
  const { outputs, reply } = await client.execute("aq.table({ bytes: [8, 64] })");
  assert.equal(
    outputs.map((message) => message.type),
    ["execute_result"],
  );
  const data = outputs[0]?.content.data as Record<string, string>;
  assert.equal(Object.keys(data).sort(), ["text/html", "text/plain"]);
  assert.match(data["text/html"] as string, /^<table>.*<th[^>]*>bytes<\/th>/);
  assert.is(outputs[0]?.content.execution_count, reply.execution_count);
});

kernel("each cell that is counted has the next number, in its input, its value and its reply", async () => {
  const counts: unknown[] = [];
  for (const code of ["1", "const nothing = 2;", "throw new Error()", "3"]) {
    const { reply, published } = await client.execute(code);
    counts.push(reply.execution_count);
    for (const { type, content } of published)
      if (type === "execute_input" || type === "execute_result")
        assert.is(content.execution_count, reply.execution_count);
  }
  const first = counts[0] as number;
  assert.equal(counts, [first, first + 1, first + 2, first + 3]);
});

kernel("everything that answers a request carries that request's header, whole", async () => {
  const frames = client.frames(
    "execute_request",
    { code: "console.log(1); display.text('a'); 2", silent: false },
    "of-one",
  );
  const header = JSON.parse((frames[2] as Buffer).toString()) as Record<string, unknown>;
  await client.sendFrames("shell", frames);
  const { published } = await client.answerOf("of-one");
  assert.equal(
    published.map(({ type }) => type),
    ["status", "execute_input", "stream", "display_data", "execute_result", "status"],
  );
  const answering = client.received.filter((message) => message.parent === "of-one");
  assert.is(answering.length, published.length + 1);
  for (const message of answering) assert.equal(message.parentHeader, header, message.type);
});

kernel("displays come in order, are updated by their id, and are cleared", async () => {
  const answer = await client.execute('const shown = display("a"); shown.update("b"); display.clear();');
  const [first, second, third] = answer.outputs;
  assert.equal(
    answer.outputs.map((message) => message.type),
    ["display_data", "update_display_data", "clear_output"],
  );
  assert.equal(first?.content.data, { "text/plain": "'a'" });
  assert.equal(second?.content.data, { "text/plain": "'b'" });
  assert.equal(second?.content.transient, first?.content.transient);
  assert.match(JSON.stringify(first?.content.transient), /^\{"display_id":"p2plab-/);
  assert.equal(third?.content, { wait: false });
});

kernel("what JSON cannot hold is an error in the cell, and the kernel lives", async () => {
  const answer = await client.execute('display.raw({ "application/json": 1n })');
  assert.is(answer.reply.ename, "P2pError");
  assert.match(String(answer.reply.evalue), /BigInt/);
  assert.is((await client.execute("1")).reply.status, "ok");
});

kernel("20000 lines arrive complete, in order, in few messages, before idle", async () => {
  const answer = await client.execute("for (let i = 0; i < 20000; i++) console.log('line ' + i)");
  const expected = Array.from({ length: 20_000 }, (_, i) => `line ${i}\n`).join("");
  assert.ok(KernelClient.text(answer) === expected, "the text differs");
  assert.ok(answer.outputs.length < 200, `${answer.outputs.length} messages`);
  assert.is(answer.published.at(-1)?.content.execution_state, "idle");
});

kernel("stdout and stderr keep their order", async () => {
  const answer = await client.execute('console.log("a"); console.error("b"); console.log("c")');
  assert.equal(
    answer.outputs.map((message) => `${message.content.name}:${message.content.text}`),
    ["stdout:a\n", "stderr:b\n", "stdout:c\n"],
  );
});

kernel("a silent request shows no input and no value, and does not count", async () => {
  const before = (await client.execute("0")).reply.execution_count;
  const answer = await client.execute("40 + 2", { silent: true });
  assert.equal(typesOf(answer), ["status", "status"]);
  assert.is(answer.reply.execution_count, before);
});

kernel("user_expressions are answered each for itself", async () => {
  const { reply, outputs } = await client.execute("const seen = 3;", {
    user_expressions: { good: "seen + 1", bad: "nowhere" },
  });
  const values = reply.user_expressions as Record<string, Record<string, unknown>>;
  assert.equal(values.good, { status: "ok", data: { "text/plain": "4" }, metadata: {} });
  assert.is(values.bad?.status, "error");
  assert.equal(outputs, []);
});

kernel("after an error only the requests that were queued are aborted", async () => {
  const failing = await client.sendCell(
    'await new Promise((r) => setTimeout(r, 300)); throw new Error("stop")',
  );
  const queued = await client.sendCell("1");
  const { reply, outputs, published } = await client.answerOf(queued);
  assert.is(reply.status, "aborted");
  assert.type(reply.execution_count, "number");
  assert.equal(outputs, []);
  assert.is(published.at(-1)?.content.execution_state, "idle");
  assert.is((await client.answerOf(failing)).reply.status, "error");
  assert.is((await client.execute("2")).reply.status, "ok");
});

kernel("with stop_on_error false the queue runs on", async () => {
  await client.sendCell('throw new Error("go on")', { stop_on_error: false });
  assert.is((await client.execute("1")).reply.status, "ok");
});

kernel("completion knows the preloaded names and tells their kind", async () => {
  const { reply } = await client.ask("shell", "complete_request", { code: "aq.tab", cursor_pos: 6 });
  assert.is(reply.status, "ok");
  assert.ok((reply.matches as string[]).includes("table"));
  assert.equal([reply.cursor_start, reply.cursor_end], [3, 6]);
  const types = (reply.metadata as { _jupyter_types_experimental: { text: string; type: string }[] })
    ._jupyter_types_experimental;
  assert.match(types.find((entry) => entry.text === "table")?.type ?? "", /function|const|alias/);
});

kernel("cursors count code points: two emoji before change nothing", async () => {
  const { reply } = await client.ask("shell", "complete_request", { code: '"😀😀"; aq.tab', cursor_pos: 12 });
  assert.ok((reply.matches as string[]).includes("table"));
  assert.equal([reply.cursor_start, reply.cursor_end], [9, 12]);
});

kernel("inspection gives signature and documentation as text; an unknown name is not found", async () => {
  const { reply } = await client.ask("shell", "inspect_request", {
    code: "aq.table",
    cursor_pos: 5,
    detail_level: 0,
  });
  assert.is(reply.found, true);
  assert.match(String((reply.data as Record<string, unknown>)["text/plain"]), /table\(columns/);
  const none = await client.ask("shell", "inspect_request", { code: "   ", cursor_pos: 1, detail_level: 0 });
  assert.equal([none.reply.status, none.reply.found], ["ok", false]);
});

kernel("is_complete tells a whole cell from one that goes on", async () => {
  const ask = async (code: string) =>
    (await client.ask("shell", "is_complete_request", { code })).reply.status;
  assert.is(await ask("1 + 1"), "complete");
  assert.is(await ask("function f() {"), "incomplete");
});

kernel("completion is answered while a cell waits", async () => {
  const cell = await client.sendCell("await new Promise((r) => setTimeout(r, 1500)); 1");
  const { reply } = await client.ask("shell", "complete_request", { code: "lab.swe", cursor_pos: 7 });
  assert.ok((reply.matches as string[]).includes("sweep"));
  assert.not(client.received.some((message) => message.parent === cell && message.type === "execute_reply"));
  await client.answerOf(cell);
});

kernel("history gives the tail, a range and a search", async () => {
  await client.execute("const first_of_history = 1;");
  const { reply } = await client.execute("const second_of_history = 2;");
  const count = reply.execution_count as number;
  const ask = async (content: Record<string, unknown>) =>
    (await client.ask("shell", "history_request", { output: false, raw: true, ...content })).reply.history;
  assert.equal(await ask({ hist_access_type: "tail", n: 2 }), [
    [0, count - 1, "const first_of_history = 1;"],
    [0, count, "const second_of_history = 2;"],
  ]);
  assert.equal(await ask({ hist_access_type: "range", session: 0, start: count, stop: count + 1 }), [
    [0, count, "const second_of_history = 2;"],
  ]);
  for (const pattern of ["*first_of*", "const f[a-i]*", "const [^s]irst_of[_]history = ?;"])
    assert.equal(
      await ask({ hist_access_type: "search", pattern, n: 5 }),
      [[0, count - 1, "const first_of_history = 1;"]],
      pattern,
    );
});

kernel("no comm is open, and one to an unknown target is closed at once", async () => {
  assert.equal((await client.ask("shell", "comm_info_request", {})).reply, { status: "ok", comms: {} });
  const id = await client.send("shell", "comm_open", { comm_id: "c-1", target_name: "nothing", data: {} });
  const closed = await client.wait((message) => message.parent === id && message.type === "comm_close");
  assert.is(closed.content.comm_id, "c-1");
});

kernel("what is no request is ignored, noted in the server's log, and not in a cell", async () => {
  const cell = await client.execute("1");
  await client.send("shell", "dance", {});
  const later = await client.execute("2");
  assert.match(client.log, /"dance" was ignored/);
  for (const answer of [cell, later])
    assert.equal(
      answer.outputs.map((message) => message.type),
      ["execute_result"],
    );
  assert.not(
    client.received.some(
      (message) => message.type === "stream" && /dance/.test(String(message.content.text)),
    ),
  );
});

kernel.run();
