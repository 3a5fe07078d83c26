//! Balloons of nri-plugins, layers of scx_layered, and hours of the day.

use super::*;

fn of(settings: &[(&str, &str, &str)]) -> Vec<PlannedActs> {
    let planned = |(knob, target, value): &(&str, &str, &str)| Planned {
        knob: (*knob).into(),
        target: (*target).into(),
        value: (*value).into(),
        ..Planned::default()
    };
    planned_acts::of(&root(), &Plan { settings: settings.iter().map(planned).collect(), ..Plan::default() })
}

#[test]
fn balloons_get_a_type_for_the_server_and_cpus_for_the_system() {
    let balloons = in_form(PlanFormat::NriBalloons);
    assert_eq!(
        bare(&balloons, "kubernetes/balloons-policy.yaml"),
        "apiVersion: config.nri/v1alpha1\nkind: BalloonsPolicy\nmetadata:\n  name: group.pinwise\n  namespace: kube-system\n\
         spec:\n  reservedResources:\n    cpu: \"cpuset:0-1\"\n  balloonTypes:\n  - name: pinwise-server\n    minCPUs: 2\n    \
         maxCPUs: 2\n    minBalloons: 1\n    maxBalloons: 1\n    pinMemory: true\n    \
         preferCloseToDevices: [\"/sys/devices/system/node/node0\"]\n    schedulingClass: pinwise-server\n  \
         schedulingClasses:\n  - name: pinwise-server\n    policy: fifo\n    priority: 5\n    ioClass: be\n    \
         ioPriority: 2\n"
    );
    let whole = ["scheduling-policy", "io-priority"];
    assert!(balloons.left.iter().all(|left| !whole.contains(&left.setting.knob.as_str())), "{balloons:?}");
    assert_eq!(balloons.left.len(), PLAN.len() - whole.len());
}

#[test]
fn balloons_get_isolated_cpus_and_the_clocks_that_all_of_them_have() {
    let settings = of(&[
        ("process-affinity", "server", "2-3"),
        ("frequency-governor", "policy2", "performance"),
        ("frequency-governor", "policy3", "performance"),
        ("frequency-governor", "policy0", "powersave"),
        ("frequency-min", "policy2", "2000000"),
        ("energy-performance-preference", "policy2", "power"),
    ]);
    let isolated = CpuSet::from_list("2-3").unwrap();
    let asked = Asked { isolated: Some(&isolated), ..about(&settings) };
    let balloons = formatted(PlanFormat::NriBalloons, &asked);
    let text = bare(&balloons, "kubernetes/balloons-policy.yaml");
    assert!(text.contains("    preferIsolCpus: true\n    cpuClass: pinwise-server\n"), "{text}");
    assert!(
        text.ends_with("  cpuClasses:\n  - name: pinwise-server\n    freqGovernor: \"performance\"\n"),
        "{text}"
    );
    assert!(!text.contains("reservedResources:\n"), "the plan names none: {text}");
    let in_part = balloons.left.iter().filter(|left| left.in_part).count();
    assert_eq!((in_part, balloons.left.len()), (3, settings.len()));
}

#[test]
fn layers_hold_threads_of_units_cgroups_and_processes() {
    let settings = of(&[
        ("cpuset", "/sys/fs/cgroup/system.slice", "0-3"),
        ("process-affinity", "server", "2-3"),
        ("process-affinity", "4711", "1"),
        ("cpu-resume-latency", "cpu2", "20"),
        ("cpu-resume-latency", "cpu3", "20"),
        ("cpu-resume-latency", "cpu0", "20"),
        ("memory-policy", "server", "bind:1"),
    ]);
    let nodes = [(0, CpuSet::from_list("0-1").unwrap()), (1, CpuSet::from_list("2-3").unwrap())];
    let asked = Asked { unit: Some("web"), nodes: &nodes, ..about(&settings) };
    let layers = formatted(PlanFormat::ScxLayered, &asked);
    let read: serde_json::Value = serde_json::from_str(&layers.files[0].text).unwrap();
    let confined = |i: usize| read[i]["kind"]["Confined"].clone();
    assert_eq!(read[0]["matches"].to_string(), "[[{\"TGIDEquals\":4711}]]");
    assert_eq!(
        read[1]["matches"].to_string(),
        r#"[[{"CgroupRegex":"^/sys/fs/cgroup/(?:[^/]+\\.slice/)*_?web\\.service(?:/|$)"}]]"#
    );
    assert_eq!(read[2]["matches"].to_string(), "[[{\"CgroupPrefix\":\"system.slice/\"}]]");
    assert_eq!(confined(1)["cpus_range"].to_string(), "[2,2]");
    assert_eq!(confined(1)["nodes"].to_string(), "[1]");
    assert_eq!(confined(1)["idle_resume_us"].as_u64(), Some(20));
    assert!(confined(2)["idle_resume_us"].is_null());
    assert_eq!(confined(2)["nodes"].to_string(), "[0,1]");
    // scx_layered wants the last one to hold all that is left.
    assert_eq!(read[3]["matches"].to_string(), "[[]]");
    assert_eq!(read.as_array().unwrap().len(), 4);
    let comment = read[0]["comment"].as_str().unwrap();
    assert!(layers.left.iter().all(|left| comment.lines().any(|line| line == left.to_string())), "{comment}");
    let in_part = layers.left.iter().filter(|left| left.in_part).count();
    assert_eq!((in_part, layers.left.len()), (5, settings.len()));
}

