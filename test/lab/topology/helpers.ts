import { P2pError } from "../../../kernel/lab/errors.js";
import { parseTopology } from "../../../kernel/lab/topology/read.js";

/** The error that an action ends in; any other outcome is thrown. */
export function errorOf(action: () => unknown): P2pError {
  try {
    action();
  } catch (error) {
    if (error instanceof P2pError) return error;
    throw error;
  }
  throw new Error("it did not fail");
}

/** The complaint about a topology text, as `message → hint`. */
export function complaint(text: string | Uint8Array): string {
  const { code, message, hint } = errorOf(() => parseTopology(text));
  if (code !== "topology") throw new Error(`code ${code}: ${message}`);
  return `${message} → ${hint}`;
}

/** A table as nvidia-smi prints it, columns parted by tabs. */
export function table(...rows: string[]): string {
  return rows.map((row) => row.trim().split(/\s+/).join("\t")).join("\n");
}

/** Two GPUs behind two switches of one host bridge, a network card beside the second, and one GPU on the other socket. */
export const NCCL = `<system version="1">
  <cpu numaid="0" affinity="0000ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:08:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:0f:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="90" rank="1" gdr="1">
          <nvlink target="0000:5f:00.0" count="4" tclass="0x030200"/>
        </gpu>
      </pci>
    </pci>
    <pci busid="0000:18:00.0" class="0x060400" link_speed="5.0 GT/s PCIe" link_width="16">
      <pci busid="0000:1f:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="8">
        <gpu dev="0" sm="90" rank="0" gdr="1"/>
      </pci>
      <pci busid="0000:1e:00.0" class="0x020000" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x1" maxconn="131072" gdr="1"/>
        </nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="ffff0000" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:5f:00.0" class="0x030200" link_speed="Unknown" link_width="0">
      <gpu dev="2" sm="90" rank="2" gdr="1">
        <nvlink target="0000:0f:00.0" count="4" tclass="0x030200"/>
      </gpu>
    </pci>
  </cpu>
</system>
`;

/** One socket: a root port with a GPU, another with a switch of two GPUs and a network card; lstopo 2. */
export const HWLOC = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f" nodeset="0x00000001" gp_index="1">
    <object type="Package" os_index="0" cpuset="0x0000000f" nodeset="0x00000001" gp_index="2">
      <object type="NUMANode" os_index="0" cpuset="0x0000000f" nodeset="0x00000001" gp_index="3"/>
      <object type="Bridge" gp_index="4" bridge_type="0-1" depth="0" bridge_pci="0000:[00-20]">
        <object type="Bridge" gp_index="5" bridge_type="1-1" depth="1" bridge_pci="0000:[01-01]" pci_busid="0000:00:01.0" pci_type="0604 [8086:2030] [8086:0000] 07" pci_link_speed="15.753846">
          <object type="PCIDev" gp_index="6" pci_busid="0000:01:00.0" pci_type="0302 [10de:20b5] [10de:1533] a1" pci_link_speed="31.507692">
            <info name="GPUModel" value="NVIDIA A100 80GB PCIe"/>
            <object type="OSDev" gp_index="7" name="nvml2" subtype="NVML" osdev_type="1"/>
          </object>
        </object>
        <object type="Bridge" gp_index="8" bridge_type="1-1" depth="1" bridge_pci="0000:[02-20]" pci_busid="0000:00:02.0" pci_type="0604 [8086:2031] [8086:0000] 07" pci_link_speed="31.507692">
          <object type="Bridge" gp_index="9" bridge_type="1-1" depth="2" bridge_pci="0000:[03-20]" pci_busid="0000:02:00.0" pci_type="0604 [10b5:8725] [10b5:8725] ca" pci_link_speed="31.507692">
            <object type="Bridge" gp_index="10" bridge_type="1-1" depth="3" bridge_pci="0000:[04-04]" pci_busid="0000:03:00.0" pci_type="0604 [10b5:8725] [10b5:8725] ca" pci_link_speed="31.507692">
              <object type="PCIDev" gp_index="11" pci_busid="0000:04:00.0" pci_type="0302 [10de:20b5] [10de:1533] a1" pci_link_speed="31.507692">
                <object type="OSDev" gp_index="12" name="nvml0" subtype="NVML" osdev_type="1"/>
              </object>
            </object>
            <object type="Bridge" gp_index="13" bridge_type="1-1" depth="3" bridge_pci="0000:[05-05]" pci_busid="0000:03:01.0" pci_type="0604 [10b5:8725] [10b5:8725] ca" pci_link_speed="31.507692">
              <object type="PCIDev" gp_index="14" pci_busid="0000:05:00.0" pci_type="0302 [10de:20b5] [10de:1533] a1" pci_link_speed="0.000000">
                <object type="OSDev" gp_index="15" name="nvml1" subtype="NVML" osdev_type="1"/>
              </object>
            </object>
            <object type="Bridge" gp_index="16" bridge_type="1-1" depth="3" bridge_pci="0000:[06-06]" pci_busid="0000:03:02.0" pci_type="0604 [10b5:8725] [10b5:8725] ca" pci_link_speed="31.507692">
              <object type="PCIDev" gp_index="17" pci_busid="0000:06:00.0" pci_type="0207 [15b3:101b] [15b3:0007] 00" pci_link_speed="31.507692">
                <object type="OSDev" gp_index="18" name="ib0" osdev_type="2"/>
                <object type="OSDev" gp_index="19" name="mlx5_0" osdev_type="3"/>
              </object>
            </object>
          </object>
        </object>
        <object type="PCIDev" gp_index="20" pci_busid="0000:00:1f.0" pci_type="0300 [1a03:2000] [1a03:2000] 41" pci_link_speed="0.000000"/>
      </object>
    </object>
  </object>
</topology>
`;
