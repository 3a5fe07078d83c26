//! `pinwise serve`: a live page of the machine, its studies and its changes, for browsers on this machine and through a tunnel.

mod access;
mod answers;
pub(super) mod blocking;
mod cases;
mod changes;
mod listener;
mod live;
mod openapi;
mod page;
mod reading;
mod router;
mod state;

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machine::{Class, Fault};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::time::sleep;

use crate::interrupt;
use crate::notes::note;
use crate::output::{self, Answer};
use access::Access;
use listener::Bounded;
use state::Served;

/// How long a signal may wait to be seen.
const ATTENTION: Duration = Duration::from_millis(200);

/// How long work that reads files may go on after the end.
const GRACE: Duration = Duration::from_secs(1);

// Flags of `pinwise serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  pinwise serve                                  the cases of this folder, and the machine as it is now
  pinwise serve cases --listen 127.0.0.1:0       the cases of another folder, on a free port
  sudo pinwise serve cases --allow-changes       plans can be applied, confirmed and undone from the page, too
  ssh -L 9119:127.0.0.1:9119 HOST                run on your own machine to open the page of a remote host

It prints the address to open. The address contains a token: only those who have it can open the page. Ctrl-C ends it.")]
pub struct Args {
    /// Folder of the cases to show, including its subfolders
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Address to listen on: a loopback address, with port 0 for any free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9119")]
    listen: SocketAddr,
    /// Let the page apply, confirm and undo plans; needs root
    #[arg(long)]
    allow_changes: bool,
}

/// Serves until a signal ends it.
pub fn run(args: &Args) -> Result<Answer, Fault> {
    is_for_this_machine(args.listen)?;
    let dir = folder(&args.dir)?;
    let stop = interrupt::flag()?;
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Fault::io("pinwise serve", &error, "raise the limit on open files (ulimit -n)"))?;
    let served = runtime.block_on(serve(args, dir, &stop));
    runtime.shutdown_timeout(GRACE);
    served.map(|()| Answer::Done)
}

/// Whether only this machine reaches an address: what is sent is not encrypted.
fn is_for_this_machine(listen: SocketAddr) -> Result<(), Fault> {
    let own = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    if own.contains(&listen.ip()) {
        return Ok(());
    }
    let cause = "the page is not encrypted, so it is served only on this machine: 127.0.0.1 or ::1";
    let remedy = "leave --listen out, and on your own machine: ssh -L 9119:127.0.0.1:9119 HOST";
    Err(Fault::new(Class::Usage, format!("--listen {listen}"), cause, remedy))
}

/// The folder by its path without links.
fn folder(dir: &Path) -> Result<PathBuf, Fault> {
    let remedy = "name a folder with cases";
    let folder = dir.canonicalize().map_err(|error| Fault::io(dir.display(), &error, remedy))?;
    match folder.is_dir() {
        true => Ok(folder),
        false => Err(Fault::new(Class::Usage, dir.display(), "it is not a folder", remedy)),
    }
}

async fn serve(args: &Args, dir: PathBuf, stop: &AtomicBool) -> Result<(), Fault> {
    let failed = |error: &std::io::Error| cannot_listen(args.listen, error);
    let listener = TcpListener::bind(args.listen).await.map_err(|error| failed(&error))?;
    let address = listener.local_addr().map_err(|error| failed(&error))?;
    let served = Served::new(dir, Access::new(address.port(), args.allow_changes)?);
    if args.allow_changes && !served.access.is_root {
        note!("pinwise: --allow-changes: not running as root, so nothing can be changed; run it with sudo");
    }
    if served.access.csrf.is_some() {
        served.changes.sweep();
    }
    output::text(&format!("http://{address}/#token={}\n", served.access.token))?;
    let serving = axum::serve(Bounded::new(listener), router::routes(served.clone())).into_future();
    tokio::select! {
        ended = serving => ended.map_err(|error| failed(&error))?,
        () = asked_to_end(stop) => {}
    }
    // A change that is under way comes to its end.
    served.changes.settle().await;
    Ok(())
}

fn cannot_listen(listen: SocketAddr, error: &std::io::Error) -> Fault {
    let class = match error.kind() {
        ErrorKind::PermissionDenied => Class::NotPermitted,
        _ => Class::MachineLacks,
    };
    let remedy = "choose another port (--listen 127.0.0.1:0 takes a free one)";
    Fault::new(class, format!("--listen {listen}"), error, remedy)
}

/// Waits for a signal.
async fn asked_to_end(stop: &AtomicBool) {
    while !stop.load(Ordering::Acquire) {
        sleep(ATTENTION).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_this_machine_are_listened_at() {
        for own in ["127.0.0.1:9119", "[::1]:0"] {
            assert!(is_for_this_machine(own.parse().unwrap()).is_ok(), "{own}");
        }
        for other in [
            "0.0.0.0:9119",
            "[::]:9119",
            "192.0.2.1:80",
            "127.0.0.2:80",
            "[::ffff:127.0.0.1]:80",
            "[2001:db8::1]:80",
        ] {
            let fault = is_for_this_machine(other.parse().unwrap()).unwrap_err();
            assert!(
                fault.class == Class::Usage && fault.remedy.contains("ssh -L 9119:127.0.0.1:9119 HOST"),
                "{fault}"
            );
        }
    }

    #[test]
    fn what_is_served_is_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(folder(dir.path()).is_ok());
        assert_eq!(folder(&file).unwrap_err().class, Class::Usage);
        assert!(folder(&dir.path().join("none")).is_err());
    }
}
