/**
 * Output of other tools, made up for these tests (SYNTHETIC: no number was measured) in the layout that the tools print. One
 * text a format; the test of a format and that of mutated files read the same.
 */

export const NCCL_TESTS = `# nccl-tests version 2.17.9 nccl-headers=22803 nccl-library=22803
# Collective test starting: sendrecv_perf
# nThread 1 nGpus 2 minBytes 8 maxBytes 4096 step: 8(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   4711 on  synthetic device  0 [0000:0f:00] NVIDIA SYNTHETIC
#  Rank  1 Group  0 Pid   4711 on  synthetic device  1 [0000:10:00] NVIDIA SYNTHETIC
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    11.50    0.00    0.00      0    11.25    0.00    0.00    N/A
        4096          1024     float     sum      -1    12.75    0.32    0.32      0    12.50    0.33    0.33    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0.1625
#
# Collective test concluded: sendrecv_perf
`;

export const NCCL_TESTS_JSON = JSON.stringify(
  {
    version: 3,
    start_time: "2026-11-30T08:00:00",
    args: ["./build/all_reduce_perf", "-g", "2"],
    env: { SECRET_TOKEN: "not to be shown" },
    nccl_version: "2.28.9",
    devices: [
      {
        rank: 0,
        group: 0,
        pid: 4711,
        hostname: "synthetic",
        device: 0,
        device_hex: "0x0f",
        device_info: "SYNTHETIC",
      },
    ],
    results: [
      {
        size: 8,
        count: 2,
        type: "float",
        redop: "sum",
        root: -1,
        out_of_place: { time: 10.5, alg_bw: 0.0008, bus_bw: 0.0008, nwrong: 0 },
        in_place: { time: "nan", alg_bw: "nan", bus_bw: "nan", nwrong: 0 },
      },
    ],
    out_of_bounds: { count: 0, okay: "true" },
    average_bus_bandwidth: { bandwidth: 0.0008 },
  },
  null,
  1,
);

export const NCCL_LOG = `synthetic:100:100 [0] NCCL INFO NCCL version 2.28.9+cuda13.0
synthetic:100:100 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to NVL
synthetic:100:120 [0] NCCL INFO ncclCommInitRankConfig comm 0x1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId f000 commId 0x2 - Init START
synthetic:100:120 [0] NCCL INFO === System : maxBw 360.0 totalBw 360.0 ===
synthetic:100:120 [0] NCCL INFO CPU/0-0 (1/1/2)
synthetic:100:120 [0] NCCL INFO + PCI[24.0] - PCI/0-c000 (1000c01010000000)
synthetic:100:120 [0] NCCL INFO               + PCI[24.0] - GPU/0-f000 (0)
synthetic:100:120 [0] NCCL INFO                             + NVL[360.0] - NVS/0-0
synthetic:100:120 [0] NCCL INFO + PCI[24.0] - GPU/0-10000 (1)
synthetic:100:120 [0] NCCL INFO ==========================================
synthetic:100:120 [0] NCCL INFO GPU/0-f000 :GPU/0-f000 (0/5000.0/LOC) GPU/0-10000 (2/360.0/NVL) CPU/0-0 (2/24.0/PHB)
synthetic:100:120 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 12, bw 30.000000/30.000000, type NVL/PIX, sameChannels 1
synthetic:100:120 [0] NCCL INFO  0 : GPU/0-f000 GPU/0-10000
synthetic:100:120 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read
synthetic:101:121 [1] NCCL INFO Channel 00/0 : 1[1] -> 0[0] via P2P/CUMEM/read
synthetic:100:120 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId f000 commId 0x2 - Init COMPLETE
synthetic:100:120 [0] NCCL INFO AllReduce: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..3}
[2026-11-30 08:00:01] synthetic:101:121 [1] transport/net.cc:1 NCCL WARN something is odd
`;

export const NCCL_GRAPH = `<graphs version="1">
  <graph id="0" pattern="4" crossnic="0" nchannels="2" speedintra="30" speedinter="12" latencyinter="0" typeintra="NVL" typeinter="PIX" samechannels="1">
    <channel><net dev="0"/><gpu dev="0"/><gpu dev="1"/></channel>
  </graph>
</graphs>
`;

export const NVBANDWIDTH = `nvbandwidth Version: v0.8
Built from Git version: v0.8

CUDA Runtime Version: 13000
CUDA Driver Version: 13000
Driver Version: 580.00.00

Device 0: NVIDIA SYNTHETIC (00000000:0f:00)
Device 1: NVIDIA SYNTHETIC (00000000:10:00)

Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0       N/A    200.25
 1    199.75       N/A

SUM device_to_device_memcpy_read_ce 400.00

Waived:
Running device_to_device_latency_sm.
Device to Device Latency SM GPU(row) <-> GPU(column) (ns)
           0         1
 0       N/A    800.00
 1    810.00       N/A

SUM device_to_device_latency_sm 1610.00

Running device_to_device_bidirectional_memcpy_write_ce.
memcpy CE GPU(row) <-> GPU(column) Write1 bandwidth (GB/s)
           0         1
 0       N/A    190.00
`;

