import { arrow, box, type Drawing, drawing, INK, label } from "./drawing.js";

const ID = "p2plab-paths";

/** The two ways from one GPU to another: through host memory, and direct. A mechanism, no measurement. */
export function paths(): Drawing {
  return drawing(
    {
      id: ID,
      title: "两条路径：经主机内存中转，与P2P直达",
      width: 800,
      height: 330,
      summary:
        "主机中转：GPU A → 主机内存 → GPU B，两次拷贝，两次过主机链路。P2P：GPU A → GPU B，一次拷贝，不经过主机内存。",
    },
    [
      ...panel(0, "主机中转路径 host-staged"),
      ...staged(),
      ...panel(400, "P2P直达路径 peer-to-peer"),
      ...peer(400),
    ],
  );
}

function panel(x: number, title: string): string[] {
  return [
    label(x + 200, 28, title, { size: 17, bold: true }),
    box({
      x: x + 20,
      y: 210,
      width: 130,
      height: 80,
      name: "GPU A",
      detail: "显存：源缓冲区",
      fill: INK.gpu,
    }),
    box({
      x: x + 250,
      y: 210,
      width: 130,
      height: 80,
      name: "GPU B",
      detail: "显存：目的缓冲区",
      fill: INK.gpu,
    }),
    box({
      x: x + 110,
      y: 60,
      width: 180,
      height: 70,
      name: "主机内存",
      detail: "页锁定中转缓冲区",
      fill: INK.host,
    }),
  ];
}

function staged(): string[] {
  const note = { colour: "#A04700" };
  return [
    arrow(ID, "detour", [
      [85, 206],
      [150, 134],
    ]),
    arrow(ID, "detour", [
      [250, 134],
      [315, 206],
    ]),
    label(104, 166, "① 设备→主机", { ...note, anchor: "end" }),
    label(296, 166, "② 主机→设备", { ...note, anchor: "start" }),
    label(200, 316, "两次拷贝，同一批字节两次过主机链路", { colour: INK.faint }),
  ];
}

function peer(x: number): string[] {
  const note = { colour: "#005A8C" };
  return [
    arrow(ID, "direct", [
      [x + 154, 250],
      [x + 246, 250],
    ]),
    label(x + 200, 240, "① 直达", note),
    label(x + 200, 274, "NVLink / PCIe", { ...note, size: 12 }),
    label(x + 200, 316, "一次拷贝，不经过主机内存", { colour: INK.faint }),
  ];
}
