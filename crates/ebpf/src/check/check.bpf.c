/* One empty program for each way of attaching, to see which of them this kernel lets us use. */
#include "kernel.h"

#define EMPTY(section, name) \
	SEC(section) int name(void *context) { return 0; }

EMPTY("tp_btf/sched_switch", kind_tp_btf)
EMPTY("raw_tp/sched_switch", kind_raw_tp)
EMPTY("tp/syscalls/sys_enter_read", kind_tracepoint)
EMPTY("fentry/vfs_read", kind_fentry)
EMPTY("kprobe/vfs_read", kind_kprobe)
EMPTY("perf_event", kind_perf_event)
EMPTY("uprobe", kind_uprobe)
EMPTY("uprobe.multi", kind_uprobe_multi)
EMPTY("usdt", kind_usdt)
