//! What is booted: a kernel image and its modules.

pub mod image;
pub mod modules;
pub mod package;

use std::fs;
use std::path::{Path, PathBuf};

use machine::{Class, Fault, Machine, Root};

use crate::cache;

/// A kernel that is ready to be booted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// The name by which it was requested: `amd64`, `running`, a path.
    pub name: String,
    /// Release, as `uname -r` prints it: `6.1.0-55-amd64`.
    pub release: String,
    /// The image for QEMU: an ELF file where it could be unpacked, which boots far faster; else the image as it is.
    pub image: PathBuf,
    /// Its modules: the folder named by the release.
    pub modules: PathBuf,
    /// Its configuration, where it is known; a guest has it in /boot, as a machine would.
    pub config: Option<PathBuf>,
}

/// Kernels by name: what [`Kernel::find`] takes beside a path.
pub const NAMES: &[&str] = &["running", "amd64", "rt-amd64"];

impl Kernel {
    /// The requested kernel: `running`; a flavour of Debian's packaged kernels (`amd64`, `rt-amd64`,
    /// `cloud-amd64`) or one of those packages (`linux-image-...`), fetched once and kept; or the path of an image whose
    /// modules lie below /lib/modules. What is being fetched is said to `making`.
    ///
    /// # Errors
    /// When there is none, when it cannot be fetched or unpacked.
    pub fn find(asked: &str, making: &mut dyn FnMut(&str)) -> Result<Self, Fault> {
        if asked == "running" {
            return Self::running();
        }
        if asked.contains('/') {
            return Self::local(asked, Path::new(asked));
        }
        package::find(asked, making)
    }

    /// The kernel of this machine, as its image lies in /boot.
    fn running() -> Result<Self, Fault> {
        let release = Machine::read(&Root::live()).kernel.release.unwrap_or_default();
        let image = PathBuf::from(format!("/boot/vmlinuz-{release}"));
        if !image.exists() {
            return Err(Fault::new(
                Class::MachineLacks,
                "the running kernel",
                format!("its image is not at {}", image.display()),
                "name a packaged one (--kernel amd64), or the path of an image",
            ));
        }
        Self::local("running", &image)
    }

    /// An image on this machine.
    fn local(name: &str, image: &Path) -> Result<Self, Fault> {
        let unreadable =
            |e: &std::io::Error| Fault::io(image.display(), e, "name an image that you may read");
        let bytes = fs::read(image).map_err(|e| unreadable(&e))?;
        let release = image::release(&bytes).map_err(|why| malformed(image, &why))?;
        let modules = Path::new("/lib/modules").join(&release);
        if !modules.join("modules.dep").exists() {
            return Err(Fault::new(
                Class::MachineLacks,
                modules.display(),
                format!("has no modules.dep, so the modules of {release} cannot be taken along"),
                format!("install that kernel's modules and run depmod {release}, or use --kernel amd64"),
            ));
        }
        let folder = cache::folder()?.join("kernels").join(format!("local-{release}"));
        cache::make(&folder)?;
        let image = unpacked(image, &bytes, &folder)?;
        let config = Some(Path::new("/boot").join(format!("config-{release}"))).filter(|path| path.exists());
        Ok(Self { name: name.to_string(), release, image, modules, config })
    }

    /// Its configuration, with the name that it has in /boot.
    pub(crate) fn configuration(&self) -> Result<Option<(String, Vec<u8>)>, Fault> {
        let Some(config) = &self.config else { return Ok(None) };
        let text =
            fs::read(config).map_err(|e| Fault::io(config.display(), &e, "see to it that it can be read"))?;
        Ok(Some((format!("config-{}", self.release), text)))
    }
}

/// Unpacks an image into `folder`; gives the image itself where it cannot be, or could not be booted so.
fn unpacked(image: &Path, bytes: &[u8], folder: &Path) -> Result<PathBuf, Fault> {
    let elf = match image::unpack(bytes) {
        Ok(elf) if image::boots_directly(&elf) => elf,
        Ok(_) | Err(_) => return Ok(image.to_path_buf()),
    };
    let path = folder.join("vmlinux");
    if fs::read(&path).is_ok_and(|have| have == elf) {
        return Ok(path);
    }
    // Under a name of its own first: another pinwise may be doing the same.
    let fresh = folder.join(format!("vmlinux.{}", std::process::id()));
    fs::write(&fresh, &elf)
        .and_then(|()| fs::rename(&fresh, &path))
        .map_err(|e| cache::storage(&path, &e))?;
    Ok(path)
}

fn malformed(image: &Path, why: &str) -> Fault {
    Fault::new(Class::Usage, image.display(), why, "name a kernel image (vmlinuz) for x86")
}
