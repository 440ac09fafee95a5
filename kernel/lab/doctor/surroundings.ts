/** Where this process runs: virtual machine, container, WSL, confidential computing, namespaces, environment. */
import { lineOf } from "./host.js";
import type { Root } from "./root.js";
import { gather, known, type Missing, type Told, understood, unknown } from "./told.js";

/** Variables that change how GPUs are seen, used or measured; others are nobody's business. */
const VARIABLES =
  /^(CUDA_(VISIBLE_DEVICES|DEVICE_ORDER|LAUNCH_BLOCKING|DEVICE_MAX_CONNECTIONS|MODULE_LOADING|DISABLE_PERF_BOOST|INJECTION64_PATH)|NVIDIA_VISIBLE_DEVICES|NVIDIA_DRIVER_CAPABILITIES|NCCL_(P2P_DISABLE|P2P_LEVEL|SHM_DISABLE|IB_DISABLE|NET_GDR_LEVEL|CUMEM_ENABLE|TOPO_FILE)|P2PLAB_P2P)$/;

export interface SurroundingsFacts {
  readonly virtualMachine: boolean | null;
  /** Who makes the machine, such as `Dell Inc. PowerEdge XE9680`, or the hypervisor. */
  readonly product: string | null;
  readonly container: boolean | null;
  readonly wsl: boolean | null;
  /** Signs of confidential computing, such as `tdx_guest`; empty where there are none. */
  readonly confidential: readonly string[] | null;
  /** Which namespaces of this process are other than those of the first one: `ipc`, `mnt`, `net`, `pid`, `user`. */
  readonly ownNamespaces: readonly string[] | null;
  /** Whether this process may do everything, as root outside a container may. */
  readonly privileged: boolean | null;
  readonly environment: Readonly<Record<string, string>>;
  readonly missing: Missing;
}

const NAMESPACES = ["ipc", "mnt", "net", "pid", "user"] as const;

export function readSurroundings(
  root: Root,
  environment: Readonly<Record<string, string>>,
): SurroundingsFacts {
  const cpu = root.text("/proc/cpuinfo");
  const flags = understood(cpu, (text) => new Set(/^flags\s*:(.*)$/m.exec(text)?.[1]?.split(" ") ?? []), "");
  const release = root.text("/proc/sys/kernel/osrelease");
  const wsl = understood(release, (text) => /microsoft/i.test(text) || root.exists("/dev/dxg"), "");
  return {
    environment: Object.fromEntries(
      Object.entries(environment)
        .filter(([name]) => VARIABLES.test(name))
        .sort(),
    ),
    ...gather({
      virtualMachine: understood(flags, (all) => all.has("hypervisor") || root.exists("/sys/hypervisor"), ""),
      product: productOf(root),
      container: containerOf(root, environment),
      wsl,
      confidential: understood(flags, (all) => signs(root, all), ""),
      ownNamespaces: namespacesOf(root),
      privileged: understood(
        lineOf(root.text("/proc/self/status"), /^CapEff:\s*([0-9a-f]{16})$/m, "a process status"),
        // CAP_SYS_ADMIN, without which configuration space is cut off.
        (mask) => (BigInt(`0x${mask}`) & (1n << 21n)) !== 0n,
        "",
      ),
    }),
  };
}

function productOf(root: Root): Told<string> {
  const words = ["sys_vendor", "product_name"].map((name) => root.text(`/sys/class/dmi/id/${name}`));
  const told = words.flatMap((word) => word.value || []);
  return told.length > 0 ? known(told.join(" ")) : unknown("/sys/class/dmi/id: there is none");
}

function containerOf(root: Root, environment: Readonly<Record<string, string>>): Told<boolean> {
  if (root.exists("/.dockerenv") || root.exists("/run/.containerenv")) return known(true);
  if ("KUBERNETES_SERVICE_HOST" in environment || "container" in environment) return known(true);
  return understood(
    root.text("/proc/1/cgroup"),
    (text) => /docker|kubepods|containerd|\/lxc|libpod/.test(text),
    "",
  );
}

/** What a guest under TDX or SEV-SNP shows. */
function signs(root: Root, flags: ReadonlySet<string>): string[] {
  const found = ["tdx_guest", "sev", "sev_es", "sev_snp"].filter(
    (flag) => flags.has("hypervisor") && flags.has(flag),
  );
  for (const device of ["tdx_guest", "sev-guest"])
    if (root.exists(`/dev/${device}`)) found.push(`/dev/${device}`);
  return found;
}

function namespacesOf(root: Root): Told<string[]> {
  const own: string[] = [];
  for (const name of NAMESPACES) {
    const [mine, first] = ["self", "1"].map((pid) => root.link(`/proc/${pid}/ns/${name}`));
    if (mine?.value == null || first?.value == null)
      return unknown("namespaces of the first process cannot be read");
    if (mine.value !== first.value) own.push(name);
  }
  return known(own);
}
