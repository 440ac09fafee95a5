import { arrow, box, type Drawing, drawing, INK, label } from "./drawing.js";

const ID = "p2plab-address-space";

/** One address space over host and GPUs, and which part the driver knows. A mechanism; the lengths are not to scale. */
export function addressSpace(): Drawing {
  const y = 90;
  const height = 64;
  const stretch = (x: number, width: number, name: string, detail: string, fill: string) =>
    box({ x, y, width, height, name, detail, fill });
  return drawing(
    {
      id: ID,
      title: "统一虚拟寻址：主机和所有GPU共用一个地址空间",
      width: 800,
      height: 330,
      summary:
        "一条虚拟地址轴上依次有普通主机内存、页锁定主机内存、托管内存、GPU 0显存和GPU 1显存，互不重叠。驱动认得后四种，所以只凭地址就知道数据在哪里；普通主机内存不在驱动的登记表里。",
    },
    [
      label(20, 50, "虚拟地址（不按比例）", { anchor: "start", colour: INK.faint }),
      arrow(ID, "control", [
        [180, 46],
        [780, 46],
      ]),
      stretch(20, 140, "普通主机内存", "malloc", INK.host),
      stretch(170, 145, "页锁定内存", "分配或注册", INK.nic),
      stretch(325, 140, "托管内存", "页会搬家", INK.switch),
      stretch(475, 145, "GPU 0显存", "cuMemAlloc", INK.gpu),
      stretch(630, 150, "GPU 1显存", "cuMemAlloc", INK.gpu),
      `<rect x="165" y="${y - 8}" width="620" height="${height + 16}" rx="12" fill="none" stroke="${INK.line}" stroke-dasharray="5 4"/>`,
      label(475, 186, "驱动登记过的范围：查得到类型、属于哪块GPU、起点和长度", { colour: INK.faint }),
      label(90, 186, "驱动不认得", { colour: INK.faint }),
      box({
        x: 300,
        y: 240,
        width: 200,
        height: 60,
        name: "GPU 0的内核",
        detail: "拿到的只是一个地址",
        fill: INK.gpu,
      }),
      arrow(ID, "direct", [
        [500, 260],
        [548, 260],
        [548, 202],
      ]),
      arrow(ID, "detour", [
        [500, 284],
        [705, 284],
        [705, 202],
      ]),
      arrow(ID, "detour", [
        [296, 270],
        [242, 270],
        [242, 202],
      ]),
      label(556, 238, "本地", { anchor: "start", colour: "#005A8C" }),
      label(697, 276, "打开对等访问后，过链路", { anchor: "end", colour: "#A04700" }),
      label(234, 238, "过主机链路", { anchor: "end", colour: "#A04700" }),
    ],
  );
}
