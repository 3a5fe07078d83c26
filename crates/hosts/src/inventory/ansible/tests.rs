use super::*;
use crate::host::Via;

/// As a lab has it that was set up for other things before.
const LAB: &str = r#"# rack 3, kept by the network people
; the console
localhost ansible_connection=local

[servers]
db1.lab ansible_host=10.0.0.1

[clients]
gen[08:10].lab pinwise_processes=2
fast-[a:b] ansible_host=10.0.0.9 ansible_port=2022   # shares a port forwarder

[ubuntu]
db1.lab  ansible_python_interpreter=/usr/bin/python3
gen09.lab ansible_user=bob pinwise_processes=4

[rack3:children]
servers
clients

[rack3:vars]
ansible_user=ann
ntp_server = 10.0.0.254
ansible_ssh_common_args='-o ProxyCommand="ssh -W %h:%p -q gate.lab"'

[clients:vars]
pinwise_cpus = 2-5
ansible_ssh_private_key_file = ~/.ssh/lab   # without a passphrase

[all:vars]
ansible_user=root
ansible_port=22
"#;

fn parsed(text: &str) -> Vec<HostSpec> {
    parse(text, "hosts").unwrap()
}

fn why(text: &str) -> String {
    parse(text, "hosts").unwrap_err().to_string()
}

fn names(hosts: &[HostSpec]) -> Vec<&str> {
    hosts.iter().map(|host| host.name.as_str()).collect()
}

#[test]
fn an_inventory_of_a_lab_is_read_as_its_people_mean_it() {
    let hosts = parsed(LAB);
    assert_eq!(
        names(&hosts),
        ["localhost", "db1.lab", "gen08.lab", "gen09.lab", "gen10.lab", "fast-a", "fast-b"]
    );
    let host = |name: &str| hosts.iter().find(|host| host.name == name).unwrap();
    let local = host("localhost");
    assert_eq!((local.via, local.role, local.ssh.as_deref()), (Via::Local, Role::Load, None));
    assert!(local.ssh_options.is_empty());

    let proxy = ["-o", "ProxyCommand=ssh -W %h:%p -q gate.lab"];
    let server = host("db1.lab");
    assert_eq!((server.role, server.destination()), (Role::Server, "ann@10.0.0.1"));
    assert_eq!(server.ssh_options, [&["-p", "22"][..], &proxy[..]].concat());
    assert_eq!(server.cpus, None);

    let first = host("gen08.lab");
    assert_eq!((first.role, first.destination(), first.processes), (Role::Load, "ann@gen08.lab", 2));
    assert_eq!(first.ssh_options, [&["-p", "22", "-i", "~/.ssh/lab"][..], &proxy[..]].concat());
    assert_eq!(first.cpus.as_deref(), Some("2-5"));

    let second = host("gen09.lab");
    assert_eq!((second.destination(), second.processes), ("bob@gen09.lab", 4), "later lines take precedence");
    assert_eq!(&host("fast-b").ssh_options[..2], ["-p", "2022"]);
    assert_eq!(host("fast-b").destination(), "ann@10.0.0.9");
}

#[test]
fn hosts_without_a_group_drive_load_and_take_the_variables_of_ungrouped() {
    let hosts = parsed("b\nc:2222\n[web]\nd\n[ungrouped:vars]\nansible_user=ann\n[all]\ne\n");
    assert_eq!(names(&hosts), ["b", "c", "d", "e"]);
    assert!(hosts.iter().all(|host| host.role == Role::Load));
    let destinations: Vec<&str> = hosts.iter().map(HostSpec::destination).collect();
    assert_eq!(destinations, ["ann@b", "ann@c", "d", "ann@e"]);
    assert_eq!(hosts[1].ssh_options, ["-p", "2222"]);
}

#[test]
fn the_nearest_says_what_holds_wherever_it_stands_in_the_file() {
    let groups = "[fast:vars]\npinwise_processes=3\n[all:vars]\npinwise_processes=1\n[load:vars]\npinwise_processes=2\n\
                  [load:children]\nfast\n";
    let of = |hosts: &str| parsed(&format!("{groups}{hosts}"))[0].processes;
    assert_eq!(of("[fast]\nb\n"), 3);
    assert_eq!(of("[load]\nb\n[fast]\n"), 2);
    assert_eq!(of("[other]\nb\n[fast]\n"), 1);
    assert_eq!(of("[fast]\nb pinwise_processes=4\n[load]\nb\n"), 4);
    assert_eq!(of("[fast]\nb pinwise_processes=4\n[load]\nb pinwise_processes=5\n"), 5);
}

