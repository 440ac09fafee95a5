/** The diagnosis as one JSON object; doctor.schema.json describes it. */
import { topologyMatrix } from "../topology/matrix.js";
import type { Examined } from "./examined.js";

export const SCHEMA = "p2plab-doctor/1";

/** Numbers are numbers; what is not known is null, and the `missing` beside it says why. */
export function diagnosisJson(diagnosis: Examined): Record<string, unknown> {
  const { facts, findings, exitStatus } = diagnosis;
  const { provenance, topology, ...rest } = facts;
  return {
    schema: SCHEMA,
    machine: provenance.machine,
    provenance: provenance.kind,
    date: provenance.date,
    exit_status: exitStatus,
    findings,
    ...rest,
    // Each GPU names its function and its place among the driver's; these are listed once, in `pci`.
    topology:
      topology === null
        ? null
        : {
            format: topology.format,
            nodes: topology.layout.nodes,
            links: topology.layout.links,
            matrix: topologyMatrix(topology.layout),
            unknown: topology.unknown,
          },
  };
}
