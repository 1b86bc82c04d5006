//! How the C library keeps memory that was freed.

/// Lets large pieces of memory that are freed be used again, in place of being given back to the kernel at once: a program
/// that reads gigabytes through buffers of the same sizes gets fresh, zeroed pages for each otherwise. For commands that end
/// when their work is done; what is kept is at most what was in use at the same time.
pub fn keep_freed() {
    #[cfg(target_env = "gnu")]
    {
        use libc::{M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, mallopt};
        /// The largest threshold that glibc takes on 64-bit machines: half of what an arena of a thread may grow by at once.
        const LARGEST: i32 = 32 << 20;
        /// Bytes that may lie free at the end of the heap.
        const FREE: i32 = 256 << 20;
        for (option, value) in [(M_MMAP_THRESHOLD, LARGEST), (M_TRIM_THRESHOLD, FREE)] {
            #[allow(unsafe_code, reason = "the allocator has no safe interface")]
            // SAFETY: two numbers; glibc takes its own locks, and leaves a value that it does not like.
            unsafe {
                mallopt(option, value);
            }
        }
    }
}
