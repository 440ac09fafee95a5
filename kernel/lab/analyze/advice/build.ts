/** Makes the program of a plan: one iteration of a workload. */
import { P2pError } from "../../errors.js";
import { type Program, program } from "../../program.js";
import { isPipelined, type Plan } from "./plan.js";
import { computeGpus, type End, type Message, type Route, type Workload } from "./workload.js";

/** Bytes of one copy, or of the two through the host. */
interface Piece {
  readonly route: number;
  readonly offset: number;
  readonly bytes: number;
}

/** A stream of the GPU that copies, and what it moves in one step. */
interface Lane {
  readonly gpu: number;
  readonly index: number;
  readonly pieces: Piece[];
}

/** Pieces begin on this boundary where a message is long enough, so that kernels move whole vectors. */
const UNIT_BYTES = 16;
const FLAG_BYTES = 8;

/**
 * The program of one iteration. A single message without a kernel is the program of `lab.transfer`, so that recordings of
 * those are found.
 * @throws P2pError `usage` where the plan splits a message into more streams than it has bytes.
 */
export function build(workload: Workload, plan: Plan): Program {
  return new Builder(workload, plan).build();
}

class Builder {
  readonly #workload: Workload;
  readonly #plan: Plan;
  readonly #steps: readonly (readonly Lane[])[];
  /** Of all steps, each once. */
  readonly #lanes: readonly Lane[];
  /** Pieces that leave each source in an iteration, and how many have been submitted. */
  readonly #leaving: ReadonlyMap<End, number>;
  readonly #sent = new Map<End, number>();
  /** Streams and the parts of a producing kernel that they already wait for. */
  readonly #waited = new Set<string>();
  /** Words of each receiver that are already used in the iteration. */
  readonly #flags = new Map<number, number>();
  #program = program();
  /** GPUs that go on once their messages have arrived, each in a stream of its own. */
  readonly #receivers: readonly number[];
  /** Streams that hold a kernel and no copies. */
  readonly #beside: string[] = [];
  #events = 0;

  constructor(workload: Workload, plan: Plan) {
    this.#workload = workload;
    this.#plan = plan;
    this.#steps = workload.steps.map((step) => this.#lanesOf(step));
    const consumes = workload.compute?.relation === "consumes";
    const waiting = workload.waits === "peer" || consumes;
    this.#lanes = merged(this.#steps.flat());
    const pieces = this.#lanes.flatMap((lane) => lane.pieces);
    this.#leaving = countBy(pieces, (piece) => this.#routeOf(piece).from);
    this.#receivers = waiting ? [...new Set(workload.routes.map(({ to }) => to as number))] : [];
  }

