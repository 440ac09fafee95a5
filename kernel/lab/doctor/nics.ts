/** Network cards: names, what they speak, whether they can reach GPU memory. */
import type { Root } from "./root.js";
import { gather, type Missing, type Told, understood, unknown } from "./told.js";

export interface Nic {
  /** PCI address; null for one that is no PCI device. */
  readonly pci: string | null;
  /** Such as `mlx5_0`; null for a card without RDMA. */
  readonly rdma: string | null;
  /** Network interface, such as `eth0`. */
  readonly interface: string | null;
  /** `InfiniBand` or `Ethernet` of an RDMA card's first port. */
  readonly linkLayer: string | null;
  /** State of that port, such as `ACTIVE`. */
  readonly state: string | null;
  /** Rate of that port in one direction, GB/s = 1e9 bytes/s. */
  readonly gbps: number | null;
  readonly missing: Missing;
}

/** Cards with an RDMA or network interface; those of virtual functions among them, since a VM has no others. */
export function readNics(root: Root): Nic[] {
  const rdma = named(root, "/sys/class/infiniband");
  const nets = named(root, "/sys/class/net");
  const nics = [...rdma].map(([name, pci]) => {
    const port = (file: string) => root.text(`/sys/class/infiniband/${name}/ports/1/${file}`);
    return {
      pci,
      rdma: name,
      ...gather({
        interface: interfaceOf(nets, pci),
        linkLayer: port("link_layer"),
        state: understood(port("state"), (text) => /^\d+: (\w+)/.exec(text)?.[1] ?? null, "a port state"),
        gbps: understood(
          port("rate"),
          (text) => {
            const gigabits = Number(/^([\d.]{1,8}) Gb\/sec/.exec(text)?.[1] ?? Number.NaN);
            return gigabits > 0 ? gigabits / 8 : null;
          },
          "a rate",
        ),
      }),
    };
  });
  const taken = new Set(nics.map((nic) => nic.pci));
  const others = [...nets]
    .filter(([, pci]) => pci !== null && !taken.has(pci))
    .map(([name, pci]) => {
      const none = unknown("no RDMA");
      const facts = gather({ linkLayer: none, state: none, gbps: none });
      return { pci, rdma: null, interface: name, ...facts };
    });
  return [...nics, ...others];
}

/** Names in a class folder, each with the PCI address of its device. */
function named(root: Root, folder: string): Map<string, string | null> {
  const names = root.list(folder).value ?? [];
  return new Map(
    names.slice(0, 512).map((name) => {
      // A class folder links to the device's place: …/0000:18:00.0/infiniband/mlx5_0.
      const parts = (root.link(`${folder}/${name}`).value ?? "").split("/");
      const address = parts.findLast((part) => /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/.test(part));
      return [name, address ?? null];
    }),
  );
}

function interfaceOf(nets: ReadonlyMap<string, string | null>, pci: string | null): Told<string> {
  const found = [...nets].find(([, address]) => address !== null && address === pci)?.[0];
  return found === undefined ? unknown("no network interface on it") : { value: found };
}
