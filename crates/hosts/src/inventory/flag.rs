//! Hosts of a flag: `--host load=b*3,c*3`.

use machine::{Class, Fault};

use super::refusals::{MOST_HOSTS, excerpt, too_many};
use crate::host::{HostSpec, Role};

const REMEDY: &str = "write it as ROLE=HOST[*PROCESSES],HOST...: load=b*3,c*3 or server=a";

/// # Errors
/// The words do not have the form that [`REMEDY`] shows.
pub(super) fn parse(words: &str) -> Result<Vec<HostSpec>, Fault> {
    let wrong = |cause: String| Fault::new(Class::Usage, format!("--host {}", excerpt(words)), cause, REMEDY);
    let Some((role, hosts)) = words.split_once('=') else {
        return Err(wrong("it does not say what the hosts do".into()));
    };
    let role = match role.trim() {
        "load" => Role::Load,
        "server" => Role::Server,
        other => return Err(wrong(format!("'{}' is not a role", excerpt(other)))),
    };
    if hosts.split(',').count() > MOST_HOSTS {
        return Err(too_many("--host"));
    }
    hosts.split(',').map(|text| one(role, text).map_err(&wrong)).collect()
}

/// A host with or without a number of processes. Errors: what is wrong with it.
fn one(role: Role, text: &str) -> Result<HostSpec, String> {
    let (name, processes) = match text.rsplit_once('*') {
        None => (text, 1),
        Some(_) if role == Role::Server => return Err("processes are of hosts that drive load".into()),
        Some((name, number)) => {
            let processes = number.trim().parse::<u32>();
            (name, processes.map_err(|_| format!("'{}' is not a number of processes", excerpt(number)))?)
        }
    };
    match name.trim() {
        "" => Err("a host has no name".into()),
        name => Ok(HostSpec { role, processes, ..HostSpec::named(name) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_a_role_and_numbers_of_processes() {
        let host = |name: &str, processes| HostSpec { processes, ..HostSpec::named(name) };
        assert_eq!(parse("load=b,c").unwrap(), [host("b", 1), host("c", 1)]);
        assert_eq!(parse("load=b*3, c*2").unwrap(), [host("b", 3), host("c", 2)]);
        assert_eq!(parse("server=a").unwrap(), [HostSpec { role: Role::Server, ..host("a", 1) }]);
    }

    #[test]
    fn the_destination_of_ssh_is_the_name_too() {
        let hosts = parse("load=ann@10.0.0.2*4").unwrap();
        assert_eq!((hosts[0].name.as_str(), hosts[0].processes), ("ann@10.0.0.2", 4));
        assert_eq!(hosts[0].destination(), "ann@10.0.0.2");
    }

    #[test]
    fn what_is_wrong_with_a_flag_is_said() {
        let why = |words: &str| parse(words).unwrap_err().to_string();
        assert!(why("b").contains("--host b: it does not say what the hosts do"));
        assert!(why("clint=b").contains("'clint' is not a role"));
        assert!(why("load=").contains("has no name") && why("load=b,,c").contains("has no name"));
        assert!(
            why("load=b*x").contains("'x' is not a number")
                && why("load=b*-1").contains("'-1' is not a number")
        );
        assert!(why("load=b*").contains("'' is not a number"));
        assert!(why("server=a*2").contains("drive load"));
        assert!(why(&format!("load={}", "b,".repeat(MOST_HOSTS))).contains("more than 10000"));
    }

    proptest::proptest! {
        #[test]
        fn no_words_make_it_panic(words in "(load=|server=)?(?s:.{0,60})") {
            let _ = parse(&words);
            let _ = super::super::of_flag(&words);
        }
    }
}