  build(): Program {
    const { submit, path } = this.#plan;
    this.#declare();
    this.#program = this.#program.peerAccess(path !== "driver-staged");
    this.#computeBeside();
    for (const [index, step] of this.#steps.entries()) {
      const last = index === this.#steps.length - 1;
      this.#move(step, last);
      if (this.#workload.waits === "peer" && !last) this.#acknowledge(step);
      else this.#sync(step, last);
    }
    return this.#program.submitBy(submit === "graph" ? "graph" : "stream");
  }

  #declare(): void {
    const { routes, waits } = this.#workload;
    for (const [index, route] of routes.entries()) {
      const [src, dst, stage] = namesOf(index);
      this.#buffer(src, route.from, route.bytes);
      this.#buffer(dst, route.to, route.bytes);
      if (this.#isStaged(route)) this.#buffer(stage, "host", route.bytes);
    }
    if (waits === "peer" && this.#plan.notify === "flag") {
      const pieces = this.#lanes.flatMap((lane) => lane.pieces);
      const arriving = countBy(pieces, (piece) => this.#routeOf(piece).to);
      for (const [to, count] of arriving) this.#buffer(flagsOf(to as number), to, count * FLAG_BYTES);
    }
    for (const lane of this.#lanes) {
      this.#stream(streamOf(lane), lane.gpu);
      if (!isPipelined(this.#plan)) continue;
      for (const to of this.#destinationsOf(lane)) this.#stream(secondOf(lane, to), to);
    }
    for (const gpu of this.#receivers) this.#stream(receiverOf(gpu), gpu);
  }

  /** Submits the kernels that do not wait for a message: first, since they last longer than a call. */
  #computeBeside(): void {
    const { compute } = this.#workload;
    if (!compute || compute.relation === "consumes") return;
    const { parts } = this.#plan;
    for (const gpu of computeGpus(this.#workload)) {
      const lanes = this.#lanes.filter((lane) => lane.gpu === gpu);
      const stream = this.#computesIn(gpu, lanes);
      if (stream === computeOf(gpu)) {
        this.#stream(stream, gpu);
        this.#beside.push(stream);
      }
      for (let part = 0; part < parts; part++) {
        this.#program = this.#program.compute(stream, Math.max(1, Math.round(compute.ns / parts)));
        if (compute.relation === "produces" && stream === computeOf(gpu)) {
          this.#program = this.#program.record(stream, madeOf(gpu, part));
        }
      }
    }
  }

  /** The stream of a GPU's kernel: that of its copies where they follow it anyway. */
  #computesIn(gpu: number, lanes: readonly Lane[]): string {
    const { kernel, parts } = this.#plan;
    const [first, second] = lanes;
    const own =
      this.#workload.compute?.relation === "independent" ? kernel === "own-stream" : parts > 1 || second;
    return own || !first ? computeOf(gpu) : streamOf(first);
  }

  /** One step: all its pieces, the next of each lane in turn, or lane by lane where one call takes those of a lane. */
  #move(lanes: readonly Lane[], last: boolean): void {
    const order = this.#plan.submit === "batch" ? laneByLane(lanes) : inTurn(lanes);
    const totals = countBy(order, ({ piece }) => this.#routeOf(piece).to);
    const arrived = new Map<End, number>();
    const pending = new Map<End, Set<string>>();
    const goOn = this.#workload.waits === "peer" || last;
    for (const { lane, piece } of order) {
      const { from, to } = this.#routeOf(piece);
      this.#awaitProducer(lane, from);
      const streams = pending.get(to) ?? new Set<string>();
      pending.set(to, streams.add(this.#copy(lane, piece)));
      const done = (arrived.get(to) ?? 0) + 1;
      arrived.set(to, done);
      if (!goOn || !this.#receivers.includes(to as number)) continue;
      const total = totals.get(to) as number;
      const parts = last ? this.#plan.parts : 1;
      const ready = Math.floor((done * parts) / total) - Math.floor(((done - 1) * parts) / total);
      if (ready === 0) continue;
      this.#notify(to as number, streams);
      streams.clear();
      this.#receive(to as number, ready, last);
    }
  }

  /** What the receiving GPU does with so many parts of what it waits for. */
  #receive(gpu: number, parts: number, last: boolean): void {
    const { compute } = this.#workload;
    if (compute?.relation !== "consumes" || !last) {
      this.#program = this.#program.launch(receiverOf(gpu));
      return;
    }
    const ns = Math.max(1, Math.round(compute.ns / this.#plan.parts));
    for (let part = 0; part < parts; part++) {
      this.#program = this.#program.compute(receiverOf(gpu), ns);
    }
  }

  /** A piece is sent when the last part of the kernel that it holds something of has ended. */
  #awaitProducer(lane: Lane, from: End): void {
    if (this.#workload.compute?.relation !== "produces" || from === "host") return;
    const number = (this.#sent.get(from) ?? 0) + 1;
    this.#sent.set(from, number);
    const lanes = this.#lanes.filter(({ gpu }) => gpu === from);
    if (this.#computesIn(from, lanes) !== computeOf(from)) return;
    const total = this.#leaving.get(from) as number;
    const event = madeOf(from, Math.ceil((number * this.#plan.parts) / total) - 1);
    const key = `${streamOf(lane)} ${event}`;
    if (this.#waited.has(key)) return;
    this.#waited.add(key);
    this.#program = this.#program.wait(streamOf(lane), event);
  }

  /** @returns the stream in which the piece arrives. */
  #copy(lane: Lane, piece: Piece): string {
    const route = this.#routeOf(piece);
    const [src, dst, stage] = namesOf(piece.route);
    const { engine, path, submit } = this.#plan;
    const where = { bytes: piece.bytes, srcOffset: piece.offset, dstOffset: piece.offset };
    const stream = streamOf(lane);
    if (!this.#isStaged(route)) {
      const peer = path === "driver-staged" && isBetween(route);
      const api = submit === "batch" ? "batch" : peer ? "peer" : "default";
      this.#program = this.#program.copy(stream, src, dst, { ...where, api, engine });
      return stream;
    }
    this.#program = this.#program.copy(stream, src, stage, where);
    const second = isPipelined(this.#plan) ? secondOf(lane, route.to as number) : stream;
    if (second !== stream) this.#handOn(stream, second);
    this.#program = this.#program.copy(second, stage, dst, where);
    return second;
  }

  #handOn(stream: string, other: string): void {
    const event = `e${this.#events++}`;
    this.#program = this.#program.record(stream, event).wait(other, event);
  }

  /** Lets the receiver's stream wait for the streams in which its pieces arrive. */
  #notify(gpu: number, streams: ReadonlySet<string>): void {
    for (const stream of streams) {
      if (this.#workload.waits === "host" || this.#plan.notify === "event") {
        this.#handOn(stream, receiverOf(gpu));
        continue;
      }
      const used = this.#flags.get(gpu) ?? 0;
      this.#flags.set(gpu, used + 1);
      const offset = used * FLAG_BYTES;
      this.#program = this.#program
        .signal(stream, flagsOf(gpu), offset)
        .await(receiverOf(gpu), flagsOf(gpu), offset);
    }
  }

  /** The next message is not sent before the receiver has gone on. */
  #acknowledge(lanes: readonly Lane[]): void {
    for (const lane of lanes) {
      for (const to of this.#destinationsOf(lane)) this.#handOn(receiverOf(to), streamOf(lane));
    }
  }

  #sync(lanes: readonly Lane[], last: boolean): void {
    const arriving = lanes.flatMap((lane) =>
      isPipelined(this.#plan) ? this.#destinationsOf(lane).map((to) => secondOf(lane, to)) : [streamOf(lane)],
    );
    const received = last && this.#receivers.length > 0;
    const beside = last && this.#workload.compute?.relation === "independent" ? this.#beside : [];
    for (const stream of [...(received ? this.#receivers.map(receiverOf) : arriving), ...beside]) {
      this.#program = this.#program.sync(stream, this.#plan.sync);
    }
  }

  /** Shares the messages of a step out over the streams of the GPUs that copy them. */
  #lanesOf(step: readonly Message[]): Lane[] {
    const messages = this.#plan.messages === "fused" ? fused(step) : step;
    const lanes: Lane[] = [];
    const gpus = new Set(messages.map((message) => this.#runnerOf(message)));
    for (const gpu of gpus) {
      const own = messages.filter((message) => this.#runnerOf(message) === gpu);
      const count = this.#plan.streams;
      const mine = Array.from({ length: count }, (_, index): Lane => ({ gpu, index, pieces: [] }));
      const split = own.length < count;
      for (const [number, message] of own.entries()) {
        const parts = split ? evenParts(message, count) : [message];
        for (const [index, part] of parts.entries()) {
          const lane = mine[split ? index : number % count] as Lane;
          lane.pieces.push(...this.#piecesOf(part));
        }
      }
      lanes.push(...mine.filter(({ pieces }) => pieces.length > 0));
    }
    return lanes;
  }

  #piecesOf({ route, offset, bytes }: Piece): Piece[] {
    const { chunk } = this.#plan;
    const size = chunk === "whole" ? bytes : Math.min(chunk, bytes);
    return Array.from({ length: Math.ceil(bytes / size) }, (_, index) => ({
      route,
      offset: offset + index * size,
      bytes: Math.min(size, bytes - index * size),
    }));
  }

  /** The GPU whose streams carry a message: its source, unless that is the host or a kernel reads. */
  #runnerOf(message: Message): number {
    const { from, to } = this.#routeOf(message);
    return (from === "host" || (this.#plan.engine === "kernel-read" && to !== "host") ? to : from) as number;
  }

  #destinationsOf(lane: Lane): number[] {
    return [...new Set(lane.pieces.map((piece) => this.#routeOf(piece).to))].filter((to) => to !== "host");
  }

  #isStaged(route: Route): boolean {
    return this.#plan.path === "staged" && isBetween(route);
  }

  #routeOf({ route }: { readonly route: number }): Route {
    return this.#workload.routes[route] as Route;
  }

  #buffer(name: string, place: End, bytes: number): void {
    const where = place === "host" ? ({ host: "pinned" } as const) : { gpu: place };
    this.#program = this.#program.buffer(name, { ...where, bytes });
  }

  #stream(name: string, gpu: number): void {
    this.#program = this.#program.stream(name, { gpu });
  }
}

function isBetween({ from, to }: Route): boolean {
  return from !== "host" && to !== "host" && from !== to;
}

/** Messages of each route that lie end to end, as one. */
function fused(step: readonly Message[]): Message[] {
  const whole = new Map<number, Message>();
  for (const message of step) {
    const before = whole.get(message.route);
    whole.set(message.route, before ? { ...before, bytes: before.bytes + message.bytes } : message);
  }
  return [...whole.values()];
}

function evenParts({ route, offset, bytes }: Message, count: number): Piece[] {
  if (bytes < count) {
    throw new P2pError("usage", `${bytes} bytes cannot be split over ${count} streams`, "Use fewer streams.");
  }
  const unit = bytes >= count * UNIT_BYTES ? UNIT_BYTES : 1;
  const units = Math.ceil(bytes / unit);
  const edge = (index: number) => Math.min(bytes, Math.floor((index * units) / count) * unit);
  return Array.from({ length: count }, (_, index) => ({
    route,
    offset: offset + edge(index),
    bytes: edge(index + 1) - edge(index),
  }));
}

interface Placed {
  readonly lane: Lane;
  readonly piece: Piece;
}

function laneByLane(lanes: readonly Lane[]): Placed[] {
  return lanes.flatMap((lane) => lane.pieces.map((piece) => ({ lane, piece })));
}

function inTurn(lanes: readonly Lane[]): Placed[] {
  const most = Math.max(...lanes.map(({ pieces }) => pieces.length));
  return Array.from({ length: most }, (_, turn) =>
    lanes.flatMap((lane) => {
      const piece = lane.pieces[turn];
      return piece ? [{ lane, piece }] : [];
    }),
  ).flat();
}

/** Lanes of the same stream as one. */
function merged(lanes: readonly Lane[]): Lane[] {
  const whole = new Map<string, Lane>();
  for (const lane of lanes) {
    const before = whole.get(streamOf(lane));
    if (before) before.pieces.push(...lane.pieces);
    else whole.set(streamOf(lane), { ...lane, pieces: [...lane.pieces] });
  }
  return [...whole.values()];
}

function countBy<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, number> {
  const counts = new Map<K, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}

/** Names of the buffers of a route: source, destination, and between them where it is staged. */
export function namesOf(route: number): [src: string, dst: string, stage: string] {
  const suffix = route === 0 ? "" : `${route}`;
  return [`src${suffix}`, `dst${suffix}`, `stage${suffix}`];
}

function streamOf({ gpu, index }: { gpu: number; index: number }): string {
  return `gpu${gpu}-${index}`;
}

/** The stream of the destination's GPU that takes pieces on from host memory. */
function secondOf(lane: Lane, to: number): string {
  return `${streamOf(lane)}-to${to}`;
}

function receiverOf(gpu: number): string {
  return `receive${gpu}`;
}

function computeOf(gpu: number): string {
  return `compute${gpu}`;
}

function flagsOf(gpu: number): string {
  return `flags${gpu}`;
}

function madeOf(gpu: number, part: number): string {
  return `made${gpu}-${part}`;
}
