import { arrow, box, type Drawing, drawing, frame, INK, label } from "./drawing.js";

const ID = "p2plab-peer-api";

/** From asking to copying: the calls of a program that uses peer access, and where the driver chooses the way. A mechanism. */
export function peerApi(): Drawing {
  const once = (x: number, name: string, detail: string) =>
    box({ x, y: 70, width: 200, height: 62, name, detail, fill: INK.host });
  return drawing(
    {
      id: ID,
      title: "P2P拷贝的API：先询问，打开一次，然后反复拷贝",
      width: 800,
      height: 400,
      summary:
        "先用cuDeviceCanAccessPeer询问，再用cuCtxEnablePeerAccess打开，每个有序对打开一次；之后反复提交拷贝。对等访问打开时，拷贝引擎经链路直达；没有打开时，同一个调用由驱动经主机中转，不报错。",
    },
    [
      frame(20, 30, 470, 125, "准备：每个有序对做一次"),
      once(45, "cuDeviceCanAccessPeer", "询问：能不能"),
      once(265, "cuCtxEnablePeerAccess", "打开：映射对端显存"),
      arrow(ID, "control", [
        [247, 101],
        [262, 101],
      ]),
      frame(20, 185, 470, 190, "使用：每次传输都做"),
      box({ x: 45, y: 225, width: 420, height: 44, name: "cuMemcpyAsync（方向由地址决定）", fill: INK.gpu }),
      box({ x: 45, y: 275, width: 205, height: 40, name: "cuMemcpyPeerAsync", fill: INK.gpu }),
      box({ x: 260, y: 275, width: 205, height: 40, name: "cuMemcpy3DPeerAsync", fill: INK.gpu }),
      box({
        x: 45,
        y: 321,
        width: 420,
        height: 40,
        name: "cuMemcpyBatchAsync（一次提交多个）",
        fill: INK.gpu,
      }),
      arrow(ID, "control", [
        [365, 134],
        [365, 221],
      ]),
      box({
        x: 560,
        y: 70,
        width: 220,
        height: 74,
        name: "拷贝引擎直达",
        detail: "NVLink或PCIe，一次拷贝",
        fill: INK.switch,
      }),
      box({
        x: 560,
        y: 290,
        width: 220,
        height: 74,
        name: "驱动经主机中转",
        detail: "两次拷贝，不报错",
        fill: INK.nic,
      }),
      arrow(ID, "direct", [
        [490, 260],
        [525, 260],
        [525, 107],
        [556, 107],
      ]),
      arrow(ID, "detour", [
        [490, 300],
        [525, 300],
        [525, 327],
        [556, 327],
      ]),
      label(670, 170, "对等访问已打开", { colour: "#005A8C" }),
      label(670, 276, "没有打开", { colour: "#A04700" }),
    ],
  );
}
