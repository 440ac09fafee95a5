/** A notebook open in JupyterLab's own page, worked as a reader does: by its menus, its keys and its cells. */
import type { Page } from "playwright-core";
import type { LabServer } from "./server.js";

/** Under load a page of JupyterLab takes long to draw. */
const PATIENCE_MS = 90_000;

export interface ShownCell {
  /** `[3]:`, `[*]:` or `[ ]:`. */
  readonly prompt: string;
  /** Figures that plotly.js has drawn in its outputs. */
  readonly figures: number;
  /** What the figure renderer kept of a figure when the notebook was saved, shown until the mouse comes. */
  readonly pictures: number;
  readonly tables: number;
  /** Text of its outputs. */
  readonly text: string;
}

export class NotebookPage {
  readonly #page: Page;
  readonly #server: LabServer;

  constructor(page: Page, server: LabServer) {
    this.#page = page;
    this.#server = server;
  }

  /** Opens a notebook of the server's folder and waits until its kernel rests. */
  async open(file: string): Promise<void> {
    await this.#page.goto(this.#server.address(`/lab/tree/${file}?reset`));
    await this.#page.waitForSelector(".jp-Notebook .jp-CodeCell", { timeout: PATIENCE_MS });
    await this.kernelIdle(file);
  }

  /** Waits until the server says that the notebook's kernel has nothing to do. */
  async kernelIdle(file: string): Promise<void> {
    await until(`the kernel of ${file} rests`, async () => {
      const sessions = (await (await fetch(this.#server.address("/api/sessions"))).json()) as {
        path: string;
        kernel: { execution_state: string };
      }[];
      const session = sessions.find(({ path }) => path === file);
      return session?.kernel.execution_state === "idle" || null;
    });
  }

  async menu(title: string, item: string): Promise<void> {
    await this.#page.click(`li.lm-MenuBar-item:has-text("${title}")`);
    await this.#page.click(`.lm-Menu-item:has-text("${item}")`);
  }

  /** Runs the cell of a number, counted over code cells, by its key. */
  async run(index: number): Promise<void> {
    await this.focus(index);
    await this.#page.keyboard.press("Control+Enter");
  }

  async focus(index: number): Promise<void> {
    await this.#cell(index).locator(".cm-content").click();
  }

  cells(): Promise<readonly ShownCell[]> {
    return this.#page.evaluate(`[...document.querySelectorAll(".jp-CodeCell")].map((cell) => {
      const outputs = [...cell.querySelectorAll(".jp-OutputArea-output")];
      const inOutputs = (what) => outputs.reduce((sum, output) => sum + output.querySelectorAll(what).length, 0);
      return {
        prompt: cell.querySelector(".jp-InputPrompt")?.textContent ?? "",
        figures: outputs.filter((output) => output.querySelector(".main-svg")).length,
        pictures: outputs.filter((output) => output.querySelector("img")?.naturalWidth > 100).length,
        tables: inOutputs("table"),
        text: outputs.map((output) => output.textContent ?? "").join("\\n"),
      };
    })`) as Promise<readonly ShownCell[]>;
  }

  /** Waits until the cell has been run to its end. */
  async ended(index: number): Promise<ShownCell> {
    return until(`cell ${index} ends`, async () => {
      const cell = (await this.cells())[index];
      return cell && /\[\d+\]/.test(cell.prompt) ? cell : null;
    });
  }

  async text(index: number, matching: RegExp): Promise<string> {
    return until(`cell ${index} shows ${matching}`, async () => {
      const text = (await this.cells())[index]?.text ?? "";
      return matching.test(text) ? text : null;
    });
  }

  #cell(index: number) {
    return this.#page.locator(".jp-CodeCell").nth(index);
  }
}

/** Asks again until the answer is not null. */
export async function until<T>(what: string, ask: () => Promise<T | null>): Promise<T> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    const answer = await ask();
    if (answer !== null) return answer;
    if (performance.now() > end) throw new Error(`not within ${PATIENCE_MS / 1000} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
