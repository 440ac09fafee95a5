import { pathToFileURL } from "node:url";
import { type Browser, chromium, type Request } from "playwright-core";
import { findChromium } from "../../kernel/notebook/report/chromium.js";

const executable = findChromium();

export const browser = {
  /** Why no browser can be opened here; null when one can. */
  missing: async (): Promise<string | null> =>
    executable ? null : "no Chromium here (apt install chromium, or name one in P2PLAB_CHROMIUM)",
};

export interface OpenedPage {
  readonly figures: readonly { drawn: boolean; traces: number; height: number }[];
  readonly pictures: readonly { alt: string; width: number }[];
  /** Addresses that were asked for, other than the page itself and data in it. */
  readonly requests: readonly string[];
  /** Errors on the console and uncaught ones. */
  readonly errors: readonly string[];
  /** Text of the band on top. */
  readonly band: string;
}

/** A browser of its own; whoever launches it closes it. */
export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: executable as string, args: ["--no-sandbox"] });
}

/** Opens a file with the network off, and tells what is to be seen once every figure has been drawn. */
export async function openOffline(file: string): Promise<OpenedPage> {
  const opened = await launch();
  try {
    const context = await opened.newContext({ offline: true, viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    const requests: string[] = [];
    const errors: string[] = [];
    const own = pathToFileURL(file).href;
    const left = (request: Request) => {
      const url = request.url();
      // What the page's own policy refuses never leaves the browser.
      if (url !== own && !/^(data|blob):/.test(url) && request.failure()?.errorText !== "csp")
        requests.push(url);
    };
    page.on("requestfinished", left);
    page.on("requestfailed", left);
    page.on("console", (message) => {
      if (message.type() === "error") errors.push(message.text());
    });
    page.on("pageerror", (error) => errors.push(String(error)));
    await page.goto(own);
    await page.waitForFunction(
      "[...document.querySelectorAll('.figure')].every((f) => f.querySelector('.main-svg'))",
      undefined,
      { timeout: 60_000 },
    );
    const seen = (await page.evaluate(`({
      figures: [...document.querySelectorAll(".figure")].map((f) => ({
        drawn: f.querySelectorAll(".main-svg").length > 0 && f.getBoundingClientRect().width > 100,
        traces: f.querySelectorAll(".trace, .hm, .bars .point, .scatterlayer .js-line").length > 0 ? f.data.length : 0,
        height: Math.round(f.querySelector(".main-svg").getBoundingClientRect().height),
      })),
      pictures: [...document.querySelectorAll(".markdown img")].map((i) => ({ alt: i.alt, width: i.naturalWidth })),
      band: document.querySelector("header").textContent,
    })`)) as Omit<OpenedPage, "requests" | "errors">;
    return { ...seen, requests, errors };
  } finally {
    await opened.close();
  }
}
