//! Small programs in the kernel that only measurements need.

use std::io;

use aya::programs::{BtfTracePoint, ProgramError};
use aya::{Btf, Ebpf, EbpfLoader};

/// Loads an object with one constant set, and attaches its programs, each of which is called as its trace point is.
///
/// # Errors
/// When the kernel has no trace points with types (5.12 and later, with BTF), or does not permit it (root).
pub(crate) fn attach(object: &[u8], constant: (&str, u32), hooks: &[&str]) -> io::Result<Ebpf> {
    let btf = Btf::from_sys_fs().map_err(io::Error::other)?;
    let mut loader = EbpfLoader::new();
    loader.override_global(constant.0, &constant.1, true);
    let mut programs = loader.load(object).map_err(io::Error::other)?;
    for hook in hooks {
        let program = programs.program_mut(hook);
        let program = program.ok_or_else(|| io::Error::other(format!("the object has no program {hook}")))?;
        attach_one(program, hook, &btf).map_err(io::Error::other)?;
    }
    Ok(programs)
}

fn attach_one(program: &mut aya::programs::Program, hook: &str, btf: &Btf) -> Result<(), ProgramError> {
    let program: &mut BtfTracePoint = program.try_into()?;
    program.load(hook, btf)?;
    program.attach().map(|_| ())
}