export const P2P_TEST = `[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]
Device: 0, NVIDIA SYNTHETIC, pciBusID: f, pciDeviceID: 0, pciDomainID:0
Device: 1, NVIDIA SYNTHETIC, pciBusID: 10, pciDeviceID: 0, pciDomainID:0
Device=0 CAN Access Peer Device=1
Device=1 CAN Access Peer Device=0

P2P Connectivity Matrix
     D\\D     0     1
     0\t     1     1
     1\t     1     1
Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 1800.00 390.00
     1 391.00 1801.00
P2P=Enabled Latency (P2P Writes) Matrix (us)
   GPU     0      1
     0   1.50   2.25
     1   2.50   1.50

   CPU     0      1
     0   2.00   1.75
     1   1.75   2.00
`;

export const PERFTEST = `---------------------------------------------------------------------------------------
                    RDMA_Write Latency Test
 Dual-port       : OFF\t\tDevice         : synth_0
 Mtu             : 4096[B]
---------------------------------------------------------------------------------------
 local address: LID 0x01 QPN 0x0001 PSN 0x000001
 remote address: LID 0x02 QPN 0x0002 PSN 0x000002
---------------------------------------------------------------------------------------
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 2       1000          1.50           9.25         1.75              1.80           0.25            2.50                    8.00
Conflicting CPU frequency values detected: 2000.000000 != 3500.000000. CPU Frequency is not max.
 4       1000          1.50           9.50         1.75              1.80           0.25            2.75                    8.25
---------------------------------------------------------------------------------------
`;

export const PERFTEST_JSON = `{
"test_info": {
"test": "RDMA_Write",
"Device": "synth_0",
sl: 0,
"Transport_type": "IB"
},
"results": {
"MsgSize": 8,
"n_iterations": 1000,
"t_min": 1.5,
"t_max": 9.0,
"t_typical": 1.75,
"t_avg": 1.8,
"t_stdev": 0.2,
"percentile_99": 2.5,
"percentile_99.9": 8.0
}
}
`;

export const UCX_PERFTEST = `+--------------+--------------+------------------------------+---------------------+-----------------------+
|              |              |        latency (usec)        |   bandwidth (MB/s)  |  message rate (msg/s) |
+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+
|    Stage     | # iterations | 50.0%ile | average | overall |  average |  overall |  average  |  overall  |
+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+
[thread 0]             10000      1.250     1.500     1.500     1000.00    1000.00      666667      666667
Final:                 20000      1.250     1.500     1.625     1000.00    2000.00      666667      615385
`;

export const UCX_CSV = `iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr
20000,1.250,1.500,1.625,1000.00,2000.00,666667,615385
`;

const X = "\u001b[4m";
const END = "\u001b[0m";

export const SMI = `\t${X}GPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID${END}
GPU0\t X \tNV4\t0-15\t0\t\tN/A
GPU1\tNV4\t X \t16-31\t1\t\tN/A

Legend:

  X    = Self
  NV#  = Connection traversing a bonded set of # NVLinks

 \t${X}GPU0\tGPU1\t${END}
 GPU0\tX\tOK\t
 GPU1\tCNS\tX\t

Legend:

  X    = Self
GPU 0: NVIDIA SYNTHETIC (UUID: GPU-00000000-0000-0000-0000-000000000000)
\t Link 0: 26.562 GB/s
\t Link 1: <inactive>
GPU 1: NVIDIA SYNTHETIC (UUID: GPU-00000000-0000-0000-0000-000000000001)
NVML: Unable to retrieve NVLink information as all links are inActive
GPU 0: NVIDIA SYNTHETIC (UUID: GPU-00000000-0000-0000-0000-000000000000)
\t Link 0: Replay Errors: 3
`;

