//! Loading BPF objects: settings, programs, attachment.

use std::{
    os::fd::{AsRawFd, IntoRawFd, OwnedFd},
    path::Path,
};

use libbpf_rs::{
    ErrorKind, Iter, Link, MapCore, MapHandle, Object, ObjectBuilder, OpenObject, ProgramInput, ProgramMut,
    UprobeMultiOpts, UprobeOpts,
};
use libbpf_sys::BPF_F_TEST_RUN_ON_CPU;
use object::{Object as _, ObjectSection, ObjectSymbol};

use crate::{EbpfError, cost::Costs, error::listen, kernel, privileges, sums};

/// A committed object.
#[derive(Clone, Copy, Debug)]
pub struct Compiled {
    /// Its file's name without `.bpf.o`.
    pub name: &'static str,
    /// Its bytes.
    pub bytes: &'static [u8],
}

/// The object that `<name>.bpf.c`, beside the file that asks for it, was compiled to. By a path that begins there: with the
/// clone's path in it, the crate would be compiled anew in each clone.
macro_rules! compiled {
    ($name:literal) => {
        $crate::bpf::Compiled { name: $name, bytes: include_bytes!(concat!($name, ".bpf.o")) }
    };
}
pub(crate) use compiled;

/// An object that is not yet loaded: its settings can be changed, programs left out.
pub struct Loader {
    compiled: Compiled,
    open: OpenObject,
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Loader").field(&self.compiled.name).finish()
    }
}

impl Loader {
    /// Reads the object.
    ///
    /// # Errors
    /// When this kernel has no BTF, or libbpf cannot read the object.
    pub fn open(compiled: Compiled) -> Result<Loader, EbpfError> {
        listen();
        if !Path::new("/sys/kernel/btf/vmlinux").exists() {
            return Err(EbpfError::Refused {
                what: format!("programs like `{}`", compiled.name),
                why: "it does not describe its types (/sys/kernel/btf/vmlinux is missing): CONFIG_DEBUG_INFO_BTF=y is \
                      needed, as most distributions have it since 2021"
                    .to_owned(),
            });
        }
        let open = ObjectBuilder::default()
            .name(compiled.name)
            .and_then(|builder| builder.open_memory(compiled.bytes))
            .map_err(|error| EbpfError::refused(format!("the object `{}`", compiled.name), &error))?;
        Ok(Loader { compiled, open })
    }

    /// Sets a `const volatile` variable of the C source.
    ///
    /// # Errors
    /// When there is none of that name and size.
    pub fn set(&mut self, variable: &str, value: impl Setting) -> Result<(), EbpfError> {
        let missing = |what: String| EbpfError::Object { object: self.compiled.name, what };
        let value = value.bytes();
        let at = place_of(self.compiled.bytes, variable)
            .filter(|(_, size)| *size == value.len())
            .ok_or_else(|| missing(format!("constant `{variable}` of {} bytes", value.len())))?
            .0;
        let mut maps = self.open.maps_mut();
        let mut constants = maps
            .find(|map| map.name().to_string_lossy().ends_with(".rodata"))
            .ok_or_else(|| missing("constants".to_owned()))?;
        let bytes = constants.initial_value_mut().and_then(|bytes| bytes.get_mut(at..at + value.len()));
        bytes.ok_or_else(|| missing(format!("room for `{variable}`")))?.copy_from_slice(&value);
        Ok(())
    }

    /// Leaves programs out: they are neither loaded nor attached.
    pub fn leave_out(&mut self, unwanted: impl Fn(&str) -> bool) {
        for mut program in self.open.progs_mut() {
            if program.name().to_str().is_some_and(&unwanted) {
                program.set_autoload(false);
            }
        }
    }

    /// Gives a map room for `entries`.
    ///
    /// # Errors
    /// When there is no such map.
    pub fn room(&mut self, map: &str, entries: u32) -> Result<(), EbpfError> {
        let found = self.open.maps_mut().find(|m| m.name() == map);
        let mut found =
            found.ok_or_else(|| EbpfError::Object { object: self.compiled.name, what: format!("map `{map}`") })?;
        found.set_max_entries(entries).map_err(|source| EbpfError::Map { map: map.to_owned(), source })
    }

    /// Has the kernel check and take the programs.
    ///
    /// # Errors
    /// When it refuses one.
    pub fn load(self) -> Result<Loaded, EbpfError> {
        let name = self.compiled.name;
        let object =
            self.open.load().map_err(|error| EbpfError::refused(format!("the programs of `{name}`"), &error))?;
        Ok(Loaded { name, object, links: Vec::new(), costs: Costs::default() })
    }
}

