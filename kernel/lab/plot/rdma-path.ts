import { arrow, box, type Drawing, drawing, frame, INK, label } from "./drawing.js";

const ID = "p2plab-rdma-path";

/** From a GPU to a GPU of another computer: by GPUDirect RDMA, and staged through both hosts' memory. No measurement. */
export function rdmaPath(): Drawing {
  return drawing(
    {
      id: ID,
      title: "跨节点的两条路：GPUDirect RDMA，与经两边主机内存中转",
      width: 800,
      height: 400,
      summary:
        "GPUDirect RDMA：网卡直接读GPU显存，经网络，对端网卡直接写对端显存，数据在每台机器里只过一次PCIe交换机。中转：GPU → 主机内存 → 网卡 → 网络 → 网卡 → 主机内存 → GPU，每台机器里过两次PCIe。",
    },
    [...computer(20, "节点A", false), ...computer(440, "节点B", true), ...network()],
  );
}

/** A computer, its network card on the side of the other one. */
function computer(x: number, name: string, mirrored: boolean): string[] {
  const at = (left: number, width: number) => x + (mirrored ? 340 - left - width : left);
  const point = (left: number) => x + (mirrored ? 340 - left : left);
  const way = (points: readonly (readonly [number, number])[]) =>
    (mirrored ? [...points].reverse() : points).map(([left, y]) => [point(left), y] as const);
  return [
    frame(x, 20, 340, 330, name),
    box({
      x: at(20, 150),
      y: 55,
      width: 150,
      height: 60,
      name: "CPU与主机内存",
      detail: "页锁定缓冲区",
      fill: INK.host,
    }),
    box({ x: at(70, 200), y: 175, width: 200, height: 44, name: "PCIe交换机", fill: INK.switch }),
    box({
      x: at(20, 140),
      y: 270,
      width: 140,
      height: 60,
      name: "GPU",
      detail: "显存（经BAR1）",
      fill: INK.gpu,
    }),
    box({ x: at(190, 130), y: 270, width: 130, height: 60, name: "网卡", detail: "RDMA", fill: INK.nic }),
    arrow(
      ID,
      "direct",
      way([
        [110, 266],
        [110, 236],
        [230, 236],
        [230, 266],
      ]),
    ),
    arrow(
      ID,
      "detour",
      way([
        [50, 266],
        [50, 119],
      ]),
      { dashed: true },
    ),
    arrow(
      ID,
      "detour",
      way([
        [140, 119],
        [140, 150],
        [295, 150],
        [295, 266],
      ]),
      { dashed: true },
    ),
  ];
}

function network(): string[] {
  return [
    arrow(ID, "direct", [
      [344, 292],
      [456, 292],
    ]),
    arrow(
      ID,
      "detour",
      [
        [344, 312],
        [456, 312],
      ],
      { dashed: true },
    ),
    label(400, 282, "网络"),
    label(400, 376, "实线：GPUDirect RDMA，每台机器过一次PCIe交换机；虚线：经主机内存中转，过两次", {
      colour: INK.faint,
    }),
  ];
}
