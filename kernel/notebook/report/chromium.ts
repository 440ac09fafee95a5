/** A Chromium on this machine that prints pages and draws figures. */
import { existsSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { messageOf, P2pError } from "../../lab/index.js";
import { inTemporaryFolder } from "../folder.js";

const NAMES = [
  "chromium",
  "chromium-browser",
  "google-chrome",
  "google-chrome-stable",
  "chrome",
  "microsoft-edge",
  "microsoft-edge-stable",
];

const PLACES = [
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
  "C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe",
];

/** Drawing a chapter takes seconds; a machine that is busy with something else takes its time. */
const DEADLINE_MS = 180_000;

/** All the work on one page: hundreds of figures on a slow machine; what takes longer hangs. */
const WHOLE_DEADLINE_MS = 900_000;

/** For closing a browser that may hang. */
const CLOSE_MS = 10_000;

/** Of an A4 page between its margins, CSS pixels: figures are drawn as wide as they are printed. */
const PAPER_WIDTH = 688;

/** The browser that would be used: P2PLAB_CHROMIUM's, one on the PATH, or one where it is usually installed; null for none. */
export function findChromium(environment: NodeJS.ProcessEnv = process.env): string | null {
  const named = environment.P2PLAB_CHROMIUM;
  if (named) return isFile(named) ? named : null;
  const folders = (environment.PATH ?? "").split(delimiter).filter(Boolean);
  const onPath = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return [...onPath, ...PLACES].find(isFile) ?? null;
}

function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile();
}

/** @throws P2pError `not-available` when there is no browser, with what to do. */
export function requireChromium(what: string): string {
  const found = findChromium();
  if (found) return found;
  const named = process.env.P2PLAB_CHROMIUM;
  throw new P2pError(
    "not-available",
    named
      ? `P2PLAB_CHROMIUM names ${named}, which is no file`
      : `${what} takes a Chromium or Chrome, and none was found`,
    "Install one (apt install chromium fonts-noto-cjk), name one in P2PLAB_CHROMIUM, or write HTML (--format html) and print it from any browser.",
  );
}

/** Opens a report's page with the network off, once everything in it is drawn. */
export async function withPage<T>(html: string, what: string, use: (page: Page) => Promise<T>): Promise<T> {
  const executablePath = requireChromium(what);
  return await inTemporaryFolder("p2plab-page-", async (folder) => {
    let browser: Browser | null = null;
    try {
      const file = join(folder, "report.html");
      writeFileSync(file, html);
      browser = await launch(executablePath);
      const context = await browser.newContext({
        offline: true,
        colorScheme: "light",
        viewport: { width: PAPER_WIDTH, height: 900 },
      });
      context.setDefaultTimeout(DEADLINE_MS);
      const page = await context.newPage();
      await page.emulateMedia({ media: "print", colorScheme: "light" });
      await page.goto(pathToFileURL(file).href);
      const work = page.evaluate("window.p2plab.ready").then(() => use(page));
      return await within(WHOLE_DEADLINE_MS, work);
    } catch (error) {
      if (error instanceof P2pError) throw error;
      throw new P2pError(
        "not-available",
        `${executablePath} failed: ${messageOf(error).split("\n")[0]}`,
        "Try that browser on its own, name another one in P2PLAB_CHROMIUM, or write HTML and print it from any browser.",
        { cause: error },
      );
    } finally {
      if (browser) await within(CLOSE_MS, browser.close()).catch(() => undefined);
    }
  });
}

/** @throws Error when the work takes longer; its own later failure is nobody's any more. */
async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it did not answer within ${limitMs / 1000} s`)), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Loaded only here: nobody else pays for it. */
async function launch(executablePath: string): Promise<Browser> {
  const { chromium } = createRequire(import.meta.url)("playwright-core") as typeof import("playwright-core");
  // Chromium's sandbox refuses to work for root, which containers run as.
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  // A signal ends this process at once, and with it the browser; playwright's own answer waits for a browser that may hang.
  const signals = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };
  return await chromium.launch({ executablePath, args, timeout: DEADLINE_MS, ...signals });
}
