/**
 * Collectives as messages between GPUs: a rank sends on what it has received. No host in between: the kernels of all ranks are
 * resident. A message takes its bytes over the shared links, then what a flag takes to follow and to be seen (`put` by flag). To
 * another computer it goes by the network card nearest to the GPU, which a thread of the host starts on the kernel's wish; what
 * the receiver's host adds is not known.
 */
import { type Collective, type CollectiveResult, requireCollective } from "../../model.js";
import { peerRefusal, type Topology } from "../../topology/topology.js";
import type { Costs } from "./constants.js";
import { Simulation } from "./engine.js";
import { type FlowPath, Network } from "./links.js";
import { type Message, ranksOf, type Send } from "./ranks.js";
import { Ways } from "./ways.js";

/** One direction between two ranks: messages go one after the other. */
interface Channel {
  readonly path: FlowPath;
  /** Wish to send → first byte leaves. */
  readonly beforeNs: number;
  /** Last byte there → the receiver knows. */
  readonly afterNs: number;
  busy: boolean;
  readonly waiting: Message[];
}

/** Ordered pairs of GPUs between which a collective sends. @throws P2pError `usage` for a collective that there is not. */
export function pairsOf(wanted: Collective): { from: number; to: number }[] {
  requireCollective(wanted);
  const gpu = (rank: number) => wanted.gpus[rank] as number;
  return [...ranksOf(wanted).pairs()].map(([from, to]) => ({ from: gpu(from), to: gpu(to) }));
}

/**
 * @returns the time without any spread. The GPUs must be there, and have peer access to each other within a computer.
 * @throws P2pError `usage` for a collective that there is not.
 */
export function collective(topology: Topology, costs: Costs, wanted: Collective): CollectiveResult {
  requireCollective(wanted);
  const { gpus } = wanted;
  const ranks = ranksOf(wanted);
  const ways = new Ways(topology, costs);
  const keyOf = (from: number, to: number) => from * gpus.length + to;
  const channels = new Map<number, Channel>();
  for (const [from, to] of ranks.pairs()) {
    const [source, target] = [{ gpu: gpus[from] as number }, { gpu: gpus[to] as number }];
    const wayNs = ways.latencyNs(source.gpu, target);
    const away = topology.graph.hostOf(`gpu${source.gpu}`) !== topology.graph.hostOf(`gpu${target.gpu}`);
    // One NVLink domain may span computers.
    const byNetwork = away && peerRefusal(topology, source.gpu, target.gpu) !== null;
    channels.set(keyOf(from, to), {
      path: byNetwork ? ways.network(source.gpu, target.gpu) : ways.kernel(source.gpu, source, target),
      beforeNs: byNetwork ? costs.networkSendNs.value : 0,
      // A fence waits there and back, then the flag goes one way and is seen; a card sends flag after bytes on the same way.
      afterNs: (byNetwork ? 1 : 3) * wayNs + costs.flagSeenNs.value,
      busy: false,
      waiting: [],
    });
  }
  const simulation = new Simulation();
  const network = new Network(simulation, ways.capacities);
  let messages = 0;
  let movedBytes = 0;
  let endNs = 0;
  const next = (channel: Channel): void => {
    if (channel.busy) return;
    const message = channel.waiting.shift();
    if (!message) return;
    channel.busy = true;
    const start = () =>
      network.start(channel.path, message.bytes, () => {
        channel.busy = false;
        simulation.after(channel.afterNs, () => {
          endNs = simulation.nowNs;
          ranks.received(message.to, message.tag, send);
        });
        next(channel);
      });
    if (channel.beforeNs === 0) start();
    else simulation.after(channel.beforeNs, start);
  };
  const send: Send = (from, message) => {
    messages++;
    movedBytes += message.bytes;
    const channel = channels.get(keyOf(from, message.to)) as Channel;
    channel.waiting.push(message);
    next(channel);
  };
  simulation.at(0, () => ranks.start(send));
  simulation.run();
  return {
    ns: endNs,
    messages,
    movedBytes,
    events: simulation.events,
    peakShare: Math.max(...network.peakShare),
  };
}
