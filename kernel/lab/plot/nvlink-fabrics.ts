import { box, type Drawing, drawing, INK, label } from "./drawing.js";

const ID = "p2plab-nvlink-fabrics";

/** GPUs joined link by link, and GPUs joined by switches. A mechanism. */
export function nvlinkFabrics(): Drawing {
  const gpu = (x: number, y: number, name: string) =>
    box({ x, y, width: 84, height: 44, name, fill: INK.gpu });
  const line = (x1: number, y1: number, x2: number, y2: number, width: number, colour: string = INK.direct) =>
    `<path d="M${x1} ${y1} L${x2} ${y2}" stroke="${colour}" stroke-width="${width}" fill="none"/>`;
  const spots = [440, 532, 624, 716].map((x) => x - 12);
  return drawing(
    {
      id: ID,
      title: "直连网格与NVSwitch：链路怎样分到每一对GPU",
      width: 800,
      height: 330,
      summary:
        "左：四块GPU直连，每块六条NVLink分给三个邻居，有的一对两条，有的一条，速率不同；再多的GPU就有的对没有直连。右：四块GPU都接到NVSwitch，任意一对都用上全部链路，但同一时刻所有流共享自己的端口。",
    },
    [
      label(180, 30, "直连网格：链路按对分配", { size: 15, bold: true }),
      line(102, 82, 258, 82, 3),
      line(102, 248, 258, 248, 3),
      line(60, 104, 60, 226, 6),
      line(300, 104, 300, 226, 6),
      line(102, 104, 258, 226, 6),
      line(258, 104, 102, 226, 3),
      gpu(18, 60, "GPU 0"),
      gpu(258, 60, "GPU 1"),
      gpu(18, 226, "GPU 2"),
      gpu(258, 226, "GPU 3"),
      label(180, 74, "1条", { colour: "#005A8C" }),
      label(38, 170, "2条", { colour: "#005A8C" }),
      label(180, 306, "这一对有几条，就只有几条的速率", { colour: INK.faint }),
      label(590, 30, "NVSwitch：链路全部接到交换机", { size: 15, bold: true }),
      ...spots.flatMap((x) => [0, 1, 2].map((i) => line(x + 22 + 20 * i, 226, 480 + 110 * i, 124, 2.5))),
      ...[0, 1, 2].map((i) =>
        box({ x: 432 + 110 * i, y: 76, width: 96, height: 48, name: "NVSwitch", fill: INK.switch }),
      ),
      ...spots.map((x, i) => gpu(x, 226, `GPU ${i}`)),
      label(590, 306, "任意一对都能用满自己的全部链路", { colour: INK.faint }),
    ],
  );
}
