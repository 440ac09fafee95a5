import { type MimeBundle, richDisplay } from "../rich.js";

/** A drawing as text, shown as SVG. */
export class Drawing {
  readonly svg: string;
  readonly #summary: string;

  constructor(svg: string, summary: string) {
    this.svg = svg;
    this.#summary = summary;
  }

  toString(): string {
    return this.#summary;
  }

  [richDisplay](): MimeBundle {
    return { "image/svg+xml": this.svg, "text/plain": this.#summary };
  }
}

/** The two ways from one GPU to another: through host memory, and direct. A mechanism, no measurement. */
export function paths(): Drawing {
  const panels = [
    panel(0, "主机中转路径 host-staged", staged()),
    panel(400, "P2P直达路径 peer-to-peer", peer()),
  ];
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 330" role="img" aria-labelledby="p2plab-paths-title" font-family="Noto Sans CJK SC, PingFang SC, Microsoft YaHei, sans-serif" style="max-width:800px;background:#fff">
<title id="p2plab-paths-title">两条路径：经主机内存中转，与P2P直达</title>
<defs>
<marker id="p2plab-arrow-staged" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" fill="#D55E00"/></marker>
<marker id="p2plab-arrow-peer" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" fill="#0072B2"/></marker>
</defs>
${panels.join("\n")}
</svg>`;
  return new Drawing(
    svg,
    "主机中转：GPU A → 主机内存 → GPU B，两次拷贝，两次过主机链路。P2P：GPU A → GPU B，一次拷贝，不经过主机内存。",
  );
}

function panel(x: number, title: string, content: string): string {
  return `<g transform="translate(${x} 0)">
<text x="200" y="28" text-anchor="middle" font-size="17" font-weight="600" fill="#1F2933">${title}</text>
${box(20, 210, 130, 80, "GPU A", "显存：源缓冲区", "#E8F1F8")}
${box(250, 210, 130, 80, "GPU B", "显存：目的缓冲区", "#E8F1F8")}
${box(110, 60, 180, 70, "主机内存", "页锁定中转缓冲区", "#F3F4F6")}
${content}
</g>`;
}

function box(
  x: number,
  y: number,
  width: number,
  height: number,
  name: string,
  detail: string,
  fill: string,
): string {
  return `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="8" fill="${fill}" stroke="#9AA5B1"/>
<text x="${x + width / 2}" y="${y + height / 2 - 6}" text-anchor="middle" font-size="15" font-weight="600" fill="#1F2933">${name}</text>
<text x="${x + width / 2}" y="${y + height / 2 + 16}" text-anchor="middle" font-size="12" fill="#52606D">${detail}</text>`;
}

function staged(): string {
  return `<path d="M85 206 L150 134" stroke="#D55E00" stroke-width="3" fill="none" marker-end="url(#p2plab-arrow-staged)"/>
<path d="M250 134 L315 206" stroke="#D55E00" stroke-width="3" fill="none" marker-end="url(#p2plab-arrow-staged)"/>
<text x="104" y="166" text-anchor="end" font-size="13" fill="#A04700">① 设备→主机</text>
<text x="296" y="166" font-size="13" fill="#A04700">② 主机→设备</text>
<text x="200" y="316" text-anchor="middle" font-size="13" fill="#52606D">两次拷贝，同一批字节两次过主机链路</text>`;
}

function peer(): string {
  return `<path d="M154 250 L246 250" stroke="#0072B2" stroke-width="4" fill="none" marker-end="url(#p2plab-arrow-peer)"/>
<text x="200" y="240" text-anchor="middle" font-size="13" fill="#005A8C">① 直达</text>
<text x="200" y="274" text-anchor="middle" font-size="12" fill="#005A8C">NVLink / PCIe</text>
<text x="200" y="316" text-anchor="middle" font-size="13" fill="#52606D">一次拷贝，不经过主机内存</text>`;
}
