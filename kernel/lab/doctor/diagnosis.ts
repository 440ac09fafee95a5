/** Facts and findings together, as a notebook holds them. */
import { P2pError, shown } from "../errors.js";
import type { Table } from "../measure/table.js";
import { type MimeBundle, richDisplay } from "../rich.js";
import type { Description } from "../topology/description.js";
import type { Finding, Language, Status } from "./checks/check.js";
import { type Examined, type ExitStatus, exitStatusOf, findingsOf } from "./examined.js";
import type { MachineFacts } from "./facts.js";
import { diagnosisHtml } from "./html.js";
import { diagnosisJson } from "./json.js";
import { findingsTable, gpusTable, linksTable, nicsTable, pairsTable } from "./tables.js";
import { diagnosisText, type TextOptions } from "./text.js";

/**
 * What a machine is and what is wrong with it. Shows itself in a notebook; `facts` and `findings` are plain values, and the
 * methods give them as tables.
 */
export class Diagnosis implements Examined {
  readonly facts: MachineFacts;
  readonly findings: readonly Finding[];

  constructor(facts: MachineFacts, findings: readonly Finding[]) {
    this.facts = facts;
    this.findings = findings;
  }

  /** What is joined to what, for `plot.topology` and `lab.topologyMatrix`; null without a GPU. */
  get topology(): Description | null {
    return this.facts.topology;
  }

  /** Findings of a status. */
  of(status: Status): readonly Finding[] {
    return findingsOf(this, status);
  }

  get exitStatus(): ExitStatus {
    return exitStatusOf(this.facts, this.findings);
  }

  /** A row a GPU. */
  gpus(): Table {
    return gpusTable(this.facts);
  }

  /** A row an NVLink, and one for the PCIe link of each GPU and network card. */
  links(): Table {
    return linksTable(this.facts);
  }

  /** A row an ordered pair: class, peer access, how PCIe would route it, verdicts. */
  pairs(): Table {
    return pairsTable(this.facts);
  }

  /** A row a network card, with the class of its way to each GPU. */
  nics(): Table {
    return nicsTable(this.facts);
  }

  /**
   * A row a check.
   * @param lang language of the texts; default `zh`.
   */
  table(lang: Language = "zh"): Table {
    requireLanguage(lang);
    return findingsTable(this.facts, this.findings, lang);
  }

  /** As `p2plab doctor` prints it. */
  text(options: TextOptions = {}): string {
    if (typeof options !== "object" || options === null) {
      throw new P2pError("usage", `options are ${shown(options)}`, "Give { lang, width, colour, all }.");
    }
    const { lang = "en", width = 100 } = options;
    requireLanguage(lang);
    if (typeof width !== "number" || !(width > 0)) {
      throw new P2pError("usage", `a width of ${shown(width)} columns`, "Give a number above 0.");
    }
    return diagnosisText(this, options);
  }

  /** As `p2plab doctor --json` prints it; its schema is doctor.schema.json. */
  json(): Record<string, unknown> {
    return diagnosisJson(this);
  }

  toString(): string {
    return this.text();
  }

  [richDisplay](): MimeBundle {
    return { "text/html": diagnosisHtml(this, { lang: "zh" }), "text/plain": this.text({ lang: "zh" }) };
  }
}

function requireLanguage(lang: unknown): void {
  if (lang === "en" || lang === "zh") return;
  throw new P2pError("usage", `no language ${shown(lang)}`, "Use en or zh.");
}
