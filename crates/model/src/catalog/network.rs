//! Network interfaces and protocols.

table! {
    /// One network interface over the interval.
    net [interface] is (Network, Series, Lasting) {
        /// Name of the interface.
        interface: label(),
        /// `physical`, `loopback`, `bridge`, `bond`, `vlan`, `veth`, `tun` or `virtual`: a packet can count on several.
        class: label(),
        /// Bytes received per second.
        rx_bytes_per_s: rate(BytesPerS, Neither),
        /// Bytes sent per second.
        tx_bytes_per_s: rate(BytesPerS, Neither),
        /// Packets received per second.
        rx_packets_per_s: rate(PerS, Neither),
        /// Packets sent per second.
        tx_packets_per_s: rate(PerS, Neither),
        /// Mean size of a received packet; NULL when there was none.
        rx_packet_bytes: gauge(Bytes, Neither),
        /// Mean size of a sent packet.
        tx_packet_bytes: gauge(Bytes, Neither),
        /// Receive errors (damaged packets) per second.
        rx_errors_per_s: rate(PerS, Lower),
        /// Send errors per second.
        tx_errors_per_s: rate(PerS, Lower),
        /// Receive drops per second, usually for lack of buffers.
        rx_drops_per_s: rate(PerS, Lower),
        /// Send drops per second.
        tx_drops_per_s: rate(PerS, Lower),
        /// Receive FIFO overruns per second: the host did not fetch packets in time.
        rx_fifo_per_s: rate(PerS, Lower),
        /// Send FIFO underruns per second.
        tx_fifo_per_s: rate(PerS, Lower),
        /// Framing errors per second: cabling or duplex.
        frame_errors_per_s: rate(PerS, Lower),
        /// Carrier losses per second.
        carrier_errors_per_s: rate(PerS, Lower),
        /// Collisions per second; only a half-duplex link has any.
        collisions_per_s: rate(PerS, Lower),
        /// Multicast packets received per second.
        multicast_per_s: rate(PerS, Neither),
        /// Packets per second received compressed.
        rx_compressed_per_s: rate(PerS, Neither),
        /// Packets per second sent compressed.
        tx_compressed_per_s: rate(PerS, Neither),
        /// Link speed; NULL if the driver does not report it.
        speed_mbps: gauge(MegabitsPerS, Higher),
        /// Duplex: `full`, `half`, or NULL if the driver does not report it.
        duplex: label(),
        /// Operational state: `up`, `down` or another one of the kernel; NULL if not reported.
        state: label(),
        /// Link utilisation: the busier direction on full duplex, the sum of both on half; NULL if the speed is unknown.
        util: percent(Lower),
        /// Saturation: errors, drops and overruns per second, both directions.
        saturation_per_s: rate(PerS, Lower),
    }
}

table! {
    /// TCP of one host over the interval.
    tcp [] is (Network, Series, Lasting) {
        /// Connections in state ESTABLISHED or CLOSE-WAIT.
        established: gauge(Count, Neither),
        /// Active opens per second: connections opened by this host.
        active_opens_per_s: rate(PerS, Neither),
        /// Passive opens per second: connections accepted by this host.
        passive_opens_per_s: rate(PerS, Neither),
        /// Failed connection attempts per second.
        attempt_fails_per_s: rate(PerS, Lower),
        /// Established connections reset, per second.
        estab_resets_per_s: rate(PerS, Lower),
        /// Segments received per second.
        in_segments_per_s: rate(PerS, Neither),
        /// Segments sent per second, excluding retransmissions.
        out_segments_per_s: rate(PerS, Neither),
        /// Segments retransmitted per second.
        retransmits_per_s: rate(PerS, Lower),
        /// Retransmitted share of segments sent; above a fraction of one percent, look for packet loss.
        retransmit: percent(Lower).beyond_100(),
        /// Damaged segments received per second.
        in_errors_per_s: rate(PerS, Lower),
        /// Resets sent per second.
        out_resets_per_s: rate(PerS, Lower),
        /// Bytes received per second by TCP.
        in_bytes_per_s: rate(BytesPerS, Neither),
        /// Bytes sent per second by TCP.
        out_bytes_per_s: rate(BytesPerS, Neither),
        /// Listen overflows per second: connections dropped because the accept queue was full; the server accepts too slowly.
        listen_overflows_per_s: rate(PerS, Lower),
        /// Listen drops per second: connections dropped by listening sockets for any reason.
        listen_drops_per_s: rate(PerS, Lower),
        /// Retransmission time-outs per second.
        timeouts_per_s: rate(PerS, Lower),
        /// Fast retransmits per second, triggered by duplicate acknowledgements.
        fast_retransmits_per_s: rate(PerS, Lower),
        /// SYN cookies sent per second: the SYN queue was full.
        syncookies_per_s: rate(PerS, Lower),
        /// Delayed ACKs per second: segments acknowledged only when a timer of some 40 ms ran out, as nothing was sent back.
        delayed_acks_per_s: rate(PerS, Lower),
        /// Receive buffer prunes and collapses per second.
        receive_pruned_per_s: rate(PerS, Lower),
        /// Sockets in state TIME-WAIT.
        time_wait: gauge(Count, Neither),
        /// TCP sockets in use.
        sockets: gauge(Count, Neither),
        /// Memory in TCP buffers.
        socket_mem_bytes: gauge(Bytes, Neither),
        /// Sockets with data to send or on its way, on average since they were last asked: after one, two, four intervals and so on.
        sending: gauge(Count, Neither),
        /// Those of them that waited for room in the receiver's window: it reads too slowly, or its buffer is small.
        window_limited: gauge(Count, Lower),
        /// Those of them that waited for room in their send buffer.
        send_buffer_limited: gauge(Count, Lower),
    }
}

