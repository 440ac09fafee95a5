/** What a connection file must hold before the sockets are made: ZeroMQ's own addon ends the process for some of what it cannot use. */
import { isIP } from "node:net";

const PORTS = ["shell_port", "control_port", "stdin_port", "iopub_port", "hb_port"];
const TEXTS = ["transport", "ip", "key"];

/** @returns what is wrong with it, to follow its name in a sentence; null for nothing. */
export function wrongIn(connection: unknown): string | null {
  if (typeof connection !== "object" || connection === null || Array.isArray(connection))
    return "holds no JSON object";
  const given = connection as Record<string, unknown>;
  const missing = [...PORTS, ...TEXTS].filter((name) => !(name in given));
  if (missing.length > 0) return `lacks ${missing.join(", ")}`;
  for (const name of TEXTS)
    if (typeof given[name] !== "string")
      return `gives ${name} as ${JSON.stringify(given[name])}, not as a text`;
  const { transport, ip, key, signature_scheme: scheme } = given as Record<string, string>;
  if (transport !== "tcp" && transport !== "ipc")
    return `asks for the transport ${JSON.stringify(transport)}: this kernel knows tcp and ipc`;
  if (transport === "tcp") {
    if (ip !== "*" && ip !== "localhost" && isIP(ip as string) === 0)
      return `gives ip as ${JSON.stringify(ip)}, which is no address`;
    for (const name of PORTS) {
      const port = given[name];
      if (!Number.isInteger(port) || (port as number) < 1 || (port as number) > 65_535)
        return `gives ${name} as ${JSON.stringify(port)}, which is no port from 1 to 65535`;
    }
  }
  if (key !== "" && scheme !== "hmac-sha256")
    return `asks for the signature scheme ${JSON.stringify(scheme ?? null)}: this kernel signs by hmac-sha256`;
  return null;
}
