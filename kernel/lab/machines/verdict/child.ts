/** The process that climbs the ladder for prober.ts. */
import { loadAddon } from "../../native.js";
import { serve } from "../children/serve.js";
import { type Climb, climb, control } from "./ladder.js";

// Starting the driver takes as long as all the rest, and need not wait for a request.
try {
  loadAddon().availability();
} catch {
  // The first request meets the same error, and answers with it.
}

/** What the parent asks. */
export type ClimbRequest = Climb & { readonly do: "climb" | "control" };

serve(
  (request, note) => {
    const { do: what, ...wanted } = request as unknown as ClimbRequest;
    return what === "control" ? control(wanted, note) : climb(wanted, note);
  },
  // What the addon holds is released when the process exits.
  async () => undefined,
);