/// The offset of a variable in `.rodata`, and its size.
fn place_of(bytes: &[u8], variable: &str) -> Option<(usize, usize)> {
    let file = object::File::parse(bytes).ok()?;
    let constants = file.section_by_name(".rodata")?.index();
    let symbol = file.symbols().find(|s| s.name() == Ok(variable) && s.section_index() == Some(constants))?;
    Some((usize::try_from(symbol.address()).ok()?, usize::try_from(symbol.size()).ok()?))
}

/// Type of a variable's value.
pub trait Setting {
    /// As in memory.
    fn bytes(&self) -> Vec<u8>;
}

macro_rules! settings {
    ($($ty:ty),*) => { $(impl Setting for $ty {
        fn bytes(&self) -> Vec<u8> {
            self.to_ne_bytes().to_vec()
        }
    })* };
}
settings!(u32, u64, i64);

/// Programs that the kernel has taken.
pub struct Loaded {
    name: &'static str,
    object: Object,
    // Dropped, they are detached.
    links: Vec<Link>,
    costs: Costs,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded").field("name", &self.name).field("links", &self.links.len()).finish_non_exhaustive()
    }
}

/// Where in a program's file a probe is put.
#[derive(Clone, Debug)]
pub struct Probe<'a> {
    /// The file.
    pub file: &'a Path,
    /// Only in this process; None: in all that have the file.
    pub pid: Option<u32>,
    /// The function's symbol; None: `offset` is from the begin of the file.
    pub function: Option<&'a str>,
    /// Bytes after the function's begin.
    pub offset: usize,
    /// At the function's return instead of its begin.
    pub at_return: bool,
    /// The file offset of the counter that has to be raised for the probe to be passed; None: there is none.
    pub semaphore: Option<usize>,
}

impl Loaded {
    /// Attaches every loaded program whose section names its target.
    ///
    /// # Errors
    /// When one cannot be; those attached before are detached when `self` goes.
    pub fn attach(&mut self) -> Result<(), EbpfError> {
        self.attach_where(|_| true)
    }

    /// As [`Loaded::attach`], those programs that are wanted.
    ///
    /// # Errors
    /// As there.
    pub fn attach_where(&mut self, wanted: impl Fn(&str) -> bool) -> Result<(), EbpfError> {
        for program in self.object.progs_mut().filter(|program| program.autoload()) {
            let name = program.name().to_string_lossy().into_owned();
            // Probes of programs need a target; their sections have none.
            let section = program.section().to_string_lossy().into_owned();
            if !wanted(&name) || is_probe(&section) {
                continue;
            }
            let link = match program.attach() {
                Ok(link) => link,
                Err(error) => attach_by_number(&program, &section).ok_or_else(|| refused(&section, &error))?,
            };
            self.links.push(link);
        }
        Ok(())
    }

    /// Puts a probe into a program's file.
    ///
    /// # Errors
    /// When there is no such function, or the kernel refuses it.
    pub fn attach_probe(&mut self, program: &str, probe: &Probe<'_>) -> Result<(), EbpfError> {
        self.attach_probe_with(program, probe, 0)
    }

    /// As [`Loaded::attach_probe`], with a `cookie` that the program can ask for.
    ///
    /// # Errors
    /// As there.
    pub fn attach_probe_with(&mut self, program: &str, probe: &Probe<'_>, cookie: u64) -> Result<(), EbpfError> {
        let options = UprobeOpts {
            cookie,
            func_name: probe.function.map(str::to_owned),
            retprobe: probe.at_return,
            ref_ctr_offset: probe.semaphore.unwrap_or(0),
            ..UprobeOpts::default()
        };
        let link = self.program(program)?.attach_uprobe_with_opts(pid(probe.pid), probe.file, probe.offset, options);
        let what = || format!("a probe at {} of {}", probe.function.unwrap_or("an offset"), probe.file.display());
        self.links.push(link.map_err(|error| EbpfError::refused(what(), &error))?);
        Ok(())
    }

