//! Output of the views, as literal text.

use fenxi_model::{
    Micros, Rows,
    catalog::{file_cache, mem, page_cache},
};

use super::{Databases, Files, Layout, MB, Recorded, Summary, wrap};
use crate::{Frame, View};

const AT: Micros = Micros(1_700_000_000_000_000);
const PAGE: u64 = 4096;

fn frame(rows: &Rows) -> Frame<'_> {
    Frame { t: AT, dt: 1.0, since_boot: false, rows }
}

fn shown(mut view: impl View, moments: &[&Rows]) -> String {
    let mut out = String::new();
    for rows in moments {
        view.frame(&frame(rows), &mut out);
    }
    view.end(&mut out);
    out
}

/// A machine of 1000 MB: 40 slab, 10 stacks and tables, 200 anonymous, 50 shared, 380 page cache, 20 huge, 250 free.
fn machine(exec: Option<f64>) -> Rows {
    let mut rows = Rows::new("h");
    let mb = |n: f64| n * MB;
    rows.row(&mem::TABLE, AT, 1.0)
        .f64(mem::total_bytes, mb(1000.0))
        .f64(mem::free_bytes, mb(250.0))
        .f64(mem::available_bytes, mb(600.0))
        .f64(mem::buffers_bytes, mb(30.0))
        .f64(mem::cached_bytes, mb(400.0))
        .f64(mem::shmem_bytes, mb(50.0))
        .f64(mem::anon_bytes, mb(200.0))
        .f64(mem::dirty_bytes, mb(9.0))
        .f64(mem::writeback_bytes, mb(1.0))
        .f64(mem::slab_reclaimable_bytes, mb(30.0))
        .f64(mem::slab_unreclaimable_bytes, mb(10.0))
        .f64(mem::kernel_stack_bytes, mb(4.0))
        .f64(mem::page_tables_bytes, mb(6.0))
        .f64(mem::hugetlb_bytes, mb(20.0))
        .f64(mem::huge_free_bytes, mb(8.0))
        .f64(mem::swap_total_bytes, mb(0.0))
        .f64(mem::swap_used_bytes, mb(0.0));
    if let Some(exec) = exec {
        rows.row(&page_cache::TABLE, AT, 1.0)
            .str(page_cache::kind, "executables")
            .f64(page_cache::unread_files, 0.0)
            .f64(page_cache::unread_processes, 2.0)
            .f64(page_cache::cached_bytes, mb(exec));
    }
    rows
}

#[test]
fn the_parts_of_a_moment_add_up_to_the_total() {
    let text = shown(Summary::new(Layout::Fitting, PAGE, None), &[&machine(Some(80.0))]);
    assert_eq!(
        text,
        "\
Page summary                       Pages        MB   %Tot
------------------------      ----------    ------  -----
Kernel slab, fixed                  2560        10    1.0
Kernel slab, reclaimable            7680        30    3.0
Kernel stacks                       1024         4    0.4
Page tables                         1536         6    0.6
Per-CPU data                           -         -      -
Other kernel                       12800        50    5.0
Anonymous                          51200       200   20.0
Shared memory and tmpfs            12800        50    5.0
Executables and libraries          20480        80    8.0
Page cache, clean                  74240       290   29.0
Page cache, dirty                   2560        10    1.0
Huge pages, used                    3072        12    1.2
Huge pages, free                    2048         8    0.8
Free                               64000       250   25.0
Total                             256000      1000  100.0

Available without swapping: 600 MB
Executables and libraries: at least; 2 processes could not be looked into (the rest is in Page cache, clean)
"
    );
}

#[test]
fn several_moments_are_lines_and_what_is_not_known_is_a_dash() {
    let rows = machine(None);
    let text = shown(Summary::new(Layout::Fitting, PAGE, None), &[&rows, &rows]);
    assert_eq!(
        text,
        "  kernel    anon  shared    exec   cache   dirty    huge    free   total
     100     200      50       -     370      10      20     250    1000
     100     200      50       -     370      10      20     250    1000
"
    );
}

#[test]
fn forty_columns_are_enough() {
    let rows = machine(Some(80.0));
    let table = shown(Summary::new(Layout::Fitting, PAGE, Some(40)), &[&rows]);
    let lines = shown(Summary::new(Layout::Lines, PAGE, Some(40)), &[&rows]);
    assert_eq!(lines, "kernel  anon   shm cache  huge  free\n   100   200    50   380    20   250\n");
    let files = shown(Files::new(3, Some(40)), &[&server(false, Some(0.0))]);
    let database = shown(Databases::new(3, Some(40)), &[&server(false, Some(0.0))]);
    for text in [table, lines, files, database] {
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(40), "{widest:?}:\n{text}");
    }
}

#[test]
fn counters_that_exceed_the_total_are_said_and_still_add_up() {
    let mut rows = Rows::new("h");
    rows.row(&mem::TABLE, AT, 1.0)
        .f64(mem::total_bytes, 100.0 * MB)
        .f64(mem::anon_bytes, 80.0 * MB)
        .f64(mem::free_bytes, 30.0 * MB);
    let text = shown(Summary::new(Layout::Fitting, PAGE, None), &[&rows]);
    assert!(text.contains("Counted twice                      -2560       -10  -10.0\n"), "{text}");
    assert!(text.contains("Other kernel                           0         0    0.0\n"), "{text}");
}

