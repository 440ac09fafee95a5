import { arrow, box, type Drawing, drawing, frame, INK, label } from "./drawing.js";

const ID = "p2plab-sharing";

/** Memory of one process that another one maps: what is sent is a name of it, never its bytes. A mechanism, no measurement. */
export function sharing(): Drawing {
  return drawing(
    {
      id: ID,
      title: "跨进程P2P：进程之间传的是句柄，不是数据",
      width: 800,
      height: 400,
      summary:
        "进程A分配显存并导出句柄（IPC的64字节，或一个文件描述符）；句柄经套接字交给进程B；B用它把同一块显存映射到自己的地址空间，之后B的拷贝直接到达那块显存，不再经过A。",
    },
    [
      frame(20, 30, 340, 200, "进程A：显存的主人"),
      frame(440, 30, 340, 200, "进程B：使用者"),
      box({
        x: 50,
        y: 65,
        width: 280,
        height: 60,
        name: "分配，导出句柄",
        detail: "cuIpcGetMemHandle / cuMemExport…",
        fill: INK.host,
      }),
      box({
        x: 470,
        y: 65,
        width: 280,
        height: 60,
        name: "打开句柄，得到地址",
        detail: "cuIpcOpenMemHandle / cuMemImport…",
        fill: INK.host,
      }),
      arrow(
        ID,
        "control",
        [
          [334, 95],
          [466, 95],
        ],
        { dashed: true },
      ),
      label(400, 82, "句柄", { colour: INK.control }),
      label(400, 116, "套接字", { size: 12, colour: INK.control }),
      box({ x: 110, y: 160, width: 160, height: 50, name: "地址 A", fill: INK.switch }),
      box({ x: 530, y: 160, width: 160, height: 50, name: "地址 B", fill: INK.switch }),
      box({
        x: 50,
        y: 300,
        width: 280,
        height: 60,
        name: "GPU 1 显存",
        detail: "同一块物理内存",
        fill: INK.gpu,
      }),
      box({
        x: 470,
        y: 300,
        width: 280,
        height: 60,
        name: "GPU 0",
        detail: "进程B的拷贝从这里出发",
        fill: INK.gpu,
      }),
      arrow(
        ID,
        "control",
        [
          [190, 214],
          [190, 296],
        ],
        { dashed: true },
      ),
      arrow(
        ID,
        "control",
        [
          [530, 200],
          [300, 296],
        ],
        { dashed: true },
      ),
      label(120, 262, "映射", { colour: INK.control }),
      label(470, 252, "映射", { colour: INK.control }),
      arrow(ID, "direct", [
        [466, 336],
        [334, 336],
      ]),
      label(400, 326, "数据", { colour: "#005A8C" }),
      label(400, 388, "打开一次，用很多次：数据走NVLink或PCIe直达，与进程无关", { colour: INK.faint }),
    ],
  );
}
