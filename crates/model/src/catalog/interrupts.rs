//! Hard and soft interrupts.

table! {
    /// One interrupt line on one CPU over the interval; only pairs that ever fired have rows.
    irq [irq, cpu] {
        /// Number or short name of the interrupt (`24`, `LOC`, `RES`).
        irq: label(),
        /// CPU that handled it; NULL where the source gives only the sum.
        cpu: label(),
        /// What the interrupt is for: its device or the kernel's description.
        name: label(),
        /// Interrupts handled per second.
        intr_per_s: rate(PerS, Neither),
    }
}

table! {
    /// One kind of soft interrupt on one CPU over the interval; only pairs that ever ran have rows.
    softirq [softirq, cpu] {
        /// Kind: `NET_RX`, `TIMER`, `SCHED`, `RCU` and so on.
        softirq: label(),
        /// CPU that ran it; NULL where the source gives only the sum.
        cpu: label(),
        /// Times per second it ran.
        softirqs_per_s: rate(PerS, Neither),
    }
}
