//! `sar` and `sadf` of sysstat, and the `sar` of Solaris, AIX and HP-UX.

formats! {}