/// A MariaDB server with one data file of 8 MB, 6 of it cached; not running, or with this many files open directly.
fn server(direct: bool, running: Option<f64>) -> Rows {
    let mut rows = Rows::new("h");
    let open = |yes: bool| if yes && running == Some(0.0) { 1.0 } else { 0.0 };
    rows.row(&page_cache::TABLE, AT, 1.0)
        .str(page_cache::kind, "mariadb")
        .str(page_cache::place, "/d")
        .i64(page_cache::pid, running.map(|_| 7))
        .f64(page_cache::files, 1.0)
        .f64(page_cache::unread_files, 0.0)
        .f64(page_cache::unread_processes, running)
        .f64(page_cache::cached_bytes, 6.0 * MB)
        .f64(page_cache::pool_bytes, 64.0 * MB)
        .f64(page_cache::pool_mapped_bytes, 65.0 * MB)
        .text(page_cache::pool_from, "innodb_buffer_pool_size in /etc/my.cnf")
        .f64(page_cache::direct_files, open(direct))
        .f64(page_cache::buffered_files, open(!direct));
    rows.row(&file_cache::TABLE, AT, 1.0)
        .str(file_cache::path, "/d/shop/orders.ibd")
        .str(file_cache::place, "/d")
        .str(file_cache::class, "data")
        .f64(file_cache::size_bytes, 8.0 * MB)
        .f64(file_cache::cached_bytes, 6.0 * MB)
        .f64(file_cache::dirty_bytes, 0.0)
        .f64(file_cache::direct_opens, open(direct))
        .f64(file_cache::buffered_opens, open(!direct))
        .text(file_cache::opened_by, "mariadbd[7]");
    rows
}

#[test]
fn a_buffered_database_is_cached_twice() {
    let text = shown(Databases::new(5, None), &[&server(false, Some(0.0))]);
    assert_eq!(
        text,
        "\
MariaDB at /d (process 7)
            files      size    cached      %     dirty
data            1  8.00 MiB  6.00 MiB   75.0       0 B
log             0         -         -      -         -
other           0         -         -      -         -

     size    cached      %     dirty  opened    file
 8.00 MiB  6.00 MiB   75.0       0 B  buffered  /d/shop/orders.ibd  (mariadbd[7])
 8.00 MiB  6.00 MiB   75.0       0 B            total of 1 file

CACHED TWICE: 6.0 MB of the data files are in the page cache beside a buffer pool of 64 MB (opened without O_DIRECT)
  sure how they are opened: 1 data file open now were looked at (innodb_flush_method is not set)
  at most 6.0 MB are in memory twice: not every page is in both
  buffer pool: innodb_buffer_pool_size in /etc/my.cnf; the mapping of 65 MB that holds it agrees
"
    );
}

#[test]
fn verdicts_say_what_they_rest_on() {
    let of = |rows: &Rows| shown(Databases::new(0, None), &[rows]);
    let direct = of(&server(true, Some(0.0)));
    assert!(
        direct.contains("\nNOT cached twice: opened with O_DIRECT beside a buffer pool of 64 MB (6.0 MB"),
        "{direct}"
    );
    let stopped = of(&server(false, None));
    assert!(
        stopped.contains("\nNOT RUNNING: 6.0 MB of the data files are in the page cache; it would have"),
        "{stopped}"
    );
    let unseen = of(&server(false, Some(1.0)));
    assert!(unseen.contains("\nUNKNOWN whether cached twice"), "{unseen}");
    assert!(unseen.contains("less sure: 1 of its processes may not be looked into"), "{unseen}");
}

#[test]
fn what_a_run_has_is_what_is_shown() {
    let recorded = || {
        Recorded::new(
            Box::new(Summary::new(Layout::Fitting, PAGE, None)),
            Box::new(Files::new(1, None)),
            Box::new(Databases::new(1, None)),
        )
    };
    assert!(shown(recorded(), &[&machine(None)]).starts_with("Page summary"));
    assert!(shown(recorded(), &[&server(true, Some(0.0))]).starts_with("MariaDB at /d"));
    let mut files = Rows::new("h");
    files.row(&file_cache::TABLE, AT, 1.0).str(file_cache::path, "/a\x1b[2J").f64(file_cache::size_bytes, 1.0);
    let text = shown(recorded(), &[&files]);
    assert_eq!(
        text,
        "     size    cached      %     dirty  opened    file
   1.00 B         -      -         -  -         /a?[2J
   1.00 B         -      -         -            total of 1 file, 1 not known
"
    );
    assert_eq!(shown(recorded(), &[]), "this run has no memory data\n");
}

#[test]
fn words_are_not_broken() {
    let mut out = String::new();
    wrap("  one two three four", 4, Some(12), &mut out);
    wrap("one two", 4, None, &mut out);
    assert_eq!(out, "  one two\n    three\n    four\none two\n");
}
