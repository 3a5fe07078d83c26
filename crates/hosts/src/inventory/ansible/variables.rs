//! Variables of an inventory that say how a host is reached and what it drives.

use machine::{Class, Fault};

use super::super::refusals::excerpt;
use crate::host::{HostSpec, Role, Via};

/// Longest value of a variable: a group's is copied to each of its hosts.
const MOST_BYTES: usize = 2048;

/// What one line or one group says. An empty text is said, and stands for what holds where nothing is.
#[derive(Debug, Default)]
pub(super) struct Variables {
    address: Option<String>,
    port: Option<u16>,
    user: Option<String>,
    private_key_file: Option<String>,
    common_args: Option<Vec<String>>,
    extra_args: Option<Vec<String>>,
    is_local: Option<bool>,
    processes: Option<u32>,
    cpus: Option<String>,
    folder: Option<String>,
    group_priority: Option<i64>,
}

impl Variables {
    /// Those of a line whose pattern has this port (`b:2222`); a variable that is set later takes precedence.
    pub(super) fn with_port(port: Option<u16>) -> Self {
        Self { port, ..Self::default() }
    }

    /// Takes a variable; one that says nothing about how a host is reached is ignored.
    ///
    /// # Errors
    /// It counts, and its value makes no sense or is a template; or it looks like one of pinwise's and is none.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        let value = Value { name, value };
        match name {
            "ansible_host" | "ansible_ssh_host" => self.address = Some(value.text()?),
            "ansible_port" | "ansible_ssh_port" => self.port = Some(value.port()?),
            "ansible_user" | "ansible_ssh_user" => self.user = Some(value.text()?),
            "ansible_ssh_private_key_file" | "ansible_private_key_file" => {
                self.private_key_file = Some(value.text()?);
            }
            "ansible_ssh_common_args" => self.common_args = Some(value.shell_words()?),
            "ansible_ssh_extra_args" => self.extra_args = Some(value.shell_words()?),
            "ansible_connection" => self.is_local = Some(value.is_local()?),
            "ansible_group_priority" => self.group_priority = Some(value.number()?),
            "pinwise_processes" => self.processes = Some(value.number()?),
            "pinwise_cpus" => self.cpus = Some(value.text()?),
            "pinwise_folder" => self.folder = Some(value.text()?),
            _ if name.starts_with("pinwise_") => return Err(value.unknown()),
            _ => {}
        }
        Ok(())
    }

    /// Among groups that are equally far below `all`, the one of the higher number takes precedence.
    pub(super) fn group_priority(&self) -> i64 {
        self.group_priority.unwrap_or(1)
    }
}

/// The host of this name. Of the layers the first takes precedence.
pub(super) fn host_spec(name: &str, role: Role, layers: &[&Variables]) -> HostSpec {
    let mut spec = HostSpec {
        role,
        processes: highest(layers, |layer| layer.processes).unwrap_or(1),
        cpus: text(layers, |layer| layer.cpus.as_deref()),
        folder: text(layers, |layer| layer.folder.as_deref()),
        ..HostSpec::named(name)
    };
    if highest(layers, |layer| layer.is_local) == Some(true) {
        // What its groups say of ssh does not matter then.
        spec.via = Via::Local;
        return spec;
    }
    let address = text(layers, |layer| layer.address.as_deref());
    spec.ssh = match text(layers, |layer| layer.user.as_deref()) {
        Some(user) => Some(format!("{user}@{}", address.as_deref().unwrap_or(name))),
        None => address,
    };
    if let Some(port) = highest(layers, |layer| layer.port) {
        spec.ssh_options.extend(["-p".to_string(), port.to_string()]);
    }
    if let Some(file) = text(layers, |layer| layer.private_key_file.as_deref()) {
        spec.ssh_options.extend(["-i".to_string(), file]);
    }
    for args in [
        highest(layers, |layer| layer.common_args.as_ref()),
        highest(layers, |layer| layer.extra_args.as_ref()),
    ] {
        spec.ssh_options.extend(args.into_iter().flatten().cloned());
    }
    spec
}

/// What the first layer says that says anything.
fn highest<'a, T>(layers: &[&'a Variables], said: impl Fn(&'a Variables) -> Option<T>) -> Option<T> {
    layers.iter().copied().find_map(said)
}

/// A text of the first layer that has one, unless it is empty.
fn text<'a>(layers: &[&'a Variables], said: impl Fn(&'a Variables) -> Option<&'a str>) -> Option<String> {
    highest(layers, said).filter(|text| !text.is_empty()).map(String::from)
}

/// A variable that counts, and its value.
struct Value<'a> {
    name: &'a str,
    value: &'a str,
}

