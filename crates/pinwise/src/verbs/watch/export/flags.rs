//! Flags by which metrics are handed out.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::PathBuf;

use machine::{Class, Fault};

/// Files with another ending are not read by node_exporter.
const ENDING: &str = "prom";

// Where metrics go.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ExportFlags {
    /// Serve counters since the start as OpenMetrics over HTTP at this local address, such as 127.0.0.1:9117 (path /metrics), until Ctrl-C
    /// or for the time of --for. Figures are as of the end of the last interval (--every)
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["record", "replay", "full", "format", "table", "output"])]
    pub openmetrics: Option<SocketAddr>,
    /// Let --openmetrics listen at an address that other hosts can reach. Whoever can reach it can read the names of processes: there is no
    /// TLS and no password
    #[arg(long, requires = "openmetrics")]
    pub openmetrics_anywhere: bool,
    /// Write the same to a file for the textfile collector of node_exporter (DIR/pinwise.prom), replaced at the end of each interval
    /// (--every) and removed when pinwise ends
    #[arg(long, value_name = "FILE.prom", conflicts_with_all = ["record", "replay", "full", "format", "table", "output"])]
    pub textfile: Option<PathBuf>,
}

impl ExportFlags {
    /// Whether metrics are asked for.
    pub fn is_asked(&self) -> bool {
        self.openmetrics.is_some() || self.textfile.is_some()
    }

    /// Looks whether what is asked for is safe, and would be read.
    ///
    /// # Errors
    /// An address that other hosts reach, without the flag that permits it; a name that node_exporter does not read.
    pub fn fit(&self) -> Result<(), Fault> {
        if let Some(address) = self.openmetrics {
            let is_own = address.ip().to_canonical().is_loopback();
            if !is_own && !self.openmetrics_anywhere {
                let cause = "other hosts may reach this address, and whoever does can read the names of processes: there is no TLS \
                    and no password";
                let remedy = "choose an address of the loopback interface (127.0.0.1, [::1]), or add --openmetrics-anywhere";
                return Err(Fault::new(Class::Usage, format!("--openmetrics {address}"), cause, remedy));
            }
        }
        if let Some(file) = &self.textfile
            && file.extension() != Some(OsStr::new(ENDING))
        {
            let cause = "node_exporter reads only files whose names end in .prom";
            let remedy = "choose such a name, for example pinwise.prom";
            return Err(Fault::new(Class::Usage, format!("--textfile {}", file.display()), cause, remedy));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str, openmetrics_anywhere: bool) -> ExportFlags {
        ExportFlags { openmetrics: Some(address.parse().unwrap()), openmetrics_anywhere, textfile: None }
    }

    #[test]
    fn an_address_that_others_reach_takes_a_flag() {
        for own in ["127.0.0.1:9117", "127.9.9.9:1", "[::1]:9117", "[::ffff:127.0.0.1]:9117"] {
            assert_eq!(at(own, false).fit(), Ok(()), "{own}");
        }
        for others in ["0.0.0.0:9117", "[::]:9117", "192.0.2.7:9117"] {
            assert_eq!(at(others, false).fit().unwrap_err().class, Class::Usage, "{others}");
            assert_eq!(at(others, true).fit(), Ok(()), "{others}");
        }
    }

    #[test]
    fn a_textfile_has_a_name_that_is_read() {
        let named = |name: &str| ExportFlags { textfile: Some(name.into()), ..ExportFlags::default() }.fit();
        assert_eq!(named("/var/lib/node_exporter/pinwise.prom"), Ok(()));
        for not_read in ["/var/lib/node_exporter", "pinwise.prom.txt", ".prom"] {
            assert!(named(not_read).is_err(), "{not_read}");
        }
    }
}