export const SMI_XML = `<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
  <timestamp>Mon Nov 30 08:00:00 2026</timestamp>
  <driver_version>580.00.00</driver_version>
  <cuda_version>13.0</cuda_version>
  <attached_gpus>2</attached_gpus>
  <gpu id="00000000:0F:00.0">
    <product_name>NVIDIA SYNTHETIC</product_name>
    <uuid>GPU-secret</uuid>
    <serial>secret</serial>
    <pci>
      <pci_bus_id>00000000:0F:00.0</pci_bus_id>
      <pci_gpu_link_info>
        <pcie_gen><max_link_gen>5</max_link_gen><current_link_gen>1</current_link_gen></pcie_gen>
        <link_widths><max_link_width>16x</max_link_width><current_link_width>16x</current_link_width></link_widths>
      </pci_gpu_link_info>
      <tx_util>2000 KB/s</tx_util>
      <rx_util>N/A</rx_util>
    </pci>
    <performance_state>P8</performance_state>
    <clocks_event_reasons>
      <clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>
      <clocks_event_reason_sw_power_cap>Not Active</clocks_event_reason_sw_power_cap>
    </clocks_event_reasons>
    <fb_memory_usage><total>1024 MiB</total><used>[Insufficient Permissions]</used></fb_memory_usage>
    <gpu_power_readings><instant_power_draw>71.50 W</instant_power_draw></gpu_power_readings>
  </gpu>
</nvidia_smi_log>
`;

export const NSYS_CSV = `NOTICE: Existing SQLite export found: synthetic.sqlite
Processing [synthetic.sqlite] with [/opt/reports/cuda_gpu_trace.py]...

Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name
1012345678,2304,132,,,,,,,,,,0.000,3.472,Device,Device,NVIDIA SYNTHETIC (0),1,,13,[CUDA memcpy Peer-to-Peer]
1012349999,52304,133,,,,,,,,,,16.777,320759.000,Device,Device,NVIDIA SYNTHETIC (0),1,,13,[CUDA memcpy Peer-to-Peer]
1013349999,12304,134,264,1,1,512,1,1,32,0.000,0.000,,,,,NVIDIA SYNTHETIC (1),1,,7,"void k<int, 4>(int*, ""x"")"

Processing [synthetic.sqlite] with [/opt/reports/cuda_api_sum.py]...

Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
97.1,44600000,1,44600000.0,44600000.0,44600000,44600000,0.0,cudaMalloc
2.9,1332000,200,6660.0,6500.0,6000,12000,500.0,cudaMemcpyPeerAsync

SKIPPED: synthetic.sqlite does not contain NV Tools Extension (NVTX) data.
`;

export const NSYS_TABLE = `
 ** CUDA GPU MemOps Summary (by Time) (cuda_gpu_mem_time_sum):

 Time (%)  Total Time (ns)  Count  Avg (ns)  Med (ns)  Min (ns)  Max (ns)  StdDev (ns)           Operation
 --------  ---------------  -----  --------  --------  --------  --------  -----------  ----------------------------
     60.1        1,234,567    100  12,345.7  12,000.0    11,000    15,000      1,000.0  [CUDA memcpy Peer-to-Peer]
     39.9          819,000     50  16,380.0  16,000.0    15,000    20,000        500.0  [CUDA memcpy Host-to-Device]

 ** CUDA GPU MemOps Summary (by Size) (cuda_gpu_mem_size_sum):

 Total (MB)  Count  Avg (MB)  Med (MB)  Min (MB)  Max (MB)  StdDev (MB)          Operation
 ----------  -----  --------  --------  --------  --------  -----------  --------------------------
    104.858    100     1.049     1.049     1.049     1.049        0.000  [CUDA memcpy Peer-to-Peer]
`;

export const NSYS_JSON = `Processing [synthetic.sqlite] with [reports/cuda_gpu_kern_sum.py]...
[
  {"Time (%)": 100.0, "Total Time (ns)": 12345, "Instances": 2, "Avg (ns)": 6172.5, "Med (ns)": 6172.5, "Min (ns)": 6000, "Max (ns)": 6345, "StdDev (ns)": 172.5, "Name": "k[1](int)"}
]
`;

export const NCU_DETAILS = `==PROF== Connected to process 4711 (/synthetic)
what the program printed
==PROF== Disconnected from process 4711
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description","Estimated Speedup Type","Estimated Speedup"
"0","4711","synthetic","127.0.0.1","copy(uint4 *, const uint4 *)","1","7","(512, 1, 1)","(264, 1, 1)","0","9.0","Speed","Duration","ns","182,048",
"0","4711","synthetic","127.0.0.1","copy(uint4 *, const uint4 *)","1","7","(512, 1, 1)","(264, 1, 1)","0","9.0","Speed","Throughput","Gbyte/second","210.50",
"0","4711","synthetic","127.0.0.1","copy(uint4 *, const uint4 *)","1","7","(512, 1, 1)","(264, 1, 1)","0","9.0","Speed","","","","SmallGrid","OPT","Too small, by ""far"".","global","12.5"
`;

