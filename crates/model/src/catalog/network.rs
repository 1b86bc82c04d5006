//! Network interfaces and protocols.

table! {
    /// One network interface over the interval.
    net [interface] {
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
        /// Damaged packets received per second.
        rx_errors_per_s: rate(PerS, Lower),
        /// Packets per second that could not be sent.
        tx_errors_per_s: rate(PerS, Lower),
        /// Received packets thrown away per second, for want of buffers as a rule.
        rx_drops_per_s: rate(PerS, Lower),
        /// Packets thrown away before they were sent, per second.
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
        /// Speed of the link; NULL when the driver does not say.
        speed_mbps: gauge(MegabitsPerS, Higher),
        /// `full`, `half`, or NULL when the driver does not say.
        duplex: label(),
        /// `up`, `down` or another word of the kernel's operational states; NULL when it does not say.
        state: label(),
        /// Utilisation of the link: the busier direction on full duplex, both together on half; NULL without a speed.
        util: percent(Lower),
        /// Errors, drops and overruns per second, both directions: the link or its buffers were full.
        saturation_per_s: rate(PerS, Lower),
    }
}

table! {
    /// TCP of one host over the interval.
    tcp [] {
        /// Connections that are established or wait to close.
        established: gauge(Count, Neither),
        /// Connections opened from here per second.
        active_opens_per_s: rate(PerS, Neither),
        /// Connections accepted here per second.
        passive_opens_per_s: rate(PerS, Neither),
        /// Attempts to connect that failed, per second.
        attempt_fails_per_s: rate(PerS, Lower),
        /// Established connections reset, per second.
        estab_resets_per_s: rate(PerS, Lower),
        /// Segments received per second.
        in_segments_per_s: rate(PerS, Neither),
        /// Segments sent per second, retransmitted ones not included.
        out_segments_per_s: rate(PerS, Neither),
        /// Segments retransmitted per second.
        retransmits_per_s: rate(PerS, Lower),
        /// Segments retransmitted as a share of those sent; above a fraction of one percent, look for loss.
        retransmit: percent(Lower),
        /// Damaged segments received per second.
        in_errors_per_s: rate(PerS, Lower),
        /// Resets sent per second.
        out_resets_per_s: rate(PerS, Lower),
        /// Bytes received per second by TCP.
        in_bytes_per_s: rate(BytesPerS, Neither),
        /// Bytes sent per second by TCP.
        out_bytes_per_s: rate(BytesPerS, Neither),
        /// Connections dropped per second because the accept queue was full: the server accepts too slowly.
        listen_overflows_per_s: rate(PerS, Lower),
        /// Connections dropped per second by listening sockets for any reason.
        listen_drops_per_s: rate(PerS, Lower),
        /// Retransmission time-outs per second.
        timeouts_per_s: rate(PerS, Lower),
        /// Retransmissions started by duplicate acknowledgements, per second.
        fast_retransmits_per_s: rate(PerS, Lower),
        /// SYN cookies sent per second: the SYN queue was full.
        syncookies_per_s: rate(PerS, Lower),
        /// Times per second a receive buffer had to be collapsed or pruned.
        receive_pruned_per_s: rate(PerS, Lower),
        /// Sockets in time-wait.
        time_wait: gauge(Count, Neither),
        /// TCP sockets in use.
        sockets: gauge(Count, Neither),
        /// Memory in TCP buffers.
        socket_mem_bytes: gauge(Bytes, Neither),
    }
}

table! {
    /// UDP of one host over the interval.
    udp [] {
        /// Datagrams received per second.
        in_datagrams_per_s: rate(PerS, Neither),
        /// Datagrams sent per second.
        out_datagrams_per_s: rate(PerS, Neither),
        /// Datagrams per second for a port on which nobody listened.
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
    /// What the network stack did on one CPU with received packets, over the interval.
    softnet [cpu] {
        /// CPU that took the packets from the cards.
        cpu: label(),
        /// Packets taken from the cards' queues per second.
        packets_per_s: rate(PerS, Neither),
        /// Packets per second thrown away because the CPU's backlog was full (`net.core.netdev_max_backlog`).
        drops_per_s: rate(PerS, Lower),
        /// Times per second that a poll ended with packets left: its budget or its time was used up.
        squeezes_per_s: rate(PerS, Lower),
        /// Packets per second dropped by the limit that keeps one flow from filling the backlog.
        flow_limits_per_s: rate(PerS, Lower),
        /// Interrupts per second by which another CPU handed packets over (RPS).
        rps_per_s: rate(PerS, Neither),
        /// Packets that wait in the backlog; NULL on kernels before 5.10.
        backlog: gauge(Count, Lower),
    }
}

table! {
    /// One counter that a network driver keeps for itself (`ethtool -S`), over the interval; those that stood still have no row.
    net_driver [interface, counter] {
        /// Name of the interface.
        interface: label(),
        /// The driver's own name of the counter: `rx_queue_0_drops`, `rx_missed_errors`; every driver has others.
        counter: label(),
        /// Growth per second, in whatever the driver counts.
        growth_per_s: rate(PerS, Neither),
    }
}
