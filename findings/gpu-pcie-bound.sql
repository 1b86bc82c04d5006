-- title: The PCIe link of a GPU is full
-- severity: warning
-- section: gpu
-- message: The link between the host and {name} was at least 70 % full for {full_s:s} of {seen_s:s}: up to {rx:B/s} to the GPU and {tx:B/s} from it, of {link:B/s} in each direction.
-- advice: The GPU waits for data. Copy less: keep data on the GPU, send it smaller (half precision, compressed), decode on the GPU. See whether the link has all its lanes and its generation (nvidia-smi -q, LnkSta of lspci -vv): a slot of 8 lanes halves it. Between GPUs, NVLink or GPUDirect spare the host.
-- ask: gpus
-- world: gpu
-- impact: full_s / seen_s of the time
-- yes: gpu gpu=0 util=40 pcie_rx_bytes_per_s=5.2e10 pcie_tx_bytes_per_s=1e9 pcie_limit_bytes_per_s=6.3e10 *20
-- no: gpu gpu=0 util=40 pcie_rx_bytes_per_s=1e9 pcie_tx_bytes_per_s=5e9 pcie_limit_bytes_per_s=6.3e10 *20
--
-- no: gpu gpu=0 util=40 pcie_rx_bytes_per_s=5.2e10 pcie_tx_bytes_per_s=0 pcie_limit_bytes_per_s=6.3e10 *1
-- no: gpu gpu=0 util=40 pcie_rx_bytes_per_s=1e6 pcie_tx_bytes_per_s=0 pcie_limit_bytes_per_s=6.3e10 *29 @1
--
-- no: gpu gpu=0 util=40 pcie_rx_bytes_per_s=5.2e10 pcie_tx_bytes_per_s=0 *20
-- Headers of packets and flow control take a tenth and more of what the lanes carry: from 70 % of that, as a mean over a second, there were moments at the end of it. A tenth of
-- the run. What an idle link can carry is less, as it is trained slower: only seconds count in which both were read.
SELECT run, host, 'GPU ' || gpu || coalesce(' (' || max(model) || ')', '') AS name, sum(coalesce(dt, 1)) FILTER (share >= 0.7) AS full_s, sum(coalesce(dt, 1)) AS seen_s,
    max(pcie_rx_bytes_per_s) AS rx, max(pcie_tx_bytes_per_s) AS tx, max(pcie_limit_bytes_per_s) AS link
FROM (
    SELECT *, greatest(coalesce(pcie_rx_bytes_per_s, 0), coalesce(pcie_tx_bytes_per_s, 0)) / nullif(pcie_limit_bytes_per_s, 0) AS share
    FROM gpu WHERE instance IS NULL AND pcie_limit_bytes_per_s IS NOT NULL AND coalesce(pcie_rx_bytes_per_s, pcie_tx_bytes_per_s) IS NOT NULL
)
GROUP BY run, host, gpu
HAVING sum(coalesce(dt, 1)) FILTER (share >= 0.7) >= greatest(3, 0.1 * sum(coalesce(dt, 1)))
ORDER BY full_s DESC, run, host, gpu
