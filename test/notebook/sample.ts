import type { Notebook } from "../../kernel/notebook/index.js";
import { codeCell, markdownCell, notebookOf } from "./temporary.js";

export const FIGURE = "application/vnd.plotly.v1+json";

/** A notebook with everything a report shows; nothing in it was executed. */
export function sample(): Notebook {
  const notebook = notebookOf();
  const shown = codeCell("const a: number = 1;", "code");
  shown.execution_count = 7;
  shown.outputs = [
    { output_type: "stream", name: "stdout", text: "\u001b[31mred\u001b[0m <b>\n10%\r100%\n" },
    {
      output_type: "display_data",
      data: { [FIGURE]: { data: [{ x: [1, 2], y: [3, 4] }], layout: { title: "</script><img>" } } },
      metadata: {},
    },
    {
      output_type: "display_data",
      data: { "image/svg+xml": '<svg id="drawing"><circle r="3"/></svg>' },
      metadata: {},
    },
    {
      output_type: "display_data",
      data: { "text/html": "<table><tr><td>cell of a table</td></tr></table>" },
      metadata: {},
    },
    {
      output_type: "display_data",
      data: { "text/html": '<img src="https://example.org/tracker.png">' },
      metadata: {},
    },
    {
      output_type: "error",
      ename: "E",
      evalue: "v",
      traceback: ["\u001b[1mE: v\u001b[0m", "  at Cell In[7], line 1"],
    },
  ];
  notebook.cells = [
    markdownCell("# 标题 `code` 与 **重点**\n\n<script>alert(1)</script>", "title"),
    markdownCell("## 测量\n\n![图](picture.svg)\n\n## 测量", "text"),
    shown,
  ];
  return notebook;
}
