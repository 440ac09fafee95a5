/** The process that looks at the live machine for live.ts. */
import { serve } from "../machines/children/serve.js";
import { askDriver, clocksNow, showAllGpus, visibleGpus } from "./ask.js";
import { SUBJECTS } from "./assemble.js";
import type { FileFacts } from "./facts.js";
import { NotingRoot } from "./noting.js";

/** What the parent asks. */
export type LookRequest =
  | {
      readonly do: "files";
      readonly subject: keyof FileFacts;
      readonly environment: Readonly<Record<string, string>>;
    }
  | { readonly do: "noted" }
  | { readonly do: "driver" }
  | { readonly do: "visible" }
  | { readonly do: "clocks" };

const root = new NotingRoot();

serve(
  async (message, note) => {
    const request = message as unknown as LookRequest;
    switch (request.do) {
      case "files":
        return SUBJECTS[request.subject](root, request.environment);
      case "noted":
        return root.noted;
      case "driver":
        showAllGpus();
        return askDriver(note);
      case "visible":
        return visibleGpus();
      case "clocks":
        return clocksNow();
    }
  },
  // What the addon holds is released when the process exits.
  async () => undefined,
);
