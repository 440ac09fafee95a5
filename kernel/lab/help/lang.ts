import { P2pError, shown } from "../errors.js";

export type Lang = "zh" | "en";

export interface HelpOptions {
  /** Default what P2PLAB_LANG says, as for figures, otherwise `zh`. */
  lang?: Lang;
}

/** @throws P2pError `usage` for options or a language that do not exist. */
export function langOf(options: HelpOptions, who: string): Lang {
  const lang =
    typeof options === "object" && options !== null ? (options.lang ?? process.env.P2PLAB_LANG) : null;
  if (lang === undefined || lang === "") return "zh";
  if (lang === "zh" || lang === "en") return lang;
  throw new P2pError(
    "usage",
    `${who} was given ${shown(lang ?? options)} as a language`,
    'Give { lang: "zh" } or { lang: "en" }.',
  );
}
