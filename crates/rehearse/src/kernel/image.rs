//! The kernel image (bzImage) and the ELF file packed inside (Documentation/arch/x86/boot.rst).
//!
//! QEMU boots the ELF file by its PVH entry (Documentation of Xen's x86/HVM direct boot), without the unpacking that
//! takes seconds under emulation.

use std::io::Read;

use object::elf;
use object::read::elf::{ElfFile64, ProgramHeader};

/// Note of the PVH entry point: name `Xen`, type XEN_ELFNOTE_PHYS32_ENTRY.
const PVH_ENTRY: (&[u8], elf::NoteType) = (b"Xen", elf::NoteType(18));

/// Fields of the setup header, by offset in the file.
const SETUP_SECTORS: usize = 0x1f1;
const MAGIC: usize = 0x202;
const PROTOCOL: usize = 0x206;
const RELEASE: usize = 0x20e;
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;

/// Most that is unpacked: kernels have some 60 MB, and a file that unpacks to more is none.
const MOST_BYTES: u64 = 1 << 30;

/// Size of a sector, bytes.
const SECTOR: usize = 512;

/// Release of the kernel in an image: the first word of its version text.
///
/// # Errors
/// When the bytes are no bzImage.
pub fn release(image: &[u8]) -> Result<String, String> {
    setup_header(image)?;
    let at = usize::from(u16::from_le_bytes(field(image, RELEASE)?)) + SECTOR;
    let text = image.get(at..).ok_or("is cut off before its version")?;
    let text: Vec<u8> =
        text.iter().copied().take_while(|byte| *byte != 0 && *byte != b' ').take(256).collect();
    // It becomes the name of a folder.
    let plain = |release: &String| release.chars().all(|c| c.is_ascii_alphanumeric() || "._+~-".contains(c));
    match String::from_utf8(text) {
        Ok(release) if !release.is_empty() && !release.starts_with('.') && plain(&release) => Ok(release),
        _ => Err("has no version".into()),
    }
}

/// The ELF file inside of an image.
///
/// # Errors
/// When the bytes are no bzImage of protocol 2.08 or newer, or are packed in a way other than gzip, xz or zstd.
pub fn unpack(image: &[u8]) -> Result<Vec<u8>, String> {
    setup_header(image)?;
    if u16::from_le_bytes(field(image, PROTOCOL)?) < 0x208 {
        return Err("is of a boot protocol before 2.08, which does not say where its payload is".into());
    }
    let sectors = match image[SETUP_SECTORS] {
        0 => 4,
        setup => usize::from(setup),
    };
    let from = (sectors + 1) * SECTOR + u32::from_le_bytes(field(image, PAYLOAD_OFFSET)?) as usize;
    let length = u32::from_le_bytes(field(image, PAYLOAD_LENGTH)?) as usize;
    let payload =
        from.checked_add(length).and_then(|to| image.get(from..to)).ok_or("is cut off in its payload")?;
    let elf = decompress(payload).map_err(|why| format!("its payload cannot be unpacked: {why}"))?;
    match elf.starts_with(b"\x7fELF") {
        true => Ok(elf),
        false => Err("its payload is no ELF file".into()),
    }
}

/// Whether an ELF kernel has the PVH entry point by which QEMU boots it.
pub fn boots_directly(kernel: &[u8]) -> bool {
    let Ok(file) = ElfFile64::<object::Endianness>::parse(kernel) else { return false };
    let endian = file.endian();
    file.elf_program_headers().iter().filter(|header| header.p_type(endian) == elf::PT_NOTE).any(|header| {
        let Ok(Some(mut notes)) = header.notes(endian, kernel) else { return false };
        std::iter::from_fn(|| notes.next().ok().flatten())
            .any(|note| (note.name(), note.n_type(endian)) == PVH_ENTRY)
    })
}

/// Unpacks what is packed by gzip, xz or zstd; modules and payloads are.
pub(crate) fn decompress(packed: &[u8]) -> Result<Vec<u8>, String> {
    let mut plain = Vec::new();
    let done = match packed {
        [0x1f, 0x8b, ..] => flate2::read::GzDecoder::new(packed).take(MOST_BYTES).read_to_end(&mut plain),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => {
            lzma_rust2::XzReader::new(packed, false).take(MOST_BYTES).read_to_end(&mut plain)
        }
        // The payload of a kernel has its size behind the frame, so one frame is read and no more.
        [0x28, 0xb5, 0x2f, 0xfd, ..] => zstd::Decoder::new(packed)
            .and_then(|decoder| decoder.single_frame().take(MOST_BYTES).read_to_end(&mut plain)),
        _ => return Err("neither gzip, xz nor zstd".into()),
    };
    done.map_err(|e| e.to_string())?;
    Ok(plain)
}

fn setup_header(image: &[u8]) -> Result<(), String> {
    match image.get(MAGIC..MAGIC + 4) {
        Some(b"HdrS") => Ok(()),
        _ => Err("is no x86 kernel image".into()),
    }
}

fn field<const N: usize>(image: &[u8], at: usize) -> Result<[u8; N], String> {
    image
        .get(at..at + N)
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| "is cut off in its header".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An image of the given payload, as the boot protocol lays it out.
    fn image(payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 2 * SECTOR];
        image[SETUP_SECTORS] = 1;
        image[MAGIC..MAGIC + 4].copy_from_slice(b"HdrS");
        image[PROTOCOL..PROTOCOL + 2].copy_from_slice(&0x20f_u16.to_le_bytes());
        image[RELEASE..RELEASE + 2].copy_from_slice(&0x100_u16.to_le_bytes());
        let version = b"6.1.0-9-amd64 (someone) #1 SMP\0";
        image[0x300..0x300 + version.len()].copy_from_slice(version);
        image[PAYLOAD_OFFSET..PAYLOAD_OFFSET + 4].copy_from_slice(&16_u32.to_le_bytes());
        image[PAYLOAD_LENGTH..PAYLOAD_LENGTH + 4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        image.extend([0xaa; 16]);
        image.extend(payload);
        image
    }

    #[test]
    fn the_payload_comes_out_however_it_is_packed() {
        let elf = b"\x7fELF and so on".as_slice();
        let mut zstd = zstd::encode_all(elf, 1).unwrap();
        zstd.extend(15_u32.to_le_bytes());
        let mut gzip = flate2::read::GzEncoder::new(elf, flate2::Compression::fast());
        let mut gzipped = Vec::new();
        gzip.read_to_end(&mut gzipped).unwrap();
        for packed in [zstd, gzipped] {
            assert_eq!(unpack(&image(&packed)).unwrap(), elf);
        }
        assert_eq!(release(&image(b"")).unwrap(), "6.1.0-9-amd64");
    }

    #[test]
    fn what_is_no_image_is_reported() {
        assert!(unpack(b"#!/bin/sh").unwrap_err().contains("no x86 kernel image"));
        assert!(unpack(&image(b"plain")).unwrap_err().contains("neither gzip, xz nor zstd"));
        let mut cut = image(&zstd::encode_all(b"\x7fELF".as_slice(), 1).unwrap());
        cut.truncate(cut.len() - 1);
        assert!(unpack(&cut).unwrap_err().contains("cut off"));
        assert!(!boots_directly(b"\x7fELF"));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(0_u8.., 0..1200)) {
            let mut bytes = bytes;
            let _ = (unpack(&bytes), release(&bytes), boots_directly(&bytes));
            if bytes.len() > MAGIC + 4 {
                bytes[MAGIC..MAGIC + 4].copy_from_slice(b"HdrS");
                let _ = (unpack(&bytes), release(&bytes));
            }
        }
    }
}