table! {
    /// UDP of one host over the interval.
    udp [] is (Network, Series, Lasting) {
        /// Datagrams received per second.
        in_datagrams_per_s: rate(PerS, Neither),
        /// Datagrams sent per second.
        out_datagrams_per_s: rate(PerS, Neither),
        /// Datagrams per second to a port without a listener.
        no_ports_per_s: rate(PerS, Lower),
        /// Datagrams per second that could not be delivered.
        in_errors_per_s: rate(PerS, Lower),
        /// Datagrams per second lost because the socket's receive buffer was full.
        receive_buffer_errors_per_s: rate(PerS, Lower),
        /// Datagrams per second lost because the send buffer was full.
        send_buffer_errors_per_s: rate(PerS, Lower),
        /// Datagrams per second with a wrong checksum.
        checksum_errors_per_s: rate(PerS, Lower),
        /// UDP sockets in use.
        sockets: gauge(Count, Neither),
        /// Memory in UDP buffers.
        socket_mem_bytes: gauge(Bytes, Neither),
    }
}

table! {
    /// TCP and UDP of one other network namespace than the recorder's (a container, `ip netns`) over the interval.
    netns [namespace] is (Network, Series, Passing) {
        /// Number that the kernel gives the namespace: `lsns -t net` and /proc/PID/ns/net show it.
        namespace: label(),
        /// Name of the process of the lowest number in it.
        comm: label(),
        /// TCP connections in state ESTABLISHED or CLOSE-WAIT.
        established: gauge(Count, Neither),
        /// Connections opened from it per second.
        active_opens_per_s: rate(PerS, Neither),
        /// Connections accepted in it per second.
        passive_opens_per_s: rate(PerS, Neither),
        /// Failed connection attempts per second.
        attempt_fails_per_s: rate(PerS, Lower),
        /// TCP segments received per second.
        in_segments_per_s: rate(PerS, Neither),
        /// TCP segments sent per second, excluding retransmissions.
        out_segments_per_s: rate(PerS, Neither),
        /// TCP segments retransmitted per second.
        retransmits_per_s: rate(PerS, Lower),
        /// Connections per second that were dropped because the accept queue was full.
        listen_overflows_per_s: rate(PerS, Lower),
        /// Retransmission time-outs per second.
        timeouts_per_s: rate(PerS, Lower),
        /// Delayed ACKs per second: segments acknowledged only when a timer of some 40 ms ran out.
        delayed_acks_per_s: rate(PerS, Lower),
        /// TCP sockets in state TIME-WAIT.
        time_wait: gauge(Count, Neither),
        /// TCP sockets in use.
        sockets: gauge(Count, Neither),
        /// UDP datagrams received per second.
        in_datagrams_per_s: rate(PerS, Neither),
        /// UDP datagrams per second that were lost because the socket's receive buffer was full.
        receive_buffer_errors_per_s: rate(PerS, Lower),
    }
}

table! {
    /// Receive processing of the network stack on one CPU over the interval.
    softnet [cpu] is (Network, Series, Passing) {
        /// CPU that processed the packets.
        cpu: label(),
        /// Packets processed per second.
        packets_per_s: rate(PerS, Neither),
        /// Packets per second dropped because the CPU's backlog was full (`net.core.netdev_max_backlog`).
        drops_per_s: rate(PerS, Lower),
        /// Time squeezes per second: a poll ended with packets left because its budget or time was exhausted.
        squeezes_per_s: rate(PerS, Lower),
        /// Packets per second dropped by the flow limit, which keeps one flow from filling the backlog.
        flow_limits_per_s: rate(PerS, Lower),
        /// Inter-processor interrupts per second from other CPUs that passed packets on (RPS).
        rps_per_s: rate(PerS, Neither),
        /// Packets in the backlog; NULL on kernels before 5.10.
        backlog: gauge(Count, Lower),
    }
}

table! {
    /// One private counter of a network driver (`ethtool -S`) over the interval; unchanged counters have no row.
    net_driver [interface, counter] is (Network, Series, Passing) {
        /// Name of the interface.
        interface: label(),
        /// Driver-specific name of the counter: `rx_queue_0_drops`, `rx_missed_errors`.
        counter: label(),
        /// Increase per second, in the driver's unit.
        growth_per_s: rate(PerS, Neither),
    }
}
