import { arrow, box, type Drawing, drawing, frame, INK, label } from "./drawing.js";

const ID = "p2plab-message-passing";

/**
 * Message passing between two GPUs: data and flag lie in two memories, so that they take two ways. A mechanism, no
 * measurement.
 */
export function messagePassing(): Drawing {
  return drawing(
    {
      id: ID,
      title: "跨卡消息传递：数据和标志走两条路，先写的不一定先到",
      width: 800,
      height: 380,
      summary:
        "GPU A的内核先写数据（A的显存），再写标志（B的显存）；GPU B的内核轮询标志，然后隔着链路读数据。没有system作用域的围栏，B可能先看到新标志，再读到旧数据。",
    },
    [
      frame(20, 40, 300, 290, "GPU A：发送方"),
      frame(480, 40, 300, 290, "GPU B：接收方"),
      box({
        x: 45,
        y: 80,
        width: 250,
        height: 60,
        name: "SM：发送内核",
        detail: "st data; ［围栏］; st flag",
        fill: INK.gpu,
      }),
      box({
        x: 505,
        y: 80,
        width: 250,
        height: 60,
        name: "SM：接收内核",
        detail: "轮询flag; ［围栏］; ld data",
        fill: INK.gpu,
      }),
      box({
        x: 45,
        y: 230,
        width: 250,
        height: 70,
        name: "L2与显存",
        detail: "data在这里",
        fill: INK.switch,
      }),
      box({
        x: 505,
        y: 230,
        width: 250,
        height: 70,
        name: "L2与显存",
        detail: "flag在这里",
        fill: INK.switch,
      }),
      arrow(ID, "direct", [
        [100, 144],
        [100, 226],
      ]),
      label(108, 190, "① 写data（本地）", { anchor: "start", colour: "#005A8C" }),
      arrow(ID, "detour", [
        [270, 144],
        [270, 205],
        [550, 205],
        [550, 226],
      ]),
      label(405, 197, "② 写flag（过链路）", { colour: "#A04700" }),
      arrow(
        ID,
        "detour",
        [
          [700, 226],
          [700, 144],
        ],
        { dashed: true },
      ),
      label(692, 192, "③ 看到新flag", { anchor: "end", colour: "#A04700" }),
      arrow(
        ID,
        "direct",
        [
          [620, 144],
          [620, 166],
          [335, 166],
          [335, 265],
          [299, 265],
        ],
        { dashed: true },
      ),
      label(405, 158, "④ 读data（过链路）", { colour: "#005A8C" }),
      label(400, 358, "每块显存的一致性点是它自己GPU的L2：两个地址属于两块GPU，就没有共同的先后", {
        colour: INK.faint,
      }),
    ],
  );
}
