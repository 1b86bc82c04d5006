//! Extended attributes: what users and programs note at a file, and lists of rights (ACLs).

use std::ffi::CString;

use fs_err::File;
use rustix::{
    fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr},
    io::Errno,
};

/// The kernel's limit of a list of names, and of a value.
const LONGEST: usize = 64 << 10;
/// Rights of single users and groups.
const RIGHTS: &str = "system.posix_acl_access";
/// Attributes of the kernel about the old content; wrong for the new one.
const OF_CONTENT: [&str; 2] = ["security.ima", "security.evm"];
/// The attribute that the kernel gives new files itself, and lets few change.
const GIVEN: &str = "security.selinux";

/// Copies those of `from` to `to`, as far as they may be read and given, and returns the names of the others. What gives
/// rights is not for another owner.
pub(super) fn copy(from: &File, to: &File, same_owner: bool) -> Vec<String> {
    let mut lost = Vec::new();
    let names = names(from);
    // A directory may have given the new file rights that the old one has not.
    if !names.iter().any(|name| name.as_bytes() == RIGHTS.as_bytes()) {
        let _ = fremovexattr(to, RIGHTS);
    }
    for name in names {
        let text = name.to_string_lossy().into_owned();
        if OF_CONTENT.contains(&text.as_str()) || (text.starts_with("security.") && !same_owner) {
            continue;
        }
        let mut value = vec![0; LONGEST];
        let copied = match fgetxattr(from, &name, &mut value[..]) {
            Ok(len) => fsetxattr(to, &name, &value[..len], XattrFlags::empty()),
            Err(error) => Err(error),
        };
        match copied {
            Ok(()) | Err(Errno::NODATA) => {}
            Err(_) if text == GIVEN => {}
            Err(error) => lost.push(format!("{text} ({error})")),
        }
    }
    lost
}

/// Names of the attributes; none where there are none, or the file system has none.
fn names(file: &File) -> Vec<CString> {
    let mut list = vec![0; LONGEST];
    let len = flistxattr(file, &mut list[..]).unwrap_or(0);
    list[..len].split(|byte| *byte == 0).filter(|name| !name.is_empty()).flat_map(CString::new).collect()
}
