//! The program that is sent to a host which has none of this version.

use std::{
    collections::BTreeMap,
    io::Write,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use flate2::{Compression, write::GzEncoder};
use fs_err as fs;
use sha2::{Digest, Sha256};

/// A program and what is known of it.
#[derive(Debug)]
pub struct Program {
    /// Its file.
    pub bytes: Vec<u8>,
    /// The same, packed by gzip.
    pub packed: Vec<u8>,
    /// SHA-256 of the file, in hexadecimal.
    pub hash: String,
}

/// Where programs are found, each read once.
#[derive(Debug, Default)]
pub struct Programs {
    /// A file that was named, or a folder of them.
    named: Option<PathBuf>,
    read: Mutex<BTreeMap<String, Arc<Program>>>,
}

impl Programs {
    /// Takes them from `named`, a file or a folder with `fenxi-MACHINE-static`, before all other places.
    pub fn new(named: Option<PathBuf>) -> Programs {
        Programs { named, read: Mutex::default() }
    }

    /// The program for a machine as uname(1) calls it.
    ///
    /// # Errors
    /// In words: there is none, or it cannot be read.
    pub fn for_machine(&self, machine: &str) -> Result<Arc<Program>, String> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = read.get(machine) {
            return Ok(Arc::clone(program));
        }
        let path = self.find(machine)?;
        let bytes = fs::read(&path).map_err(|error| error.to_string())?;
        let program = Arc::new(Program { packed: packed(&bytes)?, hash: hash(&bytes), bytes });
        read.insert(machine.to_owned(), Arc::clone(&program));
        Ok(program)
    }

    fn find(&self, machine: &str) -> Result<PathBuf, String> {
        let name = format!("fenxi-{machine}-static");
        if let Some(named) = &self.named {
            let path = if named.is_dir() { named.join(&name) } else { named.clone() };
            return match machine_of(&path)? {
                Some(of) if of == machine => Ok(path),
                of => Err(format!(
                    "{} is a program for {}, and the host is {machine}",
                    path.display(),
                    of.unwrap_or("no machine that is known here")
                )),
            };
        }
        let own = std::env::current_exe().map_err(|error| format!("cannot find the path of this program: {error}"))?;
        let folder = own.parent().unwrap_or(Path::new("/"));
        let beside =
            [folder.join(&name), folder.join("../lib/fenxi").join(&name), folder.join("../libexec").join(&name)];
        if let Some(path) = beside.into_iter().find(|path| path.is_file()) {
            return Ok(path);
        }
        if machine == std::env::consts::ARCH {
            // It may lack libraries there; then the host reports it.
            return Ok(own);
        }
        Err(format!(
            "no static program for {machine} is at hand; make one with `scripts/static {machine}` from Fenxi's sources and name it \
             with --agent-binary, or install Fenxi of this version there"
        ))
    }
}

/// The machine that an ELF file is for.
fn machine_of(path: &Path) -> Result<Option<&'static str>, String> {
    let mut header = [0; 20];
    let mut file = fs::File::open(path).map_err(|error| error.to_string())?;
    std::io::Read::read_exact(&mut file, &mut header).map_err(|error| format!("{}: {error}", path.display()))?;
    let is_elf = header.starts_with(b"\x7fELF");
    Ok(match (is_elf, u16::from_le_bytes([header[18], header[19]])) {
        (true, 62) => Some("x86_64"),
        (true, 183) => Some("aarch64"),
        _ => None,
    })
}

fn packed(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let done = encoder.write_all(bytes).and_then(|()| encoder.finish());
    done.map_err(|error| format!("cannot pack the program: {error}"))
}

/// SHA-256 in hexadecimal.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_for_the_machine_or_it_is_said_what_to_do() {
        let own = std::env::current_exe().unwrap();
        assert_eq!(machine_of(&own).unwrap(), Some(std::env::consts::ARCH));
        let wrong = Programs::new(Some(own.clone())).for_machine("riscv64").unwrap_err();
        assert!(wrong.contains("and the host is riscv64"), "{wrong}");
        let none = Programs::new(None).for_machine("riscv64").unwrap_err();
        assert!(none.contains("scripts/static riscv64"), "{none}");
    }

    #[test]
    fn the_hash_is_that_of_sha256sum() {
        assert_eq!(hash(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
