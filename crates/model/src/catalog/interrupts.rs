//! Hard and soft interrupts.

table! {
    /// Interrupts of one line on one CPU over the interval; only pairs that ever fired have rows.
    irq [irq, cpu] is (Interrupt, Series, Passing) {
        /// Number or abbreviation of the interrupt (`24`, `LOC`, `RES`).
        irq: label(),
        /// CPU that handled it; NULL where the source gives only the total.
        cpu: label(),
        /// Device of the interrupt, or the kernel's description.
        name: label(),
        /// Interrupts handled per second.
        intr_per_s: rate(PerS, Neither),
    }
}

table! {
    /// Softirqs of one kind on one CPU over the interval; only pairs that ever ran have rows.
    softirq [softirq, cpu] is (Interrupt, Series, Passing) {
        /// Kind: `NET_RX`, `TIMER`, `SCHED`, `RCU` and so on.
        softirq: label(),
        /// CPU that ran it; NULL where the source gives only the total.
        cpu: label(),
        /// Executions per second.
        softirqs_per_s: rate(PerS, Neither),
    }
}