export const NCU_RAW = `"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","gpu__time_duration.sum","nvltx__bytes.sum","launch__cluster"
"","","","","","","","","","","","us","Mbyte",""
"0","4711","synthetic","127.0.0.1","copy(int)","1","7","(512, 1, 1)","(264, 1, 1)","0","9.0","182.05","16.78","n/a"
"1","4711","synthetic","127.0.0.1","copy(int)","1","7","(512, 1, 1)","(264, 1, 1)","0","9.0","181.05","16.78","(1, 2)"
`;

export const NVPROF = `==4711== NVPROF is profiling process 4711, command: ./synthetic
==4711== Profiling application: ./synthetic
what the program printed
==4711== Profiling result:
"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y","Block Z","Registers Per Thread","Static SMem","Dynamic SMem","Size","Throughput","SrcMemType","DstMemType","Device","Context","Stream","Src Dev","Src Ctx","Dst Dev","Dst Ctx","Name","Correlation_ID"
s,us,,,,,,,,KB,B,MB,GB/s,,,,,,,,,,,
1.000000,125.500000,,,,,,,,,,15.258789,100.000000,"Device","Device","Tesla SYNTHETIC (0)","1","7","Tesla SYNTHETIC (0)","1","Tesla SYNTHETIC (1)","2","[CUDA memcpy PtoP]",101
1.000200,20.000000,12,1,1,256,1,1,32,1.500000,0,,,,,"Tesla SYNTHETIC (0)","1","7",,,,,"k(float*, int) [102]",102
==4712== NVPROF is profiling process 4712, command: ./synthetic
==4712== Profiling result:
"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"
,%,ms,,us,us,us,
"GPU activities",100.000000,1.255000,10,125.500000,120.000000,130.000000,"[CUDA memcpy PtoP]"
==4713== NVPROF is profiling process 4713, command: ./synthetic
==4713== Metric result:
"Device","Kernel","Invocations","Metric Name","Metric Description","Min","Max","Avg"
"Tesla SYNTHETIC (0)","k(float*, int)",1,"nvlink_total_data_transmitted","NVLink bytes",26.224721MB,26.224721MB,26.224721MB
"Tesla SYNTHETIC (0)","k(float*, int)",1,"nvlink_user_data (4 instances)","By link",,,,4512,240,240,240
`;

export const HWLOC_DISTANCES = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="3.0">
  <object type="Machine" os_index="0" cpuset="0x3" nodeset="0x1" gp_index="1">
    <object type="NUMANode" os_index="0" cpuset="0x3" nodeset="0x1" gp_index="2"/>
    <object type="Bridge" gp_index="3" bridge_type="0-1" depth="0" bridge_pci="0000:[00-20]">
      <object type="PCIDev" gp_index="4" pci_busid="0000:01:00.0" pci_type="0302 [10de:2330] [10de:16c1] a1" pci_link_speed="63.0">
        <info name="GPUModel" value="NVIDIA SYNTHETIC"/>
        <object type="OSDev" gp_index="5" name="nvml0" osdev_type="12"/>
      </object>
    </object>
  </object>
  <distances2 type="OSDev" nbobjs="2" kind="10" indexing="gp" name="NVLinkBandwidth">
    <indexes length="4">5 6 </indexes>
    <u64values length="30">1000000 400000 399000 1000000 </u64values>
  </distances2>
</topology>
`;

export const BANDWIDTH_TEST = `[CUDA Bandwidth Test] - Starting...
Running on...

 Device 0: NVIDIA SYNTHETIC
 Shmoo Mode

......
bandwidthTest-H2D-Pinned, Bandwidth = 0.5 GB/s, Time = 0.00000 s, Size = 1000 bytes, NumDevsUsed = 1
bandwidthTest-H2D-Pinned, Bandwidth = 26.2 GB/s, Time = 0.00160 s, Size = 41943040 bytes, NumDevsUsed = 1
Result = PASS
`;

export const GPU_COPY = `cpu_to_gpu0_by_sm_under_numa0 26.25
gpu0_to_gpu1_write_by_dma 279.5
gpu0_and_gpu1_read_by_sm 460.5
`;

export const SMI_Q = `
==============NVSMI LOG==============

Timestamp                                 : Mon Nov 30 08:00:00 2026
Driver Version                            : 580.00.00

Attached GPUs                             : 2
GPU 00000000:0F:00.0
    Product Name                          : NVIDIA SYNTHETIC
    Serial Number                         : secret
    GPU UUID                              : GPU-secret
    PCI
        GPU Link Info
            PCIe Generation
                Max                       : 5
        Tx Throughput                     : 2000 KB/s
    Processes
        Process ID                        : 4711
            Name                          : secret
            Used GPU Memory               : 10 MiB
GPU 00000000:10:00.0
    Product Name                          : NVIDIA SYNTHETIC
    Fan Speed                             : N/A
`;