#[test]
fn a_host_of_several_groups_is_one_host() {
    let hosts = parsed("[load]\nb ansible_user=ann\n[rack]\nb ansible_port=2222\n[load]\nb\n");
    let one = HostSpec {
        ssh: Some("ann@b".into()),
        ssh_options: vec!["-p".into(), "2222".into()],
        ..HostSpec::named("b")
    };
    assert_eq!(hosts, [one]);
}

#[test]
fn a_role_goes_down_to_groups_below_and_a_host_has_one_alone() {
    let hosts = parsed("[server:children]\ndb\n[db]\na\n[drivers]\nb\n[db:vars]\nx=1\n");
    assert_eq!(hosts.iter().map(|host| host.role).collect::<Vec<_>>(), [Role::Server, Role::Load]);
    let both = why("[server]\na\n\n[load]\nb\na\n");
    assert!(both.starts_with("hosts:6: host a: is in group server"), "{both}");
    assert!(both.contains("in load"), "{both}");
    assert!(why("[server:children]\ndb\n[db]\na\n[clients]\na\n").starts_with("hosts:6: host a"));
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    assert!(why("b\n\n[load:vrs]\n").starts_with("hosts:3: section [load:vrs]"));
    assert!(why("[load]\nb[1:2\n").starts_with("hosts:2: host b[1:2"));
    assert!(why("b\nb ansible_port=x\n").starts_with("hosts:2: variable ansible_port"));
    assert!(why("[load]\nb\n[load:vars]\nansible_port=x\n").starts_with("hosts:4: variable ansible_port"));
    assert!(why("[load]\nb\n[load:vars]\nansible_port\n").starts_with("hosts:4: line of a group's"));
    assert!(why("[load]\nb\n[laod:vars]\nx=1\n").starts_with("hosts:3: group laod"));
    assert!(why("[load:children]\nweb\n").starts_with("hosts:2: group web"));
    assert!(why("[a:children]\nb\n[b:children]\na\n").contains("is below itself"));
    assert!(why("b\n\n../x\n").starts_with("hosts:3: host ../x: name"));
    assert!(why("b ansible_user=-oProxyCommand=x\n").starts_with("hosts:1: host b: ssh"));
    assert!(why("b\nweb:\n").starts_with("hosts:2: host web:"));
}

#[test]
fn hosts_beyond_all_reason_are_refused() {
    assert_eq!(parsed("b[1:5000]\nc[1:5000]\n").len(), MOST_HOSTS);
    assert!(why("b[1:5000]\nc[1:5000]\nd\n").starts_with("hosts:3: hosts: there are more than 10000"));
    let many_times = "b[1:10000]\n".repeat(11);
    assert!(why(&many_times).starts_with("hosts:11: hosts: there are more than"));
}

#[test]
fn lines_may_end_as_on_other_systems() {
    assert_eq!(parsed("[load]\r\nb\r\n  c  \r\n"), [HostSpec::named("b"), HostSpec::named("c")]);
}

/// What inventories consist of, and what breaks parsers.
const PIECES: &[&str] = &[
    "\n",
    "\n[load]\n",
    "\n[server]\n",
    "\n[load:vars]\n",
    "\n[server:children]\n",
    "\n[load:children]\n",
    "b",
    "[a:c]",
    "[01:03]",
    "[",
    "]",
    ":",
    "=",
    " ",
    "\t",
    "'",
    "\"",
    "\\",
    "#",
    ";",
    " ansible_port=22",
    " ansible_ssh_common_args='-o x'",
    " ansible_connection=local",
    "{{",
    "é",
    "\u{0}",
    "load",
    "server",
];

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(?s).{0,80}") {
        let _ = parse(&text, "hosts");
    }

    #[test]
    fn what_is_read_of_any_pieces_makes_sense_and_each_error_names_a_line(
        pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..30)
    ) {
        match parse(&pieces.concat(), "hosts") {
            Ok(hosts) => proptest::prop_assert!(crate::host::check_all(&hosts).is_ok()),
            Err(fault) => {
                let line = fault.object.strip_prefix("hosts:").and_then(|rest| rest.split(':').next());
                let line = line.and_then(|line| line.parse::<usize>().ok());
                proptest::prop_assert!(line.is_some_and(|line| line >= 1), "{}", fault);
            }
        }
    }
}
