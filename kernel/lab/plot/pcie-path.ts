import { arrow, box, type Drawing, drawing, frame, INK, label } from "./drawing.js";

const ID = "p2plab-pcie-path";

/** Where the PCIe ways of two GPUs meet, and what `nvidia-smi topo -m` calls it. A mechanism. */
export function pciePath(): Drawing {
  const gpu = (x: number, name: string) => box({ x, y: 300, width: 84, height: 46, name, fill: INK.gpu });
  const bridge = (x: number, name: string) =>
    box({ x, y: 200, width: 150, height: 44, name, fill: INK.switch });
  const line = (x1: number, y1: number, x2: number, y2: number) =>
    `<path d="M${x1} ${y1} L${x2} ${y2}" stroke="${INK.line}" stroke-width="2" fill="none"/>`;
  const way = (kind: "direct" | "detour" | "control", ...points: [number, number][]) =>
    arrow(ID, kind, points, { both: true, dashed: kind === "control" });
  return drawing(
    {
      id: ID,
      title: "PCIe树：两块GPU的路在哪里汇合，决定了它们有多近",
      width: 800,
      height: 400,
      summary:
        "两个NUMA节点各有一个根复合体，下面挂PCIe交换机，交换机下面挂GPU。同一交换机是PIX，同一根复合体不同交换机是PHB，跨NUMA节点是SYS。",
    },
    [
      frame(20, 30, 470, 345, "NUMA节点0"),
      frame(510, 30, 270, 345, "NUMA节点1"),
      box({
        x: 130,
        y: 70,
        width: 250,
        height: 62,
        name: "CPU 0：根复合体",
        detail: "主机桥、内存控制器、IOMMU",
        fill: INK.host,
      }),
      box({ x: 540, y: 70, width: 210, height: 62, name: "CPU 1：根复合体", fill: INK.host }),
      bridge(50, "PCIe交换机A"),
      bridge(310, "PCIe交换机B"),
      bridge(570, "PCIe交换机C"),
      gpu(35, "GPU 0"),
      gpu(150, "GPU 1"),
      gpu(343, "GPU 2"),
      gpu(603, "GPU 3"),
      line(200, 132, 125, 200),
      line(310, 132, 385, 200),
      line(645, 132, 645, 200),
      line(105, 244, 77, 300),
      line(145, 244, 192, 300),
      line(385, 244, 385, 300),
      line(645, 244, 645, 300),
      `<path d="M380 101 L540 101" stroke="${INK.line}" stroke-width="2" stroke-dasharray="5 4" fill="none"/>`,
      label(500, 92, "CPU间互联", { colour: INK.faint, size: 12 }),
      way("direct", [77, 296], [125, 252], [192, 296]),
      label(134, 284, "PIX", { colour: "#005A8C", bold: true }),
      way("detour", [236, 316], [258, 250], [258, 138], [284, 138], [284, 250], [339, 316]),
      label(288, 364, "PHB：经过CPU", { colour: "#A04700", bold: true }),
      way("control", [432, 316], [476, 250], [476, 108], [532, 108], [532, 250], [599, 316]),
      label(515, 364, "SYS：跨NUMA节点", { colour: INK.control, bold: true }),
    ],
  );
}
