// What to do about a failed installation, by what npm, pip or conda printed.

const REASONS = [
  { says: /\bENOSPC\b|\bEDQUOT\b|no space left on device|disk quota exceeded/i, reason: "full" },
  { says: /\bENOTEMPTY\b|\bEBUSY\b|resource busy/i, reason: "busy" },
  { says: /\b(EACCES|EPERM|EROFS)\b|permission denied|read-only file system/i, reason: "forbidden" },
  { says: /\bEINTEGRITY\b|do not match the hashes/i, reason: "corrupt" },
  { says: /\bcode EUSAGE\b|can only install packages when your package\.json and/i, reason: "lock" },
  {
    says: /\b(ENOTFOUND|EAI_AGAIN|ECONN(REFUSED|RESET|ABORTED)|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ERR_SOCKET_TIMEOUT)\b|\bcode E(40[1347]|429|5\d\d|TARGET)\b|certificate|max retries exceeded|timed? ?out|name resolution|no matching distribution|connection (error|failed|broken|aborted)|proxyerror|http ?error|\b(40[134]|50[234]) (client|server) error/i,
    reason: "network",
  },
];

/**
 * One piece of advice for what a program printed before it failed.
 * @param folder where it installs; `network` what helps when no index answers; `otherwise` what is said when the cause is not
 * recognized.
 */
export function adviceFor(printed, { folder, network, otherwise = "" }) {
  const reason = REASONS.find(({ says }) => says.test(printed))?.reason;
  const advice = {
    full: "The disk or the quota is full: free some of it (npm's and pip's caches: npm cache clean --force, pip cache purge), then again.",
    busy: `Another program works in ${folder}: end it, remove ${folder}, then again.`,
    forbidden: `Something may not be written; the log names it. A clone in a folder of your own has no such trouble; caches go elsewhere by npm_config_cache=FOLDER and PIP_CACHE_DIR=FOLDER.`,
    corrupt: "A package arrived damaged: npm cache clean --force, pip cache purge, then again.",
    lock: "package.json and package-lock.json do not belong together: git checkout package.json package-lock.json",
    network,
  };
  return advice[reason] ?? otherwise;
}
