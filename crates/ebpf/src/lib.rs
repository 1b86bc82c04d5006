//! Observers in the kernel.