/// The expression by which the layer of a unit is found, as scx_layered reads it.
fn pattern_of(unit: &str) -> regex::Regex {
    let settings = of(&[("process-affinity", "server", "2-3")]);
    let layers = formatted(PlanFormat::ScxLayered, &Asked { unit: Some(unit), ..about(&settings) });
    let read: serde_json::Value = serde_json::from_str(&layers.files[0].text).unwrap();
    regex::Regex::new(read[0]["matches"][0][0]["CgroupRegex"].as_str().unwrap()).unwrap()
}

#[test]
fn the_layer_of_a_unit_holds_its_cgroups_and_no_other_of_like_name() {
    let pattern = pattern_of("a");
    let is_in = |path: &str| pattern.is_match(&format!("/sys/fs/cgroup/{path}"));
    for own in [
        "system.slice/a.service",
        "system.slice/a.service/worker",
        "a.service",
        "web.slice/web-shop.slice/a.service",
    ] {
        assert!(is_in(own), "{own}");
    }
    for other in [
        "system.slice/ba.service",
        "system.slice/a.service.d",
        "system.slice/axservice",
        "system.slice/a.servicex/worker",
        "system.slice/a.slice",
        // A user's unit of the same name, one within a container, and a scope.
        "user.slice/user-1000.slice/user@1000.service/app.slice/a.service",
        "system.slice/docker-0123.scope/system.slice/a.service",
        "machine.slice/a.service.scope",
        "system.slice/b.service/a.service",
    ] {
        assert!(!is_in(other), "{other}");
    }
}

#[test]
fn names_with_letters_that_mean_something_are_taken_as_they_stand() {
    let is_in = |unit: &str, name: &str| {
        pattern_of(unit).is_match(&format!("/sys/fs/cgroup/system.slice/system-getty.slice/{name}"))
    };
    assert!(is_in("getty@tty1", "getty@tty1.service"));
    assert!(is_in(r"a\x2db.service", r"a\x2db.service") && !is_in(r"a\x2db.service", "a-b.service"));
    // systemd's own escapes of names.
    assert!(is_in("cpu.idle", "_cpu.idle.service") && !is_in("cpu.idle", "__cpu.idle.service"));
    assert!(is_in("_x", "__x.service") && !is_in("_x", "_x.service"), "that is the unit x");
}

#[test]
fn a_cgroup_within_a_unit_comes_before_the_unit_and_slices_come_last() {
    let settings = of(&[
        ("cpuset", "/sys/fs/cgroup/system.slice", "0-3"),
        ("process-affinity", "server", "2-3"),
        ("cpuset", "/sys/fs/cgroup/system.slice/web.service/worker", "2"),
    ]);
    let layers = formatted(PlanFormat::ScxLayered, &Asked { unit: Some("web"), ..about(&settings) });
    let read: serde_json::Value = serde_json::from_str(&layers.files[0].text).unwrap();
    let names: Vec<&str> = (0..4).map(|i| read[i]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["system.slice/web.service/worker", "web.service", "system.slice", "others"]);
}

#[test]
fn no_more_layers_than_scx_layered_takes() {
    let paths: Vec<String> = (0..20).map(|i| format!("/sys/fs/cgroup/a{i}")).collect();
    let settings: Vec<(&str, &str, &str)> = paths.iter().map(|path| ("cpuset", path.as_str(), "0")).collect();
    let settings = of(&settings);
    let layers = formatted(PlanFormat::ScxLayered, &about(&settings));
    let read: serde_json::Value = serde_json::from_str(&layers.files[0].text).unwrap();
    assert_eq!(read.as_array().unwrap().len(), 16);
    assert_eq!(layers.left.iter().filter(|left| !left.in_part).count(), 5);
}

#[test]
fn hours_have_a_plan_a_script_and_two_services_with_their_timers() {
    let hours = in_form(PlanFormat::SystemdBetween("22:00-06:30".parse().unwrap()));
    let paths: Vec<&str> = hours.files.iter().map(|file| file.path.as_str()).collect();
    let units = [
        "pinwise-hours.service",
        "pinwise-hours.timer",
        "pinwise-hours-end.service",
        "pinwise-hours-end.timer",
    ]
    .map(|name| format!("etc/systemd/system/{name}"));
    assert_eq!(paths[..2], ["etc/pinwise/hours.toml", "etc/pinwise/hours.sh"]);
    assert_eq!(paths[2..], units.each_ref().map(String::as_str));
    let plan = Plan::parse(&hours.files[0].text).unwrap();
    let of = |knob: &str| {
        plan.settings.iter().find(|planned| planned.knob == knob).map(|planned| planned.target.as_str())
    };
    assert_eq!((of("process-affinity"), of("swappiness")), (Some("nginx.service"), Some("machine")));
    for left in ["boot-parameters", "memory-policy", "unit-environment", "irq-affinity", "cpuset"] {
        assert_eq!(of(left), None, "{left}");
        assert!(hours.left.iter().any(|one| one.setting.knob == left && !one.in_part), "{left}");
    }
    assert_eq!(plan.settings.len(), 10);
    let service = bare(&hours, &units[0]);
    assert!(
        service.contains("After=nginx.service\n") && service.contains("RemainAfterExit=yes\n"),
        "{service}"
    );
    assert!(bare(&hours, &units[1]).contains("OnCalendar=*-*-* 22:00:00\nOnBootSec="));
    assert!(bare(&hours, &units[3]).contains("OnCalendar=*-*-* 06:30:00\nOnClockChange="));
}