    /// Puts probes at many offsets of a file at once (Linux 6.6); of the whole, one that cannot be makes all fail.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub fn attach_probes(
        &mut self,
        program: &str,
        file: &Path,
        of: Option<u32>,
        offsets: &[u64],
    ) -> Result<(), EbpfError> {
        let options = UprobeMultiOpts {
            offsets: offsets.iter().map(|offset| usize::try_from(*offset).unwrap_or(usize::MAX)).collect(),
            ..UprobeMultiOpts::default()
        };
        let link = self.program(program)?.attach_uprobe_multi_with_opts(pid(of), file, "", options);
        let what = || format!("{} probes of {}", offsets.len(), file.display());
        self.links.push(link.map_err(|error| EbpfError::refused(what(), &error))?);
        Ok(())
    }

    /// Attaches a program to an open perf event.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub fn attach_perf(&mut self, program: &str, event: OwnedFd) -> Result<(), EbpfError> {
        let link = self.program(program)?.attach_perf_event(event.as_raw_fd());
        let link = link.map_err(|error| EbpfError::refused("sampling", &error))?;
        // The link closes the event with itself.
        let _ = event.into_raw_fd();
        self.links.push(link);
        Ok(())
    }

    /// Runs a raw tracepoint's program, which need not be attached, once on each CPU that is online, from an interrupt:
    /// its current task is what runs there (Linux 5.10).
    ///
    /// # Errors
    /// When the kernel cannot do that.
    pub fn run_on_each_cpu(&mut self, program: &str) -> Result<(), EbpfError> {
        let program = self.program(program)?;
        for cpu in kernel::cpus() {
            let run = program.test_run(ProgramInput { cpu, flags: BPF_F_TEST_RUN_ON_CPU, ..ProgramInput::default() });
            match run {
                // It may have gone offline just now.
                Err(error) if kernel::cpus().contains(&cpu) => {
                    return Err(EbpfError::refused(format!("a look at CPU {cpu} (Linux 5.10)"), &error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Runs an iterator's program, which need not be attached, once over all that it iterates over.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub fn iterate(&mut self, program: &str) -> Result<(), EbpfError> {
        let what = || format!("the iterator `{program}`");
        let link = self.program(program)?.attach().map_err(|error| EbpfError::refused(what(), &error))?;
        let mut iterator = Iter::new(&link).map_err(|error| EbpfError::refused(what(), &error))?;
        // It writes nothing; reading is what runs it.
        let read = std::io::copy(&mut iterator, &mut std::io::sink());
        read.map(|_| ()).map_err(|error| EbpfError::Refused { what: what(), why: error.to_string() })
    }

    fn program(&self, name: &str) -> Result<ProgramMut<'_>, EbpfError> {
        let found = self.object.progs_mut().find(|program| program.name() == name);
        found.ok_or_else(|| EbpfError::Object { object: self.name, what: format!("program `{name}`") })
    }

    /// A map, to be kept beside.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn map(&self, name: &str) -> Result<MapHandle, EbpfError> {
        let found = self.object.maps().find(|map| map.name() == name);
        let map = found.ok_or_else(|| EbpfError::Object { object: self.name, what: format!("map `{name}`") })?;
        MapHandle::try_from(&map).map_err(|source| EbpfError::Map { map: name.to_owned(), source })
    }

    /// Numbers of losses so far, in the order of `enum loss`.
    pub(crate) fn lost(&self) -> Result<Vec<u64>, EbpfError> {
        sums::array("lost", &self.map("lost")?)
    }

    /// Costs of the programs in the interval that ends now, and whether runs and run times were measured in it.
    pub(crate) fn cost(&mut self) -> (Vec<crate::cost::Cost>, bool) {
        self.costs.take(&self.object)
    }
}

fn pid(of: Option<u32>) -> i32 {
    // -1: any process that has the file.
    of.and_then(|pid| i32::try_from(pid).ok()).unwrap_or(-1)
}

/// Attaches to a tracepoint whose number no mounted tracefs shows: a tracefs that is mounted nowhere does. None where that is not
/// what was lacking, or is refused.
fn attach_by_number(program: &ProgramMut<'_>, section: &str) -> Option<Link> {
    let tracepoint = tracepoint_of(section).filter(|_| privileges::without_tracefs().is_some())?;
    let event = fenxi_source::perf::tracepoint(privileges::number_of(tracepoint)?).ok()?;
    let link = program.attach_perf_event(event.as_raw_fd()).ok()?;
    // The link closes the event with itself.
    let _ = event.into_raw_fd();
    Some(link)
}

/// `syscalls/sys_enter_futex` of a section for it.
fn tracepoint_of(section: &str) -> Option<&str> {
    let section = section.trim_start_matches('?');
    section.strip_prefix("tp/").or_else(|| section.strip_prefix("tracepoint/"))
}

/// A tracepoint that is not found may be one whose number cannot be looked up.
fn refused(section: &str, error: &libbpf_rs::Error) -> EbpfError {
    let has_number = tracepoint_of(section).is_some();
    match privileges::without_tracefs().filter(|_| has_number && error.kind() == ErrorKind::NotFound) {
        Some(why) => EbpfError::Refused { what: format!("`{section}`"), why },
        None => EbpfError::refused(format!("`{section}`"), error),
    }
}

fn is_probe(section: &str) -> bool {
    ["uprobe", "uretprobe", "usdt", "perf_event"].iter().any(|kind| section.trim_start_matches('?').starts_with(kind))
}