impl Value<'_> {
    fn text(&self) -> Result<String, Fault> {
        if self.value.len() > MOST_BYTES {
            return Err(self.wrong("is too long", "shorten it, or put it into ~/.ssh/config"));
        }
        if self.value.contains("{{") || self.value.contains("{%") {
            return Err(self.wrong("is a template, which pinwise does not fill in", "write the value itself"));
        }
        Ok(self.value.trim().to_string())
    }

    fn number<T: std::str::FromStr>(&self) -> Result<T, Fault> {
        let text = self.text()?;
        text.parse().map_err(|_| self.wrong("is no such number", "write a whole number"))
    }

    fn port(&self) -> Result<u16, Fault> {
        match self.number::<u16>()? {
            0 => Err(self.wrong("is not a port", "write 1 to 65535")),
            port => Ok(port),
        }
    }

    fn shell_words(&self) -> Result<Vec<String>, Fault> {
        shell_words::split(&self.text()?)
            .map_err(|why| self.wrong(&format!("cannot be split into words: {why}"), "close every quote"))
    }

    /// Whether a connection is none but a child process; what is neither that nor ssh is refused.
    fn is_local(&self) -> Result<bool, Fault> {
        let text = self.text()?;
        match text.rsplit('.').next().unwrap_or_default() {
            "local" => Ok(true),
            "" | "ssh" | "smart" | "paramiko" | "paramiko_ssh" => Ok(false),
            _ => Err(self.wrong(
                "is a connection that pinwise does not make",
                "write ssh or local, or leave the hosts out",
            )),
        }
    }

    fn unknown(&self) -> Fault {
        let known = "pinwise has pinwise_processes, pinwise_cpus and pinwise_folder";
        Fault::new(Class::Usage, self.object(), "no variable of pinwise has this name", known)
    }

    fn wrong(&self, cause: &str, remedy: &str) -> Fault {
        Fault::new(Class::Usage, self.object(), format!("'{}' {cause}", excerpt(self.value)), remedy)
    }

    fn object(&self) -> String {
        format!("variable {}", excerpt(self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        let mut variables = Variables::default();
        pairs.iter().for_each(|(name, value)| variables.set(name, value).unwrap());
        variables
    }

    #[test]
    fn all_that_reaches_a_host_is_given_to_ssh() {
        let own = variables(&[
            ("ansible_host", "10.0.0.2"),
            ("ansible_port", "2222"),
            ("ansible_user", "ann"),
            ("ansible_ssh_private_key_file", "~/.ssh/lab"),
            ("ansible_ssh_extra_args", "-v"),
            ("ansible_ssh_common_args", "-o ProxyCommand=\"ssh -W %h:%p gate\""),
            ("pinwise_processes", "3"),
            ("pinwise_cpus", "1-3"),
            ("pinwise_folder", "/tmp/p"),
            ("http_port", "eighty"),
        ]);
        let spec = host_spec("b", Role::Load, &[&own]);
        assert_eq!(spec.ssh.as_deref(), Some("ann@10.0.0.2"));
        let proxy = "ProxyCommand=ssh -W %h:%p gate";
        assert_eq!(spec.ssh_options, ["-p", "2222", "-i", "~/.ssh/lab", "-o", proxy, "-v"]);
        assert_eq!((spec.processes, spec.cpus.as_deref()), (3, Some("1-3")));
        assert_eq!(spec.folder.as_deref(), Some("/tmp/p"));
        assert_eq!(host_spec("b", Role::Load, &[]), HostSpec::named("b"));
    }

    #[test]
    fn the_first_layer_takes_precedence_variable_by_variable() {
        let own = variables(&[("ansible_user", "bob")]);
        let group = variables(&[("ansible_user", "ann"), ("ansible_port", "22"), ("ansible_host", "c")]);
        let spec = host_spec("b", Role::Load, &[&own, &group]);
        assert_eq!((spec.ssh.as_deref(), spec.ssh_options), (Some("bob@c"), vec!["-p".into(), "22".into()]));
        let none = variables(&[("ansible_user", ""), ("ansible_host", ""), ("ansible_ssh_common_args", "")]);
        assert_eq!(host_spec("b", Role::Load, &[&none, &own, &group]).ssh, None, "empty is as if unsaid");
    }

    #[test]
    fn a_host_that_is_this_one_needs_no_ssh() {
        let own = variables(&[("ansible_connection", "ansible.builtin.local"), ("pinwise_processes", "2")]);
        let group = variables(&[("ansible_user", "ann"), ("ansible_connection", "ssh")]);
        let spec = host_spec("localhost", Role::Load, &[&own, &group]);
        assert_eq!((spec.via, spec.ssh.as_deref(), spec.processes), (Via::Local, None, 2));
        spec.check().unwrap();
        assert_eq!(host_spec("b", Role::Load, &[&group]).via, Via::Ssh);
    }

    #[test]
    fn a_value_that_makes_no_sense_is_named() {
        let why = |name: &str, value: &str| Variables::default().set(name, value).unwrap_err().to_string();
        assert!(why("ansible_port", "ssh").contains("variable ansible_port: 'ssh' is no such number"));
        assert!(why("ansible_port", "0").contains("1 to 65535"));
        assert!(why("ansible_port", "65536").contains("no such number"));
        assert!(why("pinwise_processes", "-1").contains("pinwise_processes"));
        assert!(why("pinwise_procesess", "2").contains("pinwise_processes"));
        assert!(why("ansible_ssh_common_args", "-o 'x").contains("quote"));
        assert!(why("ansible_connection", "community.docker.docker").contains("ssh or local"));
        assert!(why("ansible_host", "{{ inventory_hostname }}.lab").contains("template"));
        assert!(why("ansible_user", &"x".repeat(MOST_BYTES + 1)).contains("too long"));
        Variables::default().set("greeting", "{{ hello }}").unwrap();
    }
}
