import { messageOf } from "../../errors.js";
import type { MachineFacts } from "../facts.js";
import { type Check, type Finding, type Judgement, lookedAt, skip, type Text, text } from "./check.js";
import { inChinese } from "./chinese.js";
import { DRIVER_CHECKS } from "./driver.js";
import { GPU_CHECKS } from "./gpu.js";
import { HOST_CHECKS } from "./host.js";
import { LOG_CHECKS } from "./log.js";
import { NVLINK_CHECKS } from "./nvlink.js";
import { PCIE_CHECKS } from "./pcie.js";
import { PEER_CHECKS } from "./peer.js";
import { RDMA_CHECKS } from "./rdma.js";
import { SURROUNDINGS_CHECKS } from "./surroundings.js";

/** Every check, in the order in which a reader goes through them: what the others rest on comes first. */
export const CHECKS: readonly Check[] = [
  ...DRIVER_CHECKS,
  ...GPU_CHECKS,
  ...LOG_CHECKS,
  ...PCIE_CHECKS,
  ...NVLINK_CHECKS,
  ...PEER_CHECKS,
  ...HOST_CHECKS,
  ...RDMA_CHECKS,
  ...SURROUNDINGS_CHECKS,
];

/** A finding a check. One that fails by itself judges nothing, and takes no other with it. */
export function examine(facts: MachineFacts): Finding[] {
  return CHECKS.map(({ run, fix, ...check }) => {
    const judgement = judged(run, facts);
    const bad = judgement.status === "fail" || judgement.status === "warn";
    // Where nobody looked at hardware there is no command that would tell more.
    const how = lookedAt(facts) ? (judgement.fix ?? null) : null;
    const { status, evidence } = judgement;
    return {
      ...check,
      status,
      evidence: bilingual(evidence),
      fix: bad ? bilingual(judgement.fix ?? fix) : how,
    };
  });
}

/** Reasons of readers stand in both texts as they came. */
function bilingual({ en, zh }: Text): Text {
  return { en, zh: inChinese(zh) };
}

function judged(run: Check["run"], facts: MachineFacts): Judgement {
  try {
    return run(facts);
  } catch (error) {
    const what = messageOf(error);
    return skip(text(`the check itself failed: ${what}`, `检查本身出错：${what}`));
  }
}
